"""Every test that asks for `db` runs on SQLite and, if there is one, on PostgreSQL.

PAWL_TEST_POSTGRES is the URL of a PostgreSQL database in which schemas may be created.
"""

import os
import secrets
import shutil
import subprocess

import pytest

from program import Database, until

POSTGRES = os.environ.get("PAWL_TEST_POSTGRES")


@pytest.fixture(params=["sqlite", "postgres"])
def empty_db(request, tmp_path):
    if request.param == "sqlite":
        yield Database("sqlite", f"sqlite:{tmp_path}/app.db", [], tmp_path)
        return
    if not POSTGRES:
        pytest.skip("PAWL_TEST_POSTGRES is not set")
    schema = f"t_{secrets.token_hex(8)}"
    yield Database("postgres", POSTGRES, ["--schema", schema], tmp_path)
    if shutil.which("psql"):
        subprocess.run(["psql", "-qX", POSTGRES, "-c", f"DROP SCHEMA IF EXISTS {schema} CASCADE"],
                       capture_output=True, check=False)


@pytest.fixture
def db(empty_db):
    empty_db.run("init")
    return empty_db


@pytest.fixture
def gate(tmp_path):
    """A command can wait at it: `read x < gate`; opening it lets one command through."""

    class Gate:
        path = tmp_path / "gate"
        wait = f"read x < {tmp_path}/gate"

        def open(self):
            def try_open():
                try:
                    return os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    return None  # nobody waits there yet
            fd = until(try_open)
            os.write(fd, b"go\n")
            os.close(fd)

    os.mkfifo(Gate.path)
    return Gate()


@pytest.fixture
def start(db):
    workers = []

    def starter(*args):
        workers.append(db.start(*args))
        return workers[-1]

    yield starter
    for worker in workers:
        worker.kill()
