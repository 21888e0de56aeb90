"""`make method NAME=soft-gate`: records the values of a method's recipes, prints docs anew, and says what is missing.

What can be computed is written: the resolved values of every profile, the tables of the docs. What only a person can
say is asked for, each with the file to write. It ends with status 1 while something is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from of_methods import folder_of
from oracles import elsewhere, oracle_of, oracles

from assay.errors import unknown
from assay.known import METHOD_OF, RECIPES, spelt

ROOT = Path(__file__).parents[1]
NEEDED = {
    "title": "the title of the paper",
    "claim": "what the paper says that it gains",
    "notes": "whose values they are",
}


def recipes_of(name: str) -> list[str]:
    """All recipes of the method that has this recipe."""
    known = spelt(name)
    if known is None:
        raise unknown("recipe", name, RECIPES, "assay list recipes")
    return [recipe for recipe, method in METHOD_OF.items() if method == METHOD_OF[known]]


def code_of(name: str) -> list[Path]:
    place = ROOT / METHOD_OF[name].replace(".", "/")
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def missing(name: str) -> Iterator[str]:
    """What only a person can write of this recipe's method."""
    recipe, tests = RECIPES[name], folder_of(name)
    for path in [*code_of(name), *sorted(tests.glob("*.py"))]:
        count = path.read_text().lower().count("fill in")
        if count:
            yield f"{path.relative_to(ROOT)}: {count} places say 'fill in'"
    for field, what in NEEDED.items():
        if not getattr(recipe, field):
            yield f"{name}: its `{field}` is empty: {what}"
    if name not in oracles() and name not in elsewhere():
        try:
            oracle_of(name)
        except AssertionError as error:
            yield str(error)
    if not list(tests.glob("test_*.py")):
        yield f"{tests.relative_to(ROOT)}: no test of the method: a formula by hand, a property, a run of three steps"
    if f"`{name}`" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md: no line names `{name}`"


def run(*line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    sys.stdout.write(f"$ {' '.join([*(f'{k}={v}' for k, v in environment.items()), 'python', *line])}\n")
    sys.stdout.flush()
    command = [sys.executable, *line]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)


def passes(*line: str) -> bool:
    """Whether a command succeeds; what it printed is shown where it does not."""
    done = run(*line)
    sys.stdout.write(done.stdout.splitlines()[-1] + "\n" if done.returncode == 0 else done.stdout + done.stderr)
    return done.returncode == 0


def main(name: str) -> int:
    names = recipes_of(name)
    tests = folder_of(names[0]).relative_to(ROOT).as_posix()
    here = " or ".join(f"[{recipe}]" for recipe in names)
    quiet = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--all-recipes")
    run(*quiet, "tests/test_configure.py", "-k", here, ASSAY_WRITE_GOLDEN="1")
    run("-m", "assay.lab.pages", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md")))
    run(*quiet, "tests/test_method_page.py", "-k", "tables", ASSAY_WRITE_DOCS="1")
    found = [line for recipe in names for line in missing(recipe)]
    if not passes(*quiet, tests, "tests/test_rooms.py"):
        found.append(f"{tests}: its tests fail")
    if not passes(*quiet, "tests/objective", "tests/credit", "tests/test_configure.py", "-k", here):
        found.append(f"the shared tests of {', '.join(names)} fail")
    lines = [f"  {line}" for line in dict.fromkeys(found)]
    sys.stdout.write("\n".join(["", f"missing, {len(lines)}:" if lines else "nothing is missing", *lines, ""]))
    return 1 if lines else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]:
        raise SystemExit("make method NAME=soft-gate: the name of a recipe of the method")
    raise SystemExit(main(sys.argv[1]))
