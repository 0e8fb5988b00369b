"""pawl work while the database is away: no result is lost, and it says so once."""

import json
import os
import pathlib
import re
import socket
import sqlite3
import threading

import pytest

from conftest import POSTGRES
from program import Database, until


def hang_up(*sockets):
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster


class Proxy:
    """A PostgreSQL socket in a folder of its own that passes everything on, until it is cut."""

    def __init__(self, folder, server):
        self.server = server
        self.path = str(folder / ".s.PGSQL.5432")
        self.lock = threading.Lock()
        self.pairs = []
        self.lose_answer_to = None  # bytes in a request whose answer never arrives, once
        self.cut_then = False  # and then the server is away
        self.lost = 0
        self.open()

    def open(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, args=[self.listener], daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            with self.lock:
                self.pairs.append((client, server))
            threading.Thread(target=self.pass_on, args=[client, server, True], daemon=True).start()
            threading.Thread(target=self.pass_on, args=[server, client, False], daemon=True).start()

    def pass_on(self, source, target, is_request):
        try:
            while data := source.recv(65536):
                if is_request and self.lose_answer_to and self.lose_answer_to in data:
                    self.lose_answer_to = None
                    self.lost += 1
                    target.sendall(data)
                    hang_up(source)
                    if self.cut_then:
                        self.cut()
                    return  # the other direction ends when the server has answered into nothing
                target.sendall(data)
        except OSError:
            pass
        hang_up(source, target)

    def cut(self):
        hang_up(self.listener)
        self.listener.close()
        os.unlink(self.path)
        with self.lock:
            for pair in self.pairs:
                hang_up(*pair)
            self.pairs.clear()


@pytest.fixture
def far(db, tmp_path):
    """The same database through a proxy: (db by the proxy, the proxy)."""
    host = re.search(r"(?:^|\s)host=(/\S+)", POSTGRES)
    assert host, "PAWL_TEST_POSTGRES must name a unix socket: host=/folder ..."
    (tmp_path / "p").mkdir()
    proxy = Proxy(tmp_path / "p", str(pathlib.Path(host.group(1)) / ".s.PGSQL.5432"))
    url = db.url.replace(host.group(1), str(tmp_path / "p"))
    return Database("postgres", url, db.schema_options, db.folder), proxy


@pytest.mark.only_on("postgres")
def test_an_outage_is_survived(db, far, gate):
    near, (db, proxy) = db, far
    work_id, later = near.send("t"), near.send("t")
    worker = db.start("--max", "2", "--json", "--lease", "1h", "--exec", gate.wait)
    try:
        until(lambda: near.state(work_id) == "running")
        proxy.cut()
        gate.open()
        worker.hear("retrying until it succeeds")
        proxy.open()
        worker.hear("the database responds again")
        gate.open()
        code, out, err = worker.end()
        assert code == 0 and json.loads(out)["done"] == 2
        assert err.count("retrying until") == 1
        assert near.state(work_id) == near.state(later) == "done"
        assert near.show(work_id)["attempts"] == 1
    finally:
        worker.kill()


@pytest.mark.only_on("postgres")
def test_an_acknowledgement_whose_response_is_lost(db, far, gate):
    near, (db, proxy) = db, far
    work_id = near.send("t")
    worker = db.start("--once", "--json", "--lease", "1h", "--exec", gate.wait)
    try:
        until(lambda: near.state(work_id) == "running")
        proxy.lose_answer_to = b".ack("
        gate.open()
        code, out, _ = worker.end()
        assert proxy.lost == 1
        assert code == 0 and json.loads(out)["done"] == 1 and json.loads(out)["dropped"] == 0
        assert near.state(work_id) == "done" and near.show(work_id)["attempts"] == 1
    finally:
        worker.kill()


@pytest.mark.only_on("postgres")
def test_a_claim_whose_response_is_lost(db, far):
    """Claimed messages are found again by listing our own: no attempt is lost to the lease."""
    near, (db, proxy) = db, far
    proxy.lose_answer_to = b".claim_batch("
    work_id = near.send("t", "x")
    counts = db.json("work", "--max", "1", "--lease", "1h", "--exec", "true")
    assert proxy.lost == 1 and counts["done"] == 1
    assert near.state(work_id) == "done" and near.show(work_id)["attempts"] == 1


@pytest.mark.only_on("postgres")
def test_a_send_in_doubt_names_the_id_to_send_again(db, far):
    """A message without options and with a new id takes the fast path, and can be sent again anyway."""
    near, (db, proxy) = db, far
    proxy.lose_answer_to = b".enqueue_plain("
    proxy.cut_then = True
    result = db.raw("send", "t", "x", "--timeout", "300ms")
    assert proxy.lost == 1 and result.returncode == 79, result
    sent = re.search(rb"send it again with --id ([0-9a-f-]{36}),", result.stderr)
    assert sent, result
    again = near.json("send", "t", "x", "--id", sent[1].decode())
    assert again["message_id"] == sent[1].decode()
    assert len(near.json("ls")) == 1


@pytest.mark.only_on("postgres")
def test_a_send_whose_response_is_lost(db, far):
    near, (db, proxy) = db, far
    proxy.lose_answer_to = b".enqueue_plain("
    sent = db.json("send", "t", "x")
    assert proxy.lost == 1 and not sent["existed"]
    assert near.show(sent["message_id"])["work_id"] == sent["work_id"]
    assert len(near.json("ls")) == 1


def test_a_result_waits_for_a_busy_database(tmp_path, gate):
    """SQLite only: another process has the write lock when the command ends."""
    db = Database("sqlite", f"sqlite:{tmp_path}/app.db", [], tmp_path)
    db.run("init")
    work_id = db.send("t")
    worker = db.start("--once", "--timeout", "100ms", "--lease", "1h", "--exec", gate.wait)
    try:
        until(lambda: db.state(work_id) == "running")
        other = sqlite3.connect(tmp_path / "app.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        gate.open()
        worker.hear("retrying until it succeeds")
        other.execute("ROLLBACK")
        worker.hear("the database responds again")
        code, _, err = worker.end()
        assert code == 0 and err.count("retrying until") == 1
        assert db.state(work_id) == "done"
    finally:
        worker.kill()
