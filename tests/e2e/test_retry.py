"""pawl serve retries: a service that is down, one that has a bug, our own mistakes, pawl wake."""

import signal
import socket

import pytest

from daemon import SECRET
from program import Database, refused, until

QUICK = "[delivery]\nbreaker_base = 10ms\nbreaker_max = 20ms\n"


@pytest.fixture
def shop(daemons, db, tmp_path):
    """Sends to a bank that does not run yet, on a port that is its own."""

    class Shop:
        def __init__(self):
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                self.port = found.getsockname()[1]
            folder = tmp_path / "bank"
            folder.mkdir()
            self.bank_db = Database("sqlite", f"sqlite:{folder}/bank.db", [], folder)

        def service(self, more=""):
            return (f"[service bank]\nurl = http://127.0.0.1:{self.port}\nsecret = file:{db.folder / 'shop.secret'}\n"
                    f"allow_private = on\nretry_base = 20ms\nretry_max = 50ms\nretry_jitter = 1ms\n{more}")

        def start(self, more="", delivery=QUICK):
            self.daemon = daemons(db, self.service(more) + delivery, "--service-id", "shop")
            return self.daemon

        def start_bank(self, config="[receive *]\nenqueue = *\n"):
            return daemons(self.bank_db, config, name="bank", listen=f"127.0.0.1:{self.port}")

        def send(self, *args):
            return db.send("order", "{}", "--destination", "bank", *args)

    assert SECRET
    return Shop()


def test_a_service_that_is_down_for_more_than_six_sends_gets_its_message(shop, db):
    daemon = shop.start()
    sent = shop.send()
    daemon.hear("not sent, deferred, not counted as an attempt, retrying in ", times=8)
    daemon.hear("bank: circuit breaker opened after 5 consecutive failures, next probe in ")
    message = db.show(sent)
    assert message["state"] in ("scheduled", "ready", "running")
    assert (message["retries"], message["max_attempts"]) == (0, 0)
    assert message["deferrals"] >= 7
    assert message["next_attempt_at"] and "onnect" in message["last_error"]
    text = db.text("show", sent)
    assert "until it expires; " in text and "sends were deferred, not counted" in text
    shop.start_bank()
    until(lambda: db.state(sent) == "done")
    daemon.hear("bank: circuit breaker closed")


def test_with_count_all_every_send_is_an_attempt_and_the_sixth_is_the_last(shop, db):
    daemon = shop.start("count = all\n")
    sent, twice = shop.send(), shop.send("--max-attempts", "2")
    daemon.hear("not sent, attempt 1 of 6, retrying in about 20ms: ")
    daemon.hear("failed permanently at attempt 6: ")
    daemon.hear("failed permanently at attempt 2: ")
    until(lambda: {db.state(sent), db.state(twice)} == {"failed"})
    assert db.show(sent)["retries"] == 6


def test_a_message_may_ask_for_it_too(shop, db):
    shop.start()
    sent, usual = shop.send("--count", "all", "--max-attempts", "1"), shop.send()
    until(lambda: db.state(sent) == "failed")
    assert db.state(usual) in ("scheduled", "ready", "running")
    refused(db.raw("send", "t", "--count", "some"), 64, "'answered' or 'all'")


def test_a_message_may_ask_for_what_the_service_does_not(shop, db):
    daemon = shop.start("count = all\nmax_attempts = 1\n")
    sent = shop.send("--count", "answered")
    daemon.hear("deferred, not counted as an attempt, retrying in ")
    usual = shop.send()
    until(lambda: db.state(usual) == "failed")
    assert db.state(sent) in ("scheduled", "ready", "running")
    assert [db.show(one)["count"] for one in (sent, usual)] == ["answered", None]
    asked = shop.send("--count", "all", "--delay", "1h")
    assert (db.show(asked)["count"], db.show(asked)["max_attempts"]) == ("all", 6)
    assert " of 6" in db.text("show", asked)


def test_wake_retries_a_destination_now(shop, db):
    daemon = shop.start(delivery="[delivery]\nbreaker_failures = 1\nbreaker_base = 1h\nbreaker_max = 1h\n")
    sent = shop.send()
    daemon.hear("bank: circuit breaker opened after 1 consecutive failures, next probe in 1h")
    until(lambda: db.state(sent) == "scheduled")
    assert "next attempt" in db.text("show", sent)
    shop.start_bank()
    assert db.text("wake", "bank") == "bank: 1 message is due now\n"
    daemon.hear("bank: woken by an operator, sending again now")
    until(lambda: db.state(sent) == "done")
    assert db.json("wake", "bank", "nowhere") == [{"destination": "bank", "due": 0},
                                                  {"destination": "nowhere", "due": 0}]
    refused(db.raw("wake"), 64, "no destination given")


def test_a_service_that_is_missing_in_the_map_does_not_kill_a_message(shop, db):
    shop.start_bank()
    daemon = shop.start()
    missing = db.send("order", "{}", "--destination", "till")
    daemon.hear("'till' is neither a URL nor a service")
    until(lambda: db.state(missing) in ("scheduled", "ready"))
    assert "add it there" in db.show(missing)["last_error"]
    daemon.configure((shop.service() + QUICK).replace("[service bank]", "[service till]"))
    daemon.tell(signal.SIGHUP)
    daemon.hear("till: the services were reloaded, sending again now")
    until(lambda: db.state(missing) == "done")
