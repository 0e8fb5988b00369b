"""pawl job next: what a schedule means, and when it fires. It needs no database."""

import json

import pytest

from program import refused, run_pawl


def fires(*args):
    result = run_pawl("--json", "job", "next", *args)
    assert result.returncode == 0, result
    return json.loads(result.stdout)


def test_a_schedule_is_explained_and_its_fires_are_shown():
    result = run_pawl("job", "next", "30 2 * * MON-FRI", "--tz", "Europe/Berlin", "-n", "3",
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
    assert len(document["fires"]) == 10
    assert document["zone"] == "UTC"
    assert all(fire["at"] > document["from"] for fire in document["fires"])


def test_what_clock_changes_move_skip_and_repeat_is_marked():
    moved, plain = fires("30 2 * * *", "--tz", "Europe/Berlin", "-n", "2", "--from", "2026-03-28T12:00Z")["fires"]
    assert moved == {"at": "2026-03-29T01:00:00.000000Z", "local": "2026-03-29T03:00:00+02:00",
                     "abbreviation": "CEST", "kind": "moved", "written": "2026-03-29T02:30:00", "skipped": 0}
    assert plain["kind"] == "plain"
    once, = fires("30 2 * * *", "--tz", "Europe/Berlin", "-n", "1", "--from", "2026-10-24T12:00Z")["fires"]
    assert once["kind"] == "once"
    kinds = [fire["kind"] for fire in fires("*/30 2 * * *", "--tz", "Europe/Berlin", "-n", "4",
                                            "--from", "2026-10-24T12:00Z")["fires"]]
    assert kinds == ["plain", "plain", "again", "again"]
    skipped, = fires("*/30 2 * * *", "--tz", "Europe/Berlin", "-n", "1", "--from", "2026-03-28T12:00Z")["fires"]
    assert skipped["skipped"] == 2
    text = run_pawl("job", "next", "0,30 2 * * *", "--tz", "Europe/Berlin", "-n", "1",
                    "--from", "2026-03-28T12:00Z").stdout.decode()
    assert "moved: a clock change skips 2026-03-29 02:00:00 and 1 more time" in text


def test_intervals_count_from_the_given_time():
    document = fires("every", "90m", "-n", "2", "--from", "2026-01-01T00:10Z")
    assert [fire["local"] for fire in document["fires"]] == ["2026-01-01T01:40:00+00:00",
                                                             "2026-01-01T03:10:00+00:00"]
    assert document["keeps_rhythm"] is True


@pytest.mark.parametrize("args, code, said", [
    (["job"], 64, "pawl job next SCHEDULE"),
    (["job", "nxet", "@daily"], 64, "did you mean 'next'"),
    (["job", "next"], 64, "which schedule?"),
    (["job", "next", "30 25 * * *"], 64, "column 4 of the schedule: the hour must be 0 to 23, not 25"),
    (["job", "next", "0 0 31 2 *"], 64, "never fire"),
    (["job", "next", "*/90 * * * *"], 64, "every 90m"),
    (["job", "next", "every -1m"], 64, "negative"),
    (["job", "next", "@daily", "--tz", "Europe/Berln"], 66, "did you mean 'Europe/Berlin'?"),
    (["job", "next", "@daily", "--tz", "../UTC"], 64, "cannot be the name of a time zone"),
    (["job", "next", "@daily", "--from", "tomorrow"], 64, "--from must be a time"),
    (["job", "next", "@daily", "-n", "0"], 64, "1"),
    (["job", "next", *["x" * 100] * 3], 64, "at most 255 characters"),
])
def test_what_is_wrong_is_said(args, code, said):
    refused(run_pawl(*args), code, said)
