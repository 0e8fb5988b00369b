"""The program from outside: the command line, and every verb but work."""

import base64
import json
import pathlib
import re
import sqlite3
import subprocess
import uuid

import pytest

from conftest import psql
from program import PAWL, instant, refused, run_pawl

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md"
VERBS = ["init", "migrate", "grant", "send", "work", "ls", "show", "retry", "cancel", "purge", "timer", "topic", "inbox",
         "lock", "lease", "job", "stats", "version", "help"]


# ---- the command line itself ----


def test_without_arguments_it_explains_itself():
    result = run_pawl()
    assert result.returncode == 64
    assert b"Usage" in result.stderr and b"send" in result.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_has_options_and_examples(verb):
    result = run_pawl(verb, "--help")
    assert result.returncode == 0
    text = result.stdout.decode()
    for part in ["Usage", "Common options", "Examples", "Exit codes", f"pawl {verb}", "--json"]:
        assert part in text
    assert 2 <= len(re.findall(r"^  pawl ", text.split("Examples")[1], re.M)) <= 3
    assert run_pawl("help", verb).stdout.decode() == text
    assert all(len(line) < 100 for line in text.splitlines())


@pytest.mark.parametrize("verb", VERBS)
def test_the_manual_knows_every_option(verb):
    manual = DOCS.read_text()
    section = re.search(rf"^### {verb}\b.*?(?=^##)", manual + "\n##", re.M | re.S)
    assert section, f"no section for {verb}"
    own = run_pawl(verb, "--help").stdout.decode().split("Common options")[0]
    for option in re.findall(r"^  (?:-\w, |    )?(--[\w-]+)", own, re.M):
        assert option in section.group(0), option


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
def test_unknown_names_get_a_suggestion(args, nearest):
    refused(run_pawl(*args), 64, nearest, "--help")


@pytest.mark.parametrize("args, said", [
    (["xyzzy"], "unknown verb 'xyzzy'"),
    (["ls", "--frobnicate"], "ls has no option --frobnicate"),
    (["ls", "--limit"], "--limit needs a value: --limit N"),
    (["ls", "--limit", "x"], "--limit must be an integer from 1 to"),
    (["ls", "--limit", "0"], "--limit must be"),
    (["ls", "--json=yes"], "--json takes no value"),
    (["ls", "--timeout", "5"], "--timeout must be a duration such as"),
    (["ls", "--timeout", "2h"], "--timeout must be from 1ms to 1h"),
    (["ls", "--state", "happy"], "unknown state 'happy'"),
    (["ls", "12"], "'pawl show 12'"),
    (["show"], "show needs a work id or a message id"),
    (["show", "1", "2"], "show needs a work id"),
    (["show", "abc"], "'abc' is neither a work id (a number) nor a message id (a UUID)"),
    (["show", "0"], "'0' is neither"),
    (["show", "99999999999999999999"], "is neither"),
    (["send"], "send needs a topic"),
    (["send", "t", "a", "b"], "quote a payload that has spaces"),
    (["send", "t", "--priority", "10"], "--priority must be an integer from 0 to 9, not '10'"),
    (["send", "t", "--delay", "5"], "--delay must be a duration"),
    (["send", "t", "--delay", "soon"], "--delay must be a duration"),
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
    (["work"], "no command given"),
    (["work", "--exec", ""], "--exec is empty"),
    (["work", "--exec", "true", "--", "true"], "no command given"),
    (["work", "true"], "'true' is not an option"),
    (["work", "--", "no-such-command-here"], "command not found: 'no-such-command-here'"),
    (["work", "--exec", "true", "--lease", "10ms"], "--lease must be from 1s to 7d"),
    (["work", "--exec", "true", "--concurrency", "0"], "--concurrency must be"),
    (["work", "--exec", "true", "--once", "--max", "3"], "--once excludes"),
    (["retry"], "no messages given"),
    (["cancel"], "no messages given"),
    (["purge"], "no messages given"),
    (["purge", "1", "--all"], "not both"),
    (["purge", "x", "--yes"], "'x' is neither"),
    (["retry", "--state", "done", "--yes"], "retry works on failed, expired, cancelled"),
    (["cancel", "--state", "failed", "--yes"], "cancel works on ready, running"),
    (["purge", "--state", "ready", "--yes"], "purge works on done, failed, expired, cancelled"),
    (["migrate", "--print", "--dry-run"], "exclude each other"),
    (["migrate", "--from", "1"], "require --print"),
    (["migrate", "--print", "--engine", "oracle"], "must be sqlite or postgres"),
    (["migrate", "up"], "'up'"),
    (["init", "now"], "'now'"),
    (["stats", "mail"], "'mail'"),
    (["help", "ls", "show"], "help takes one verb"),
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


def test_init_reports_its_result(empty_db):
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


@pytest.mark.only_on("postgres")
def test_an_unreachable_database(tmp_path):
    url = f"host={tmp_path} dbname=none"
    refused(run_pawl("--db", url, "ls"), 69, "pawl: ")
    error = json.loads(run_pawl("--db", url, "ls", "--json").stderr)["error"]
    assert error["status"] == "PAWL_E_UNAVAILABLE" and error["retryable"] is True


def test_migrate(db):
    assert "nothing to do" in db.text("migrate")
    assert "nothing to do" in db.text("migrate", "--dry-run")
    document = db.json("migrate", "--dry-run")
    assert document["action"] == "none" and document["dry_run"] is True
    assert db.text("migrate", "--print") == "-- The schema is up to date; nothing to do.\n"
    assert db.json("migrate", "--print")["from"] == document["to"]


def test_migrate_replaces_functions_of_an_older_release(empty_db):
    empty_db.run("init")
    if empty_db.engine == "sqlite":
        with sqlite3.connect(empty_db.folder / "app.db") as connection:
            connection.execute("UPDATE pawl_meta SET code_release = 0")
    else:
        psql(f"UPDATE {empty_db.schema_options[1]}.meta SET code_release = 0")
    assert "Would replace the functions and views" in empty_db.text("migrate", "-n")
    assert "CREATE VIEW" in empty_db.text("migrate", "--print").replace("OR REPLACE ", "")
    document = empty_db.json("migrate")
    assert document["action"] == "replace-functions" and document["from"] == document["to"]
    assert "nothing to do" in empty_db.text("migrate")


def test_reset_clock(db):
    assert "not ahead; nothing to do" in db.text("migrate", "--reset-clock")
    assert db.json("migrate", "--reset-clock", "--dry-run")["action"] == "none"
    refused(db.raw("migrate", "--force"), 64, "--force requires --reset-clock")
    refused(db.raw("migrate", "--reset-clock", "--print"), 64, "exclude each other")


def test_migrate_does_not_change_an_empty_database(empty_db):
    refused(empty_db.raw("migrate", "--dry-run"), 78, "pawl init")
    assert "CREATE TABLE" in empty_db.text("migrate", "--print")
    assert empty_db.raw("ls").returncode in (66, 78)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_migrate_prints_without_a_database(engine):
    result = run_pawl("migrate", "--print", "--engine", engine)
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
                      "--type", "command", "--max-attempts", "3", "--lease", "45s",
                      "--ordering-key", "customer 17", "--unique-key", "u-1", "--tag", "a", "--tag", "b c")
    message = db.show(work_id)
    assert message["ordering_key"] == "customer 17" and message["unique_key"] == "u-1"
    assert message["tags"] == ["a", "b c"] == db.json("ls")[0]["tags"]
    assert message["message_id"] == own_id
    assert message["priority"] == 7 and message["type"] == "command"
    assert message["headers"] == {"n": 1, "a": "c=d", "e": ""}
    assert message["correlation_id"] == "c-1" and message["destination"] == "billing"
    assert message["max_attempts"] == 3 and message["payload"] == "x"
    created, due, expires = (instant(message[key]) for key in ("created_at", "due_at", "expires_at"))
    assert abs(due - created - 5400) < 1
    assert abs(expires - created - 2 * 86400) < 30
    page = db.text("show", work_id)
    for text in ["in 90m (", "billing", "c-1", "command", '"e":""', "customer 17", "u-1", "a, b c"]:
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
    assert db.text("send", "t", "x", "--id", own_id).startswith("Exists: work id 1,")
    refused(db.raw("send", "t", "other", "--id", own_id), 65, "pawl: ")
    refused(db.raw("send", "u", "x", "--id", own_id, "--json"), 65, "PAWL_E_CONFLICT")


def test_arguments_that_the_library_refuses(db):
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


def test_no_control_character_reaches_the_terminal(db):
    db.send("a\x1b[31mred", "x\x1b]0;owned\x07")
    for args in [["ls"], ["show", "1"], ["stats"]]:
        assert b"\x1b" not in db.run(*args).stdout


def test_show_says_once_when_the_next_attempt_is(db):
    work_id = db.send("t")
    db.run("work", "--once", "--exec", "exit 1")
    assert db.text("show", work_id).count("next attempt") == 1


def test_show_cannot_write_bytes_and_json(db):
    refused(db.raw("show", "1", "--payload", "--json"), 64, "choose one")


def test_show_what_is_not_there(db):
    refused(db.raw("show", "77"), 66, "message 77 does not exist")
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
    assert len(db.json("ls", "--state", "running,ready")) == 5
    assert "payload" not in db.json("ls")[0]
    table = db.run("ls", "--limit", "2")
    assert table.stdout.decode().splitlines()[0].split() == ["ID", "TOPIC", "STATE", "ATTEMPTS", "WHEN",
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
    refused(db.raw("cancel", "1", "--yes"), 1, "1 is cancelled", "ready, running")
    assert db.text("retry", "1", "--yes") == "retried 1 (was cancelled)\n"
    assert db.state(1) == "ready"
    refused(db.raw("retry", "1", "--yes"), 1, "1 is ready")
    refused(db.raw("purge", "1", "--yes"), 1, "1 is ready")
    db.run("cancel", "1", "--yes")
    document = db.json("purge", "1", "--yes")
    assert document["changed"] == 1 and document["messages"][0]["result"] == "changed"
    refused(db.raw("show", "1"), 66)


def test_unknown_ids_are_reported_and_the_others_changed(db):
    db.send("t")
    result = db.raw("cancel", "1", "99", "--yes")
    refused(result, 66, "message 99 does not exist")
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
