"""The program `pawl` from outside: every verb, on SQLite and (if there is one) on PostgreSQL.

PAWL_BIN is the program (default: pawl in PATH); PAWL_TEST_POSTGRES the URL of a PostgreSQL database
in which schemas may be created. Nothing here sleeps: tests wait for something to become true, and a
deadline only ends a test that has already failed.
"""

import base64
import datetime
import json
import os
import pathlib
import pty
import re
import secrets
import select
import shutil
import signal
import sqlite3
import subprocess
import time
import uuid

import pytest

PAWL = os.environ.get("PAWL_BIN") or shutil.which("pawl") or "pawl"
POSTGRES = os.environ.get("PAWL_TEST_POSTGRES")
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md"
VERBS = ["init", "migrate", "send", "work", "ls", "show", "retry", "cancel", "purge", "stats",
         "version", "help"]
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


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def refused(result, code, *texts):
    assert result.returncode == code, result
    said = result.stderr.decode()
    for text in texts:
        assert text in said, said


# ---- the command line itself ----


def test_without_arguments_it_explains_itself():
    result = run_pawl()
    assert result.returncode == 64
    assert b"Usage" in result.stderr and b"send" in result.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_teaches(verb):
    result = run_pawl(verb, "--help")
    assert result.returncode == 0
    text = result.stdout.decode()
    for part in ["Usage", "Common options", "Examples", "Exit codes", f"pawl {verb}", "--json"]:
        assert part in text
    assert 2 <= len(re.findall(r"^  pawl ", text.split("Examples")[1], re.M)) <= 3
    assert run_pawl("help", verb).stdout.decode() == text
    assert all(len(line) < 100 for line in text.splitlines())


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not beside the tests")
@pytest.mark.parametrize("verb", VERBS)
def test_the_manual_knows_every_option(verb):
    manual = DOCS.read_text()
    section = re.search(rf"^### {verb}\b.*?(?=^##)", manual + "\n##", re.M | re.S)
    assert section, f"no section for {verb}"
    own = run_pawl(verb, "--help").stdout.decode().split("Common options")[0]
    for option in re.findall(r"^  (?:-\w, |    )?(--[\w-]+)", own, re.M):
        assert option in section.group(0), option


@pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not beside the tests")
def test_the_manual_knows_every_exit_code():
    manual = DOCS.read_text()
    for verb in VERBS:
        codes = run_pawl(verb, "--help").stdout.decode().split("Exit codes")[1]
        for code in re.findall(r"^ +(\d+)  ", codes, re.M):
            assert f"| {code} |" in manual, code


@pytest.mark.parametrize("args, nearest", [
    (["sned"], "did you mean 'send'"),
    (["statss"], "did you mean 'stats'"),
    (["help", "wrok"], "did you mean 'work'"),
    (["ls", "--tpoic", "x"], "did you mean --topic"),
    (["send", "t", "--prio", "3"], "did you mean --priority"),
    (["--jsno", "ls"], "did you mean --json"),
    (["ls", "--state", "faild"], "did you mean 'failed'"),
    (["send", "t", "--type", "comand"], "did you mean 'command'"),
])
def test_what_is_unknown_gets_a_suggestion(args, nearest):
    refused(run_pawl(*args), 64, nearest, "--help")


@pytest.mark.parametrize("args, said", [
    (["xyzzy"], "there is no verb 'xyzzy'"),
    (["ls", "--frobnicate"], "ls has no option --frobnicate"),
    (["ls", "--limit"], "--limit needs a value: --limit N"),
    (["ls", "--limit", "x"], "--limit must be a whole number from 1 to"),
    (["ls", "--limit", "0"], "--limit must be"),
    (["ls", "--json=yes"], "--json takes no value"),
    (["ls", "--timeout", "5"], "--timeout must be a length of time such as"),
    (["ls", "--timeout", "2h"], "--timeout must be from 1ms to 1h"),
    (["ls", "--state", "happy"], "there is no state 'happy'"),
    (["ls", "12"], "'pawl show 12'"),
    (["show"], "show needs one work id or message id"),
    (["show", "1", "2"], "show needs one"),
    (["show", "abc"], "'abc' is neither a work id (a number) nor a message id (a UUID)"),
    (["show", "0"], "'0' is neither"),
    (["show", "99999999999999999999"], "is neither"),
    (["send"], "send needs a topic"),
    (["send", "t", "a", "b"], "quote a payload that has spaces"),
    (["send", "t", "--priority", "10"], "--priority must be a whole number from 0 to 9, not '10'"),
    (["send", "t", "--delay", "5"], "--delay must be a length of time"),
    (["send", "t", "--delay", "soon"], "--delay must be a length of time"),
    (["send", "t", "--at", "tomorrow"], "--at must be a time such as"),
    (["send", "t", "--at", "2026-01-01T09:00"], "zone"),
    (["send", "t", "--at", "2026-01-01"], "zone"),
    (["send", "t", "--at", "2026-02-29T09:00Z"], "--at must be a time"),
    (["send", "t", "--at", "2026-01-01T25:00Z"], "--at must be a time"),
    (["send", "t", "--at", "2026-01-01T09:00Z", "--delay", "5m"], "exclude each other"),
    (["send", "t", "--expires", "1h"], "--expires must be a time"),
    (["send", "t", "--header", "novalue"], "--header must be NAME=VALUE, not 'novalue'"),
    (["send", "t", "--headers", "{"], "--headers is not JSON"),
    (["send", "t", "--headers", "[]"], "--headers must be a JSON object"),
    (["send", "t", "--id", "12"], "--id must be a UUID, not '12'"),
    (["send", "t", "--id", str(uuid.UUID(int=0))], "--id must not be all zeros"),
    (["send", "t", "--max-attempts", "0"], "--max-attempts must be"),
    (["send", "t", "--lease", "8d"], "--lease must be from 1ms to 7d"),
    (["work"], "which command?"),
    (["work", "--exec", ""], "--exec is empty"),
    (["work", "--exec", "true", "--", "true"], "which command?"),
    (["work", "true"], "'true' is not an option"),
    (["work", "--", "no-such-command-here"], "there is no command 'no-such-command-here'"),
    (["work", "--exec", "true", "--lease", "10ms"], "--lease must be from 1s to 7d"),
    (["work", "--exec", "true", "--concurrency", "0"], "--concurrency must be"),
    (["work", "--exec", "true", "--once", "--max", "3"], "--once goes with neither"),
    (["retry"], "which messages?"),
    (["cancel"], "which messages?"),
    (["purge"], "which messages?"),
    (["purge", "1", "--all"], "not both"),
    (["purge", "x", "--yes"], "'x' is neither"),
    (["retry", "--state", "done", "--yes"], "retry works on failed, expired, cancelled"),
    (["cancel", "--state", "failed", "--yes"], "cancel works on ready, in_progress"),
    (["purge", "--state", "ready", "--yes"], "purge works on done, failed, expired, cancelled"),
    (["migrate", "--print", "--dry-run"], "exclude each other"),
    (["migrate", "--from", "1"], "go with --print only"),
    (["migrate", "--print", "--engine", "oracle"], "must be sqlite or postgres"),
    (["migrate", "up"], "'up'"),
    (["init", "now"], "'now'"),
    (["stats", "mail"], "'mail'"),
    (["help", "ls", "show"], "one verb at a time"),
])
def test_bad_input_is_refused_with_a_reason(args, said, tmp_path):
    result = run_pawl("--db", f"sqlite:{tmp_path}/none.db", *args)
    refused(result, 64, said, "Try 'pawl")
    assert result.stdout == b""
    as_json = run_pawl("--json", "--db", f"sqlite:{tmp_path}/none.db", *args)
    error = json.loads(as_json.stderr)["error"]
    assert error["status"] == "PAWL_E_INVALID" and error["retryable"] is False
    assert said in error["message"]
    assert as_json.returncode == 64 and as_json.stdout == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [["init"], ["migrate"], ["send", "t"], ["ls"], ["show", "1"],
                                  ["stats"], ["cancel", "1", "--yes"], ["retry", "--all", "--yes"],
                                  ["purge", "--all", "--yes"], ["work", "--exec", "true"]])
def test_without_a_database_an_example_is_shown(args):
    refused(run_pawl(*args), 64, "--db URL", "PAWL_DATABASE_URL", "--db sqlite:app.db")


def test_the_database_may_come_from_the_environment(db):
    result = run_pawl("stats", "--json", *db.schema_options, PAWL_DATABASE_URL=db.url)
    assert result.returncode == 0 and json.loads(result.stdout) == []


def test_options_may_stand_anywhere(db):
    for args in [["--json", "--topic", "t", "ls"], ["ls", "--json", "--topic", "t"],
                 ["--topic=t", "ls", "--json"], ["-t", "t", "ls", "--json"]]:
        assert json.loads(db.run(*args).stdout) == []
    db.run("send", "t", "--", "--priority")
    assert db.show(1)["payload"] == "--priority"
    db.run("send", "t", "--", "-")
    assert db.show(2)["payload"] == "-"


def test_a_full_disk_is_not_silent(db):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        result = subprocess.run([PAWL, "version"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 74 and b"cannot write" in result.stderr


# ---- version, init, migrate ----


def test_version():
    document = json.loads(run_pawl("version", "--json").stdout)
    assert document["program"] == document["library"]
    assert "sqlite" in document["engines"]
    assert run_pawl("--version").stdout == run_pawl("version").stdout
    assert document["program"] in run_pawl("-V").stdout.decode()


def test_init_says_what_it_did(empty_db):
    assert "Created the schema, version " in empty_db.text("init")
    assert "nothing to do" in empty_db.text("init")
    assert empty_db.json("init")["action"] == "none"


def test_init_json_on_an_empty_database(empty_db):
    document = empty_db.json("init")
    assert document["action"] == "create" and document["from"] == 0 and document["to"] >= 1
    assert document["engine"] == empty_db.engine


def test_verbs_on_a_database_without_tables(empty_db):
    if empty_db.engine == "sqlite":
        sqlite3.connect(empty_db.folder / "app.db").execute("CREATE TABLE mine (x)")
    for args in [["send", "t"], ["ls"], ["show", "1"], ["stats"], ["migrate"],
                 ["work", "--exec", "true"], ["purge", "--all", "--yes"]]:
        refused(empty_db.raw(*args), 78, "pawl init")


def test_a_missing_sqlite_file_is_not_created(tmp_path):
    for args in [["ls"], ["send", "t"], ["work", "--exec", "true"]]:
        result = run_pawl("--db", f"sqlite:{tmp_path}/none.db", *args)
        assert result.returncode in (66, 78) and b"pawl:" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_database(tmp_path):
    if "postgres" not in json.loads(run_pawl("version", "--json").stdout)["engines"]:
        pytest.skip("PostgreSQL is not built in")
    url = f"host={tmp_path} dbname=none"
    refused(run_pawl("--db", url, "ls"), 69, "pawl: ")
    error = json.loads(run_pawl("--db", url, "ls", "--json").stderr)["error"]
    assert error["status"] == "PAWL_E_UNAVAILABLE" and error["retryable"] is True


def test_migrate(db):
    assert "nothing to do" in db.text("migrate")
    assert "nothing to do" in db.text("migrate", "--dry-run")
    document = db.json("migrate", "--dry-run")
    assert document["action"] == "none" and document["dry_run"] is True
    assert "CREATE" not in db.text("migrate", "--print")


def test_migrate_leaves_an_empty_database_alone(empty_db):
    refused(empty_db.raw("migrate", "--dry-run"), 78, "pawl init")
    assert "CREATE TABLE" in empty_db.text("migrate", "--print")
    assert empty_db.raw("ls").returncode in (66, 78)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_migrate_prints_without_a_database(engine):
    result = run_pawl("migrate", "--print", "--engine", engine)
    if result.returncode == 69:
        pytest.skip(f"{engine} is not built in")
    assert result.returncode == 0 and b"CREATE TABLE" in result.stdout
    document = json.loads(run_pawl("migrate", "--print", "--engine", engine, "--json").stdout)
    assert document["engine"] == engine and document["from"] == 0
    assert document["sql"].encode() == result.stdout


def test_printed_sql_makes_the_schema(tmp_path):
    sql = run_pawl("migrate", "--print", "--engine", "sqlite", "--prefix", "q_").stdout.decode()
    sqlite3.connect(tmp_path / "app.db").executescript(sql)
    url = f"sqlite:{tmp_path}/app.db"
    assert run_pawl("--db", url, "--prefix", "q_", "send", "t").returncode == 0
    assert run_pawl("--db", url, "ls").returncode == 78


# ---- send, show, ls, stats ----


def test_send_and_show(db):
    said = db.text("send", "mail", "hello")
    assert re.match(r"Sent: work id 1, message id [0-9a-f-]{36}\n$", said)
    message_id = said.split()[-1]
    page = db.text("show", "1")
    for text in ["mail", "ready", message_id, "0 of 10", "hello", "5 bytes", "now ("]:
        assert text in page
    assert db.text("show", message_id).split("created")[0] == page.split("created")[0]
    assert db.text("show", message_id.upper()).startswith("work id")


def test_send_takes_everything(db):
    own_id = str(uuid.uuid4())
    work_id = db.send("order", "x", "--priority", "7", "--delay", "1h30m", "--expires", "in 2d",
                      "--correlation", "c-1", "--headers", '{"n": 1, "a": "b"}', "--header", "a=c=d",
                      "--header", "e=", "--id", own_id, "--destination", "billing",
                      "--type", "command", "--max-attempts", "3", "--lease", "45s")
    message = db.show(work_id)
    assert message["message_id"] == own_id
    assert message["priority"] == 7 and message["type"] == "command"
    assert message["headers"] == {"n": 1, "a": "c=d", "e": ""}
    assert message["correlation_id"] == "c-1" and message["destination"] == "billing"
    assert message["max_attempts"] == 3 and message["payload"] == "x"
    created, due, expires = (instant(message[key]) for key in ("created_at", "due_at", "expires_at"))
    assert abs(due - created - 5400) < 1
    assert abs(expires - created - 2 * 86400) < 30
    page = db.text("show", work_id)
    for text in ["in 90m (", "billing", "c-1", "command", '"e":""']:
        assert text in page


@pytest.mark.parametrize("text, utc", [
    ("2046-01-01T09:00+01:00", "2046-01-01T08:00:00.000000Z"),
    ("2046-01-01T09:00Z", "2046-01-01T09:00:00.000000Z"),
    ("2046-01-01 09:00:30.25-0530", "2046-01-01T14:30:30.250000Z"),
    ("2044-02-29t23:59:59z", "2044-02-29T23:59:59.000000Z"),
])
def test_send_at(db, text, utc):
    assert db.show(db.send("t", "", "--at", text))["due_at"] == utc


def test_send_at_in_words(db):
    message = db.show(db.send("t", "", "--at", "in 5m"))
    assert abs(instant(message["due_at"]) - instant(message["created_at"]) - 300) < 1
    message = db.show(db.send("t", "", "--at", "now"))
    assert abs(instant(message["due_at"]) - instant(message["created_at"])) < 1


def test_send_is_idempotent_by_id(db):
    own_id = str(uuid.uuid4())
    first = db.json("send", "t", "x", "--id", own_id)
    again = db.json("send", "t", "x", "--id", own_id)
    assert first == {"work_id": 1, "message_id": own_id, "existed": False}
    assert again == {"work_id": 1, "message_id": own_id, "existed": True}
    assert db.text("send", "t", "x", "--id", own_id).startswith("Already there: work id 1,")
    refused(db.raw("send", "t", "other", "--id", own_id), 65, "pawl: ")
    refused(db.raw("send", "u", "x", "--id", own_id, "--json"), 65, "PAWL_E_CONFLICT")


def test_what_the_library_refuses(db):
    refused(db.raw("send", ""), 64, "topic")
    refused(db.raw("send", "t" * 256), 64, "topic")
    refused(db.raw("send", "t", "--correlation", "c" * 256), 64, "correlation")
    assert db.json("ls") == []


def test_binary_payload_from_stdin(db):
    payload = bytes(range(256)) * 8
    message = db.show(db.send("t", payload))
    assert message["payload"] is None and message["payload_size"] == len(payload)
    assert base64.b64decode(message["payload_base64"]) == payload
    page = db.text("show", "1")
    assert "2048 bytes, not text" in page and "00 01 02 03" in page and "..." in page
    assert db.run("show", "1", "--payload").stdout == payload


def test_empty_payload_and_text_payload(db):
    assert db.show(db.send("t"))["payload"] == ""
    assert "0 bytes" in db.text("show", "1")
    db.send("t", "zeile 1\nzeile 2 ü\n".encode())
    assert "  zeile 1\n  zeile 2 ü\n" in db.text("show", "2")


def test_nothing_that_steers_a_terminal_is_printed(db):
    db.send("a\x1b[31mred", "x\x1b]0;owned\x07")
    for args in [["ls"], ["show", "1"], ["stats"]]:
        assert b"\x1b" not in db.run(*args).stdout


def test_show_cannot_write_bytes_and_json(db):
    refused(db.raw("show", "1", "--payload", "--json"), 64, "choose one")


def test_show_what_is_not_there(db):
    refused(db.raw("show", "77"), 66, "there is no message 77 here")
    missing = str(uuid.uuid4())
    result = db.raw("show", missing, "--json")
    refused(result, 66, missing)
    assert json.loads(result.stderr)["error"]["status"] == "PAWL_E_NOT_FOUND"


def test_ls(db):
    assert db.json("ls") == [] and db.run("ls").stdout == b""
    for i in range(5):
        db.send("even" if i % 2 == 0 else "odd", str(i), "--correlation", f"c{i}")
    assert [m["work_id"] for m in db.json("ls")] == [5, 4, 3, 2, 1]
    assert [m["work_id"] for m in db.json("ls", "--topic", "odd")] == [4, 2]
    assert [m["work_id"] for m in db.json("ls", "--correlation", "c2")] == [3]
    assert [m["work_id"] for m in db.json("ls", "--limit", "2")] == [5, 4]
    assert [m["work_id"] for m in db.json("ls", "--limit", "2", "--before", "4")] == [3, 2]
    assert db.json("ls", "--state", "done,failed", "--state", "dead") == []
    assert len(db.json("ls", "--state", "in-progress,ready")) == 5
    assert "payload" not in db.json("ls")[0]
    table = db.run("ls", "--limit", "2")
    assert table.stdout.decode().splitlines()[0].split() == ["ID", "TOPIC", "STATE", "TRIES", "WHEN",
                                                             "AGE", "ERROR"]
    assert b"--before 4" in table.stderr
    assert b"More" not in db.run("ls", "--limit", "5").stderr
    assert all(line == line.rstrip() for line in table.stdout.decode().splitlines())


def test_stats(db):
    for _ in range(3):
        db.send("a")
    db.send("b", "", "--delay", "1h")
    db.work("exit 65", "--topic", "a", "--max", "1")
    rows = {row["topic"]: row for row in db.json("stats")}
    assert rows["a"]["ready"] == 2 and rows["a"]["failed"] == 1 and rows["a"]["oldest_due_at"]
    assert rows["b"]["ready"] == 1 and rows["b"]["oldest_due_at"] is None
    lines = db.text("stats").splitlines()
    assert lines[0].split()[:2] == ["TOPIC", "READY"] and lines[1].startswith("a ")
    assert lines[-1].startswith("(all)") and lines[-1].split()[1] == "3"


# ---- retry, cancel, purge ----


def test_without_a_terminal_they_need_yes(db):
    db.send("t")
    for args in [["cancel", "1"], ["retry", "--all"], ["purge", "--topic", "t"]]:
        refused(db.raw(*args), 64, "not a terminal", "--yes")
    assert db.state(1) == "ready"


def test_cancel_retry_purge_by_id(db):
    message_id = db.json("send", "t")["message_id"]
    assert db.text("cancel", "1", "--dry-run") == "would be cancelled 1 (was ready)\n"
    assert db.state(1) == "ready"
    assert db.text("cancel", message_id, "--yes") == f"cancelled {message_id} (was ready)\n"
    assert db.state(1) == "cancelled"
    refused(db.raw("cancel", "1", "--yes"), 1, "1 is cancelled", "ready, in_progress")
    assert db.text("retry", "1", "--yes") == "retried 1 (was cancelled)\n"
    assert db.state(1) == "ready"
    refused(db.raw("retry", "1", "--yes"), 1, "1 is ready")
    refused(db.raw("purge", "1", "--yes"), 1, "1 is ready")
    db.run("cancel", "1", "--yes")
    document = db.json("purge", "1", "--yes")
    assert document["changed"] == 1 and document["messages"][0]["result"] == "changed"
    refused(db.raw("show", "1"), 66)


def test_unknown_ids_are_told_and_the_others_changed(db):
    db.send("t")
    result = db.raw("cancel", "1", "99", "--yes")
    refused(result, 66, "there is no message 99")
    assert db.state(1) == "cancelled"
    result = db.raw("retry", "99", "--yes", "--json")
    assert result.returncode == 66
    assert json.loads(result.stdout)["messages"] == [
        {"id": "99", "work_id": None, "result": "not_found", "state": None}]
    assert json.loads(result.stderr)["error"]["status"] == "PAWL_E_NOT_FOUND"


def test_by_filter(db):
    for _ in range(25):
        db.send("a")
    db.send("b")
    shown = db.text("cancel", "--topic", "a", "--dry-run")
    assert "25 messages would be cancelled." in shown and "... and 5 more" in shown
    document = db.json("cancel", "--topic", "a", "--dry-run")
    assert document["matching"] == 25 and document["dry_run"] is True
    assert len(document["messages"]) == 20
    assert db.text("cancel", "--topic", "a", "--yes") == "25 messages cancelled.\n"
    assert db.state(26) == "ready"
    assert db.text("retry", "--topic", "a", "--yes") == "0 messages retried.\n"
    assert db.json("retry", "--state", "cancelled", "--topic", "a", "--yes")["changed"] == 25
    assert db.json("cancel", "--all", "--yes")["changed"] == 26
    assert db.json("purge", "--all", "--older-than", "1h", "--yes")["changed"] == 0
    assert db.json("purge", "--all", "--yes") == {"verb": "purge", "dry_run": False, "changed": 26}
    assert db.json("ls") == []


# ---- work ----


def test_a_command_that_succeeds_acks(db):
    work_id = db.send("t", "hello")
    counts = db.work("cat > got")
    assert counts == {"claimed": 1, "done": 1, "abandoned": 0, "failed": 0, "released": 0,
                      "dropped": 0}
    assert (db.folder / "got").read_text() == "hello"
    message = db.show(work_id)
    assert message["state"] == "done" and message["attempts"] == 1
    assert message["processed_by"] and message["finished_at"]


def test_without_a_shell(db):
    db.send("t", "hello")
    result = db.run("work", "--until-empty", "--", "tee", "a b", "$HOME")
    assert result.stdout == b"hello"
    assert (db.folder / "a b").read_text() == (db.folder / "$HOME").read_text() == "hello"


def test_exit_status_65_fails_for_good(db):
    with_words, without = db.send("t", "1"), db.send("t", "2")
    db.work('read x; if [ $PAWL_WORK_ID = 1 ]; then echo "bad input" >&2; fi; exit 65')
    assert db.state(with_words) == db.state(without) == "failed"
    assert db.show(with_words)["last_error"] == "bad input"
    assert db.show(without)["last_error"] == "exit status 65"
    assert [m["work_id"] for m in db.json("ls", "--state", "dead")] == [2, 1]


def test_other_statuses_abandon_with_the_end_of_stderr(db):
    noisy, silent, killed = db.send("noisy"), db.send("silent"), db.send("killed")
    result = db.raw("work", "--until-empty", "--concurrency", "3", "--exec", """
        case $PAWL_TOPIC in
        noisy) i=0; while [ $i -lt 1000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1;;
        silent) exit 3;;
        killed) kill -9 $$;;
        esac""")
    assert result.returncode == 0 and b"line 0\n" in result.stderr  # and it passes through
    message = db.show(noisy)
    assert message["state"] == "ready" and message["retries"] == 1
    assert message["last_error"].endswith("line 999") and len(message["last_error"]) <= 2048
    assert "line 0\n" not in message["last_error"]
    assert instant(message["next_attempt_at"]) > instant(message["created_at"]) + 0.9
    assert db.show(silent)["last_error"] == "exit status 3"
    assert db.show(killed)["last_error"] == "killed by signal 9"
    assert "next in " in db.text("ls") or "next now" in db.text("ls")


def test_the_last_attempt_fails(db):
    work_id = db.send("t", "", "--max-attempts", "1")
    assert db.work("exit 1")["abandoned"] == 1
    assert db.state(work_id) == "failed"


def test_strange_bytes_in_stderr_are_stored_as_text(db):
    work_id = db.send("t")
    db.work(r"printf 'a\377\000\033[31mb\303\274' >&2; exit 1")
    assert db.show(work_id)["last_error"] == "a\ufffd  [31mbü"


def test_environment(db):
    message_id = db.json("send", "mail", "--correlation", "c 1", "--header", "k=v", "--priority",
                         "3", "--type", "command", "--max-attempts", "4")["message_id"]
    db.run("work", "--once", "--exec", "env > env.txt", PAWL_HEADERS="stale")
    got = dict(line.split("=", 1) for line in (db.folder / "env.txt").read_text().splitlines()
               if "=" in line)
    assert got["PAWL_ID"] == message_id and got["PAWL_WORK_ID"] == "1"
    assert got["PAWL_TOPIC"] == "mail" and got["PAWL_TYPE"] == "command"
    assert got["PAWL_ATTEMPT"] == "1" and got["PAWL_MAX_ATTEMPTS"] == "4"
    assert got["PAWL_PRIORITY"] == "3" and int(got["PAWL_FENCE"]) > 0
    assert got["PAWL_CORRELATION_ID"] == "c 1"
    assert json.loads(got["PAWL_HEADERS"]) == {"k": "v"}
    db.send("plain")
    db.run("work", "--once", "--exec", "env > env.txt", PAWL_HEADERS="stale",
           PAWL_CORRELATION_ID="stale")
    assert "stale" not in (db.folder / "env.txt").read_text()


def test_the_attempt_is_counted_in_the_environment(db):
    db.send("t")
    db.run("work", "--max", "2", "--poll", "10ms", "--exec",
           "echo $PAWL_ATTEMPT >> tries; [ $PAWL_ATTEMPT = 2 ]")
    assert (db.folder / "tries").read_text() == "1\n2\n"
    assert db.show(1)["attempts"] == 2 and db.state(1) == "done"


def test_large_binary_payload(db):
    payload = secrets.token_bytes(1 << 20)
    db.send("t", payload)
    assert db.work("cat > got")["done"] == 1
    assert (db.folder / "got").read_bytes() == payload
    assert db.run("show", "1", "--payload").stdout == payload


def test_a_command_that_ignores_its_stdin(db):
    payload = secrets.token_bytes(1 << 20)
    for _ in range(3):
        db.send("t", payload)
    assert db.work("exec <&-; true")["done"] == 3


def test_a_command_that_leaves_something_running(db, gate):
    """The worker does not wait for what a command put into the background."""
    db.send("t")
    assert db.work(f"({gate.wait}) > /dev/null & true")["done"] == 1
    gate.open()


def test_stdout_passes_through_and_stays_clean_with_json(db):
    db.send("t", "x")
    assert db.run("work", "--once", "--exec", "echo said").stdout == b"said\n"
    db.send("t", "y")
    result = db.run("work", "--once", "--json", "--exec", "echo said")
    assert json.loads(result.stdout)["done"] == 1 and b"said\n" in result.stderr


def test_once_and_max(db):
    assert db.raw("work", "--once", "--exec", "true").returncode == 1
    for _ in range(5):
        db.send("t")
    assert db.json("work", "--once", "--exec", "true")["claimed"] == 1
    assert db.json("work", "--max", "3", "--concurrency", "2", "--exec", "true")["claimed"] == 3
    assert len(db.json("ls", "--state", "ready")) == 1


def test_topics(db):
    for topic in ["a", "b", "c"]:
        db.send(topic)
    assert db.work("true", "--topic", "a", "--topic", "c")["done"] == 2
    assert [m["topic"] for m in db.json("ls", "--state", "ready")] == ["b"]


def test_priority_first(db):
    for priority in [0, 9, 5]:
        db.send("t", str(priority), "--priority", priority)
    db.work("cat >> order")
    assert (db.folder / "order").read_text() == "950"


def test_concurrency(db, gate):
    """Two commands that only end when both run at the same time."""
    db.send("t", "1")
    db.send("t", "2")
    counts = db.work(f"if [ $PAWL_WORK_ID = 1 ]; then echo x > {gate.path}; else {gate.wait}; fi",
                     "--concurrency", "2")
    assert counts["done"] == 2


def test_one_line_per_message_when_verbose_never_the_payload(db):
    db.send("mail", "geheim")
    result = db.run("work", "--until-empty", "--verbose", "--exec", "true")
    assert re.search(r"1 mail: done \(attempt 1/10, \d+ ms\)", result.stderr.decode())
    assert b"geheim" not in result.stderr
    db.send("mail", "geheim")
    assert db.run("work", "--until-empty", "--exec", "true").stderr == b""


def test_the_lease_is_renewed_while_the_command_runs(db, start, gate):
    work_id = db.send("t")
    worker = start("--once", "--lease", "1s", "--exec", gate.wait)
    first = until(lambda: db.show(work_id)["lease_until"])
    second = until(lambda: (now := db.show(work_id)["lease_until"]) != first and now)
    until(lambda: db.show(work_id)["lease_until"] != second)
    gate.open()
    assert worker.end()[0] == 0
    message = db.show(work_id)
    assert message["state"] == "done" and message["retries"] == 0


def test_a_short_lease_of_the_message_itself_is_renewed(db, start, gate):
    work_id = db.send("t", "", "--lease", "600ms")
    worker = start("--once", "--lease", "60s", "--exec", gate.wait)
    first = until(lambda: db.show(work_id)["lease_until"])
    until(lambda: db.show(work_id)["lease_until"] != first)
    gate.open()
    assert worker.end()[0] == 0 and db.show(work_id)["retries"] == 0


def test_a_cancelled_message_ends_its_command(db, start, gate):
    work_id = db.send("t")
    worker = start("--once", "--lease", "1s", "--json", "--exec",
                   f"sh -c 'echo $$ > pid; {gate.wait}' ; true")
    until(lambda: db.state(work_id) == "in_progress")
    pid = int(until(lambda: (db.folder / "pid").exists() and (db.folder / "pid").read_text()))
    db.run("cancel", work_id, "--yes")
    code, out, err = worker.end()
    assert code == 0 and json.loads(out)["dropped"] == 1
    assert "result dropped" in err and "no longer ours" in err
    assert db.state(work_id) == "cancelled"
    until(lambda: not alive(pid))  # the whole process group is gone, not only the shell


def test_run_timeout(db, gate):
    work_id = db.send("t")
    assert db.work(gate.wait, "--run-timeout", "100ms")["abandoned"] == 1
    assert db.show(work_id)["last_error"] == "ran longer than 100ms"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_releases_what_is_not_finished(db, start, gate, number, code):
    work_id = db.send("t")
    worker = start("--grace", "0", "--json", "--exec", gate.wait)
    until(lambda: db.state(work_id) == "in_progress")
    worker.signal(number)
    ended, out, _ = worker.end()
    assert ended == code and json.loads(out)["released"] == 1
    message = db.show(work_id)
    assert message["state"] == "ready" and message["retries"] == 0 and message["attempts"] == 0


def test_a_signal_lets_running_commands_finish(db, start, gate):
    first, second = db.send("t"), db.send("t")
    worker = start("--verbose", "--grace", "1h", "--exec", gate.wait)
    until(lambda: db.state(first) == "in_progress")
    worker.signal(signal.SIGTERM)
    worker.hear("stopping; running commands have 1h to finish")
    gate.open()
    assert worker.end()[0] == 0
    assert db.state(first) == "done" and db.state(second) == "ready"


def test_a_second_signal_ends_at_once(db, start, gate):
    work_id = db.send("t")
    worker = start("--verbose", "--grace", "1h", "--exec", f"trap '' TERM INT; {gate.wait}")
    until(lambda: db.state(work_id) == "in_progress")
    worker.signal(signal.SIGTERM)
    worker.hear("stopping")
    worker.signal(signal.SIGTERM)
    code, _, err = worker.end()
    assert code == 0 and "released" in err
    assert db.state(work_id) == "ready" and db.show(work_id)["retries"] == 0


def test_an_idle_worker_stops_on_a_signal(db, start):
    worker = start("--exec", "true")
    db.send("t")
    until(lambda: db.state(1) == "done")  # so it runs
    worker.signal(signal.SIGTERM)
    assert worker.end()[0] == 0


def test_a_killed_worker_loses_nothing(db, start, gate):
    work_id = db.send("t", "payload")
    worker = start("--lease", "1s", "--exec", gate.wait)
    until(lambda: db.state(work_id) == "in_progress")
    worker.kill()
    gate.open()
    counts = db.json("work", "--max", "1", "--exec", "cat > got")
    assert counts["done"] == 1 and (db.folder / "got").read_text() == "payload"
    message = db.show(work_id)
    assert message["state"] == "done" and message["retries"] == 1


def test_two_workers_share_the_messages(db, start):
    for _ in range(20):
        db.send("t")
    workers = [start("--until-empty", "--json", "--concurrency", "2", "--exec", "true")
               for _ in range(2)]
    results = [worker.end() for worker in workers]
    assert [code for code, _, _ in results] == [0, 0], results
    assert sum(json.loads(out)["done"] for _, out, _ in results) == 20


def test_a_result_waits_for_a_busy_database(tmp_path, gate):
    """SQLite only: somebody else holds the write lock when the command ends."""
    db = Database("sqlite", f"sqlite:{tmp_path}/app.db", [], tmp_path)
    db.run("init")
    work_id = db.send("t")
    worker = db.start("--once", "--timeout", "100ms", "--lease", "1h", "--exec", gate.wait)
    try:
        until(lambda: db.state(work_id) == "in_progress")
        other = sqlite3.connect(tmp_path / "app.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        gate.open()
        worker.hear("trying again until it works")
        other.execute("ROLLBACK")
        worker.hear("the database answers again")
        code, _, err = worker.end()
        assert code == 0 and err.count("trying again") == 1
        assert db.state(work_id) == "done"
    finally:
        worker.kill()


def test_a_command_that_cannot_start_counts_no_attempt(db):
    work_id = db.send("t")
    tool = db.folder / "tool"
    tool.write_bytes(b"\x7fELF-but-not-really")
    tool.chmod(0o755)
    refused(db.raw("work", "--once", "--", "./tool"), 74, "cannot start './tool'")
    assert db.state(work_id) == "ready" and db.show(work_id)["retries"] == 0


# ---- on a terminal ----


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


def terminal(db, *args, **options):
    return on_terminal(["--db", db.url, *db.schema_options, *args], cwd=db.folder, **options)


def test_colour_on_a_terminal_only(db):
    db.send("t")
    assert "\x1b[34mready\x1b[0m" in terminal(db, "ls")[1]
    assert "\x1b[" not in terminal(db, "ls", NO_COLOR="1")[1]
    assert "\x1b[" not in terminal(db, "ls", TERM="dumb")[1]
    assert b"\x1b[" not in db.run("ls", TERM="xterm").stdout
    assert "\x1b[" not in terminal(db, "show", "1", "--json")[1]
    assert "\x1b[31m" in terminal(db, "show", "99")[1]


def test_errors_are_cut_to_the_terminal(db):
    db.send("t")
    db.work("yes word | head -c 400 | tr '\\n' ' ' >&2; exit 65")
    _, shown = terminal(db, "ls", NO_COLOR="1")
    row = shown.splitlines()[1]
    assert len(row) == 80 and row.endswith("…")
    assert len(db.text("ls").splitlines()[1]) > 400


def test_confirmation_on_a_terminal(db):
    db.send("t")
    code, shown = terminal(db, "cancel", "1", answer=b"n\n")
    assert code == 1 and "Cancel 1 message?" in shown and "nothing was changed" in shown
    assert db.state(1) == "ready"
    code, shown = terminal(db, "cancel", "1", answer=b"\n")
    assert code == 1 and db.state(1) == "ready"
    code, shown = terminal(db, "cancel", "1", answer=b"y\n")
    assert code == 0 and "cancelled 1 (was ready)" in shown
    code, shown = terminal(db, "purge", "--all", answer=b"yes\n")
    assert code == 0 and "Purge 1 message?" in shown and "1 message purged." in shown


def test_a_payload_typed_at_a_terminal(db):
    code, shown = terminal(db, "send", "t", "-", answer=b"typed\n\x04")
    assert code == 0 and "reading the payload from the terminal" in shown
    assert db.show(1)["payload"] == "typed\n"


def test_work_talks_on_a_terminal(db):
    db.send("mail", "geheim")
    code, shown = terminal(db, "work", "--until-empty", "--exec", "true")
    assert code == 0 and "1 mail: \x1b[32mdone\x1b[0m (attempt 1/10" in shown
    assert "worked on 1 message, 1 done" in shown and "geheim" not in shown
