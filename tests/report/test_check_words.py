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


# The words and phrases that the vocabulary replaces, as users would read them.
BANNED = """
nobody somebody someone anybody everybody whoever anew mends mended troubles
recipient letters ears intake settled answered held retained fold verdict fate duty crew chore housekeeping
calm wards lesson sleeper bell glance doze roused poked tenant slots requeued redriven
""".split() + """
Failed attempts come again after a growing delay
what others deliver twice has its effect once, and the second gets the first one's answer
tokens that refuse whoever was overtaken
Is it well?
## The end
## What can go wrong, and what then holds
3 services and their secrets were read anew
stopped; nothing is held any more
bank failed 5 times in a row: it is left alone for a while
nobody listens on its unix socket
the handler of topic 'T' put off message 7: it did not say why
topic: stop and go on with whole topics
stats: how much waits, runs and ended, per topic
what to do? Give a verb
look at least so often when idle
the least that is logged
of slots that nobody looked at in time run the newest
for who writes a peer in another language
a look at jobs and a delivery
Take the lease away from its owner
all the same, by turns, for ever
it gave up in a hurry
""".strip().split("\n")


@pytest.mark.parametrize("phrase", BANNED)
def test_each_replaced_phrase_is_banned(tmp_path, phrase):
    code, out = check(tmp_path, "docs/page.md", f"First.\n{phrase}\n")
    assert code == 1 and out.startswith("docs/page.md:2: ")


@pytest.mark.parametrize("name, text", [
    ("docs/page.md", "The first line.\nNobody holds the lease.\n"),
    ("include/pawl/noun.h", "/* a */\n/* It was put off. */\n"),
    ("src/cli/verb.c", '/* a */\nprintf("the services were read anew");\n'),
    ("src/cli/verb.c", '/* a */\nprintf("which database? Give --db");\n'),
    ("docs/page.md", "The first line.\nThe lease was taken away.\n"),
    ("sql/postgres/functions/noun.sql", "-- a\nRAISE EXCEPTION USING MESSAGE = 'somebody else has it';\n"),
    ("tests/conformance/noun_test.c", "/* a */\nPAWL_TEST_ON(sqlite, a_message_is_passed_over)\n"),
    ("tests/e2e/test_noun.py", "import sys\ndef test_it_fails_for_good(db):\n"),
])
def test_a_banned_word_is_found_with_its_line(tmp_path, name, text):
    code, out = check(tmp_path, name, text)
    assert code == 1 and out.startswith(f"{name}:2: ") and "glossary" in out


@pytest.mark.parametrize("name, text", [
    ("src/core/noun.c", "/* Nobody reads this but us. */\nint nobody;\n"),
    ("docs/internals/inbox.md", "The result is in_progress.\n"),
    ("docs/page.md", "The lease has no owner.\n"),
    ("docs/page.md", "A dead letter. `--count answered|all`. The callback runs with no lock held.\n"),
    ("tests/conformance/noun_test.c", "/* Nobody reads this. */\nPAWL_TEST(a_message_is_sent)\n{\n    nobody();\n}\n"),
    ("include/pawl/noun.h", "size_t size; /* set by PAWL_NOUN_INIT, never by hand */\n"),
    ("sql/postgres/functions/noun.sql", "-- Nobody reads this but us.\nSELECT 'nobody';\n"),
])
def test_other_text_is_not_read(tmp_path, name, text):
    assert check(tmp_path, name, text) == (0, "")
