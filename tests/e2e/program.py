"""Running the program `pawl`, and waiting for what it does.

PAWL_BIN is the program (default: pawl in PATH). Nothing here sleeps: tests wait for something to
become true, and a deadline only ends a test that has already failed.
"""

import datetime
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

PAWL = os.environ.get("PAWL_BIN") or shutil.which("pawl") or "pawl"
DEADLINE_S = 60


def environment(**extra):
    env = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
    env.update(extra)
    return env


def run_pawl(*args, stdin=b"", cwd=None, **extra):
    return subprocess.run([PAWL, *map(str, args)], input=stdin, capture_output=True, cwd=cwd,
                          env=environment(**extra), timeout=DEADLINE_S)


def until(check):
    """Ask again until the answer is true; returns it."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        answer = check()
        if answer:
            return answer
    raise AssertionError("it did not become true in time")


class Database:
    def __init__(self, engine, url, schema_options, folder):
        self.engine = engine
        self.url = url
        self.schema_options = schema_options
        self.folder = folder

    def raw(self, *args, **options):
        return run_pawl("--db", self.url, *self.schema_options, *args, cwd=self.folder, **options)

    def run(self, *args, expect=0, **options):
        result = self.raw(*args, **options)
        assert result.returncode == expect, result
        return result

    def text(self, *args, **options):
        return self.run(*args, **options).stdout.decode()

    def json(self, *args, **options):
        return json.loads(self.run("--json", *args, **options).stdout)

    def send(self, topic, payload="", *args):
        if isinstance(payload, bytes):
            return self.json("send", topic, "-", *args, stdin=payload)["work_id"]
        return self.json("send", topic, *args, "--", payload)["work_id"]

    def show(self, work_id):
        return self.json("show", work_id)

    def state(self, work_id):
        return self.show(work_id)["state"]

    def work(self, command, *args, **options):
        return self.json("work", "--until-empty", "--exec", command, *args, **options)

    def start(self, *args):
        """A worker in the background."""
        return Worker([PAWL, "--db", self.url, *self.schema_options, "work", *map(str, args)],
                      self.folder)


class Worker:
    def __init__(self, command, folder):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment(), cwd=folder)
        self.heard = b""

    def hear(self, text):
        """Read its stderr until it has said this."""
        end = time.monotonic() + DEADLINE_S
        while text.encode() not in self.heard:
            ready, _, _ = select.select([self.process.stderr], [], [], end - time.monotonic())
            assert ready, self.heard
            piece = os.read(self.process.stderr.fileno(), 65536)
            assert piece, self.heard
            self.heard += piece

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        out, err = self.process.communicate(timeout=DEADLINE_S)
        self.heard += err
        return self.process.returncode, out, self.heard.decode()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def refused(result, code, *texts):
    assert result.returncode == code, result
    said = result.stderr.decode()
    for text in texts:
        assert text in said, said


class Terminal:
    """A program that has a terminal of its own for stdin, stdout and stderr."""

    def __init__(self, command, cwd=None, **extra):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(list(map(str, command)), stdin=slave, stdout=slave,
                                        stderr=slave, cwd=cwd, start_new_session=True,
                                        env=environment(**{"TERM": "xterm", **extra}))
        os.close(slave)
        self.shown = ""

    def read(self):
        """More of what it shows; False: it has ended."""
        ready, _, _ = select.select([self.master], [], [], DEADLINE_S)
        assert ready, self.shown
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            piece = b""  # the terminal's other end is closed
        self.shown += piece.decode(errors="replace")
        return bool(piece)

    def see(self, pattern):
        """Read until it has shown this; what was shown up to there is forgotten."""
        while not (found := re.search(pattern, self.shown)):
            assert self.read(), self.shown
        self.shown = self.shown[found.end():]
        return found

    def end(self):
        while self.read():
            pass
        os.close(self.master)
        return self.process.wait(timeout=DEADLINE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def picture(shown):
    """The lines that a user at the terminal sees in the end."""
    lines = []
    for line in shown.replace("\r\n", "\n").split("\n"):
        cells = []
        for part in line.split("\r"):
            cells[:len(part)] = part
        lines.append("".join(cells).rstrip())
    return lines


def on_terminal(args, answer=None, cwd=None, **extra):
    """Run with a terminal for stdin, stdout and stderr; answers exit code and what it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen([PAWL, *map(str, args)], stdin=slave, stdout=slave, stderr=slave,
                               env=environment(**{"TERM": "xterm", **extra}), cwd=cwd,
                               start_new_session=True)
    os.close(slave)
    shown = b""
    while True:
        ready, _, _ = select.select([master], [], [], DEADLINE_S)
        assert ready, shown
        try:
            piece = os.read(master, 65536)
        except OSError:
            break  # the terminal's other end is closed
        if not piece:
            break
        shown += piece
        if answer is not None and (b"[y/N]" in shown or b"Ctrl-D" in shown):
            os.write(master, answer)
            answer = None
    os.close(master)
    return process.wait(timeout=DEADLINE_S), shown.decode()
