"""A running `pawl serve`, its log, and its configuration."""

import http.client
import re
import signal
import subprocess
import threading
import time

from peer import ask
from program import DEADLINE_S, PAWL, environment

SECRET = "correct-horse-battery-staple"


class Daemon:
    """Its log is read by a thread, so that it never has to wait for us."""

    def __init__(self, db, config, *args, name="pawl", listen="127.0.0.1:0", level="debug", server="",
                 variables=None, pass_fds=()):
        self.log = b""
        self.news = threading.Condition()
        self.db = db
        self.file = db.folder / f"{name}.ini"
        self.secret = db.folder / "shop.secret"
        self.set_secret(SECRET)
        self.head = (f"[server]\nlisten = {listen}\n{server}[log]\nlevel = {level}\n"
                     f"[service shop]\nsecret = file:{self.secret}\n")
        self.configure(config)
        self.process = subprocess.Popen(
            [PAWL, "--db", db.url, *db.schema_options, "serve", "--config", self.file, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(**(variables or {})), cwd=db.folder, pass_fds=pass_fds)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.hear("serve: ready" if "json" not in args else '"ready"')
        found = re.search(rb"listening on https?://127.0.0.1:(\d+)", self.log)
        self.port = int(found[1]) if found else None

    def configure(self, config):
        self.file.write_text(self.head + config)

    def set_secret(self, secret):
        self.secret.write_text(secret + "\n")
        self.secret.chmod(0o600)

    def read(self):
        for line in self.process.stderr:
            with self.news:
                self.log += line
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def hear(self, text, times=1):
        """Wait until it has said this so often."""
        end = time.monotonic() + DEADLINE_S
        with self.news:
            while self.log.count(text.encode()) < times:
                assert self.reader.is_alive() and time.monotonic() < end, self.log.decode()
                self.news.wait(1)

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)

    def receive(self, body):
        return ask(self.connection(), "POST", "/_rf/receive", body)

    def health(self):
        return ask(self.connection(), "GET", "/health")

    def tell(self, number):
        self.process.send_signal(number)

    def wait(self):
        """Its exit code, when it has ended."""
        assert self.process.stdout.read() == b""
        code = self.process.wait(timeout=DEADLINE_S)
        self.reader.join()
        return code

    def end(self, number=signal.SIGTERM):
        self.tell(number)
        return self.wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
