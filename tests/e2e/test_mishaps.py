"""Everything that can go wrong between a service that sends and one that receives, with real processes.

The shop is `pawl serve`, and an application that writes its row and its message in one transaction of its own
(tests/process/order_helper.c). The bank is a service whose handler writes a row in the inbox's transaction
(tests/process/receive_helper.c); the table has no key: what is done twice is there twice.
"""

import os
import pathlib
import secrets
import signal
import sqlite3
import subprocess

import pytest

from conftest import give_back, on_postgres, psql, take_schema
from daemon import SECRET, Daemon
from program import PAWL, Database, Worker, environment, run_pawl, until
from proxy import Proxy

HELPERS = pathlib.Path(PAWL).parent.parent.parent / "tests" / "process"


class Side:
    """A service's database, and the table of its own."""

    def __init__(self, engine, folder):
        folder.mkdir()
        self.table = f"e_{secrets.token_hex(8)}"
        if engine == "sqlite":
            self.db = Database("sqlite", f"sqlite:{folder}/app.db", [], folder)
            self.db.run("init")
        else:
            self.schema, self.looks = take_schema(folder)
            self.db = on_postgres(self.schema, folder)
        self.sql(f"CREATE TABLE {self.table} (value INTEGER)")

    def sql(self, text):
        if self.db.engine == "postgres":
            return psql(text)
        with sqlite3.connect(self.db.url.removeprefix("sqlite:"), timeout=30) as connection:
            row = connection.execute(text).fetchone()
        connection.close()
        return str(row[0]) if row else None

    def rows(self):
        """The values in the table, each as often as it is there."""
        joined = "string_agg(value::text, ' ' ORDER BY value)" if self.db.engine == "postgres" else "group_concat(value, ' ')"
        found = self.sql(f"SELECT coalesce({joined}, '') FROM {self.table}")
        return sorted(map(int, found.split()))

    def helper(self, name, *args):
        schema = self.db.schema_options[1] if self.db.schema_options else ""
        process = Helper([HELPERS / f"{name}_helper", self.db.url, schema, "", self.table, *map(str, args)], self.db.folder)
        return process

    def remove(self):
        if self.db.engine == "postgres":
            self.sql(f"DROP TABLE {self.table}")
            give_back(self.schema, self.looks)


class Helper(Worker):
    """A program of tests/process; what it says is on its stdout."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=environment(), cwd=folder)
        self.process.stderr = self.process.stdout  # where Worker listens
        self.heard = b""

    def go_on(self):
        self.process.stdin.write(b"x")
        self.process.stdin.flush()


class Scene:
    def __init__(self, engine, folder):
        self.shop, self.bank = Side(engine, folder / "shop"), Side(engine, folder / "bank")
        self.secret = self.shop.db.folder / "secret"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o600)
        self.socket = folder / "bank.sock"
        self.started = []
        self.proxy = None
        self.daemon = None

    def through(self, *plan):
        """The shop speaks with the bank through a network that does this to its first requests."""
        self.proxy = Proxy(self.socket.with_name("network.sock"), self.socket, plan)

    def start_shop(self, more=""):
        url = self.proxy.listener.getsockname() if self.proxy else self.socket
        config = (f"[service bank]\nurl = unix://{url}\nsecret = file:{self.secret}\n"
                  f"retry_base = 50ms\nretry_max = 50ms\nretry_jitter = 0s\n{more}"
                  "[delivery]\nlease = 3s\nbreaker_failures = 1000\n[worker]\nreap = 100ms\nexpire = 100ms\n")
        self.daemon = Daemon(self.shop.db, config, "--service-id", "shop")
        self.started.append(self.daemon)
        return self.daemon

    def start_bank(self, *options):
        self.started.append(self.bank.helper("receive", f"file:{self.secret}", self.socket, *options))
        self.started[-1].hear("ready")
        return self.started[-1]

    def order(self, number):
        self.started.append(self.shop.helper("order", number, "bank"))
        self.started[-1].hear("written")
        return self.started[-1]

    def send(self, number, *args):
        return self.shop.db.send("order", str(number), "--destination", "bank", "--max-attempts", "1000", *args)

    def until_done(self, work_id):
        self.daemon.hear(" to bank sent in")
        until(lambda: self.shop.db.state(work_id) == "done")

    def records(self):
        return [(record["state"], record["duplicates"]) for record in self.bank.db.json("inbox", "ls")]

    def end(self):
        if self.proxy:
            self.proxy.close()
        for process in self.started:
            process.kill()
        self.shop.remove()
        self.bank.remove()


@pytest.fixture(params=["sqlite", "postgres"])
def scene(request, tmp_path):
    made = Scene(request.param, tmp_path)
    yield made
    made.end()


def mostly(engine):
    """What takes as long as a lease runs on one engine, and in `make proof` on both."""
    return pytest.mark.parametrize("scene", ["sqlite", "postgres"] if os.environ.get("PAWL_TEST_WHOLE") else [engine],
                                   indirect=True)


def test_1_the_sender_dies_before_its_commit(scene):
    scene.order(7).kill()
    assert scene.shop.rows() == []
    assert scene.shop.db.json("ls") == []


def test_2_the_sender_dies_after_its_commit(scene):
    order = scene.order(7)
    order.go_on()
    order.hear("committed")
    order.kill()
    assert scene.shop.rows() == [7]
    message, = scene.shop.db.json("ls")
    assert message["state"] == "ready"
    scene.start_bank()
    scene.start_shop()
    scene.until_done(message["work_id"])
    assert scene.bank.rows() == [7]


def test_3_the_network_fails_while_it_is_sent(scene):
    scene.through("cut", "cut")
    scene.start_bank()
    shop = scene.start_shop()
    sent = scene.send(7)
    shop.hear("not sent, ")
    scene.until_done(sent)
    assert scene.bank.rows() == [7]
    assert scene.records() == [("done", 0)]


def receiver_dies(scene, where):
    bank = scene.start_bank(f"block={where}")
    shop = scene.start_shop()
    sent = scene.send(7)
    bank.hear("blocked 7")
    bank.kill()
    shop.hear("not sent, deferred")
    assert scene.bank.rows() == []
    assert [state for state, _ in scene.records() if state == "done"] == []
    scene.start_bank()
    scene.until_done(sent)
    assert scene.bank.rows() == [7]


@mostly("sqlite")
def test_4_the_receiver_dies_before_it_processes(scene):
    receiver_dies(scene, "before")


@mostly("postgres")
def test_5_the_receiver_dies_before_its_commit(scene):
    receiver_dies(scene, "written")


@pytest.mark.parametrize("scene", ["postgres"], indirect=True)
def test_a_row_that_is_not_in_the_transaction_would_be_found(scene):
    """Wrong on purpose: this row is there after the receiver's death, and would be a second time."""
    bank = scene.start_bank("block=outside")
    scene.start_shop()
    scene.send(7)
    bank.hear("blocked 7")
    bank.kill()
    assert scene.bank.rows() == [7]


@pytest.mark.parametrize("dies", [False, True], ids=["and_lives", "and_dies"])
def test_6_the_acknowledgement_is_lost(scene, dies):
    scene.through("block" if dies else "drop")
    bank = scene.start_bank()
    shop = scene.start_shop()
    sent = scene.send(7)
    assert scene.proxy.answered.get(timeout=60).startswith(b"HTTP/1.1 200")
    if dies:
        bank.kill()
        scene.proxy.release()
        shop.hear("not sent, deferred")
        scene.start_bank()
    scene.until_done(sent)
    shop.hear("already processed earlier")
    assert scene.bank.rows() == [7]
    assert scene.records() == [("done", 1)]


def test_7_the_sender_does_not_wait_for_the_acknowledgement(scene):
    scene.through("block")
    scene.start_bank()
    shop = scene.start_shop("connect_timeout = 200ms\ntimeout = 1s\n")
    sent = scene.send(7)
    shop.hear("not sent, deferred")
    scene.until_done(sent)
    shop.hear("already processed earlier")
    assert scene.bank.rows() == [7]
    assert scene.records() == [("done", 1)]


def test_8_it_expires_before_it_is_delivered(scene):
    shop = scene.start_shop()
    sent = scene.send(7, "--expires", "in 1s")
    shop.hear("not sent, deferred")
    until(lambda: scene.shop.db.state(sent) == "expired")
    scene.start_bank()
    assert scene.bank.rows() == []
    scene.shop.db.run("retry", str(sent), "--yes")
    scene.until_done(sent)
    assert scene.bank.rows() == [7]


@mostly("sqlite")
def test_9_both_die(scene):
    bank = scene.start_bank("block=written")
    shop = scene.start_shop()
    sent = scene.send(7)
    bank.hear("blocked 7")
    shop.kill()
    bank.kill()
    assert scene.bank.rows() == []
    assert scene.shop.db.state(sent) == "running"
    scene.start_bank()
    scene.start_shop()
    scene.until_done(sent)
    assert scene.bank.rows() == [7]


@pytest.mark.parametrize("begin, code, said", [(0, 78, b"is not a SQLite database"), (4096, 74, b"malformed")])
def test_10_a_damaged_file_is_refused_and_a_backup_works(tmp_path, begin, code, said):
    """SQLite's own; nothing can be done about what is gone since the backup."""
    scene = Scene("sqlite", tmp_path)
    file = scene.shop.db.folder / "app.db"
    sent = scene.send(7)
    whole = file.read_bytes()
    damaged = whole[:begin] + b"\xff" * (len(whole) - begin)
    file.write_bytes(damaged)
    result = run_pawl("serve", "--db", scene.shop.db.url, "--listen", "127.0.0.1:0", "--service-id", "shop")
    assert result.returncode == code, result
    assert said in result.stderr, result
    file.write_bytes(whole)
    scene.start_bank()
    scene.start_shop()
    scene.until_done(sent)
    assert scene.bank.rows() == [7]
    scene.end()


def test_sigterm_under_load_loses_nothing_and_leaves_nothing_leased(scene):
    """First the sender is stopped, then the receiver; each in the middle of its work."""
    bank_config = f"[receive *]\nenqueue = *\n[service till]\nsecret = file:{scene.secret}\n"

    def start_bank():
        scene.started.append(Daemon(scene.bank.db, bank_config, "--socket", scene.socket, level="info"))
        return scene.started[-1]

    numbers = list(range(24))
    for number in numbers:
        scene.send(number)
    bank = start_bank()
    shop = scene.start_shop("concurrency = 2\n")
    shop.hear("to bank sent in", 5)
    assert shop.end(signal.SIGTERM) == 0
    assert scene.shop.db.json("ls", "--state", "running") == []
    shop = scene.start_shop("concurrency = 2\n")
    shop.hear("to bank sent in", 5)
    assert bank.end(signal.SIGTERM) == 0
    assert scene.bank.db.json("inbox", "ls", "--state", "processing") == []
    start_bank()
    until(lambda: scene.shop.db.json("ls", "--state", "scheduled,ready,running") == [])
    assert shop.end(signal.SIGTERM) == 0
    assert {message["state"] for message in scene.shop.db.json("ls", "--limit", "1000")} == {"done"}
    arrived = [scene.bank.db.run("show", message["work_id"], "--payload").stdout
               for message in scene.bank.db.json("ls", "--limit", "1000")]
    assert sorted(map(int, arrived)) == numbers
