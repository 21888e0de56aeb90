"""Do the tests of one commit notice what those of another noticed? The same mutants, asked on both sides.

    python tests/carried_mutants.py 2fdcc416                      # before; after is HEAD; goes on where it stopped
    python tests/carried_mutants.py 2fdcc416 main --only after --limit 90
    python tests/carried_mutants.py 2fdcc416 main --table         # what became of each, and what is lost

The mutants are drawn before, by the rules of that commit, and each is carried to the place where its line stands after:
by the renames that git sees, or by the name of its function and its expression. Each side runs its own tests in a copy
of its own tree, those that `tests/mutants.py` there names, nearest first, and the slow ones of the module last. They
must pass without a mutant: those that are asked of many before the first, another when it fails, or the mutant is
asked another time. What fails is asked once more, alone: a test that fails now and then notices nothing.

Each answer is a line of `bench/results/mutants/before.jsonl` or `after.jsonl`, with its commit: a fresh clone goes on
from there. What is lost or gone is asked again at another commit after; what was said of the others counts there too,
unless `--again` asks anew. What nobody noticed before is not asked after.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutants
from mutants import Mutant

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "bench" / "results" / "mutants"
PASSED = ROOT / "build" / "carried_mutants"  # what passed without a mutant, on this machine
COUNT, SEED = 150, 150  # not the seed of `make mutants`: its survivors were mended
ENDLESS = ROOT / "tests" / "endless_tests.py"
SIDES = ("before", "after")
NEAREST = 4  # files of tests that are asked on their own first
PIECE = 30  # files of tests after which it is written down that they passed
WHOLE = ["tests"]
HANGS = 500  # seconds on the clock for one test: longer is waiting without an end

Row = dict[str, Any]
Texts = Mapping[str, str]
Question = tuple[list[str], str]  # tests, and the expression of marks that picks among them


class NotNow(Exception):
    """This test fails without any mutant, as one that has a time limit may on a busy machine."""


@dataclass(frozen=True)
class Tree:
    """The files of a commit, and how its own `tests/mutants.py` judges."""

    commit: str
    folder: Path
    mutants: Any

    def texts(self) -> Texts:
        """The package, by path."""
        paths = sorted((self.folder / "assay").rglob("*.py"))
        return {path.relative_to(self.folder).as_posix(): path.read_text() for path in paths}

    def questions(self, path: str) -> Iterator[Question]:
        """What is asked about a mutant of this file, cheap things first."""
        asks, near = self.mutants, self.mutants.nearest(path)
        own = sorted(asks.own(self.folder, path), key=lambda test: -closeness(test, path))
        others = [test for test in (asks.TESTS if near is None else near) if test not in own]
        first = NEAREST if len(own) > 2 * NEAREST else len(own)
        if path.startswith("assay/methods/"):
            yield ["--all-recipes", asks.RECORDED], asks.FAST
            asked = [(own, mutants.EVERY), (others, asks.FAST)]  # most are slow ones, since the draw passes them over
        else:
            fast = [(order, asks.FAST) for order in (own[:first], own[first:], others)]
            asked = [*fast, (own, asks.SLOW), ([] if near is None else others, asks.SLOW)]
        if near is None:
            asked.append((WHOLE, asks.FAST))  # whatever else would notice it in `make test-fast`
        yield from ((order, which) for order, which in asked if order)

    def noticed(self, mutant: Mutant) -> str:
        """What fails with this mutant; empty if nothing does. NotNow if it fails without the mutant as well."""
        for order, which in self.questions(mutant.path):
            with self._changed(mutant):
                first = self._surely(order, which)
            if not first:
                continue
            # of fast ones it is known that they pass without a mutant, but not that they are in time on a busy machine
            known = which == self.mutants.FAST and order != WHOLE and _test_of(first)
            if not known and self._alone(first, order, which):
                raise NotNow(first)
            return first
        return ""

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[None]:
        file = self.folder / mutant.path
        whole = file.read_text()
        try:
            _write(file, mutant.text)
            yield
        finally:
            _write(file, whole)

    def _surely(self, order: list[str], which: str) -> str:
        """The first that fails, alone or in the same company once more."""
        first = self.failing(order, which)
        if not first or first == "the time limit" or (_test_of(first) and self._alone(first, order, which)):
            return first
        return self.failing(order, which)

    def _alone(self, first: str, order: list[str], which: str) -> str:
        """What fails of the test that this line names, or of all where it names none."""
        flags = [word for word in order if word.startswith("--")]
        return self.failing([*flags, test] if (test := _test_of(first)) else order, which)

    def failing(self, order: list[str], which: str) -> str:
        """The first of these tests that fails; a mutant without which they pass may also end pytest itself."""
        try:
            return self.mutants.failing(self.folder, order, which)
        except RuntimeError as error:
            return f"ended: {str(error).strip().splitlines()[-1]}"

    def fast(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """The fast tests that are asked about mutants of these files, by the flag that they are asked with, or ""."""
        asked: dict[str, set[str]] = {}
        for order, which in (question for path in paths for question in self.questions(path)):
            flag = order[0] if order[0].startswith("--") else ""
            if which == self.mutants.FAST and order != WHOLE:
                asked.setdefault(flag, set()).update(order[bool(flag) :])
        return {flag: sorted(tests) for flag, tests in asked.items()}


def _write(file: Path, text: str) -> None:
    file.write_text(text)
    # of the same second and size, it would be taken for what is written now
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def _test_of(said: str) -> str:
    """The test in a line of pytest's summary, without its case; empty where the line names none."""
    found = re.match(r"(?:FAILED|ERROR) ([^\[]+?)(?:\[| - |$)", said)
    return found[1] if found else ""


def closeness(one: str, other: str) -> float:
    """Of two paths, between 0 and 1."""
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


@contextmanager
def tree(said: str) -> Iterator[Tree]:
    """A commit in a folder of its own."""
    commit = git("rev-parse", "--verify", f"{said}^{{commit}}").decode().strip()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit))) as package:
            package.extractall(folder, filter="data")
        yield Tree(commit, folder, loaded(folder))


def loaded(folder: Path) -> Any:
    """`tests/mutants.py` of this folder, beside that of another."""
    names, place = ("mutants", "mutant_rules"), str(folder / "tests")
    here = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module("mutants")
    finally:
        sys.path.remove(place)
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(here)
    found.OPTIONS += tuple(f"--deselect={test}" for test in mutants.MARKED)
    found.OPTIONS += ("-o", f"faulthandler_timeout={HANGS}", "-o", "faulthandler_exit_on_timeout=true")
    found.OPTIONS += ("-p", ENDLESS.stem)
    shutil.copy2(ENDLESS, folder)
    return found


# Carrying


def renamed(before: str, after: str) -> dict[str, str]:
    """Path before -> path after, of the files that git takes for the same."""
    said = git("diff", "--name-status", "--find-renames=40%", "-l0", "--diff-filter=R", before, after, "--", "assay")
    return dict(line.split("\t")[1:] for line in said.decode().splitlines())


class Carrying:
    """From the mutants of files before to those that read the same after, by the same rules."""

    def __init__(self, before: Texts, after: Texts, moved: Mapping[str, str], rules: Any = mutants) -> None:
        self.before, self.after, self.moved = before, after, moved
        there = [one for path, text in after.items() for one in rules.of_file(path, text)]
        here = [one for path, text in before.items() for one in rules.of_file(path, text)]
        stayed = {(moved.get(one.path, one.path), one.function, *_reads(one)) for one in here}
        self.alike: dict[tuple[str, str], list[Mutant]] = {}
        for one in there:
            self.alike.setdefault(_reads(one), []).append(one)
        self.new = {one.name for one in there if (one.path, one.function, *_reads(one)) not in stayed}

    def __call__(self, mutant: Mutant) -> Mutant | None:
        """Where its line stands, None if it is gone: in its function; in a new one of the same name, within whatever it
        was within, or not; in a new one of another name in the same file. Of several the one with the closest path.
        """
        path, own = self.moved.get(mutant.path, mutant.path), mutant.function.rpartition(".")[2]
        alike = self.alike.get(_reads(mutant), [])
        new = [one for one in alike if one.name in self.new]
        line = _line(mutant, self.before[mutant.path])
        same = {one.name for one in alike if _line(one, self.after[one.path]) == line}
        kept = {one.name for one in alike if one.place == mutant.place}
        for found, known in (
            ([one for one in alike if (one.path, one.function) == (path, mutant.function)], same | kept),
            ([one for one in new if one.function == mutant.function], same | kept),
            ([one for one in new if one.function.rpartition(".")[2] == own], same | kept),
            ([one for one in new if one.path == path], same),
        ):
            if fit := [one for one in found if one.name in known]:
                return max(fit, key=lambda one: (one.name in same, one.name in kept, closeness(one.path, path)))
        return None


def _reads(mutant: Mutant) -> tuple[str, str]:
    return mutant.was, mutant.becomes


def _line(mutant: Mutant, text: str) -> str:
    """The first line that it changes."""
    pairs = zip(text.splitlines(), mutant.text.splitlines(), strict=False)
    return next((line.strip() for line, changed in pairs if line != changed), "")


def carrying(before: Tree, after: Tree) -> Carrying:
    """By the rules of before, over the whole package after."""
    return Carrying(before.texts(), after.texts(), renamed(before.commit, after.commit), before.mutants)


def drawn(before: Tree) -> list[Mutant]:
    """Without those that are said to compute the same."""
    known = before.mutants.equivalent()
    every = [mutant for mutant in before.mutants.mutants() if mutant.name not in known]
    return before.mutants.drawn(every, COUNT, SEED)


# The queue


def answers(side: str) -> dict[str, Row]:
    """What is known of each mutant, by its name before; the last word counts."""
    path = KEPT / f"{side}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {row["mutant"]: row for row in map(json.loads, lines)}


def keep(side: str, row: Row) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{side}.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def check(tree: Tree, paths: Iterable[str], over: Callable[[], bool]) -> None:
    """The tests must pass without any mutant, or they would seem to notice everything."""
    kept = PASSED / f"{tree.commit}.txt"
    done = set(kept.read_text().splitlines()) if kept.exists() else set()
    for flag, tests in tree.fast(paths).items():
        left = [test for test in tests if f"{flag} {test}" not in done]
        for piece in (left[at : at + PIECE] for at in range(0, len(left), PIECE)):
            if over():
                return
            if by := tree.failing([flag, *piece] if flag else piece, tree.mutants.FAST):
                raise SystemExit(f"{tree.commit[:8]}: the tests fail without any mutant: {by}; mend that first.")
            PASSED.mkdir(parents=True, exist_ok=True)
            with kept.open("a") as file:
                file.writelines(f"{flag} {test}\n" for test in piece)
            print(f"{len(piece)} files of tests pass without a mutant: {piece[0]} ...", flush=True)


def judge(side: str, tree: Tree, asked: Sequence[tuple[Mutant, Mutant]], over: Callable[[], bool]) -> None:
    """Asks about each of (mutant before, mutant here), and writes down what is said."""
    check(tree, sorted({here.path for _, here in asked}), over)
    for number, (mutant, here) in enumerate(asked, 1):
        if over():
            print(f"{side}: {len(asked) - number + 1} mutants are left; the same command goes on")
            return
        begun = time.monotonic()
        try:
            by = tree.noticed(here)
        except NotNow as failed:
            print(f"{side} {number}/{len(asked)} not now {here.name}: without it too {failed}", flush=True)
            continue
        seconds = round(time.monotonic() - begun)
        keep(side, {"mutant": mutant.name, "commit": tree.commit, "here": here.name, "by": by, "seconds": seconds})
        said = f"noticed  {here.name}  {by}" if by else f"SURVIVED {here.name}"
        print(f"{side} {number}/{len(asked)} {seconds} s {said}", flush=True)


def run(before: Tree, after: Tree, only: str | None, again: bool, over: Callable[[], bool]) -> None:
    every = drawn(before)
    if only != "after":
        known = {name for name, row in answers("before").items() if row["commit"] == before.commit}
        judge("before", before, [(one, one) for one in every if one.name not in known], over)
    if only == "before":
        return
    earlier, later = answers("before"), answers("after")
    carry, left = carrying(before, after), []
    open_ones = [one for one in every if not settled(earlier.get(one.name), later.get(one.name), after.commit, again)]
    # nobody noticed it before, so that it cannot be lost; finding that out again takes longer than all the others
    for one in (one for one in open_ones if earlier.get(one.name, {}).get("by") != ""):
        if here := carry(one):
            left.append((one, here))
        else:
            keep("after", {"mutant": one.name, "commit": after.commit, "here": None, "by": "", "seconds": 0})
            print(f"after: gone {one.name}", flush=True)
    left.sort(key=lambda pair: not earlier.get(pair[0].name, {}).get("by"))  # first those that could be lost
    judge("after", after, left, over)


def settled(before: Row | None, after: Row | None, commit: str, again: bool) -> bool:
    """Whether there is an answer after that counts at this commit."""
    if after is None or after["commit"] == commit:
        return after is not None
    return not again and fate(before, after) not in ("LOST", "gone")


# The table


def fate(before: Row | None, after: Row | None) -> str:
    """What became of a mutant."""
    if before is not None and not before["by"]:
        return "survived before"
    if before is None or after is None:
        return "not asked yet"
    if after["here"] is None:
        return "gone"
    return "noticed" if after["by"] else "LOST"


def table(names: Iterable[str]) -> str:
    """All that is not simply noticed on both sides, with the numbers."""
    one, other = answers("before"), answers("after")
    fates: dict[str, list[str]] = {}
    for name in names:
        fates.setdefault(fate(one.get(name), other.get(name)), []).append(name)
    lines = [f"{len(found)} {what}" for what, found in sorted(fates.items())]
    for what, found in sorted(fates.items()):
        for name in found if what not in ("noticed", "not asked yet") else ():
            here = other.get(name, {}).get("here")
            lines += [f"{what}: {name}", *([f"    after: {here}"] if here and here != name else [])]
            lines += [f"    before: {one[name]['by']}"] if one.get(name, {}).get("by") else []
    commits = {side: sorted({row["commit"][:8] for row in answers(side).values()}) for side in SIDES}
    return "\n".join([*(f"{side}: {', '.join(found)}" for side, found in commits.items()), *lines])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="a commit; default HEAD")
    parser.add_argument("--only", choices=SIDES, help="ask on this side alone")
    parser.add_argument("--limit", type=float, metavar="MINUTES", default=float("inf"), help="begin no mutant later")
    parser.add_argument("--again", action="store_true", help="ask anew all that another commit after answered")
    parser.add_argument("--table", action="store_true", help="print what is known, and run nothing")
    asked = parser.parse_args()
    # bytecode is kept: without it every process compiles the package anew
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    until = time.monotonic() + 60 * asked.limit
    with tree(asked.before) as before:
        names = [mutant.name for mutant in drawn(before)]
        if not asked.table:
            with tree(asked.after) as after:
                run(before, after, asked.only, asked.again, lambda: time.monotonic() > until)
    print(table(names))
    one, other = answers("before"), answers("after")
    return int(any(fate(one.get(name), other.get(name)) == "LOST" for name in names))


if __name__ == "__main__":
    sys.exit(main())
