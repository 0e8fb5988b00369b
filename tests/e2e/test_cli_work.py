"""pawl work: a command for each message."""

import json
import re
import secrets
import signal

import pytest

from program import PAWL, alive, instant, refused, until


def test_a_command_that_succeeds_acks(db):
    work_id = db.send("t", "hello")
    counts = db.work("cat > got")
    assert counts == {"claimed": 1, "done": 1, "abandoned": 0, "failed": 0, "released": 0,
                      "dropped": 0}
    assert (db.folder / "got").read_text() == "hello"
    message = db.show(work_id)
    assert message["state"] == "done" and message["attempts"] == 1
    assert message["processed_by"] and message["finished_at"]


def test_without_a_shell(db):
    db.send("t", "hello")
    result = db.run("work", "--until-empty", "--", "tee", "a b", "$HOME")
    assert result.stdout == b"hello"
    assert (db.folder / "a b").read_text() == (db.folder / "$HOME").read_text() == "hello"


def test_exit_status_65_fails_permanently(db):
    with_words, without = db.send("t", "1"), db.send("t", "2")
    db.work('read x; if [ $PAWL_WORK_ID = 1 ]; then echo "bad input" >&2; fi; exit 65')
    assert db.state(with_words) == db.state(without) == "failed"
    assert db.show(with_words)["last_error"] == "bad input"
    assert db.show(without)["last_error"] == "exit status 65"
    assert [m["work_id"] for m in db.json("ls", "--state", "dead")] == [2, 1]


def test_other_statuses_abandon_with_the_end_of_stderr(db):
    noisy, silent, killed = db.send("noisy"), db.send("silent"), db.send("killed")
    result = db.raw("work", "--until-empty", "--concurrency", "3", "--exec", """
        case $PAWL_TOPIC in
        noisy) i=0; while [ $i -lt 1000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1;;
        silent) exit 3;;
        killed) kill -9 $$;;
        esac""")
    assert result.returncode == 0 and b"line 0\n" in result.stderr  # and it passes through
    message = db.show(noisy)
    assert message["state"] in ("scheduled", "ready") and message["retries"] == 1
    assert message["last_error"].endswith("line 999") and len(message["last_error"]) <= 2048
    assert "line 0\n" not in message["last_error"]
    assert instant(message["next_attempt_at"]) > instant(message["created_at"]) + 0.9
    assert db.show(silent)["last_error"] == "exit status 3"
    assert db.show(killed)["last_error"] == "killed by signal 9"
    assert "next in " in db.text("ls") or "next now" in db.text("ls")


def test_the_last_attempt_fails(db):
    work_id = db.send("t", "", "--max-attempts", "1")
    assert db.work("exit 1")["abandoned"] == 1
    assert db.state(work_id) == "failed"


def test_strange_bytes_in_stderr_are_stored_as_text(db):
    work_id = db.send("t")
    db.work(r"printf 'a\377\000\033[31mb\303\274' >&2; exit 1")
    assert db.show(work_id)["last_error"] == "a\ufffd  [31mbü"


def test_environment(db):
    message_id = db.json("send", "mail", "--correlation", "c 1", "--header", "k=v", "--priority",
                         "3", "--type", "command", "--max-attempts", "4")["message_id"]
    db.run("work", "--once", "--exec", "env > env.txt", PAWL_HEADERS="stale")
    got = dict(line.split("=", 1) for line in (db.folder / "env.txt").read_text().splitlines()
               if "=" in line)
    assert got["PAWL_ID"] == message_id and got["PAWL_WORK_ID"] == "1"
    assert got["PAWL_TOPIC"] == "mail" and got["PAWL_TYPE"] == "command"
    assert got["PAWL_ATTEMPT"] == "1" and got["PAWL_MAX_ATTEMPTS"] == "4"
    assert got["PAWL_PRIORITY"] == "3" and int(got["PAWL_FENCE"]) > 0
    assert got["PAWL_CORRELATION_ID"] == "c 1"
    assert json.loads(got["PAWL_HEADERS"]) == {"k": "v"}
    db.send("plain")
    db.run("work", "--once", "--exec", "env > env.txt", PAWL_HEADERS="stale",
           PAWL_CORRELATION_ID="stale")
    assert "stale" not in (db.folder / "env.txt").read_text()


def test_the_attempt_is_counted_in_the_environment(db):
    db.send("t")
    db.run("work", "--max", "2", "--poll", "10ms", "--exec",
           "echo $PAWL_ATTEMPT >> tries; [ $PAWL_ATTEMPT = 2 ]")
    assert (db.folder / "tries").read_text() == "1\n2\n"
    assert db.show(1)["attempts"] == 2 and db.state(1) == "done"


def test_large_binary_payload(db):
    payload = secrets.token_bytes(1 << 20)
    db.send("t", payload)
    assert db.work("cat > got")["done"] == 1
    assert (db.folder / "got").read_bytes() == payload
    assert db.run("show", "1", "--payload").stdout == payload


def test_a_command_that_ignores_its_stdin(db):
    payload = secrets.token_bytes(1 << 20)
    for _ in range(3):
        db.send("t", payload)
    assert db.work("exec <&-; true")["done"] == 3


def test_a_command_that_leaves_something_running(db, gate):
    """The worker does not wait for what a command put into the background."""
    db.send("t")
    assert db.work(f"({gate.wait}) > /dev/null & true")["done"] == 1
    gate.open()


def test_stdout_passes_through_and_stays_clean_with_json(db):
    db.send("t", "x")
    assert db.run("work", "--once", "--exec", "echo said").stdout == b"said\n"
    db.send("t", "y")
    result = db.run("work", "--once", "--json", "--exec", "echo said")
    assert json.loads(result.stdout)["done"] == 1 and b"said\n" in result.stderr


def test_once_and_max(db):
    assert db.raw("work", "--once", "--exec", "true").returncode == 1
    for _ in range(5):
        db.send("t")
    assert db.json("work", "--once", "--exec", "true")["claimed"] == 1
    assert db.json("work", "--max", "3", "--concurrency", "2", "--exec", "true")["claimed"] == 3
    assert len(db.json("ls", "--state", "ready")) == 1


def test_messages_sent_by_a_command_are_handled_too(db):
    db.send("first")
    send = " ".join([PAWL, "--db", f"'{db.url}'", *db.schema_options, "send", "second"])
    assert db.work(f"[ $PAWL_TOPIC = second ] || {send}")["done"] == 2
    assert len(db.json("ls", "--state", "done")) == 2


def test_topics(db):
    for topic in ["a", "b", "c"]:
        db.send(topic)
    assert db.work("true", "--topic", "a", "--topic", "c")["done"] == 2
    assert [m["topic"] for m in db.json("ls", "--state", "ready")] == ["b"]


def test_priority_first(db):
    for priority in [0, 9, 5]:
        db.send("t", str(priority), "--priority", priority)
    db.work("cat >> order")
    assert (db.folder / "order").read_text() == "950"


def test_concurrency(db, gate):
    """Two commands that only end when both run at the same time."""
    db.send("t", "1")
    db.send("t", "2")
    counts = db.work(f"if [ $PAWL_WORK_ID = 1 ]; then echo x > {gate.path}; else {gate.wait}; fi",
                     "--concurrency", "2")
    assert counts["done"] == 2


def test_one_line_per_message_when_verbose_never_the_payload(db):
    db.send("mail", "geheim")
    result = db.run("work", "--until-empty", "--verbose", "--exec", "true")
    assert re.search(r"1 mail: done \(attempt 1/10, \d+ ms\)", result.stderr.decode())
    assert b"geheim" not in result.stderr
    db.send("mail", "geheim")
    assert db.run("work", "--until-empty", "--exec", "true").stderr == b""


def test_the_lease_is_renewed_while_the_command_runs(db, start, gate):
    work_id = db.send("t")
    worker = start("--once", "--lease", "1s", "--exec", gate.wait)
    first = until(lambda: db.show(work_id)["lease_until"])
    second = until(lambda: (now := db.show(work_id)["lease_until"]) != first and now)
    until(lambda: db.show(work_id)["lease_until"] != second)
    gate.open()
    assert worker.end()[0] == 0
    message = db.show(work_id)
    assert message["state"] == "done" and message["retries"] == 0


def test_a_short_lease_of_the_message_itself_is_renewed(db, start, gate):
    work_id = db.send("t", "", "--lease", "600ms")
    worker = start("--once", "--lease", "60s", "--exec", gate.wait)
    first = until(lambda: db.show(work_id)["lease_until"])
    until(lambda: db.show(work_id)["lease_until"] != first)
    gate.open()
    assert worker.end()[0] == 0 and db.show(work_id)["retries"] == 0


def test_a_cancelled_message_ends_its_command(db, start, gate):
    work_id = db.send("t")
    worker = start("--once", "--lease", "1s", "--json", "--exec",
                   f"sh -c 'echo $$ > pid; {gate.wait}' ; true")
    until(lambda: db.state(work_id) == "running")
    pid = int(until(lambda: (db.folder / "pid").exists() and (db.folder / "pid").read_text()))
    db.run("cancel", work_id, "--yes")
    code, out, err = worker.end()
    assert code == 0 and json.loads(out)["dropped"] == 1
    assert "result discarded" in err and "another owner" in err
    assert db.state(work_id) == "cancelled"
    until(lambda: not alive(pid))  # the whole process group is gone, not only the shell


def test_run_timeout(db, gate):
    work_id = db.send("t")
    assert db.work(gate.wait, "--run-timeout", "100ms")["abandoned"] == 1
    assert db.show(work_id)["last_error"] == "ran longer than 100ms"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_releases_unfinished_messages(db, start, gate, number, code):
    work_id = db.send("t")
    worker = start("--grace", "0", "--json", "--exec", gate.wait)
    until(lambda: db.state(work_id) == "running")
    worker.signal(number)
    ended, out, _ = worker.end()
    assert ended == code and json.loads(out)["released"] == 1
    message = db.show(work_id)
    assert message["state"] == "ready" and message["retries"] == 0 and message["attempts"] == 0


def test_a_signal_lets_running_commands_finish(db, start, gate):
    first, second = db.send("t"), db.send("t")
    worker = start("--verbose", "--grace", "1h", "--exec", f"echo begun >&2; {gate.wait}")
    worker.hear("begun")
    worker.signal(signal.SIGTERM)
    worker.hear("stopping; running commands have 1h to finish")
    gate.open()
    assert worker.end()[0] == 0
    assert db.state(first) == "done" and db.state(second) == "ready"


def test_a_second_signal_ends_at_once(db, start, gate):
    work_id = db.send("t")
    worker = start("--verbose", "--grace", "1h", "--exec", f"trap '' TERM INT; {gate.wait}")
    until(lambda: db.state(work_id) == "running")
    worker.signal(signal.SIGTERM)
    worker.hear("stopping")
    worker.signal(signal.SIGTERM)
    code, _, err = worker.end()
    assert code == 0 and "released" in err
    assert db.state(work_id) == "ready" and db.show(work_id)["retries"] == 0


def test_an_idle_worker_stops_on_a_signal(db, start):
    worker = start("--exec", "true")
    db.send("t")
    until(lambda: db.state(1) == "done")  # so it runs
    worker.signal(signal.SIGTERM)
    assert worker.end()[0] == 0


def test_a_killed_worker_loses_nothing(db, start, gate):
    work_id = db.send("t", "payload")
    worker = start("--lease", "1s", "--exec", f"echo begun >&2; {gate.wait}")
    worker.hear("begun")  # running would not be enough: killed before it starts the command
    worker.kill()
    gate.open()
    counts = db.json("work", "--max", "1", "--exec", "cat > got")
    assert counts["done"] == 1 and (db.folder / "got").read_text() == "payload"
    message = db.show(work_id)
    assert message["state"] == "done" and message["retries"] == 1


def test_two_workers_share_the_messages(db, start):
    for _ in range(20):
        db.send("t")
    workers = [start("--until-empty", "--json", "--concurrency", "2", "--exec", "true")
               for _ in range(2)]
    results = [worker.end() for worker in workers]
    assert [code for code, _, _ in results] == [0, 0], results
    assert sum(json.loads(out)["done"] for _, out, _ in results) == 20


def test_a_command_that_cannot_start_counts_no_attempt(db):
    work_id = db.send("t")
    tool = db.folder / "tool"
    tool.write_bytes(b"\x7fELF-but-not-really")
    tool.chmod(0o755)
    refused(db.raw("work", "--once", "--", "./tool"), 74, "cannot start './tool'")
    assert db.state(work_id) == "ready" and db.show(work_id)["retries"] == 0
