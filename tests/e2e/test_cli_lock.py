"""pawl lock and pawl lease: one owner at a time, and an owner whose lease has expired."""

import json
import os
import pty
import select
import signal
import subprocess

import pytest

from program import DEADLINE_S, PAWL, Worker, alive, environment, refused, until

HELD, LOST = 80, 76


@pytest.fixture
def lock(db):
    started = []

    def starter(*args):
        command = [PAWL, "--db", db.url, *db.schema_options, "lock", *map(str, args)]
        started.append(Worker(command, db.folder))
        return started[-1]

    yield starter
    for one in started:
        if one.process.poll() is None:
            os.kill(one.process.pid, signal.SIGCONT)
        one.kill()


def lease(db, name):
    return db.json("lease", "show", name)


def held(db, name):
    result = db.raw("--json", "lease", "show", name)
    return result.returncode == 0 and json.loads(result.stdout)["owned"]


def pid_in(path):
    return until(lambda: path.exists() and path.read_text().endswith("\n") and int(path.read_text()))


def test_it_ends_with_the_commands_status(db):
    assert db.text("lock", "a", "--", "echo", "one  two") == "one  two\n"
    db.run("lock", "a", "--", "sh", "-c", "exit 7", expect=7)
    db.run("lock", "a", "--", "sh", "-c", "kill -TERM $$", expect=128 + signal.SIGTERM)
    assert not lease(db, "a")["owned"]


def test_the_command_learns_the_token(db):
    said = [db.text("lock", "b b", "--", "sh", "-c", "echo $PAWL_LEASE:$PAWL_FENCE") for _ in range(2)]
    tokens = [int(line.split(":")[1]) for line in said]
    assert said[0].startswith("b b:") and 0 < tokens[0] < tokens[1]
    assert lease(db, "b b")["fence"] == tokens[1]


def test_errors_are_reported_and_no_lease_is_taken(db):
    refused(db.raw("lock", "a"), 64, "pawl lock NAME -- COMMAND")
    refused(db.raw("lock", "--", "true"), 64, "pawl lock NAME -- COMMAND")
    refused(db.raw("lock", "a", "--ttl", "1ms", "--", "true"), 64, "--ttl")
    refused(db.raw("lock", "a", "--", "/no/such/command"), 66, "cannot run")
    assert not lease(db, "a")["owned"]
    refused(db.raw("lease", "show", "other"), 66, "no such lease")
    refused(db.raw("lease", "relese", "a"), 64, "did you mean 'release'?")
    refused(db.raw("lease", "release", "a"), 64, "--yes")


def test_two_commands_run_one_after_the_other(db, lock, gate):
    first = lock("a", "--owner", "first", "--", "sh", "-c", gate.wait)
    until(lambda: held(db, "a"))
    refused(db.raw("lock", "a", "--", "true"), HELD, "is owned by first")
    second = lock("a", "--wait", "1m", "--", "echo", "second")
    listed = db.json("lease", "ls", "--owned")
    assert [one["owner_name"] for one in listed] == ["first"]
    gate.open()
    assert first.end()[0] == 0
    assert second.end()[:2] == (0, b"second\n")
    refused(db.raw("lease", "release", "a", "--yes"), LOST, "has no owner")
    assert "free" in db.text("lease", "ls") and db.json("lease", "ls", "--owned") == []


def test_it_is_renewed_while_the_command_runs(db, lock, gate):
    first = lock("a", "--ttl", "2s", "--", "sh", "-c", gate.wait)
    until(lambda: held(db, "a"))
    taken = lease(db, "a")
    until(lambda: lease(db, "a")["renewed_at"] > taken["expires_at"])
    assert lease(db, "a")["fence"] == taken["fence"] and held(db, "a")
    gate.open()
    assert first.end()[0] == 0


def test_signals_reach_the_whole_group(db, lock):
    # The child reports itself: a shell that has forked and not yet executed it may lose the signal.
    script = "trap 'echo got it; exit 3' TERM; sh -c 'echo $$ > pid; exec sleep 1000' & wait"
    first = lock("a", "--", "sh", "-c", script)
    pid = pid_in(db.folder / "pid")
    first.signal(signal.SIGTERM)
    assert first.end()[:2] == (3, b"got it\n")
    until(lambda: not alive(pid))
    assert not held(db, "a")


def test_a_lease_that_is_revoked_ends_the_command(db, lock):
    first = lock("a", "--ttl", "1s", "--grace", "100ms", "--", "sh", "-c",
                 "trap '' TERM; echo $$ > pid; while :; do sleep 1000; done")
    pid = pid_in(db.folder / "pid")
    fence = lease(db, "a")["fence"]
    refused(db.raw("lease", "release", "a", "--yes", "--fence", fence + 1), LOST, "nothing was changed")
    out = db.text("lease", "release", "a", "--yes", "--reason", "it hangs", "--by", "ann")
    assert f"token {fence}" in out
    code, _, said = first.end()
    assert code == LOST and "the lease 'a' is lost" in said
    assert not alive(pid)
    page = db.text("lease", "show", "a")
    assert "released by force" in page and "ann" in page and "it hangs" in page


def test_an_owner_suspended_past_its_lease_is_replaced_and_notified(db, lock):
    """Two real processes: the first sleeps past its lease, the second takes over."""
    first = lock("a", "--ttl", "1s", "--", "sh", "-c", "echo $$ > pid; exec sleep 1000")
    pid = pid_in(db.folder / "pid")
    token = lease(db, "a")["fence"]
    first.signal(signal.SIGSTOP)
    second = lock("a", "--wait", "1m", "--", "sh", "-c", "echo $PAWL_FENCE; echo > took; read x < go")
    os.mkfifo(db.folder / "go")
    until((db.folder / "took").exists)
    assert alive(pid)  # it cannot know yet: this is what the token is for
    assert lease(db, "a")["fence"] > token
    first.signal(signal.SIGCONT)
    code, _, said = first.end()
    assert code == LOST and "is lost" in said
    assert not alive(pid)
    assert held(db, "a")  # the second one's is untouched
    (db.folder / "go").write_text("go\n")
    code, out, _ = second.end()
    assert code == 0 and int(out) > token


# ---- on a terminal ----

class Terminal:
    """A shell's view: the program in a session of its own, with a terminal."""

    def __init__(self, db, *args):
        self.master, slave = pty.openpty()
        command = [PAWL, "--db", db.url, *db.schema_options, *map(str, args)]
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command], stdin=slave, stdout=slave, stderr=slave,
            env=environment(TERM="dumb"), cwd=db.folder)
        os.close(slave)
        self.shown = b""

    def see(self, text):
        while text.encode() not in self.shown:
            ready, _, _ = select.select([self.master], [], [], DEADLINE_S)
            assert ready, self.shown
            self.shown += os.read(self.master, 65536)

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        code = self.process.wait(timeout=DEADLINE_S)
        os.close(self.master)
        return code


def test_the_command_reads_and_is_interrupted_at_the_terminal(db):
    one = Terminal(db, "lock", "a", "--", "sh", "-c", "echo ready; read x; echo got $x; cat")
    one.see("ready")
    one.type("word\n")
    one.see("got word")
    one.type("more\n")
    one.see("more\r\nmore")  # cat is there: a shell that is just starting it may swallow a signal
    one.type("\x03")
    assert one.end() == 128 + signal.SIGINT
    assert not held(db, "a")


def test_release_asks_on_a_terminal(db, lock, gate):
    first = lock("a", "--ttl", "1s", "--owner", "first", "--", "sh", "-c", gate.wait)
    until(lambda: held(db, "a"))
    for answer, code in (("n\n", 1), ("y\n", 0)):
        one = Terminal(db, "lease", "release", "a")
        one.see("Revoke the lease of first")
        one.type(answer)
        assert one.end() == code
        assert held(db, "a") == (code != 0)
    assert first.end()[0] == LOST
