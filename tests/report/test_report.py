"""scripts/test-report: the last line counts every case, and a skipped case has failed."""

import json
import pathlib
import subprocess
import sys

import pytest

REPORT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test-report"


@pytest.fixture
def total(tmp_path):
    """Runs `test-report total` on one program's output; its exit status, its last line, all of it."""

    def run(stdout, result="OK", stderr=""):
        logs = tmp_path / "plain" / "meson-logs"
        logs.mkdir(parents=True)
        record = {"name": "pawl:unit / program", "duration": 0.1, "result": result, "stdout": stdout, "stderr": stderr}
        (logs / "testlog.json").write_text(json.dumps(record) + "\n")
        done = subprocess.run([sys.executable, REPORT, "total", logs.parent], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1], done.stdout

    return run


def test_cases_that_pass(total):
    assert total("1..2\nok 1 - one\nok 2 - two\n")[:2] == (0, "2 passed, 0 failed")


def test_a_program_without_cases_of_its_own_is_one(total):
    assert total("hello\n")[:2] == (0, "1 passed, 0 failed")


def test_a_case_that_fails(total):
    status, last, text = total("1..2\nok 1 - one\n# why\nnot ok 2 - two\n", "FAIL")
    assert (status, last) == (1, "1 passed, 1 failed")
    assert "FAILED  plain: program: two" in text and "# why" in text


@pytest.mark.parametrize("directive", ["SKIP no reason", "skip no reason", "SKIPPED: no reason"])
def test_a_case_that_is_skipped_has_failed(total, directive):
    status, last, text = total(f"1..2\nok 1 - one\nok 2 - two # {directive}\n")
    assert (status, last) == (1, "1 passed, 1 failed")
    assert "FAILED  plain: program: two" in text and "it was skipped: " in text and "no reason" in text


def test_a_program_whose_cases_are_all_skipped_has_failed(total):
    assert total("1..1\nok 1 - one # SKIP no reason\n", "SKIP")[:2] == (1, "0 passed, 1 failed")


def test_a_program_that_skips_itself_has_failed(total):
    status, last, text = total("1..0 # SKIP a tool is missing\n", "SKIP")
    assert (status, last) == (1, "0 passed, 1 failed")
    assert "a tool is missing" in text


def test_an_exit_status_that_means_skipped_has_failed(total):
    assert total("", "SKIP")[:2] == (1, "0 passed, 1 failed")


def test_a_program_that_reports_no_case_has_failed(total):
    assert total("1..0\n")[:2] == (1, "0 passed, 1 failed")


def test_a_program_that_crashes_has_failed_once_more(total):
    status, last, text = total("1..3\nok 1 - one\n", "ERROR", "Segmentation fault")
    assert (status, last) == (1, "1 passed, 1 failed")
    assert "1 of 3 cases reported" in text and "Segmentation fault" in text
