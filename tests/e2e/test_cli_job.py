"""pawl job: recurring work, its schedule, its runs and their history."""

import json
import sqlite3
import time

import pytest

from program import instant, on_terminal, refused, run_pawl, until

# ---- next: it needs no database ----


def fires(*args):
    result = run_pawl("--json", "job", "next", *args)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def test_a_schedule_is_explained_and_its_fires_are_shown():
    result = run_pawl("job", "next", "30 2 * * MON-FRI", "--tz", "Europe/Berlin", "--count", "3",
                      "--from", "2026-01-01T00:00Z")
    assert result.returncode == 0
    lines = result.stdout.decode().splitlines()
    assert lines[0] == "at 02:30 on Monday to Friday, in Europe/Berlin"
    assert lines[2].startswith("Time zone data: 20")
    assert [line.split("  ")[0] for line in lines[-3:]] == [
        "Thu 2026-01-01 02:30:00 CET", "Fri 2026-01-02 02:30:00 CET", "Mon 2026-01-05 02:30:00 CET"]
    assert "2026-01-05 01:30:00Z" in lines[-1]


def test_ten_fires_after_now_are_the_default():
    document = fires("@daily")
    assert len(document["next_occurrences"]) == 10
    assert document["zone"] == "UTC"
    assert all(fire["at"] > document["from"] for fire in document["next_occurrences"])


def test_occurrences_moved_skipped_or_repeated_by_clock_changes_are_marked():
    moved, plain = fires("30 2 * * *", "--tz", "Europe/Berlin", "--count", "2", "--from", "2026-03-28T12:00Z")["next_occurrences"]
    assert moved == {"at": "2026-03-29T01:00:00.000000Z", "local": "2026-03-29T03:00:00+02:00",
                     "abbreviation": "CEST", "kind": "moved", "written": "2026-03-29T02:30:00", "skipped": 0}
    assert plain["kind"] == "plain"
    once, = fires("30 2 * * *", "--tz", "Europe/Berlin", "--count", "1", "--from", "2026-10-24T12:00Z")["next_occurrences"]
    assert once["kind"] == "once"
    kinds = [fire["kind"] for fire in fires("*/30 2 * * *", "--tz", "Europe/Berlin", "--count", "4",
                                            "--from", "2026-10-24T12:00Z")["next_occurrences"]]
    assert kinds == ["plain", "plain", "again", "again"]
    skipped, = fires("*/30 2 * * *", "--tz", "Europe/Berlin", "--count", "1", "--from", "2026-03-28T12:00Z")["next_occurrences"]
    assert skipped["skipped"] == 2
    text = run_pawl("job", "next", "0,30 2 * * *", "--tz", "Europe/Berlin", "--count", "1",
                    "--from", "2026-03-28T12:00Z").stdout.decode()
    assert "moved: a clock change skips 2026-03-29 02:00:00 and 1 more time" in text


def test_intervals_count_from_the_given_time():
    document = fires("every", "90m", "--count", "2", "--from", "2026-01-01T00:10Z")
    assert [fire["local"] for fire in document["next_occurrences"]] == ["2026-01-01T01:40:00+00:00",
                                                             "2026-01-01T03:10:00+00:00"]
    assert document["keeps_rhythm"] is True


@pytest.mark.parametrize("args, code, said", [
    (["job"], 64, "pawl job next SCHEDULE"),
    (["job", "nxet", "@daily"], 64, "did you mean 'next'"),
    (["job", "next"], 64, "no schedule given"),
    (["job", "next", "30 25 * * *"], 64, "column 4 of the schedule: the hour must be 0 to 23, not 25"),
    (["job", "next", "0 0 31 2 *"], 64, "never fire"),
    (["job", "next", "*/90 * * * *"], 64, "every 90m"),
    (["job", "next", "every -1m"], 64, "negative"),
    (["job", "next", "@daily", "--tz", "Europe/Berln"], 66, "did you mean 'Europe/Berlin'?"),
    (["job", "next", "@daily", "--tz", "../UTC"], 64, "cannot be the name of a time zone"),
    (["job", "next", "@daily", "--from", "tomorrow"], 64, "--from must be a time"),
    (["job", "next", "@daily", "--count", "0"], 64, "1"),
    (["job", "next", *["x" * 100] * 3], 64, "at most 255 characters"),
])
def test_schedule_errors_are_reported(args, code, said):
    refused(run_pawl(*args), code, said)


# ---- add, ls, show ----


def add(db, name, schedule, *args):
    return db.json("job", "add", name, schedule, *args)


def names(db, *args):
    return [job["name"] for job in db.json("job", "ls", *args)]


def runs(db, name, *args):
    return db.json("job", "runs", name, *args)


def test_a_job_is_created_shown_and_changed(db):
    said = db.text("job", "add", "report", "30 6 * * MON-FRI", "hello", "--topic", "mail", "--tz", "Europe/Berlin")
    assert said.startswith("Created the job 'report'.\nIt fires at 06:30 on Monday to Friday, in Europe/Berlin.\nNext: ")
    assert len(said.splitlines()) == 5
    before = db.json("job", "show", "report")
    changed = add(db, "report", "30 6 * * MON-FRI", "other", "-t", "mail", "-z", "Europe/Berlin", "--misfire", "all",
                  "--misfire-cap", "7", "--misfire-grace", "0", "--overlap", "queue", "--jitter", "5m", "--ttl", "1h",
                  "--max-attempts", "3", "--run-timeout", "2m", "--lease", "30s", "--keep", "9", "--keep-for", "30d",
                  "--priority", "4", "--header", "lang=de", "--correlation", "c-1", "--type", "command", "--disabled")
    assert changed["created"] is False and before["updated_at"] < changed["updated_at"]
    job = db.json("job", "show", "report")
    assert {key: job[key] for key in changed if key != "created"} == {key: changed[key] for key in changed if key != "created"}
    expected = {"schedule": "30 6 * * MON-FRI", "zone": "Europe/Berlin", "topic": "mail", "payload": "other",
                "misfire": "all", "misfire_cap": 7, "misfire_grace_ms": 0, "overlap": "queue", "jitter_ms": 300000,
                "ttl_ms": 3600000, "max_attempts": 3, "run_timeout_ms": 120000, "lease_ms": 30000,
                "heartbeat_ms": 10000, "keep_runs": 9, "keep_ms": 30 * 86400000, "priority": 4,
                "headers": {"lang": "de"}, "correlation_id": "c-1", "type": "command", "problem": None,
                "enabled": True, "next_occurrence_at": before["next_occurrence_at"], "unfinished": 0, "runs": []}
    assert {key: job[key] for key in expected} == expected
    assert [fire["at"] for fire in job["next_occurrences"]][0] == job["next_occurrence_at"] and len(job["next_occurrences"]) == 3
    page = db.text("job", "show", "report")
    for words in ["at 06:30 on Monday to Friday, in Europe/Berlin", "the latest 7 run, oldest first",
                  "one occurrence is queued", "30s, renewed every 10s", "2m per attempt", "by a random time up to 5m",
                  "expires", "the newest 9 runs and skips, for 30d", "none has started yet", "other"]:
        assert words in page, page


def test_options_have_defaults_and_the_payload_may_come_from_stdin(db):
    job = db.json("job", "add", "tick", "every 10m from start", "-", "--topic", "t", "--disabled", stdin=b"\x00\xff")
    assert job["created"] is True and job["enabled"] is False and job["next_due_at"] is None
    expected = {"zone": "UTC", "misfire": "once", "misfire_cap": 100, "misfire_grace_ms": 60000, "overlap": "skip",
                "jitter_ms": 0, "lease_ms": 120000, "heartbeat_ms": 30000, "run_timeout_ms": None, "keep_runs": 100}
    assert {key: job[key] for key in expected} == expected
    assert db.run("job", "show", "tick", "--payload").stdout == b"\x00\xff"
    assert "none, it is disabled" in db.text("job", "show", "tick")


def test_jobs_are_listed_by_name_and_can_be_switched(db):
    assert "There are no jobs" in db.run("job", "ls").stderr.decode()
    for name in ["c", "a", "b"]:
        add(db, name, "0 6 * * *", "-t", "t")
    assert names(db) == ["a", "b", "c"]
    assert names(db, "--limit", "1", "--after", "a") == ["b"]
    assert "--after 'b'" in db.run("job", "ls", "--limit", "2").stderr.decode()
    assert db.text("job", "disable", "a", "b") == "a disabled\nb disabled\n"
    assert db.json("job", "disable", "a", "c") == [{"job": "a", "changed": False}, {"job": "c", "changed": True}]
    lines = db.text("job", "ls").splitlines()
    assert lines[0].split() == ["JOB", "SCHEDULE", "NEXT", "LAST", "RUN", "STATE", "PROBLEM"]
    assert [line.split()[6] for line in lines[1:]] == ["disabled"] * 3
    assert db.text("job", "enable", "a") == "a enabled\n"
    assert [job["enabled"] for job in db.json("job", "ls")] == [True, False, False]
    assert "stays enabled" in db.text("job", "add", "a", "0 6 * * *", "-t", "t", "--disabled")


@pytest.mark.only_on("sqlite")  # one engine's SQL is enough to see it
def test_an_invalid_row_written_with_sql_shows_its_problem(db):
    with sqlite3.connect(db.url.removeprefix("sqlite:")) as connection:
        connection.execute("INSERT INTO pawl_job (name, schedule, topic) VALUES ('odd', '61 * * * *', 't')")
    connection.close()
    job, = db.json("job", "ls")
    assert "minute must be 0 to 59" in job["problem"] and job["next_occurrences"] == [] and job["next_due_at"] is None
    assert job["problem"] in db.text("job", "ls")
    assert job["problem"] in db.text("job", "show", "odd")


# ---- runs ----

WRITE = 'echo "$PAWL_JOB $PAWL_RUN ${PAWL_SCHEDULED_AT-none} $PAWL_TOPIC"'


def test_a_job_is_triggered_handled_and_remembered(db):
    add(db, "report", "@yearly", "x", "-t", "mail", "--header", "lang=de")
    run = db.json("job", "trigger", "report")
    assert run["waiting"] is False
    refused(db.raw("job", "trigger", "report"), 75, f"run {run['run_id']} of job 'report' is ready", "force")
    assert "Triggered: run " in db.text("job", "trigger", "report", "--force")
    assert [one["state"] for one in runs(db, "report")] == ["ready", "ready"]
    db.send("other", "not a run")
    wrote = db.run("work", "--until-empty", "--exec", WRITE).stdout.decode().splitlines()
    second, first = runs(db, "report")
    lines = [f"report {one['run_id']} none mail" for one in (first, second)]
    assert set(wrote) == {"  none other", *lines}
    assert (first["run_id"], first["message_id"]) == (run["run_id"], run["message_id"])
    assert (first["state"], first["triggered"], first["attempts"], first["output"]) == ("done", True, 1, lines[0] + "\n")
    assert first["created_at"] <= first["started_at"] <= first["ended_at"] and first["claimed_by"]
    assert db.json("job", "show", "report")["last_run_state"] == "done"
    assert "triggered manually" in db.text("job", "runs", "report")
    page = db.text("job", "runs", "report", "--output", "--limit", "1")
    assert page.startswith(f"run          {second['run_id']}, triggered manually\n") and lines[1] in page
    assert [one["run_id"] for one in runs(db, "report", "--before", second["run_id"])] == [first["run_id"]]
    assert runs(db, "report", "--state", "failed,skipped") == []
    assert len(runs(db, "report", "--state", "done", "--state", "failed")) == 2


def test_a_run_that_fails_keeps_its_error_and_an_output_is_cut_to_its_end(db):
    add(db, "bad", "@yearly", "-t", "t", "--max-attempts", "1")
    add(db, "long", "@yearly", "-t", "t")
    db.run("job", "trigger", "bad")
    db.work("echo lost; echo broken >&2; exit 1")
    run, = runs(db, "bad", "--state", "failed")
    assert (run["attempts"], run["error"], run["output"]) == (1, "broken", None)
    assert "broken" in db.text("job", "runs", "bad") and "failed" in db.text("job", "ls")
    db.run("job", "trigger", "long")
    # One byte and 40,000 characters of two bytes: the cut goes through a character.
    result = db.run("--json", "work", "--until-empty", "--exec", "printf 'x%40000s' | sed 's/ /ä/g'")
    assert len(result.stderr) == 80001  # passed on, and with --json not to stdout
    run, = runs(db, "long")
    assert run["output_size"] == 65536 and set(run["output"]) == {"ä"}


def test_a_run_may_be_queued_and_skipped_ones_are_reported(db, start, gate):
    add(db, "busy", "every 1s", "-t", "t", "--overlap", "queue")
    first = db.json("job", "trigger", "busy")["run_id"]
    waiting = db.json("job", "trigger", "busy")
    assert waiting["waiting"] is True and waiting["message_id"] is None
    refused(db.raw("job", "trigger", "busy"), 75, "waiting")
    assert "waiting" in db.text("job", "runs", "busy")
    worker = start("--verbose", "--exec", f"echo begun $PAWL_RUN >&2; {gate.wait}")
    worker.hear(f"begun {first}")
    skip = until(lambda: runs(db, "busy", "--state", "skipped"))[0]
    assert skip["reason"] == "overlap" and skip["attempts"] == 0 and skip["work_id"] is None
    assert "another run had not ended" in db.text("job", "runs", "busy", "--state", "skipped")
    db.run("job", "disable", "busy")
    gate.open()
    worker.hear(f"begun {waiting['run_id']}")
    gate.open()


def test_a_worker_starts_due_runs_unless_disabled(db, start):
    job = add(db, "tick", "every 1s", "-t", "t", "--run-timeout", "1h")
    until(lambda: instant(job["next_due_at"]) < time.time())
    db.run("work", "--no-scheduler", "--until-empty", "--exec", "true")
    assert runs(db, "tick") == []
    worker = start("--max", "1", "--exec", f"{WRITE} >&2")
    worker.hear(" t\n")
    assert worker.end()[0] == 0
    run = runs(db, "tick", "--state", "done")[-1]
    assert run["triggered"] is False and run["scheduled_at"] >= job["next_occurrence_at"]
    assert f"tick {run['run_id']} {run['scheduled_at'][:19]}" in worker.heard.decode()


def test_a_runs_own_timeout_ends_its_command(db, gate):
    add(db, "slow", "@yearly", "-t", "t", "--run-timeout", "100ms", "--max-attempts", "1")
    db.run("job", "trigger", "slow")
    db.work(gate.wait)
    run, = runs(db, "slow")
    assert run["state"] == "failed" and "longer than 100 ms" in run["error"]


# ---- rm, and what is wrong ----


def test_a_job_is_removed_with_its_history_after_a_question(db):
    add(db, "old", "@daily", "-t", "t")
    add(db, "new", "@daily", "-t", "t")
    db.run("job", "trigger", "old")
    work_id = runs(db, "old")[0]["work_id"]
    refused(db.raw("job", "rm", "old"), 64, "add --yes")
    command = ["--db", db.url, *db.schema_options, "job", "rm", "old"]
    code, shown = on_terminal(command, answer=b"n\n", cwd=db.folder)
    assert code == 1 and "Remove the job 'old' and its history (1 unfinished run)?" in shown
    assert names(db) == ["new", "old"]
    refused(db.raw("job", "rm", "new", "odl", "--yes"), 66, "unknown job 'odl'; did you mean 'old'?")
    assert names(db) == ["new", "old"]
    code, shown = on_terminal(command, answer=b"y\n", cwd=db.folder)
    assert code == 0 and "old removed, 1 run cancelled" in shown
    assert db.state(work_id) == "cancelled"
    assert db.json("job", "rm", "new", "-y") == [{"job": "new", "cancelled": 0}]
    refused(db.raw("job", "runs", "old"), 66, "unknown job 'old'; 'pawl job ls' lists them")


def test_an_unknown_job_gets_a_suggestion(db):
    add(db, "nightly", "@daily", "-t", "t")
    for action in ["show", "runs", "enable", "disable", "trigger"]:
        refused(db.raw("job", action, "nigthly"), 66, "unknown job 'nigthly'; did you mean 'nightly'?")
        refused(db.raw("job", action), 64, f"pawl job {action} report")


ADD = ["add", "j", "@daily", "-t", "t"]
WRONG = [
    (["add", "j", "30 25 * * *", "-t", "t"], "column 4 of the schedule: the hour must be 0 to 23, not 25"),
    (["add", "j", "0 0 31 2 *", "-t", "t"], "never fire"),
    (["add", "j", "every -1m", "-t", "t"], "negative"),
    ([*ADD, "--tz", "Europe/Berln"], "did you mean 'Europe/Berlin'?"),
    (["add", "n" * 101, "@daily", "-t", "t"], "101 characters; the maximum is 100"),
    (["add", "", "@daily", "-t", "t"], "1 to 100 characters"),
    (["add", "j", "@daily"], "no topic given"),
    (["add", "j", "-t", "t"], "a name, a schedule"),
    (["add", "j", "0", "6", "*", "*", "*", "-t", "t"], "quote the schedule"),
    ([*ADD, "--misfire", "al"], "--misfire must be once, all or skip, not 'al'; did you mean 'all'?"),
    ([*ADD, "--overlap", "never"], "--overlap must be skip, allow or queue, not 'never'"),
    ([*ADD, "--jitter", "-5s"], "--jitter must be a duration"),
    ([*ADD, "--lease", "500ms"], "--lease must be from 1s to 7d"),
    ([*ADD, "--lease", "10s", "--heartbeat", "10s"], "heartbeat_ms must be less than lease_ms"),
    ([*ADD, "--keep", "0"], "--keep must be"),
    ([*ADD, "--limit", "3"], "--limit is not for 'job add'"),
    (["ls", "j"], "pawl job show j"),
    (["runs", "j", "--state", "dnoe"], "did you mean 'done'?"),
    (["trigger", "j", "--yes"], "--yes is not for 'job trigger'"),
    (["rm", "--yes"], "no job given"),
]


def test_errors_are_reported_and_nothing_is_stored(db):
    for args, said in WRONG:
        refused(db.raw("job", *args), 64, said)
    assert names(db) == []
