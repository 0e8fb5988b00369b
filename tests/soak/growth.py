"""The bounds of docs/internals/growth.md, as they stand there: the page is the table of this suite."""

import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "internals" / "growth.md"


class Bound:
    def __init__(self, name, engine, formula):
        self.name = name
        self.engines = {"both": ("sqlite", "postgres"), "SQLite": ("sqlite",), "PostgreSQL": ("postgres",)}[engine]
        self.formula = formula
        self.code = compile(formula, f"growth.md: {name}", "eval")

    def value(self, known):
        return eval(self.code, {"__builtins__": {}, "max": max, "min": min}, known)

    def explain(self, known):
        """The formula with its numbers."""
        return re.sub(r"[a-z_]+", lambda found: f"{known[found[0]]:g}" if found[0] in known else found[0], self.formula)


def read():
    """Every row of the page that begins with `name` and ends with `formula`: {section: {name: Bound}}."""
    sections = {}
    section = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        name = re.fullmatch(r"`([\w-]+)`", cells[0]) if cells else None
        formula = re.fullmatch(r"`([^`]+)`", cells[-1]) if name else None
        if formula:
            sections.setdefault(section, {})[name[1]] = Bound(name[1], cells[1], formula[1])
    return sections


def names():
    """Every word that stands on the page as code."""
    return set(re.findall(r"`([\w-]+)`", PAGE.read_text(encoding="utf-8")))
