"""scripts/check-docs finds tests and files that the documents name and that do not exist."""

import pathlib
import subprocess
import sys

import pytest

CHECK = pathlib.Path(__file__).parents[2] / "scripts" / "check-docs"
TREE = {
    "tests/conformance/claim_test.c": "PAWL_TEST(a_claim_takes_ready_messages)\nPAWL_TEST_ON(postgres, another_claim)\n",
    "tests/e2e/test_cli_lock.py": "def test_two_commands_wait():\n    pass\n",
    "src/core/queue.c": "",
    "docs/requirements.md": "",
}


def check(folder, page, text):
    for name, content in {**TREE, page: text}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    done = subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("text", [
    "| a | claim: a_claim_takes_ready_messages, another_claim; e2e/cli_lock: two_commands_wait |",
    "| a | claim: all; conformance/claim: another_claim |",
])
def test_tests_that_exist_pass(tmp_path, text):
    assert check(tmp_path, "docs/requirements.md", text) == (0, "")


@pytest.mark.parametrize("text, missing", [
    ("| a | claim: a_claim_takes_what_is_ready |", "claim has no test a_claim_takes_what_is_ready"),
    ("| a | claim: all; claim: another_claim, a_third_claim |", "claim has no test a_third_claim"),
    ("| a | e2e/cli_lock: two_take_turns |", "e2e/cli_lock has no test two_take_turns"),
])
def test_a_missing_test_is_found_with_its_line(tmp_path, text, missing):
    assert check(tmp_path, "docs/requirements.md", f"# Requirements\n{text}\n") == (1, f"docs/requirements.md:2: {missing}\n")


def test_a_missing_file_is_found_with_its_line(tmp_path):
    assert check(tmp_path, "docs/internals/queue.md", "`queue.c` and `src/core/queue.c`\n`src/core/look.c`\n") == (
        1, "docs/internals/queue.md:2: there is no file src/core/look.c\n")
