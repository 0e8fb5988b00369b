"""pawl serve under attack: smuggled requests, slow connections, and a search for leaked secrets."""

import base64
import os
import resource
import select
import signal
import socket

from daemon import SECRET
from peer import envelope
from program import DEADLINE_S, Database, run_pawl, until

WHOLE = os.environ.get("PAWL_TEST_WHOLE") == "1"
LINE = b"POST /_rf/receive HTTP/1.1\r\n"
HEAD = LINE + b"Host: x\r\nContent-Type: application/json\r\n"
CHUNKS = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PLAIN = HEAD + b"Content-Length: 2\r\n\r\n{}"

# Requests that a proxy in front of us may parse differently. A valid signed request follows each.
PROBES = {
    "LF in all lines": PLAIN.replace(b"\r\n", b"\n"),
    "LF in one line": HEAD + b"X: 1\nContent-Length: 2\r\n\r\n{}",
    "LF at the end of the head": HEAD + b"Content-Length: 2\r\n\n{}",
    "CR in a header": HEAD + b"X: 1\rContent-Length: 30\r\nContent-Length: 2\r\n\r\n{}",
    "a length in a folded line": HEAD + b"X: 1\r\n Content-Length: 50\r\nContent-Length: 2\r\n\r\n{}",
    "a folded length": HEAD + b"Content-Length:\r\n 2\r\n\r\n{}",
    "a folded encoding": HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a folded encoding beside a length": HEAD + b"Content-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n\r\n{}",
    "a folded request line": LINE + b" Content-Length: 40\r\n" + PLAIN[len(LINE):],
    "VT before chunked": HEAD + b"Transfer-Encoding:\x0bchunked\r\nContent-Length: 2\r\n\r\n{}",
    "a tab after chunked": HEAD + b"Transfer-Encoding: chunked\t\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunked, identity": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "an encoding of nothing": HEAD + b"Transfer-Encoding:\r\nContent-Length: 2\r\n\r\n{}",
    "a length of nothing": HEAD + b"Content-Length:\r\n\r\n{}",
    "a length with a blank": HEAD + b"Content-Length: 1 2\r\n\r\n{}",
    "a length beyond 64 bits": HEAD + b"Content-Length: 18446744073709551618\r\n\r\n{}",
    "a length with a zero byte": HEAD + b"Content-Length: 2\x00 \r\n\r\n{}",
    "a name with a zero byte": HEAD + b"X\x00: 1\r\nContent-Length: 2\r\n\r\n{}",
    "a header without a colon": HEAD + b"Content-Length\r\nContent-Length: 2\r\n\r\n{}",
    "a header without a name": HEAD + b": x\r\nContent-Length: 2\r\n\r\n{}",
    **{f"a chunk of size {size!r}": CHUNKS + size + b"\r\n{}\r\n0\r\n\r\n"
       for size in (b"0x2", b"-2", b"+2", b" 2", b"2 ", b"", b"10000000000000002", b"2;a=b")},
    "LF after a chunk's extension": CHUNKS + b"2;a\n{}\r\n0\r\n\r\n",
    "LF after a chunk's size": CHUNKS + b"2\n{}\n0\n\n",
    "CR after a chunk's size": CHUNKS + b"2\r{}\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKS + b"2\r\n{}XX\r\n0\r\n\r\n",
    "a chunk without its end": CHUNKS + b"2\r\n{}0\r\n\r\n",
    "a length in the trailer": CHUNKS + b"2\r\n{}\r\n0\r\nContent-Length: 90\r\n\r\n",
    "two versions": PLAIN.replace(b"HTTP/1.1\r\n", b"HTTP/1.1 HTTP/1.1\r\n"),
    "tabs in the request line": PLAIN.replace(b" ", b"\t", 2),
    "HTTP/1.2": PLAIN.replace(b"HTTP/1.1", b"HTTP/1.2"),
    "HTTP/1.10": PLAIN.replace(b"HTTP/1.1", b"HTTP/1.10"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": b"GET /health\r\n",
    "a blank before the method": b" " + PLAIN,
    "TRACE": b"TRACE /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "CONNECT": b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    "another server's URL": PLAIN.replace(b"/_rf", b"http://y/_rf"),
}


def exchange(daemon, data):
    """Everything that comes back until the other side closes."""
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE_S) as connection:
        connection.sendall(data)
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass  # it has closed without reading the rest
        return answer


def test_no_request_is_smuggled_in(serve, empty_db):
    daemon = serve("[receive *]\ncommand = true\n")
    message = envelope(SECRET)
    follows = HEAD + b"Content-Length: %d\r\n\r\n" % len(message) + message
    for name, probe in PROBES.items():
        answer = exchange(daemon, probe + follows)
        assert b"HTTP/1.1 200" not in answer, (name, answer)
    assert empty_db.json("inbox", "ls") == []
    with socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE_S) as connection:
        connection.sendall(PLAIN + follows)  # the same is taken behind a request that is clear
        answer = b""
        while b'"acknowledged":true' not in answer:
            piece = connection.recv(65536)
            assert piece, answer
            answer += piece


SLOW = 10_000 if WHOLE else 1000


def test_health_responds_while_slow_connections_pile_up(serve):
    """As many as may be open here, each with half a request, some of them a byte at a time."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    count = min(SLOW, limit[1] - 200)
    daemon = serve("[receive *]\ncommand = true\n",
                   server=f"connections = {count + 500}\nconnections_per_ip = {count + 400}\ntimeout = 1h\n")
    slow = []
    try:
        for at in range(count):
            connection = socket.create_connection(("127.0.0.1", daemon.port), timeout=DEADLINE_S)
            connection.sendall((HEAD + b"Content-Length: 100\r\n\r\n{")[:1 + at % 110])
            slow.append(connection)
            if at % (count // 20) == 0:
                assert daemon.health()[0] == 200
                assert daemon.receive(envelope(SECRET))[0] == 200
        poll = select.poll()
        for connection in slow:
            poll.register(connection, select.POLLIN | select.POLLHUP)
        assert poll.poll(0) == []  # all are still open: none was closed to make room
        for connection in slow[::10]:
            connection.sendall(b"P")
        assert daemon.health()[0] == 200
        print(f"# {len(slow)} slow connections")
    finally:
        for connection in slow:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert daemon.end() == 0


MARK = "4111-1111-payload-mark"
HIDDEN = {"payload": MARK, "secret": "secret-mark-of-the-pair", "new secret": "secret-mark-that-is-new",
          "short secret": "short-mark", "token": "token-mark-0123456789"}


def hidden_in(text):
    """What of the hidden is there, plain or in base64 (which has three ways to begin)."""
    found = []
    for name, word in HIDDEN.items():
        forms = [word.encode()] + [base64.b64encode(b"x" * shift + word.encode())[4:-4] for shift in range(3)]
        found += [name for form in forms if form in text]
    return found


def test_no_secret_appears_in_any_output(daemons, empty_db, tmp_path):
    """Success, failure, retry, refusal, garbage, reload and bad reload, at the level debug, on both sides."""
    folder = tmp_path / "bank"
    folder.mkdir()
    token = tmp_path / "token"
    token.write_text(HIDDEN["token"])
    token.chmod(0o600)
    bank_db = Database("sqlite", f"sqlite:{folder}/bank.db", [], folder)
    bank = daemons(bank_db, "[receive good]\ncommand = cat\n[receive bad]\ncommand = cat >&2; cat; exit 1\n"
                   "[receive never]\ncommand = cat >&2; exit 65\n[receive kept]\nenqueue = *\n",
                   server=f"token = file:{token}\n", name="bank")
    bank.set_secret(HIDDEN["secret"])
    bank.tell(signal.SIGHUP)
    bank.hear("reloaded ")
    shop = daemons(empty_db, f"[service bank]\nurl = http://127.0.0.1:{bank.port}\nsecret = file:{bank.secret}\nallow_private = on\n"
                 "retry_base = 10ms\nretry_max = 20ms\nretry_jitter = 0s\n[delivery]\nresponses = on\n",
                 "--service-id", "shop")
    payload = '{"card": "%s"}' % MARK

    def send(topic, state, *more):
        sent = empty_db.send(topic, payload, "--destination", "bank", "--max-attempts", "3", *more)
        until(lambda: empty_db.state(sent) == state)

    for topic, state in (("good", "done"), ("kept", "done"), ("bad", "failed"), ("never", "failed"), ("nobody", "failed")):
        send(topic, state)
    send("good", "done", "--header", "x-card=" + MARK)
    for body in (envelope(HIDDEN["new secret"], "good", payload), payload.encode(), envelope(HIDDEN["secret"], MARK, payload)[:-9]):
        assert bank.receive(body)[0] in (400, 401)
    exchange(bank, b"GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n"
             % HIDDEN["token"].encode())
    shop.hear("to bank sent in", 3)
    for daemon, secret, told in ((bank, "new secret", "reloaded "), (bank, "short secret", "nothing has changed")):
        daemon.set_secret(HIDDEN[secret])
        daemon.tell(signal.SIGHUP)
        daemon.hear(told, 2 if told == "reloaded " else 1)
    send("good", "failed")  # 401: the shop still signs with the old one
    shown = [run_pawl("config", verb, "--config", daemon.file, *more).stdout
             for daemon in (shop, bank) for verb in ("show", "check") for more in ([], ["--json"])]
    healths = [repr(daemon.health()).encode() for daemon in (shop, bank)]
    assert (bank.end(), shop.end()) == (0, 0)
    assert b"HMAC verification failed" in bank.log and b"failed permanently" in shop.log
    for text in (bank.log, shop.log, *shown, *healths):
        assert hidden_in(text) == [], text.decode()
    assert hidden_in(payload.encode() + base64.b64encode(payload.encode())) == ["payload", "payload"]
