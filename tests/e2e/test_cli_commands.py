"""What a command inherits from pawl: descriptors 0 to 2, and no variable that contains a secret."""

import os
import signal
import subprocess

import pytest

from daemon import SECRET
from peer import envelope
from program import PAWL, environment

PASSWORD = "open-sesame-0123456789"
LIST = "ls /proc/self/fd > fds; env > variables"


def with_open_descriptor(db, command, **variables):
    """Runs pawl with a descriptor that the shell left open, and answers what its command saw."""
    read_end, write_end = os.pipe()
    try:
        done = subprocess.run([PAWL, *command], pass_fds=[read_end], cwd=db.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, env=environment(**variables), timeout=60, check=False)
    finally:
        os.close(read_end)
        os.close(write_end)
    assert done.returncode == 0, done
    return seen(db)


def seen(db):
    fds = set((db.folder / "fds").read_text().split())
    lines = (db.folder / "variables").read_text().splitlines()
    return fds, dict(line.split("=", 1) for line in lines if "=" in line)


def with_password(db):
    """The same database by a URL that contains a password, which SQLite has no use for."""
    return f"{db.url} password={PASSWORD}" if db.engine == "postgres" else None


def commands(db):
    base = [*db.schema_options]
    return {"work": [*base, "work", "--until-empty", "--exec", LIST],
            "lock": [*base, "lock", "name", "--", "sh", "-c", LIST]}


@pytest.mark.parametrize("verb", ["work", "lock"])
def test_descriptors_end_with_2(db, verb):
    db.send("t", "hello")
    fds, _ = with_open_descriptor(db, commands(db)[verb], PAWL_DATABASE_URL=db.url)
    assert fds == {"0", "1", "2", "3"}, fds  # 3 is the directory that ls reads


@pytest.mark.only_on("postgres")  # a SQLite URL has no password
@pytest.mark.parametrize("verb", ["work", "lock"])
def test_no_variable_with_a_secret(db, verb):
    db.send("t", "hello")
    (db.folder / "pawl.ini").write_text("[service shop]\nurl = http://127.0.0.1:1/\nallow_private = on\n"
                                        "secret = env:SHOP_KEY\n")
    url = with_password(db)
    _, variables = with_open_descriptor(
        db, commands(db)[verb], PAWL_DATABASE_URL=url, COPY_OF_URL=url, PGPASSWORD=PASSWORD, SHOP_KEY=PASSWORD,
        SERVER_KEY=PASSWORD, PAWL_SERVER_TOKEN="env:SERVER_KEY", PAWL_CONFIG="pawl.ini", OTHER="stays")
    assert [name for name, value in variables.items() if PASSWORD in value] == []
    assert variables["OTHER"] == "stays" and variables["PAWL_CONFIG"] == "pawl.ini"
    assert variables["PAWL_FENCE"]


@pytest.mark.parametrize("verb", ["work", "lock"])
def test_a_database_without_a_password_stays(db, verb):
    db.send("t", "hello")
    _, variables = with_open_descriptor(db, commands(db)[verb], PAWL_DATABASE_URL=db.url)
    assert variables["PAWL_DATABASE_URL"] == db.url


def test_a_command_of_the_daemon_inherits_neither(serve, empty_db):
    read_end, write_end = os.pipe()
    daemon = serve(f"secret = env:SHOP_KEY\n[receive *]\ncommand = {LIST}\n", pass_fds=[read_end],
                   variables={"SHOP_KEY": PASSWORD, "NEW_KEY": PASSWORD, "PGPASSWORD": PASSWORD, "OTHER": "stays"})
    os.close(read_end)
    os.close(write_end)
    assert daemon.receive(envelope(SECRET))[0] == 200
    fds, variables = seen(empty_db)
    assert fds == {"0", "1", "2", "3"}, fds
    assert [name for name, value in variables.items() if PASSWORD in value] == ["NEW_KEY"]  # no secret of pawl's yet
    assert variables["OTHER"] == "stays"
    daemon.configure(f"[service other]\nurl = http://127.0.0.1:1/\nallow_private = on\nsecret = env:NEW_KEY\n"
                     f"[receive *]\ncommand = {LIST}\n")
    daemon.tell(signal.SIGHUP)
    daemon.hear("2 services")
    assert daemon.receive(envelope(SECRET))[0] == 200
    assert PASSWORD not in seen(empty_db)[1].values()
    assert daemon.end() == 0


@pytest.mark.parametrize("umask", [0, 0o022, 0o277])
def test_sqlite_files_are_for_their_owner_alone(tmp_path, umask):
    """-wal, -shm and the lock file exist while a command has the store open."""
    url = f"sqlite:{tmp_path}/app.db"

    def run(*args):
        return subprocess.run([PAWL, "--db", url, *args], env=environment(), cwd=tmp_path, check=True, timeout=60,
                              capture_output=True, umask=umask)

    run("init")
    run("send", "t", "hello")
    run("work", "--until-empty", "--exec", "ls -l --time-style=+ app.db* > listed")
    lines = [line.split() for line in (tmp_path / "listed").read_text().splitlines()]
    assert sorted(line[-1] for line in lines) == ["app.db", "app.db-lock", "app.db-shm", "app.db-wal"]
    assert {line[0] for line in lines} == {"-rw-------"}, lines


def test_the_mode_of_an_existing_sqlite_file_stays(tmp_path):
    path = tmp_path / "app.db"
    path.touch()
    path.chmod(0o664)
    url = f"sqlite:{path}"
    for args in (["init"], ["send", "t", "hello"]):
        subprocess.run([PAWL, "--db", url, *args], env=environment(), check=True, timeout=60, capture_output=True)
    assert path.stat().st_mode & 0o777 == 0o664
    assert (tmp_path / "app.db-lock").stat().st_mode & 0o777 == 0o660  # of those who may write the database
    (tmp_path / "app.db-lock").chmod(0o640)
    subprocess.run([PAWL, "--db", url, "send", "t"], env=environment(), check=True, timeout=60, capture_output=True)
    assert (tmp_path / "app.db-lock").stat().st_mode & 0o777 == 0o640
