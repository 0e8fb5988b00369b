"""pawl work with several topics, several commands at a time, and signals meanwhile."""

import json
import signal

import pytest

from program import alive, refused, run_pawl, until


def test_a_topics_limit_is_kept_while_others_continue(db, start, gate):
    """One command of topic a is at the gate; those of b come and go."""
    first, second = db.send("a"), db.send("a")
    others = [db.send("b"), db.send("b")]
    worker = start("--json", "--topic", "a:1,b:2", "--exec", f"[ $PAWL_TOPIC = b ] || {gate.wait}")
    until(lambda: db.state(others[0]) == db.state(others[1]) == "done")
    until(lambda: db.state(first) == "running")
    later = db.send("b")
    until(lambda: db.state(later) == "done")
    assert db.state(second) == "ready"
    gate.open()
    until(lambda: db.state(first) == "done")
    gate.open()
    until(lambda: db.state(second) == "done")
    worker.signal(signal.SIGTERM)
    code, out, _ = worker.end()
    assert code == 0 and json.loads(out)["done"] == 5


def test_a_limit_is_never_exceeded(db):
    for _ in range(6):
        db.send("a")
    counts = db.work("mkdir lock || touch too-many; rmdir lock", "--topic", "a:1,b:5")
    assert counts["done"] == 6 and not (db.folder / "too-many").exists()


def test_limits_allow_as_many_commands(db, gate):
    """Without --concurrency: two commands that only end when both run at the same time."""
    db.send("t", "1")
    db.send("t", "2")
    command = f"if [ $PAWL_WORK_ID = 1 ]; then echo x > {gate.path}; else {gate.wait}; fi"
    assert db.work(command, "--topic", "t:2")["done"] == 2


def test_strange_topic_names(db):
    for topic in ["urn:a", "b,c:1", "d\\e", "plain", "other"]:
        db.send(topic)
    assert db.work("true", "--topic", r"urn\:a,b\,c\:1:2", "-t", r"d\\e,plain:1")["done"] == 4
    assert [m["topic"] for m in db.json("ls", "--state", "ready")] == ["other"]
    db.send("d\\e")  # a backslash before anything else is itself
    assert db.work("true", "--topic", r"d\e")["done"] == 1


@pytest.mark.parametrize("topics, text", [
    ("a:", r"write a colon in a name as \:"), ("a:0", "from 1 to 256"),
    ("a:257", "from 1 to 256"), ("a:x", "number"), ("a:1x,b", "number"), ("a:-1", "number"),
    ("", "empty topic"), ("a,,b", r"write a comma in a name as \,"),
    ("a,", "empty topic"), (":1", "empty topic"), ("a:1,a:2", "twice")])
def test_wrong_topics_are_refused(topics, text):
    refused(run_pawl("work", "--db", "sqlite:none", "--topic", topics, "--exec", "true"), 64, text)


def test_a_topic_may_be_named_twice(db):
    db.send("a")
    assert db.work("true", "--topic", "a,a", "--topic", "a")["done"] == 1


def test_nothing_is_leased_after_sigterm_under_load(db, start):
    ids = [db.send("t") for _ in range(20)]
    worker = start("--json", "--concurrency", "4", "--exec", "echo $PAWL_WORK_ID >> ran")
    until(lambda: (db.folder / "ran").exists())
    worker.signal(signal.SIGTERM)
    code, out, _ = worker.end()
    counts = json.loads(out)
    ran = (db.folder / "ran").read_text().split()
    assert code == 0 and db.json("ls", "--state", "running") == []
    assert counts["done"] == len(ran) and len(set(ran)) == len(ran)
    assert counts["claimed"] == counts["done"] + counts["released"] and counts["dropped"] == 0
    ready = db.json("ls", "--state", "ready")
    assert len(ready) == len(ids) - len(ran)
    assert all(message["retries"] == message["attempts"] == 0 for message in ready)


def test_a_second_signal_kills_all_commands_before_their_messages_are_released(db, start, gate):
    for _ in range(3):
        db.send("t")
    worker = start("--json", "--verbose", "--grace", "1h", "--concurrency", "3", "--exec",
                   f"trap '' TERM INT; echo $$ > pid.$PAWL_WORK_ID; {gate.wait}")
    pids = [int(until(lambda: (file := db.folder / f"pid.{i}").exists() and file.read_text()))
            for i in [1, 2, 3]]
    worker.signal(signal.SIGTERM)
    worker.hear("stopping")
    assert all(map(alive, pids))
    worker.signal(signal.SIGINT)
    code, out, _ = worker.end()
    assert not any(map(alive, pids))
    counts = json.loads(out)
    assert code == 0 and counts["released"] == counts["claimed"] == 3 and counts["dropped"] == 0
    assert all(message["attempts"] == 0 for message in db.json("ls", "--state", "ready"))


def test_a_cancelled_message_ends_its_command_and_no_other(db, start, gate):
    first, second = db.send("t"), db.send("t")
    worker = start("--json", "--max", "2", "--concurrency", "2", "--lease", "1s", "--exec",
                   f"echo $$ > pid.$PAWL_WORK_ID; {gate.wait}")
    pid, other = [int(until(lambda: (file := db.folder / f"pid.{i}").exists() and file.read_text()))
                  for i in [1, 2]]
    db.run("cancel", first, "--yes")
    worker.hear(f"{first} t: result discarded")
    assert not alive(pid) and alive(other)
    gate.open()
    code, out, _ = worker.end()
    assert code == 0 and json.loads(out)["done"] == 1
    assert db.state(first) == "cancelled" and db.state(second) == "done"


def test_a_command_inherits_neither_descriptors_nor_blocked_signals(db):
    for _ in range(4):
        db.send("t")
    assert db.work("ls /proc/self/fd >> fds; grep SigBlk /proc/self/status >> signals",
                   "--concurrency", "4")["done"] == 4
    assert set((db.folder / "fds").read_text().split()) == {"0", "1", "2", "3"}  # 3: ls itself
    assert {int(line.split()[1], 16)
            for line in (db.folder / "signals").read_text().splitlines()} == {0}
    work_id = db.send("t")
    db.work("kill -TERM $$")
    assert db.show(work_id)["last_error"] == "killed by signal 15"


def test_until_empty_handles_messages_of_a_killed_worker(db, start, gate):
    work_id = db.send("t")
    worker = start("--lease", "1s", "--exec", f"touch begun; {gate.wait}")
    until((db.folder / "begun").exists)  # or no command would reach the gate
    worker.kill()
    gate.open()
    until(lambda: db.work("true")["done"] == 1)
    assert db.show(work_id)["retries"] == 1
