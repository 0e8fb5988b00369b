"""pawl timer: scheduling, listing and cancelling messages for later."""

import uuid

import pytest

from program import refused


def add(db, topic, payload, *args):
    return db.json("timer", "add", topic, payload, *args)


def pending(db, *args):
    return [timer["work_id"] for timer in db.json("timer", "ls", *args)]


def test_a_timer_is_scheduled_shown_and_handled_when_due(db):
    timer = add(db, "mail", "hello", "--at", "in 1h", "--priority", "3", "--header", "lang=de",
                "--correlation", "order-77")
    shown = db.json("timer", "show", timer["work_id"])
    assert shown["due_at"] == timer["due_at"]
    assert shown["message_id"] == timer["message_id"]
    assert (shown["topic"], shown["payload"], shown["priority"], shown["headers"],
            shown["correlation_id"], shown["state"]) == \
        ("mail", "hello", 3, {"lang": "de"}, "order-77", "scheduled")
    past = add(db, "mail", "at once", "--at", "2020-01-01T09:00+01:00")
    assert past["due_at"] == "2020-01-01T08:00:00.000000Z"
    db.work("true")
    assert db.state(timer["work_id"]) == "scheduled"
    assert [m["work_id"] for m in db.json("ls", "--state", "scheduled")] == [timer["work_id"]]
    assert db.json("ls", "--state", "ready") == []
    assert db.state(past["work_id"]) == "done"


def test_an_instant_and_a_delay(db):
    at = add(db, "t", "x", "--at", "2999-01-01T09:00+01:00")
    assert at["due_at"] == "2999-01-01T08:00:00.000000Z"
    assert "Scheduled: due in " in db.text("timer", "add", "t", "y", "--delay", "5m")
    assert db.text("timer", "show", at["work_id"], "--payload") == "x"


def test_the_payload_may_come_from_stdin(db):
    timer = db.json("timer", "add", "t", "-", "--delay", "1h", stdin=b"\x00\xff")
    assert db.run("timer", "show", timer["work_id"], "--payload").stdout == b"\x00\xff"


def test_the_same_id_is_scheduled_once(db):
    own = str(uuid.uuid4())
    first = add(db, "t", "x", "--delay", "1h", "--id", own)
    again = add(db, "t", "x", "--delay", "2h", "--id", own)
    assert again == {**first, "existed": True}
    refused(db.raw("timer", "add", "t", "other", "--delay", "1h", "--id", own), 65, "exists")


def test_pending_timers_come_by_due_time_and_can_be_narrowed(db):
    late = add(db, "mail", "a", "--delay", "3h")["work_id"]
    soon = add(db, "mail", "b", "--delay", "1h", "--correlation", "c")["work_id"]
    other = add(db, "report", "c", "--delay", "2h", "--destination", "there")["work_id"]
    db.send("mail", "no timer")
    assert pending(db) == [soon, other, late]
    assert pending(db, "--topic", "mail") == [soon, late]
    assert pending(db, "--destination", "there") == [other]
    assert pending(db, "--correlation", "c") == [soon]
    assert pending(db, "--before", "in 90m") == [soon]
    assert pending(db, "--from", "in 90m", "--before", "in 150m") == [other]
    assert pending(db, "--limit", "2") == [soon, other]
    result = db.run("timer", "ls", "--limit", "2")
    assert result.stdout.decode().splitlines()[0].split()[:3] == ["ID", "TOPIC", "DUE"]
    assert "For more" in result.stderr.decode()


def test_only_timers_that_have_not_begun_are_cancelled(db):
    timer = add(db, "t", "x", "--delay", "1h")
    done = db.send("t", "now")
    db.work("true")
    assert "would be cancelled" in db.text("timer", "cancel", timer["work_id"], "--dry-run")
    assert db.state(timer["work_id"]) == "scheduled"
    assert db.text("timer", "cancel", timer["message_id"], "--yes") == \
        f"cancelled {timer['message_id']} (was scheduled)\n"
    assert db.state(timer["work_id"]) == "cancelled"
    assert "is cancelled" in db.run("timer", "cancel", timer["work_id"], "--yes",
                                    expect=1).stderr.decode()
    assert "is done" in db.run("timer", "cancel", done, "--yes", expect=1).stderr.decode()
    db.run("timer", "cancel", str(uuid.uuid4()), "--yes", expect=66)
    assert pending(db) == []
    assert "No timers" in db.run("timer", "ls").stderr.decode()


@pytest.mark.parametrize("args, said", [
    (["timer"], "pawl timer add TOPIC"),
    (["timer", "ad", "x"], "did you mean 'add'"),
    (["timer", "add", "x"], "no due time given"),
    (["timer", "add", "x", "y", "z", "--delay", "1s"], "quote a payload"),
    (["timer", "add", "x", "--at", "tomorrow"], "--at"),
    (["timer", "add", "x", "--at", "now", "--delay", "5m"], "exclude each other"),
    (["timer", "add", "x", "--delay", "5m", "--limit", "3"], "--limit is not for 'timer add'"),
    (["timer", "ls", "x"], "options only"),
    (["timer", "ls", "--from", "soon"], "--from"),
    (["timer", "show"], "pawl timer show 12"),
    (["timer", "cancel", "--yes"], "no timer given"),
    (["timer", "cancel", "1"], "--yes"),
])
def test_errors_are_reported(db, args, said):
    refused(db.raw(*args), 64, said)
