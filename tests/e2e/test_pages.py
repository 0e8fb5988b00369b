"""The commands of docs/wire.md and docs/serve.md, as they stand there."""

import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import time

import pytest

from program import DEADLINE_S, PAWL, environment

DOCS = pathlib.Path(__file__).parents[2] / "docs"
START, SEND = re.findall(r"```sh\n(.*?)```", (DOCS / "wire.md").read_text(), flags=re.S)
PORT = "127.0.0.1:7295"  # of the pages; here it is whatever is free

for command in ["curl", "openssl"]:
    assert shutil.which(command), f"{command} is missing: run scripts/setup test"


class Shell:
    """A directory, and a pawl in PATH that listens on a free port."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "bin" / "pawl").symlink_to(pathlib.Path(PAWL).resolve())
        self.options = {"cwd": folder, "stdin": subprocess.DEVNULL,
                        "env": environment(PATH=f"{folder}/bin:{os.environ['PATH']}", PAWL_SERVER_LISTEN="127.0.0.1:0")}
        self.server = None

    def start(self, script):
        self.server = subprocess.Popen(["bash", "-ec", script.rstrip().replace("\npawl ", "\nexec pawl ")],
                                       stderr=subprocess.PIPE, **self.options)
        heard, end = b"", time.monotonic() + DEADLINE_S
        while b"serve: ready" not in heard:
            assert select.select([self.server.stderr], [], [], end - time.monotonic())[0], heard
            piece = os.read(self.server.stderr.fileno(), 65536)
            assert piece, heard
            heard += piece
        self.port = re.search(rb"listening on http://(\S+)", heard)[1].decode()

    def run(self, script):
        assert PORT in script
        return subprocess.run(["bash", "-ec", script.replace(PORT, self.port)], check=True, capture_output=True,
                              timeout=DEADLINE_S, **self.options).stdout.decode()

    def end(self):
        if self.server:
            self.server.terminate()
            assert self.server.wait(timeout=DEADLINE_S) == 0
            self.server.stderr.close()


@pytest.fixture
def shell(tmp_path):
    one = Shell(tmp_path)
    yield one
    one.end()


def test_a_message_signed_by_openssl_and_sent_by_curl(shell):
    shell.start(START)
    _, curl, rest = SEND.partition("curl ")
    answers = shell.run(SEND + curl + rest)
    first, again = re.findall(r"\{.*?\}", answers)
    assert f"`{first}`" in (DOCS / "wire.md").read_text()
    assert json.loads(again) == {**json.loads(first), "duplicateDetected": True}
    found = subprocess.run([PAWL, "--db", f"sqlite:{shell.folder}/app.db", "--json", "ls"], check=True,
                           capture_output=True, env=environment()).stdout
    assert [one["topic"] for one in json.loads(found)] == ["OrderApproved"]


def test_the_line_of_the_page_has_the_signature_of_the_page(shell):
    page = (DOCS / "wire.md").read_text()
    line = re.search(r"^    (9:rf-hmac-2,.*)$", page, flags=re.M)[1]
    command = re.search(r"^    (printf .*openssl dgst.*)$", page, flags=re.M)[1]
    said = subprocess.run(["bash", "-ec", command], check=True, capture_output=True, cwd=shell.folder,
                          env=environment(LINE=line)).stdout.decode().strip()
    assert f"| `{{\"orderId\":17}}` | 2 | `{said}` |" in page


def test_health_by_curl(shell):
    shell.start("true\npawl serve --db sqlite:app.db")
    commands = re.findall(r"^    (curl .*)$", (DOCS / "serve.md").read_text(), flags=re.M)
    assert commands
    for command in commands:
        assert json.loads(shell.run(command))["ready"] is True
