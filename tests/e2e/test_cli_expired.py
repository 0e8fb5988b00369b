"""What is past its time to live is expired, whether or not a worker has run."""

from program import refused, until


def overdue(db, topic="t"):
    """A message that has expired and that no worker has seen; --expires must lie in the future."""
    work_id = db.send(topic, "x", "--expires", "in 100ms")
    until(lambda: db.state(work_id) not in ("scheduled", "ready"))
    return work_id


def test_sending_what_has_expired_is_refused(db):
    for past in ("2020-01-01T00:00Z", "in 0s", "now"):
        refused(db.raw("send", "t", "x", "--expires", past), 64, "--expires is in the past", "nothing was sent")
    refused(db.raw("send", "t", "x", "--delay", "1h", "--expires", "in 5m"), 64, "after the time when the message is due")
    refused(db.raw("timer", "add", "t", "x", "--delay", "1h", "--expires", "2020-01-01T00:00Z"), 64, "in the past")
    assert db.json("ls") == []


def test_messages_past_their_time_to_live_are_shown_as_expired(db):
    late = overdue(db)
    fresh = db.send("t", "y", "--expires", "in 1h")
    assert db.state(late) == "expired" and db.state(fresh) == "ready"
    assert [m["work_id"] for m in db.json("ls", "--state", "expired")] == [late]
    assert [m["work_id"] for m in db.json("ls", "--state", "dead")] == [late]
    assert [m["work_id"] for m in db.json("ls", "--state", "ready")] == [fresh]
    assert {m["work_id"]: m["state"] for m in db.json("ls")} == {late: "expired", fresh: "ready"}
    topic, = db.json("stats")
    assert (topic["ready"], topic["expired"]) == (1, 1)
    assert "expired" in db.text("show", late)


def test_it_is_retried_and_purged_like_any_expired_message(db):
    late, other = overdue(db), overdue(db)
    assert db.json("retry", "--all", "--dry-run")["matching"] == 2
    db.run("retry", late, "--yes")
    until(lambda: db.state(late) == "expired")
    assert db.json("purge", "--state", "expired", "--yes")["changed"] == 2
    assert db.json("ls") == []
