#!/usr/bin/env python3
"""Compile sql/<engine>/ into C: the statements by name; the schema: migrations by number, and the functions
and views that every deployment creates again; and what only pawl/testing.h installs.

Usage: embed-sql.py names OUT.h COLUMNS.h DIR...      the list of engines, and the enum of statement names: all engines
                                                      must agree
       embed-sql.py texts OUT.c BOUNDS.h CODES.h COLUMNS.h RELEASE DIR PLACEHOLDER

sql/<engine>/NOUN.sql has the statements of a noun, each after its head "-- name: NAME". What several
texts share stands once, after "-- part: NAME", and is included by the line "-- @include NAME".
@NAME@ in a text is replaced by the value of PAWLI_NAME in BOUNDS.h or CODES.h. Each list PAWLI_NAME_COLUMNS
in COLUMNS.h is a part "name_columns", too: "SELECT" and its columns.
"""
import hashlib
import pathlib
import re
import shlex
import sys


INCLUDE = "-- @include "
# Every deployment runs these in this order.
CODE = ["deploy/first.sql", "views/*.sql", "functions/*.sql", "triggers/*.sql", "deploy/last.sql"]


def read_numbers(*paths):
    """{NAME: value} of every "#define PAWLI_NAME value"; strings without their quotes."""
    text = "".join(pathlib.Path(path).read_text() for path in paths)
    defined = re.findall(r'^#define PAWLI_(\w+)[ \t]+("[^"\n]*"|\(?-?\d+\)?)', text, re.M)
    numbers = {name: value.strip('"()') for name, value in defined}
    return {name: with_limits(numbers, name, value) for name, value in numbers.items()}


# A state is written by its name.
NUMBERED_STATE = re.compile(r"^(?!\s*--).*\bstate\s*(?:=|<>|<=?|>=?|(?:NOT )?IN \(|BETWEEN)\s*[0-9].*", re.M)


def with_limits(limits, path, text):
    found = NUMBERED_STATE.search(text)
    if found:
        sys.exit(f"{path}: write states as @STATE_...@, @RUN_...@ or @INBOX_...@ (src/base/codes.h): {found[0].strip()}")

    def value(match):
        if match[1] not in limits:
            sys.exit(f"{path}: {match[0]} is neither in src/base/bounds.h nor in src/base/codes.h")
        return limits[match[1]]
    return re.sub(r"@([A-Z][A-Z_]*)@", value, text)


class Columns:
    """The part of a list of columns: "-- @include job_columns row=j payload=NULL problem=part:why" is
    SELECT j.id AS id, ..., NULL AS payload, ..., and the part "why" before AS problem.
    "before='t AS at'" puts other columns before them."""

    def __init__(self, names):
        self.names = names

    def text(self, where, arguments):
        row = arguments.pop("row", None)
        before = [arguments.pop("before")] if "before" in arguments else []
        unknown = set(arguments) - set(self.names)
        if unknown:
            sys.exit(f"{where}: there are no columns {sorted(unknown)}")

        def column(name):
            value = arguments.get(name, f"{row}.{name}" if row else name)
            part = re.fullmatch(r"part:(\w+)", value)
            return f"\n{INCLUDE}{part[1]}\nAS {name}" if part else f"{value} AS {name}"
        return "SELECT " + ",\n       ".join(before + [column(name) for name in self.names])


def read_columns(path):
    """({part: Columns} of the results, [names] of all row tables) in columns.h; the latter have types."""
    text = pathlib.Path(path).read_text().replace("\\\n", "")
    results, rows = {}, []
    for name, items in re.findall(r"^#define PAWLI_(\w+_COLUMNS)\(X\)(.*)", text, re.M):
        columns = re.findall(r"X\(\w+, (\w+)(, \w+)?\)", items)
        if columns[0][1]:
            rows += [column for column, _ in columns if column not in rows]
        else:
            results[name.lower()] = Columns([column for column, _ in columns])
    return results, rows


HEAD = re.compile(r"-- (name|part): ([a-z][a-z_]*)$")


def read_pieces(directory):
    """({name: text}, {part: text}) of DIR/*.sql: what stands between two heads, "-- name: NAME" or "-- part: NAME"."""
    pieces = {"name": {}, "part": {}}
    for path in sorted(directory.glob("*.sql")):
        lines = None
        for number, line in enumerate(path.read_text().rstrip("\n").split("\n"), 1):
            head = HEAD.match(line)
            if head:
                kind, name = head.groups()
                if name in pieces[kind]:
                    sys.exit(f"{path}:{number}: there is another '{line}'")
                lines = pieces[kind][name] = []
            elif line.startswith(("-- name:", "-- part:")):
                sys.exit(f"{path}:{number}: not a head: '{line}'")
            elif lines is not None:
                lines.append(line)
            elif line and not line.startswith("--"):
                sys.exit(f"{path}:{number}: before the first '-- name: NAME' or '-- part: NAME'")
    return ({name: "\n".join(lines).rstrip("\n") + "\n" for name, lines in found.items()}
            for found in pieces.values())


def with_arguments(name, text, arguments):
    """The text of a part, with each @argument@ replaced by its value."""
    wanted = set(re.findall(r"@([a-z][a-z_]*)@", text))
    if wanted != set(arguments):
        sys.exit(f"{name}: the part has the arguments {sorted(wanted)}, not {sorted(arguments)}")
    return re.sub(r"@([a-z][a-z_]*)@", lambda match: arguments[match[1]], text)


def with_parts(parts, used, name, text):
    """
    A text, with each line "-- @include PART" replaced by that part, which may include others.
    "-- @include PART argument=value other='more words'": in the part, @argument@ is replaced by the value.
    Such a line may end with a backslash and go on in the next comment line.
    """
    text = re.sub(r" *\\\n *-- +", " ", text)

    def line_or_part(line):
        indent = line[:len(line) - len(line.lstrip())]
        if not line.startswith(indent + INCLUDE):
            return line
        part, *arguments = shlex.split(line[len(indent + INCLUDE):])
        if part not in parts:
            sys.exit(f"{name}: there is no '-- part: {part}'")
        used.add(part)
        arguments = dict(pair.split("=", 1) for pair in arguments)
        if isinstance(parts[part], Columns):
            body = parts[part].text(name, arguments)
        else:
            body = with_arguments(part, parts[part].rstrip("\n"), arguments)
        return with_parts(parts, used, part, "\n".join(indent + line if line else line for line in body.split("\n")))
    return "\n".join(line_or_part(line) for line in text.split("\n"))


def read_engine(directory, columns):
    """([(name, text)] of the statements, sorted; the code: one text)."""
    texts, parts = read_pieces(directory)
    written = set(parts)
    parts = read_columns(columns)[0] | parts
    used = set()
    statements = [(name, with_parts(parts, used, name, text)) for name, text in sorted(texts.items())]
    code = "\n".join(with_parts(parts, used, path, path.read_text())
                     for pattern in CODE for path in sorted(directory.glob(pattern)))
    if written - used:
        sys.exit(f"{directory}: nothing includes the part {', '.join(sorted(written - used))}")
    return statements, code


def own_statements(sql):
    """The names in every driver.sql: statements that only one engine's driver runs."""
    return {name for path in sql.glob("*/driver.sql") for name in re.findall(r"^-- name: (\w+)$", path.read_text(), re.M)}


def release_number(release):
    """1.2.3 as 1002003."""
    major, minor, patch = (int(part) for part in release.split("."))
    return major * 1000000 + minor * 1000 + patch


def literal(text):
    lines = [line.replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return "\n".join(f'    "{line}\\n"' for line in lines if line or True)


def write_names(out, columns, *directories):
    engines = [pathlib.Path(directory) for directory in directories]
    own = own_statements(engines[0].parent)
    names = [{name for name, _ in read_engine(directory, columns)[0]} - own for directory in engines]
    for directory, some in zip(directories, names):
        if some != names[0]:
            odd = sorted(some ^ names[0])
            sys.exit(f"{directories[0]} and {directory} must have the same statements; only one has: {', '.join(odd)}")
    members = "".join(f"    PAWLI_SQL_{name.upper()},\n" for name in sorted(own | names[0]))
    table = " ".join(f"X({directory.name})" for directory in engines)
    out.write_text("/* Generated by scripts/embed-sql.py from sql/. */\n"
                   "#ifndef PAWLI_SQL_NAMES_H\n#define PAWLI_SQL_NAMES_H\n\n"
                   f"#define PAWLI_ENGINES(X) {table}\n\n"
                   f"enum pawli_sql {{\n{members}    PAWLI_SQL_COUNT\n}};\n\n#endif\n")


def write_texts(out, bounds, codes, columns, release, directory, placeholder):
    directory = pathlib.Path(directory)
    is_prefix = int(placeholder.endswith("_"))
    limits = read_numbers(bounds, codes)
    statements, code = read_engine(directory, columns)
    parts = ["/* Generated by scripts/embed-sql.py from sql/. */\n", '#include "statements.h"\n\n']
    parts.append("static const pawli_sql_text statements[] = {\n")
    absent = own_statements(directory.parent) - {name for name, _ in statements}
    for name, text in sorted(statements + [(name, None) for name in absent]):
        text = literal(with_limits(limits, name, text)) if text else "     NULL"
        parts.append(f'    {{"{name}",\n{text}}},\n')
    parts.append("};\n\nstatic const pawli_migration migrations[] = {\n")
    files = sorted((directory / "schema").glob("*.sql"))
    groups = {}
    for path in files:
        groups.setdefault(int(path.stem.split("_")[0]), []).append(path)
    if sorted(groups) != list(range(1, len(groups) + 1)):
        sys.exit(f"{directory}/schema must be numbered 001, 002, ... without a gap")
    for number, paths in sorted(groups.items()):
        text = "\n".join(with_limits(limits, path, path.read_text()) for path in paths)
        parts.append(f'    {{{number}, "{paths[0].stem}",\n{literal(text)}}},\n')
    parts.append("};\n\nstatic const pawli_sql_text testing[] = {\n")
    for path in sorted((directory / "testing").glob("*.sql")):
        parts.append(f'    {{"{path.stem}",\n{literal(path.read_text())}}},\n')
    parts.append("    {NULL, NULL},\n};\n\nstatic const char *const row_columns[] = {")
    parts += [f'"{name}", ' for name in read_columns(columns)[1]] + ["NULL};\n\n"]
    number = release_number(release)
    written = {"CODE_RELEASE": str(number), "CODE_DIGEST": ""}
    digest = hashlib.sha256(with_limits(limits | written, directory, code).encode()).hexdigest()
    code = with_limits(limits | written | {"CODE_DIGEST": digest}, directory, code)
    parts.append(f"const pawli_engine_sql pawli_sql_{directory.name} = {{\n"
                 f"    statements, migrations, sizeof migrations / sizeof migrations[0],\n"
                 f'    "{placeholder}", {is_prefix}, row_columns, testing, {number}, "{digest}",\n{literal(code)}\n}};\n')
    out.write_text("".join(parts))


def main():
    kind, out, *rest = sys.argv[1:]
    if kind == "names":
        write_names(pathlib.Path(out), *rest)
    else:
        write_texts(pathlib.Path(out), *rest)


main()
