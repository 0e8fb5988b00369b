"""What `make run` shows: two services, one of them killed and back; and that nothing of it stays."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from program import DEADLINE_S, PAWL, alive, environment, until

RUN = pathlib.Path(__file__).parent.parent.parent / "examples" / "run"
BUILD = pathlib.Path(PAWL).parent.parent.parent


@pytest.fixture
def run(tmp_path):
    started = []

    def starter(*args):
        (tmp_path / "t").mkdir()
        started.append(subprocess.Popen([RUN, BUILD, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                        env=environment(TMPDIR=str(tmp_path / "t")), start_new_session=True))
        return started[-1]

    yield starter
    for process in started:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()


def daemons(process):
    """The pids of its children."""
    return [int(pid) for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def read_until(process, text):
    seen = ""
    while text not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    return seen


def test_it_ends_by_itself_and_leaves_nothing(run, tmp_path):
    process = run()
    shown = process.stdout.read()
    assert process.wait(timeout=DEADLINE_S) == 0, shown
    assert re.search(r'receipts:\n  \{"order": 1\}\n  \{"order": 2\}\n', shown)
    assert "connection refused: no listener on unix socket" in shown
    for text in ("pawl send", "curl http", "pawl job add", "STAY=1"):
        assert text in shown
    assert shown.count("all leases released") == 2
    assert list((tmp_path / "t").iterdir()) == []


def test_it_runs_until_it_is_stopped(run, tmp_path):
    process = run("--stay")
    shown = read_until(process, "Press Ctrl-C to stop")
    folder = pathlib.Path(re.search(r"cat (\S+)/receipts", shown)[1])
    done = subprocess.run([PAWL, "send", "order", "{}", "--destination", "bank", "--db", f"sqlite:{folder}/shop.db"],
                          env=environment(), check=False, capture_output=True)
    assert done.returncode == 0, done
    until(lambda: len((folder / "receipts").read_text().splitlines()) == 3)
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    assert process.wait(timeout=DEADLINE_S) == 0
    assert list((tmp_path / "t").iterdir()) == []


def test_it_cleans_up_when_it_is_ended_in_the_middle(run, tmp_path):
    process = run()
    read_until(process, "serve: ready")
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    assert process.wait(timeout=DEADLINE_S) == 143
    assert list((tmp_path / "t").iterdir()) == []


def test_its_daemons_do_not_outlive_it(run):
    process = run("--stay")
    read_until(process, "Press Ctrl-C to stop")
    pids = daemons(process)
    assert len(pids) == 2
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in pids))
