"""The processes of a soak: what they say, what they cost, how they end."""

import os
import pathlib
import signal
import subprocess
import threading
import time

from engine import cpu

PAWL = os.environ.get("PAWL_BIN", "pawl")
HELPERS = pathlib.Path(os.environ.get("PAWL_SOAK_HELPERS", "."))
DEADLINE_S = 120
ENDED = threading.Event()  # a process has ended since the last await_end()


def await_end(seconds):
    """Until a process ends, or so much time has passed: whether one has ended."""
    ended = ENDED.wait(seconds)
    ENDED.clear()
    return ended


class Child:
    """A process whose lines are read by a thread; the last number of "sent N" is kept."""

    def __init__(self, command, *, preload=None, name=None):
        self.name = name or command[0]
        self.sent = 0
        self.lines = []      # everything else that it said on its standard output
        self.heard = threading.Condition()
        env = {key: text for key, text in os.environ.items() if not key.startswith("PAWL_")}
        if preload:
            env["LD_PRELOAD"] = str(preload)
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=env)
        self.errors = b""
        self.readers = [threading.Thread(target=self.read_lines, daemon=True),
                        threading.Thread(target=self.read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    @property
    def pid(self):
        return self.process.pid

    def read_lines(self):
        for line in self.process.stdout:
            with self.heard:
                if line.startswith(b"sent "):
                    self.sent = int(line[5:])
                else:
                    self.lines.append(line.decode().rstrip("\n"))
                self.heard.notify_all()
        ENDED.set()

    def read_errors(self):
        for line in self.process.stderr:
            with self.heard:
                self.errors = (self.errors + line)[-20000:]
                self.heard.notify_all()

    def hear(self, text):
        """Wait until it has said this."""
        end = time.monotonic() + DEADLINE_S
        with self.heard:
            while text not in self.lines and text.encode() not in self.errors:
                assert self.process.poll() is None and time.monotonic() < end, self.words()
                self.heard.wait(0.5)

    def take_lines(self):
        with self.heard:
            lines, self.lines = self.lines, []
        return lines

    def words(self):
        return f"{self.name} (exit {self.process.poll()}): {self.lines[-5:]} {self.errors.decode()[-2000:]}"

    def say(self, text):
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: alive() tells

    def alive(self):
        return self.process.poll() is None

    def cpu(self):
        return cpu(self.pid) if self.alive() else 0.0

    def close_input(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def wait(self):
        code = self.process.wait(timeout=DEADLINE_S)
        for reader in self.readers:
            reader.join()
        return code

    def stop(self):
        """Asked to end; its exit code."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        if self.alive():
            self.process.kill()
        self.wait()


def figures(pid):
    """Resident KiB, descriptors and threads of a process."""
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    return {"memory": int(status["RssAnon"].split()[0]), "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}
