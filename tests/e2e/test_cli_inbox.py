"""pawl inbox: inspecting received messages, retrying and purging dead ones."""

import sqlite3
import subprocess

import pytest

from program import on_terminal, refused, until


def receive(db, source, name, state, response=None, error=None, expired=False):
    """A record, as a receiver leaves it."""
    if db.engine == "sqlite":
        path = db.url.removeprefix("sqlite:")
        record, now = "pawl_inbox_record", "(SELECT now FROM pawl_clock)"
        day = 86_400_000_000
    else:
        record, now = f"{db.schema_options[1]}.inbox_record", "clock_timestamp()"
        day = "interval '1 day'"
    text = f"CAST('{response}' AS {'BLOB' if db.engine == 'sqlite' else 'bytea'})" if response else "NULL"
    sql = f"""INSERT INTO {record} (source, id, state, attempts, first_seen, last_seen, processed_at,
                  expires_at, response, error)
              VALUES ('{source}', '{name}', {['seen', 'processing', 'done', 'dead'].index(state)}, 1,
                  {now}, {now}, {now if state == 'done' else 'NULL'},
                  {'NULL' if state == 'dead' else f'{now} {"-" if expired else "+"} {day}'}, {text},
                  {f"'{error}'" if error else 'NULL'})"""
    if db.engine == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute(sql)
        connection.close()
    else:
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", db.url, "-c", sql], check=True)


def listed(db, *args):
    return [record["id"] for record in db.json("inbox", "ls", *args)]


@pytest.fixture
def some(db):
    receive(db, "shop", "1", "done", response="thanks")
    receive(db, "shop", "2", "dead", error="no stock")
    receive(db, "bank", "3", "processing")
    receive(db, "bank", "4", "dead")
    return db


def test_ls_is_newest_first_and_filtered(some):
    assert listed(some) == ["4", "3", "2", "1"]
    assert listed(some, "--state", "dead") == ["4", "2"]
    assert listed(some, "--state", "done,processing") == ["3", "1"]
    assert listed(some, "--source", "shop") == ["2", "1"]
    page = some.json("inbox", "ls", "--limit", "3")
    assert [record["id"] for record in page] == ["4", "3", "2"]
    assert listed(some, "--before", page[-1]["number"]) == ["1"]
    table = some.run("inbox", "ls", "--limit", "3")
    assert "SOURCE" in table.stdout.decode() and "processing (stuck)" in table.stdout.decode()
    assert "--before" in table.stderr.decode()
    assert "no stock" in some.text("inbox", "ls", "--state", "dead")


def test_an_empty_inbox(db):
    assert db.json("inbox", "ls") == []
    assert "No messages" in db.run("inbox", "ls").stderr.decode()
    assert db.json("inbox", "stats") == {"seen": 0, "processing": 0, "stuck": 0, "done": 0, "dead": 0}


def test_show_has_everything(some):
    record = some.json("inbox", "show", "shop", "1")
    assert record["state"] == "done" and record["response"] == "thanks" and record["response_size"] == 6
    assert record["processed_at"] and record["expires_at"] and record["hash"] is None
    page = some.text("inbox", "show", "shop", "1")
    assert "thanks" in page and "processed" in page and "1 of 10" in page
    assert some.text("inbox", "show", "shop", "1", "--response") == "thanks"
    assert "no stock" in some.text("inbox", "show", "shop", "2")
    assert some.json("inbox", "show", "shop", "2")["response"] is None
    refused(some.raw("inbox", "show", "shop", "9"), 66, "no such message")


def test_stats(some):
    assert some.json("inbox", "stats") == {"seen": 0, "processing": 1, "stuck": 1, "done": 1, "dead": 2}
    assert "stuck" in some.text("inbox", "stats")


def test_retry_one_or_all(some):
    assert some.text("inbox", "retry", "shop", "2") == "retried 1 message\n"
    assert some.json("inbox", "show", "shop", "2")["state"] == "seen"
    refused(some.raw("inbox", "requeue", "shop", "2"), 1, "no dead message 2 of shop")
    refused(some.raw("inbox", "redrive", "--all"), 64, "--yes")
    assert some.json("inbox", "retry", "--all", "--yes") == {"changed": 1}
    assert listed(some, "--state", "dead") == []


def test_purge_asks(some):
    args = ["--db", some.url, *some.schema_options, "inbox", "purge", "--source", "bank"]
    code, shown = on_terminal(args, answer=b"n\n", cwd=some.folder)
    assert code == 1 and "all dead messages of bank" in shown
    assert listed(some, "--state", "dead") == ["4", "2"]
    code, shown = on_terminal(args, answer=b"y\n", cwd=some.folder)
    assert code == 0 and "purged 1 message" in shown
    assert listed(some, "--state", "dead") == ["2"]
    assert some.text("inbox", "purge", "shop", "2") == "purged 1 message\n"
    refused(some.raw("inbox", "show", "shop", "2"), 66)


def test_a_worker_prunes_old_messages(db, start):
    receive(db, "shop", "old", "done", expired=True)
    receive(db, "shop", "young", "done")
    start("--exec", "true", "--poll", "100ms")
    until(lambda: listed(db) == ["young"])


@pytest.mark.parametrize("args, said", [
    (["inbox"], "pawl inbox ls"),
    (["inbox", "retr"], "did you mean 'retry'"),
    (["inbox", "show", "shop"], "a source and an id"),
    (["inbox", "ls", "x"], "takes no argument"),
    (["inbox", "ls", "--state", "ready"], "seen, processing, done and dead"),
    (["inbox", "retry"], "no messages given"),
    (["inbox", "purge", "shop", "1", "--all"], "no messages given"),
    (["inbox", "stats", "x"], "takes no argument"),
])
def test_errors_are_reported(db, args, said):
    refused(db.raw(*args), 64, said)
