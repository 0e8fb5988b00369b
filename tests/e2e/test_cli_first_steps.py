"""What a new user of pawl meets first."""

import json
import socket

import pytest

from daemon import SECRET
from peer import envelope
from program import PAWL, refused, run_pawl


# ---- the same settings for every verb ----

def settings_of(db):
    return {"PAWL_DATABASE_SCHEMA" if db.engine == "postgres" else "PAWL_DATABASE_PREFIX": db.schema_options[1]
            if db.schema_options else "other_"}


@pytest.fixture
def named(empty_db):
    """The schema, or the tables' prefix, is not the default."""
    if empty_db.engine == "sqlite":
        empty_db.schema_options = ["--prefix", "other_"]
    empty_db.run("init")
    return empty_db


def pawl(db, *args, **extra):
    result = run_pawl("--json", *args, cwd=db.folder, **extra)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def test_schema_and_prefix_come_from_the_environment(named):
    work_id = named.send("t", "x")
    found = pawl(named, "ls", PAWL_DATABASE_URL=named.url, **settings_of(named))
    assert [m["work_id"] for m in found] == [work_id]
    assert pawl(named, "stats", PAWL_DATABASE_URL=named.url, **settings_of(named))[0]["ready"] == 1


def test_every_verb_reads_the_configuration(named):
    work_id = named.send("t", "x")
    (key, value), = settings_of(named).items()
    file = named.folder / "pawl.ini"
    file.write_text(f"[database]\nurl = {named.url}\n{key.rpartition('_')[2].lower()} = {value}\n")
    for how, extra in ((["--config", file], {}), (["-c", file], {}), ([], {"PAWL_CONFIG": "pawl.ini"})):
        assert [m["work_id"] for m in pawl(named, "ls", *how, **extra)] == [work_id]
        assert pawl(named, "show", work_id, *how, **extra)["topic"] == "t"
        assert pawl(named, "lease", "ls", *how, **extra) == pawl(named, "job", "ls", *how, **extra) == []
        assert pawl(named, "migrate", "--dry-run", *how, **extra)["action"] == "none"
    done = pawl(named, "work", "--config", file, "--until-empty", "--exec", "true")
    assert done["done"] == 1
    refused(run_pawl("ls", "--config", named.folder / "none.ini"), 64, "cannot be read")
    file.write_text("[database]\nurll = sqlite:app.db\n")
    refused(run_pawl("ls", "--config", file), 64, "did you mean 'url'?")


def test_a_flag_overrides_the_file(named, tmp_path):
    file = tmp_path / "other.ini"
    file.write_text("[database]\nurl = sqlite:/none/none.db\n")
    named.run("ls", "--config", file)


# ---- configuration ----

def test_a_line_may_have_8_kib(tmp_path):
    file = tmp_path / "pawl.ini"
    command = "true " + "x" * (8192 - len("command = true "))
    file.write_text(f"[receive a]\ncommand = {command}\n")
    result = run_pawl("config", "show", "--config", file, "--db", "sqlite:app.db")
    assert result.returncode == 0 and command in result.stdout.decode(), result
    file.write_text(f"[receive a]\ncommand = {command}x\n")
    refused(run_pawl("config", "check", "--config", file, "--db", "sqlite:app.db"), 64, "the maximum is 8192")


def check(tmp_path, service, *args):
    (tmp_path / "secret").write_text("correct-horse-battery-staple")
    (tmp_path / "secret").chmod(0o600)
    file = tmp_path / "pawl.ini"
    file.write_text(f"[service a]\n{service}\n")
    return run_pawl("config", "check", "--config", file, "--db", "sqlite:app.db", *args, cwd=tmp_path)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:80", "[::1]:80", "10.1.2.3", "192.168.0.1",
                                  "172.16.0.1", "169.254.169.254", "[fd00::1]", "[::ffff:10.0.0.1]", "127.1"])
def test_a_private_url_needs_allow_private(tmp_path, host):
    url = f"url = http://{host}/\nsecret = file:secret"
    refused(check(tmp_path, url), 64, "[service a] url is a loopback or private address", "allow_private = on")
    assert check(tmp_path, f"{url}\nallow_private = on").returncode == 0
    assert check(tmp_path, f"{url}\nproxy = http://proxy.example:3128").returncode == 0


@pytest.mark.parametrize("url", ["https://example.org/", "http://8.8.8.8", "unix:///run/a.sock", "pipe://a"])
def test_other_urls_do_not(tmp_path, url):
    result = check(tmp_path, f"url = {url}\nsecret = file:secret")
    assert (result.returncode, result.stderr) == (0, b""), result


def test_a_service_in_the_same_process_is_no_service_of_a_daemon(tmp_path):
    refused(check(tmp_path, "url = inproc://a\nsecret = file:secret"), 64, "[service a] url is inproc://, which pawl serve does not support")


def test_a_service_without_a_secret_is_reported(tmp_path):
    result = check(tmp_path, "url = https://example.org/")
    assert result.returncode == 0
    assert "[service a] has no secret" in result.stderr.decode()
    document = json.loads(check(tmp_path, "url = https://example.org/", "--json").stdout)
    assert document["good"] and len(document["warnings"]) == 1 and "has no secret" in document["warnings"][0]
    assert "secret" not in check(tmp_path, "url = https://example.org/\nsecret = file:secret").stderr.decode()


# ---- the daemon's port ----

def test_a_port_in_use_is_reported_and_no_database_is_created(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run_pawl("serve", "--db", "sqlite:new.db", "--listen", address, cwd=tmp_path)
    refused(result, 74, f"cannot listen on '{address}'", "Address already in use")
    assert list(tmp_path.iterdir()) == []


# ---- verbs ----

@pytest.mark.parametrize("verb", ["redrive", "requeue"])
def test_retry_by_its_other_names(db, verb):
    work_id = db.send("t", "x")
    db.work("exit 65")
    assert db.json(verb, "--all", "--yes")["changed"] == 1
    assert db.state(work_id) == "ready"
    assert "pawl retry" in db.text(verb, "--help")


def test_dead_letters_are_pointed_to():
    refused(run_pawl("dead", "--db", "sqlite:app.db"), 64, "pawl ls --state dead", "pawl retry")


def test_a_timer_of_the_past_is_due_now_and_listed(db):
    said = db.text("timer", "add", "t", "x", "--at", "2020-01-01T00:00Z")
    assert "due now" in said and "2020-01-01 00:00:00Z" in said
    listed, = db.json("timer", "ls")
    assert listed["topic"] == "t" and listed["due_at"].startswith("2020-01-01T00:00:00")
    db.send("t", "a message that is no timer")
    assert len(db.json("timer", "ls")) == 1
    assert db.work("true")["done"] == 2
    assert db.json("timer", "ls") == []


# ---- --dry-run ----

def test_n_is_dry_run_wherever_it_is():
    for verb in ("ls", "retry", "cancel", "purge", "timer", "topic", "inbox", "lock", "lease", "job", "migrate", "work"):
        for line in run_pawl(verb, "--help").stdout.decode().splitlines():
            assert not line.startswith("  -n,") or line.startswith("  -n, --dry-run"), (verb, line)


def test_removing_a_job_has_a_dry_run(db):
    for name in ("a", "b"):
        db.run("job", "add", name, "@daily", "--topic", "t")
    assert "2 jobs would be removed" in db.text("job", "rm", "a", "b", "--dry-run")
    assert db.json("job", "rm", "a", "-n") == {"dry_run": True, "jobs": ["a"], "unfinished": 0}
    assert len(db.json("job", "ls")) == 2
    refused(db.raw("job", "rm", "none", "--dry-run"), 66)
    refused(db.raw("job", "ls", "--dry-run"), 64, "--dry-run is not for 'job ls'")


def test_releasing_a_lease_has_a_dry_run(db):
    out = db.text("lock", "a", "--", PAWL, "--db", db.url, *db.schema_options, "lease", "release", "a", "--dry-run")
    assert "would be released from" in out
    refused(db.raw("lease", "release", "a", "-n"), 76, "the lease has no owner")
    refused(db.raw("lease", "show", "a", "-n"), 64, "--dry-run is not for 'lease show'")


def dead_record(serve, number):
    daemon = serve("[receive *]\ncommand = exit 65\n")
    for _ in range(number):
        assert daemon.receive(envelope(SECRET))[0] == 422
    assert daemon.end() == 0


@pytest.mark.parametrize("action, would", [("retry", "retried"), ("purge", "purged")])
def test_changing_the_inbox_has_a_dry_run(serve, empty_db, action, would):
    dead_record(serve, 2)
    assert f"2 messages would be {would}" in empty_db.text("inbox", action, "--all", "--dry-run")
    assert empty_db.json("inbox", action, "--source", "shop", "-n") == {"dry_run": True, "matching": 2}
    record = empty_db.json("inbox", "ls")[0]
    assert empty_db.json("inbox", action, record["source"], record["id"], "-n")["matching"] == 1
    refused(empty_db.raw("inbox", action, "shop", "none", "-n"), 1, "there is no dead message none of shop")
    assert {r["state"] for r in empty_db.json("inbox", "ls")} == {"dead"}


# ---- a topic without a handler ----

def test_a_worker_warns_of_topics_that_it_does_not_take(db):
    db.send("other", "x")
    result = db.run("work", "--topic", "mine", "--until-empty", "--exec", "true")
    assert "topic 'other': no handler is registered" in result.stderr.decode()
    assert "no handler" not in db.run("work", "--topic", "other", "--until-empty", "--exec", "true").stderr.decode()
