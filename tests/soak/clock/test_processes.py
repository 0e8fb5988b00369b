"""Processes on one SQLite store, one of which has a wall clock that is wrong."""
import glob
import os
import re
import signal
import sqlite3
import subprocess

import pytest

PAWL = os.environ["PAWL_BIN"]
LIBRARY = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
DEADLINE_S = 60

assert LIBRARY, "libfaketime is missing: run scripts/setup test (package faketime)"


def sanitizer_runtime():
    """The program's, if it has one: it must be loaded before libfaketime."""
    lines = subprocess.run(["ldd", PAWL], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[2] for line in lines if re.match(r"\s*lib[at]san\.so", line)]


def wrong_clock(offset):
    return {**os.environ, "LD_PRELOAD": ":".join([*sanitizer_runtime(), LIBRARY[0]]), "FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1"}


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "store.db"
    pawl(path, "init")
    return path


def pawl(db, *args, env=None):
    return subprocess.run([PAWL, "--db", f"sqlite:{db}", *args], env=env, check=True, timeout=DEADLINE_S,
                          capture_output=True, text=True)


def too_late(*_):
    raise TimeoutError


def work_until_told(db, tmp_path, topic, env=None):
    """Start a worker, and wait until its command has told of one message. What the worker logged."""
    told = tmp_path / f"told-{topic}"
    os.mkfifo(told)
    worker = subprocess.Popen([PAWL, "--db", f"sqlite:{db}", "work", "--topic", topic, "--exec", f"cat > {told}"],
                              env=env, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(DEADLINE_S)
    text = ""
    try:
        with open(told) as pipe:  # waits until the command has opened it, too
            text = pipe.readline()
    except TimeoutError:
        pass
    finally:
        signal.alarm(0)
        worker.terminate()
        log = worker.communicate(timeout=DEADLINE_S)[1]
    assert text.strip() == "it comes", log
    return log


@pytest.mark.parametrize("offset", ["+365d", "-365d", "+3h"])
def test_a_delayed_message_comes_though_a_clock_was_wrong(db, tmp_path, offset):
    pawl(db, "send", "other", "x", env=wrong_clock(offset))
    pawl(db, "send", "later", "it comes\n", "--delay", "1s")
    log = work_until_told(db, tmp_path, "later")
    assert ("--reset-clock" in log) == offset.startswith("+")


def test_reset_clock_makes_it_right_again(db, tmp_path):
    pawl(db, "send", "later", "it comes\n", "--delay", "1s", env=wrong_clock("+365d"))
    assert "Set the clock back by 3153" in pawl(db, "migrate", "--reset-clock").stdout
    assert "not ahead" in pawl(db, "migrate", "--reset-clock").stdout
    assert "--reset-clock" not in work_until_told(db, tmp_path, "later")
    with sqlite3.connect(db) as handle:
        ahead = handle.execute("SELECT latest_time - (SELECT now FROM pawl_wall) FROM pawl_meta").fetchone()[0]
    assert ahead < 5_000_000
