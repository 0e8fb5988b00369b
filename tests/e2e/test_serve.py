"""pawl serve: a daemon, a peer that sends to it, and what comes of it."""

import http.client
import json
import signal
import ssl
import subprocess

import pytest

from daemon import SECRET
from peer import UnixConnection, ask, envelope
from program import refused, run_pawl, until

OTHER = "another-horse-another-battery"
PAYLOAD = '{"card": "4111-1111"}'


def test_a_command_processes_a_message_once(serve, empty_db):
    daemon = serve('[receive order]\ncommand = cat >> got; echo "$PAWL_SOURCE $PAWL_TOPIC $PAWL_ATTEMPT" >> got; '
                   "echo '[7]'\n")
    message = envelope(SECRET)
    status, answer = daemon.receive(message)
    assert (status, answer) == (200, {"acknowledged": True, "duplicateDetected": False, "payload": [7],
                                      "error": None})
    status, answer = daemon.receive(message)
    assert (status, answer["duplicateDetected"], answer["payload"]) == (200, True, [7])
    assert (empty_db.folder / "got").read_text() == '{"n":1}shop order 1\n'
    assert daemon.end() == 0


def test_exit_codes_of_commands_are_those_of_work(serve, empty_db):
    daemon = serve("[receive later]\ncommand = echo busy >&2; exit 75\n"
                   "[receive never]\ncommand = echo no such order >&2; exit 65\n"
                   "[receive slow]\ncommand = sleep 1000\ntimeout = 100ms\n")
    assert daemon.receive(envelope(SECRET, "later")) == (
        500, {"acknowledged": False, "duplicateDetected": False, "payload": None, "error": "busy"})
    dead = envelope(SECRET, "never")
    assert daemon.receive(dead)[0] == 422
    assert daemon.receive(dead)[0] == 422
    assert daemon.receive(envelope(SECRET, "slow"))[0] == 500
    assert daemon.receive(envelope(SECRET, "unknown"))[0] == 404
    states = sorted(record["state"] for record in empty_db.json("inbox", "ls"))
    assert states == ["dead", "seen", "seen"]


def test_a_message_goes_into_the_outbox_and_on_to_a_worker(serve, empty_db):
    daemon = serve("[receive *]\nenqueue = *\n")
    message = envelope(SECRET, "order", '{"a": [1, 2]}', correlationId="c-1")
    assert daemon.receive(message)[0] == 200
    assert daemon.receive(message)[1]["duplicateDetected"] is True
    found, = empty_db.json("ls", "--topic", "order")
    assert found["correlation_id"] == "c-1"
    assert empty_db.work("cat > worked")["done"] == 1
    assert (empty_db.folder / "worked").read_text() == '{"a": [1, 2]}'


@pytest.mark.parametrize("scheme, accepted", [(2, 200), (1, 401)])
def test_signatures_are_checked(serve, scheme, accepted, empty_db):
    daemon = serve("[receive *]\ncommand = true\n")
    assert daemon.receive(envelope(SECRET, scheme=scheme))[0] == accepted
    assert daemon.receive(envelope(OTHER, scheme=scheme))[0] == 401
    assert daemon.receive(envelope(SECRET, source="stranger"))[0] == 401
    assert len(empty_db.json("inbox", "ls")) == (accepted == 200)


def test_secrets_are_reloaded_on_sighup(serve):
    daemon = serve("[receive *]\ncommand = true\n")
    daemon.set_secret(OTHER)
    assert daemon.receive(envelope(SECRET))[0] == 200
    daemon.tell(signal.SIGHUP)
    daemon.hear("reloaded 1 services")
    assert daemon.receive(envelope(SECRET))[0] == 401
    assert daemon.receive(envelope(OTHER))[0] == 200
    daemon.set_secret("short")
    daemon.tell(signal.SIGHUP)
    daemon.hear("nothing has changed")
    assert daemon.receive(envelope(OTHER))[0] == 200
    assert OTHER.encode() not in daemon.log


def test_health_on_tcp_and_on_a_unix_socket(serve, empty_db):
    daemon = serve("", "--socket", "pawl.sock")
    path = empty_db.folder / "pawl.sock"
    for way in (daemon.connection(), UnixConnection(path)):
        status, document = ask(way, "GET", "/_rf/health")
        assert (status, document["status"], document["ready"]) == (200, "ok", True)
    assert daemon.end(signal.SIGINT) == 0
    assert not path.exists()


def test_slow_clients_do_not_block_others(serve):
    """There are twice as many as may be connected from one address."""
    daemon = serve("")
    slow = []
    for _ in range(400):
        connection = daemon.connection()
        connection.connect()
        connection.sock.sendall(b"POST /_rf/receive HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n")
        slow.append(connection)
    assert ask(daemon.connection(), "GET", "/health")[0] == 200
    for connection in slow:
        connection.close()


def test_tls_with_a_certificate_of_its_own(serve, empty_db):
    cert, key = empty_db.folder / "cert.pem", empty_db.folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-days", "2",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    daemon = serve("[receive *]\ncommand = true\n", "--tls-cert", cert, "--tls-key", key)
    trusting = ssl.create_default_context(cafile=cert)
    connection = http.client.HTTPSConnection("127.0.0.1", daemon.port, context=trusting, timeout=60)
    assert ask(connection, "POST", "/_rf/receive", envelope(SECRET))[0] == 200
    with pytest.raises((http.client.HTTPException, OSError)):
        ask(daemon.connection(), "GET", "/health")
    assert daemon.end() == 0


def test_the_log_is_json_and_has_no_payload_and_no_secret(serve):
    daemon = serve("[receive *]\ncommand = cat >&2; exit 1\n", "--log-format", "json")
    assert daemon.receive(envelope(SECRET, payload=PAYLOAD))[0] == 500
    assert daemon.receive(envelope(OTHER, payload=PAYLOAD))[0] == 401
    assert daemon.receive(b'{"card": "4111-1111"')[0] == 400
    assert daemon.end() == 0
    records = [json.loads(line) for line in daemon.log.splitlines()]
    assert all({"time", "level", "area", "message"} <= set(record) for record in records)
    migrations = [record for record in records if "migration" in record]
    assert migrations
    assert all(record["migration"] in record["message"] and record["store"] for record in migrations)
    assert any(record["level"] == "warning" and "HMAC verification failed" in record["message"] for record in records)
    for hidden in (SECRET, OTHER, "4111"):
        assert hidden.encode() not in daemon.log


def test_running_messages_are_finished_before_it_stops(serve, empty_db, gate):
    daemon = serve(f"[receive *]\ncommand = echo x > begun; {gate.wait}; echo '\"late\"'\n")
    connection = daemon.connection()
    connection.request("POST", "/_rf/receive", envelope(SECRET), {"Content-Type": "application/json"})
    until((empty_db.folder / "begun").exists)
    daemon.tell(signal.SIGTERM)
    daemon.hear("shutting down")
    gate.open()
    response = connection.getresponse()
    assert (response.status, json.loads(response.read())["payload"]) == (200, "late")
    assert daemon.wait() == 0


def test_a_killed_daemon_does_not_block_the_next_one(serve, empty_db):
    daemon = serve("[receive *]\nenqueue = *\n", "--socket", "pawl.sock")
    message = envelope(SECRET)
    assert daemon.receive(message)[0] == 200
    daemon.kill()
    daemon = serve("[receive *]\nenqueue = *\n", "--socket", "pawl.sock")
    assert daemon.receive(message)[1]["duplicateDetected"] is True
    assert len(empty_db.json("ls")) == 1


def test_errors_are_reported_and_nothing_is_started(tmp_path):
    file = tmp_path / "pawl.ini"
    file.write_text("[server]\nlisten = 0.0.0.0:0\nlisen = 1\n")
    result = run_pawl("serve", "--config", file, "--db", f"sqlite:{tmp_path}/app.db")
    refused(result, 64, "token, tls_cert and tls_key", "did you mean 'listen'?")
    assert not (tmp_path / "app.db").exists()
    refused(run_pawl("serve", "now"), 64, "serve takes no argument")
    refused(run_pawl("serve"), 64, "no database given")
