"""The program on a terminal: colour, width, questions."""

import signal

import pytest

from program import PAWL, Terminal, on_terminal, picture


@pytest.fixture
def worker(db):
    started = []

    def starter(*args):
        started.append(Terminal([PAWL, "--db", db.url, *db.schema_options, "work", *args],
                                cwd=db.folder, NO_COLOR="1"))
        return started[-1]

    yield starter
    for one in started:
        one.kill()


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


def test_work_prints_progress_on_a_terminal(db):
    db.send("mail", "geheim")
    code, shown = terminal(db, "work", "--until-empty", "--exec", "true")
    assert code == 0 and "1 mail: \x1b[32mdone\x1b[0m (attempt 1/10" in shown
    assert "processed 1 message, 1 done" in shown and "geheim" not in shown


def test_a_progress_line_is_redrawn_in_place(db, worker, gate):
    db.send("mail", "geheim")
    shown = worker("--topic", "mail", "--exec", gate.wait)
    shown.see(r"(^|\r)mail: 1 running, 0 done, 0 retried, 0 failed")
    gate.open()
    shown.see(r"\r +\r1 mail: done \(attempt 1/10, \d+ ms\)\r\n")  # it goes before others come
    shown.see(r"mail: 0 running, 1 done \([\d.]+/s\), 0 retried, 0 failed")
    db.send("mail")
    shown.see(r"\rmail: 1 running, 1 done")
    shown.process.send_signal(signal.SIGINT)
    shown.see(r"\rpawl: stopping; running commands have 10s to finish \(a second signal ends them now\)\r\n")
    gate.open()
    assert shown.end() == 130
    lines = picture(shown.shown)
    assert lines[-2:] == ["pawl: processed 2 messages, 2 done.", ""]
    assert "geheim" not in shown.shown


def test_the_progress_line_mixes_with_nothing(db, worker):
    for _ in range(5):
        db.send("t")
    shown = worker("--until-empty", "--concurrency", "2", "--exec",
                   "echo out; echo err >&2; printf unfinished; [ $PAWL_WORK_ID != 3 ] || exit 65")
    assert shown.end() == 0
    lines = picture(shown.shown)
    assert lines.count("out") + lines.count("unfinishedout") == 5, lines
    for line in lines:
        assert "running" not in line, lines
    assert lines[-2:] == ["pawl: processed 5 messages, 4 done, 1 failed.", ""]


def test_no_progress_line_with_quiet_or_json(db):
    db.send("t")
    assert terminal(db, "work", "--until-empty", "--quiet", "--exec", "true") == (0, "")
    db.send("t")
    code, shown = terminal(db, "work", "--until-empty", "--json", "--exec", "true")
    assert code == 0 and "running" not in shown and '"done": 1' in shown


def test_a_narrow_terminal_cuts_the_progress_line(db, worker, gate):
    topic = "x" * 100
    db.send(topic)
    shown = worker("--topic", topic, "--exec", gate.wait)
    found = shown.see(r"\r?x+")
    assert len(found[0].strip()) == 79
    gate.open()
    shown.process.send_signal(signal.SIGTERM)
    assert shown.end() == 0
