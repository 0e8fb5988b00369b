"""The program on a terminal: colour, width, questions."""

from program import on_terminal


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
