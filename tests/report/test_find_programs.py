"""tests/find-programs: a program runs where it has a case, and nowhere else."""

import pathlib
import subprocess
import sys

import pytest

FIND = pathlib.Path(__file__).resolve().parents[1] / "find-programs"


@pytest.fixture
def environments(tmp_path):
    """What find-programs says of one file with these cases."""

    def run(*cases, engines=("sqlite", "postgres")):
        (tmp_path / "a_test.c").write_text("/* PAWL_TEST_ON(sqlite, ...) */\n" + "".join(f"{case}\n{{\n}}\n" for case in cases))
        done = subprocess.run([sys.executable, FIND, tmp_path, *engines, "--", "*.c"], capture_output=True, text=True, check=True)
        path, *found = done.stdout.split()
        assert path == "a_test.c"
        return found

    return run


@pytest.mark.parametrize("case, found", [
    ("PAWL_TEST(x)", ["sqlite", "postgres", "pgbouncer"]),
    ("TIMER_TEST(x)", ["sqlite", "postgres", "pgbouncer"]),
    ("PAWL_TEST_ON(sqlite, x)", ["sqlite"]),
    ("PAWL_TEST_ON(postgres, x)", ["postgres", "pgbouncer"]),
    ("PAWL_TEST_ON(postgres,\n             x)", ["postgres", "pgbouncer"]),
    ("PAWL_TEST_ON(postgres_direct, x)", ["postgres"]),
    ("PAWL_TEST_ON(one_engine, x)", ["sqlite"]),
    ("PAWL_TEST_ON(https, x)", ["sqlite", "postgres", "pgbouncer"]),
])
def test_where_a_case_exists(environments, case, found):
    assert environments(case) == found


def test_one_case_for_every_engine_is_enough(environments):
    assert environments("PAWL_TEST_ON(postgres, x)", "PAWL_TEST(y)") == ["sqlite", "postgres", "pgbouncer"]
    assert environments("PAWL_TEST_ON(sqlite, x)", "PAWL_TEST_ON(postgres_direct, y)") == ["sqlite", "postgres"]


def test_one_engine_is_the_first_that_was_built(environments):
    assert environments("PAWL_TEST_ON(one_engine, x)", engines=["postgres"]) == ["postgres", "pgbouncer"]
