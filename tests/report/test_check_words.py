"""scripts/check-words finds the words, where users read them and nowhere else."""

import pathlib
import subprocess
import sys

import pytest

CHECK = pathlib.Path(__file__).parents[2] / "scripts" / "check-words"


def check(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    done = subprocess.run([sys.executable, CHECK, name], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("name, text", [
    ("docs/page.md", "The first line.\nNobody holds the lease.\n"),
    ("include/pawl/noun.h", "/* a */\n/* It was put off. */\n"),
    ("src/cli/verb.c", '/* a */\nprintf("the services were read anew");\n'),
    ("src/cli/verb.c", '/* a */\nprintf("which database? Give --db");\n'),
    ("docs/page.md", "The first line.\nThe lease was taken away.\n"),
    ("sql/postgres/functions/noun.sql", "-- a\nRAISE EXCEPTION USING MESSAGE = 'somebody else has it';\n"),
])
def test_a_banned_word_is_found_with_its_line(tmp_path, name, text):
    code, out = check(tmp_path, name, text)
    assert code == 1 and out.startswith(f"{name}:2: ") and "glossary" in out


@pytest.mark.parametrize("name, text", [
    ("src/core/noun.c", "/* Nobody reads this but us. */\nint nobody;\n"),
    ("docs/internals/inbox.md", "The answer is in_progress.\n"),
    ("docs/page.md", "The lease has no owner.\n"),
    ("include/pawl/noun.h", "size_t size; /* set by PAWL_NOUN_INIT, never by hand */\n"),
    ("sql/postgres/functions/noun.sql", "-- Nobody reads this but us.\nSELECT 'nobody';\n"),
])
def test_other_text_is_not_read(tmp_path, name, text):
    assert check(tmp_path, name, text) == (0, "")
