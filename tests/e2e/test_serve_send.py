"""pawl serve sends: two services, what becomes of their messages, reload, health, the end."""

import json
import signal

import pytest

from daemon import SECRET
from peer import envelope
from program import Database, until

OTHER = "another-horse-another-battery"


@pytest.fixture
def pair(daemons, db, tmp_path):
    """The shop sends to the bank. Both know one secret; the bank lives in a SQLite file."""

    class Pair:
        bank_folder = tmp_path / "bank"
        secret = db.folder / "shop.secret"
        bank = shop = None

        def __init__(self):
            self.bank_folder.mkdir()
            self.bank_db = Database("sqlite", f"sqlite:{self.bank_folder}/bank.db", [], self.bank_folder)

        def start_bank(self, config="[receive *]\nenqueue = *\n", listen="127.0.0.1:0", *args):
            self.bank = daemons(self.bank_db, config, *args, name="bank", listen=listen)
            return self.bank

        def service(self, port, more=""):
            return (f"[service bank]\nurl = http://127.0.0.1:{port}\nsecret = file:{self.secret}\n"
                    f"allow_private = on\nretry_base = 20ms\nretry_max = 50ms\nretry_jitter = 0s\n{more}")

        def start_shop(self, port=None, more="", *args):
            self.shop = daemons(db, self.service(port or self.bank.port, more), "--service-id", "shop", *args)
            return self.shop

        def send(self, payload="{}", *args):
            return db.send("order", payload, "--destination", "bank", *args)

    return Pair()


def test_a_message_is_sent_and_has_its_effect(pair, db):
    pair.start_bank()
    pair.start_shop()
    sent = pair.send('{"n":1}')
    pair.shop.hear("to bank sent in")
    until(lambda: db.state(sent) == "done")
    assert pair.bank_db.work("cat > worked")["done"] == 1
    assert (pair.bank_folder / "worked").read_text() == '{"n":1}'
    pair.bank.hear("processed from shop")
    assert pair.shop.end() == 0
    assert pair.bank.end() == 0


def test_messages_from_before_its_start_are_sent_and_failures_are_reported(pair, db):
    pair.start_bank("[receive order]\ncommand = exit 65\n[receive later]\ncommand = exit 1\n")
    sent = pair.send()
    later = db.send("later", "{}", "--destination", "bank", "--max-attempts", "2")
    pair.start_shop()
    pair.shop.hear("failed permanently at attempt 1")
    pair.shop.hear("not sent, attempt 1 of 2")
    pair.shop.hear("failed permanently at attempt 2")
    until(lambda: {db.state(sent), db.state(later)} == {"failed"})


def test_json_log_records_carry_the_values_of_their_message(pair, db):
    pair.start_bank("[receive *]\ncommand = exit 65\n", "127.0.0.1:0", "--log-format", "json")
    sent = pair.send()
    pair.start_shop(None, "", "--log-format", "json")
    pair.shop.hear("failed permanently at attempt 1")
    assert pair.shop.end() == 0
    assert pair.bank.end() == 0
    records = [json.loads(line) for line in pair.shop.log.splitlines()]
    failed = next(record for record in records if "failed permanently" in record["message"])
    assert failed["message_id"] == db.show(sent)["message_id"]
    assert (failed["topic"], failed["destination"], failed["attempt"]) == ("order", "bank", 1)
    assert isinstance(failed["duration_ms"], int) and failed["duration_ms"] >= 0
    assert failed["error"].startswith("HTTP 422") and failed["message"].endswith(failed["error"])
    records = [json.loads(line) for line in pair.bank.log.splitlines()]
    refused = next(record for record in records if "failed permanently (attempt 1)" in record["message"])
    assert (refused["message_id"], refused["source"], refused["attempt"]) == (failed["message_id"], "shop", 1)
    assert refused["error"]


def test_without_a_name_it_receives_and_says_why_it_does_not_send(daemons, db):
    daemon = daemons(db, "")
    daemon.hear("delivery is off")
    daemon.hear("--service-id")
    daemon.hear("every message is rejected")
    assert "delivery" not in daemon.health()[1]
    db.send("order", "{}", "--destination", "bank")
    assert daemon.end() == 0
    waiting, = db.json("ls")
    assert waiting["state"] == "ready"


def test_a_response_becomes_a_message(pair, db):
    pair.start_bank("[receive *]\ncommand = echo '[7]'\n")
    pair.start_shop(None, "[delivery]\nresponses = on\nresponse_topic = answers\n")
    pair.send("{}", "--correlation", "c-7")
    answer, = until(lambda: db.json("ls", "--topic", "answers"))
    assert (answer["correlation_id"], answer["type"]) == ("c-7", "response")
    assert db.run("show", answer["work_id"], "--payload").stdout == b"[7]"


def test_a_job_with_a_destination_runs_at_the_other_service(pair, db):
    pair.start_bank("[receive tick]\ncommand = echo x >> ticks\n")
    pair.start_shop()
    db.run("job", "add", "ticker", "* * * * * *", "--topic", "tick", "--destination", "bank")
    pair.bank.hear("processed from shop")
    assert (pair.bank_folder / "ticks").exists()


def test_the_map_is_reloaded_and_an_invalid_file_changes_nothing(pair, db):
    pair.start_bank()
    pair.start_shop(1)  # no listener there
    sent = pair.send("{}", "--max-attempts", "1000")
    pair.shop.hear("not sent, deferred")
    pair.shop.configure(pair.service(pair.bank.port) + "[service x]\ntimeout = soon\n")
    pair.shop.tell(signal.SIGHUP)
    pair.shop.hear("nothing has changed")
    line = next(at for at, text in enumerate(pair.shop.file.read_text().splitlines(), 1) if "soon" in text)
    assert f"{pair.shop.file}:{line}: ".encode() in pair.shop.log
    pair.shop.configure(pair.service(pair.bank.port))
    pair.shop.tell(signal.SIGHUP)
    pair.shop.hear("reloaded 2 services")
    pair.shop.hear("to bank sent in")
    until(lambda: db.state(sent) == "done")


def test_a_secret_is_changed_without_a_loss(pair, db):
    """First the receiver accepts both, then the sender signs with the new one."""
    pair.start_bank()
    pair.start_shop()
    both = pair.bank_folder / "new.secret"
    both.write_text(OTHER)
    both.chmod(0o600)
    pair.bank.head = pair.bank.head.replace("shop.secret", f"shop.secret\nsecret = file:{both}")
    pair.bank.configure("[receive *]\nenqueue = *\n")
    pair.bank.tell(signal.SIGHUP)
    pair.bank.hear("reloaded ")
    before = pair.send()
    until(lambda: db.state(before) == "done")
    pair.shop.set_secret(OTHER)
    pair.shop.tell(signal.SIGHUP)
    pair.shop.hear("reloaded ")
    after = pair.send()
    until(lambda: db.state(after) == "done")
    assert pair.bank.receive(envelope(OTHER))[0] == 200


def test_health_reports_destinations_and_maintenance(pair):
    pair.start_bank()
    pair.start_shop(1, "[delivery]\nbreaker_failures = 2\nbreaker_base = 1h\nbreaker_max = 1h\n")
    status, document = pair.shop.health()
    assert (status, document["status"], document["delivery"]["status"]) == (200, "ok", "ok")
    assert document["worker"] == {"status": "ok", "breaker": "closed", "failing": []}
    pair.send()
    pair.shop.hear("bank: circuit breaker opened after 2 consecutive failures")
    bank = until(lambda: next((one for name, one in pair.shop.health()[1]["delivery"]["destinations"].items()
                               if name == "bank" and one["breaker"] == "open"), None))
    assert (bank["sent"], bank["retried"]) == (0, 2)
    status, document = pair.shop.health()
    assert (status, document["ready"], document["status"]) == (200, True, "degraded")


def test_sigterm_waits_for_sends_in_flight(pair, db, gate):
    pair.start_bank(f"[receive *]\ncommand = echo x > begun; {gate.wait}\n")
    pair.start_shop()
    sent = pair.send()
    until((pair.bank_folder / "begun").exists)
    pair.shop.tell(signal.SIGTERM)
    pair.shop.hear("shutting down")
    gate.open()
    assert pair.shop.wait() == 0
    assert db.state(sent) == "done"
    assert b"all leases released" in pair.shop.log


def test_a_second_sigterm_skips_the_grace_period(pair, db, gate):
    """Sender and receiver wait for a command that would never end; both give back what they have."""
    pair.start_bank(f"[receive *]\ncommand = echo x > begun; {gate.wait}\n")
    pair.start_shop()
    sent = pair.send()
    until((pair.bank_folder / "begun").exists)
    for daemon in (pair.shop, pair.bank):
        daemon.tell(signal.SIGTERM)
        daemon.hear("shutting down")
        daemon.tell(signal.SIGTERM)
        daemon.hear("second signal")
        assert daemon.wait() == 0
    shown = db.show(sent)
    assert shown["state"] in ("scheduled", "ready") and shown["attempts"] == 0
    record, = pair.bank_db.json("inbox", "ls")
    assert record["state"] == "seen"


def test_the_levels_of_the_log(pair, db):
    pair.start_bank("[receive *]\nenqueue = *\n")
    pair.start_shop()
    pair.send()
    pair.bank.hear("processed from shop")
    message = envelope(SECRET)
    assert [pair.bank.receive(message)[0] for _ in range(2)] == [200, 200]
    assert pair.bank.receive(envelope(OTHER))[0] == 401
    assert pair.bank.end() == 0
    pair.send()
    pair.shop.hear("not sent")
    assert pair.shop.end() == 0

    def levels(daemon, text):
        return {line.split()[1].decode() for line in daemon.log.splitlines() if text.encode() in line}

    assert levels(pair.shop, "sent in") == {"info"}
    assert levels(pair.shop, "not sent, ") == {"warning"}
    assert levels(pair.bank, " enqueued: topic order") == {"info"}
    assert levels(pair.bank, "processed from shop") == {"info"}
    assert levels(pair.bank, "duplicate") == {"warning"}
    assert levels(pair.bank, "HMAC verification failed") == {"warning"}
