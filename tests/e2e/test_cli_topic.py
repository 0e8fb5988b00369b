"""pawl topic, and what a handler said in pawl show."""

import pytest

from program import refused, until


def listed(db):
    return {topic["topic"]: topic for topic in db.json("topic", "ls")}


def test_a_paused_topic_waits_until_it_is_resumed(db):
    mail = db.send("mail", "m")
    report = db.send("report", "r")
    assert db.text("topic", "pause", "mail") == "mail paused\n"
    assert db.text("topic", "pause", "mail") == "mail was paused already\n"
    db.work("true")
    assert db.state(mail) == "ready"
    assert db.state(report) == "done"
    assert listed(db)["mail"]["paused"] is True
    assert listed(db)["mail"]["paused_at"] is not None
    assert listed(db)["report"] == {"topic": "report", "paused": False, "paused_at": None,
                                          "dead_letters": False}
    table = db.text("topic", "ls")
    assert "TOPIC" in table and "paused" in table and "active" in table
    assert db.text("topic", "resume", "mail") == "mail resumed\n"
    assert db.text("topic", "resume", "mail") == "mail was not paused\n"
    db.work("true")
    assert db.state(mail) == "done"


def test_several_topics_at_once_and_before_their_first_message(db):
    assert db.json("topic", "pause", "a", "b") == [{"topic": "a", "changed": True},
                                                         {"topic": "b", "changed": True}]
    first = db.send("a", "x", "--priority", "9")
    db.work("true")
    assert db.state(first) == "ready"
    assert db.json("topic", "resume", "a") == [{"topic": "a", "changed": True}]
    assert sorted(listed(db)) == ["a", "b"]


def test_resuming_wakes_a_worker_that_sleeps(db, start):
    db.run("topic", "pause", "mail")
    mail = db.send("mail", "m")
    start("--exec", "true", "--poll", "100ms")
    report = db.send("report", "r")
    until(lambda: db.state(report) == "done")
    assert db.state(mail) == "ready"
    db.run("topic", "resume", "mail")
    until(lambda: db.state(mail) == "done")


def test_an_empty_database_has_no_topics(db):
    assert db.json("topic", "ls") == []
    assert "no topics" in db.run("topic", "ls").stderr.decode()


@pytest.mark.parametrize("args, said", [
    (["topic"], "pawl topic pause TOPIC"),
    (["topic", "pasue", "x"], "did you mean 'pause'"),
    (["topic", "pause"], "no topic given"),
    (["topic", "ls", "x"], "takes no argument"),
    (["topic", "pause", ""], "1 to 255 characters"),
])
def test_errors_are_reported(db, args, said):
    refused(db.raw(*args), 64, said)


def test_show_has_a_field_for_progress(db):
    assert db.show(db.send("t", "x"))["progress"] is None
