"""Every test that asks for `db` runs on each engine that the program was built with.

PAWL_TEST_POSTGRES is the URL of a PostgreSQL database in which schemas may be created. A test of one
engine alone is marked: @pytest.mark.only_on("postgres"). Elsewhere it does not exist: no test skips itself.
"""

import functools
import json
import os
import pathlib
import re
import secrets
import subprocess

import pytest

from daemon import Daemon
from program import Database, run_pawl, until

POSTGRES = os.environ.get("PAWL_TEST_POSTGRES")
HARNESS = pathlib.Path(__file__).parent.parent / "harness"
ENGINE_FIXTURES = ["db", "empty_db", "scene", "engine"]
SPARES = []  # schemas of earlier tests, emptied: (name, fingerprint when new)


def pytest_configure(config):
    config.addinivalue_line("markers", "only_on(engine): the test exists on this engine alone")


@functools.cache
def built_engines():
    engines = json.loads(run_pawl("version", "--json").stdout)["engines"]
    if "postgres" in engines and not POSTGRES:
        pytest.exit("PAWL_TEST_POSTGRES is not set: run this under tests/with-postgres", returncode=64)
    return engines


def exists(item):
    """Whether its engine was built and is the one that it is marked for."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    engine = next((given[name] for name in ENGINE_FIXTURES if name in given), None)
    marked = [mark.args[0] for mark in item.iter_markers("only_on")]
    return all(one in built_engines() for one in [engine, *marked] if one) and (not engine or set(marked) <= {engine})


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if exists(item)]


def psql(script):
    """The last line of the answer; None if it was refused."""
    done = subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", POSTGRES], input=script,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip().rpartition("\n")[2] if done.returncode == 0 else None


def script(name, schema):
    return re.sub(r"\bpawl\b", schema, (HARNESS / name).read_text())


def drop(schema):
    psql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def on_postgres(schema, folder):
    return Database("postgres", f"{POSTGRES} application_name={schema}", ["--schema", schema], folder)


def empty(schema, looks):
    """Whether the schema is as good as new again; see tests/harness/fixture_spare.c."""
    return looks == psql(f"BEGIN; SELECT set_config('harness.newest', '{looks.split()[0]}', true),"
                         f" set_config('harness.sessions', '{schema}', true);"
                         + script("empty_schema.sql", schema) + script("schema_fingerprint.sql", schema) + "COMMIT;")


def take_schema(folder):
    """Name and fingerprint of a schema with pawl's tables and no rows."""
    if SPARES:
        return SPARES.pop()
    schema = f"t_{secrets.token_hex(8)}"
    on_postgres(schema, folder).run("init")
    return schema, psql(script("schema_fingerprint.sql", schema))


def give_back(schema, looks):
    if looks and empty(schema, looks):
        SPARES.append((schema, looks))
    else:
        drop(schema)


@pytest.fixture(scope="session", autouse=True)
def no_schema_stays():
    yield
    for schema, _ in SPARES:
        drop(schema)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_db(request, tmp_path):
    if request.param == "sqlite":
        yield Database("sqlite", f"sqlite:{tmp_path}/app.db", [], tmp_path)
        return
    schema = f"t_{secrets.token_hex(8)}"
    yield on_postgres(schema, tmp_path)
    drop(schema)


@pytest.fixture(params=["sqlite", "postgres"])
def db(request, tmp_path):
    if request.param == "sqlite":
        database = Database("sqlite", f"sqlite:{tmp_path}/app.db", [], tmp_path)
        database.run("init")
        yield database
        return
    schema, looks = take_schema(tmp_path)
    yield on_postgres(schema, tmp_path)
    give_back(schema, looks)


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
                    return None  # no command waits there yet
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


@pytest.fixture
def daemons():
    """Starts daemons: daemons(database, configuration, arguments...)."""
    started = []

    def starter(*args, **options):
        started.append(Daemon(*args, **options))
        return started[-1]

    yield starter
    for daemon in started:
        daemon.kill()


@pytest.fixture
def serve(daemons, empty_db):
    """Starts daemons on one database, which they make."""
    return functools.partial(daemons, empty_db)
