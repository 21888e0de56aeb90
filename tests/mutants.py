"""Do the tests notice a wrong formula? Mutants by rule of everything that decides what is trained or reported.

    python tests/mutants.py                  # as many as the gate wants, drawn by a fixed seed
    python tests/mutants.py --draw 10 --seed 1 --within assay/memory
    python tests/mutants.py --draw 99 --within assay/methods/shaping/rlmec --own    # seconds each: its own tests alone
    python tests/mutants.py --list           # all there are, by rule

A mutant lives in a copy of the repository. It is noticed when a test fails; one that survives is a fault of the tests,
or is said in `tests/data/equivalent_mutants.toml` to compute the same, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import hashlib
import importlib.util
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from mutant_rules import ROOT, RULES, paths

EQUIVALENT = ROOT / "tests" / "data" / "equivalent_mutants.toml"
COPIED = ("assay", "tests", "bench", "examples", "pyproject.toml", "Makefile", "README.md", "docs", "CHANGELOG.md")
LIMIT = 3600  # seconds; longer is a loop without an end
OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "--hypothesis-profile=mutants")
OPTIONS += ("--drawn-by=mutants",)  # the same recipes for every mutant
MARKED = (  # notice every change of the text, right or wrong
    "tests/lab/test_claims.py::test_the_committed_gate_is_of_this_code_and_holds",
    "tests/test_method_page.py::test_the_tables_say_what_the_parts_say[sizes]",
)
OPTIONS += tuple(f"--deselect={test}" for test in MARKED)
EVERY = "not deep and not scale"
FAST, SLOW = f"not slow and {EVERY}", f"slow and {EVERY}"
UNTRAINED = "not learns and not (_run_ and (stopped or goes_on or resumes))"  # no runs of the whole loop: they are slow
RECORDED = "tests/test_configure.py::test_a_recipe_at_every_profile_is_the_recorded_one"  # values of all recipes
ORACLES = "tests/objective/test_oracles.py"  # what papers say of a step, recipe by recipe
TESTS = (
    "tests/objective/test_objective.py",
    "tests/methods",
    "tests/credit/test_credit.py",
    "tests/objective/test_corrections.py",
    "tests/objective/test_trust.py",
    "tests/curate/test_pairs.py",
    "tests/memory/test_harvest.py",
    "tests/objective/test_kl.py",
    "tests/reward/test_soft_overlong.py",
    "tests/credit/test_whiten.py",
    "tests/objective/test_objective_step.py",
    "tests/objective/test_objective_updates.py",
    "tests/credit/test_critics.py",
    "tests/objective/test_distance.py",
    "tests/test_promises.py",
    "tests/ask/test_helped.py",
    "tests/test_stages.py",
    "tests/curate/test_curate.py",
    "tests/collect/test_collect.py",
    "tests/collect/test_turns.py",
    "tests/tasks/test_data.py",
    "tests/scoring/test_evaluate_bank.py",
    "tests/scoring/test_evaluate_intervals.py",
    "tests/scoring/test_evaluate_passk.py",
    "tests/record/test_measure_replies.py",
    "tests/engine/test_engine_learner.py",
    "tests/memory/test_columns.py",
    "tests/test_configure.py",
    "tests/test_empty_hooks.py",
    "tests/test_composition.py",
    ORACLES,
)
NEAREST = {
    "assay/verifiers/mathematics": ("verifiers/test_mathematics*",),
    "assay/verifiers/programs": ("verifiers/test_programs*",),
    "assay/verifiers/sql": ("verifiers/test_queries",),
    "assay/verifiers/optimisation": ("verifiers/test_optimisation",),
    "assay/verifiers/circuits": ("verifiers/circuits/*",),
    "assay/verifiers/proofs": ("verifiers/proofs/*",),
    "assay/verifiers/functions": ("verifiers/test_reward*", "verifiers/test_wrong*", "verifiers/test_shared*"),
    "assay/verifiers/judges": ("verifiers/test_judges", "verifiers/test_contentless"),
    "assay/verifiers": ("verifiers/test_audit", "verifiers/test_formats", "verifiers/test_counted*"),
    "assay/externals": ("externals/*", "verifiers/test_queries", "verifiers/circuits/*", "verifiers/proofs/*"),
    "assay/sandbox": ("verifiers/test_programs*", "sandbox/*"),
    "assay/reward": ("reward/*",),
}
"""Folder of what judges -> the tests that are asked beside those that import the changed module. The other
tests take no part: they would say nothing of a verdict. Nor do attacks but those of
the probe: a spoilt sandbox might not hold them."""


@dataclass(frozen=True)
class Mutant:
    path: str
    function: str
    rule: str
    was: str
    becomes: str
    place: int  # among those of this function that read the same
    text: str  # of the whole file

    @property
    def name(self) -> str:
        """Lines may move, the name stays."""
        again = f" ({self.place + 1})" if self.place else ""
        return f"{self.path}:{self.function}: {self.was}  ->  {self.becomes}{again}"


@functools.cache
def mutants() -> list[Mutant]:
    """All there are, file by file."""
    return [mutant for path in paths() for mutant in of_file(str(path.relative_to(ROOT)), path.read_text())]


def of_file(path: str, text: str) -> Iterator[Mutant]:
    seen: collections.Counter[tuple[str, str, str]] = collections.Counter()
    for function, node in formulas(ast.parse(text), ""):
        for rule, made in ((name, other) for name, change in RULES.items() for other in change(node)):
            was, becomes = ast.unparse(node), ast.unparse(made)
            place = seen[function, was, becomes]
            seen[function, was, becomes] += 1
            yield Mutant(path, function, rule, was, becomes, place, replaced(text, node, f"({becomes})"))


def formulas(node: ast.AST, within: str) -> Iterator[tuple[str, ast.AST]]:
    """What is computed, with the function that it is in: no annotations, nothing that is raised or asserted."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            if isinstance(child, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr):
                continue
            inner = f"{within}.{_name_of(child, within)}".strip(".")
            if inner:
                yield inner, child
            yield from formulas(child, inner)


def _name_of(node: ast.AST, within: str) -> str:
    """Of a function, a class, or what stands under a name of the module, as recipes do."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) and not within else None
    return target.id if isinstance(target, ast.Name) else ""


def replaced(text: str, node: ast.AST, by: str) -> str:
    """The source with this expression exchanged; columns of syntax trees count bytes."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    start = sum(map(len, lines[:first])) + node.col_offset  # type: ignore[attr-defined]
    end = sum(map(len, lines[:last])) + node.end_col_offset  # type: ignore[attr-defined]
    whole = b"".join(lines)
    return (whole[:start] + by.encode() + whole[end:]).decode()


def copied(folder: Path) -> Path:
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    return folder


def named_in(folder: Path, module: str) -> list[str]:
    """The tests that import this module."""
    paths = sorted((folder / "tests").rglob("test_*.py"))
    return [path.relative_to(folder).as_posix() for path in paths if f"{module} import" in path.read_text()]


def oracles(folder: Path, method: str) -> list[str]:
    """The cases of the tests over all oracles that are of this folder's."""
    file = folder / method / "oracle.py"
    if not file.exists():
        return []
    every = (node for node in ast.parse((folder / ORACLES).read_text()).body if isinstance(node, ast.FunctionDef))
    tests = [node.name for node in every if "every_oracle" in map(ast.unparse, node.decorator_list)]
    said = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign))
    tables = [node.value for node in said if ast.unparse(node.targets[0]) == "ORACLES"]
    recipes = [ast.literal_eval(key) for one in tables if isinstance(one, ast.Dict) for key in one.keys if key]
    return [f"{ORACLES}::{test}[{recipe}]" for test in tests for recipe in recipes]


def nearest(path: str) -> tuple[str, ...] | None:
    """The tests of a file of what judges; None for other files."""
    for within, patterns in NEAREST.items():
        if path.startswith(f"{within}/"):
            found = [one for pattern in patterns for one in sorted((ROOT / "tests").glob(f"{pattern}.py"))]
            return tuple(one.relative_to(ROOT).as_posix() for one in found if one.name.startswith("test_"))
    return None


def own(folder: Path, path: str) -> list[str]:
    """The tests that import this module, and those of the method that it is part of, its oracle included."""
    named = named_in(folder, path.removesuffix(".py").replace("/", "."))
    if not path.startswith("assay/methods/"):
        return [test for test in named if nearest(path) is None or "/attacks/" not in test or "probe" in test]
    group, method = Path(path).parts[2:4]
    mine = f"tests/methods/{group}/{method.removesuffix('.py')}"
    beside = [test.relative_to(folder).as_posix() for test in folder.glob(f"{mine}/test_*.py")]
    return [*named, *sorted(set(beside) - set(named)), *oracles(folder, mine)]


def marks(path: str) -> str:
    """Which of its own tests are asked: of a method all, since those that the draw passes over are marked slow."""
    return EVERY if path.startswith("assay/methods/") else FAST


def noticed(folder: Path, path: str, alone: bool) -> str:
    """The first test of this copy that fails, empty if none does. The module's own tests come first, or stand alone."""
    near, order = nearest(path), own(folder, path)
    if marks(path) == EVERY and (first := failing(folder, ["--all-recipes", RECORDED])):
        return first
    if order and (alone or marks(path) == EVERY) and (first := failing(folder, order, marks(path))):
        return first
    if alone:
        return ""
    order += [test for test in (TESTS if near is None else near) if test not in order]
    return failing(folder, order) or ("" if near is None else failing(folder, order, SLOW))


def failing(folder: Path, order: Sequence[str], which: str = FAST) -> str:
    """The first of these tests that fails in this copy, empty if none does."""
    command = [sys.executable, "-m", "pytest", *OPTIONS, "-m", which, "-k", UNTRAINED, *order]
    # Else a mutant that breaks an external would have its tests left out, as those of a missing one are.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder), "ASSAY_EXTERNALS": "all"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "the time limit"
    if done.returncode not in (0, 1, 2, 5):  # passed, failed, could not be imported, has no such tests
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    if done.returncode in (0, 5):
        return ""
    named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return named[0] if named else done.stdout.strip().splitlines()[-1]


def judged(mutant: Mutant, copies: queue.Queue[Path], alone: bool) -> str:
    """What noticed it, in a copy that is as before when this ends."""
    folder = copies.get()
    file = folder / mutant.path
    whole, compiled = file.read_text(), Path(importlib.util.cache_from_source(str(file)))
    try:
        file.write_text(mutant.text)
        compiled.unlink(missing_ok=True)  # of the same second and size, it would be taken for the mutant's
        return noticed(folder, mutant.path, alone)
    finally:
        file.write_text(whole)
        compiled.unlink(missing_ok=True)
        copies.put(folder)


def equivalent() -> dict[str, str]:
    """Survivors that compute the same: name -> reason."""
    return tomllib.loads(EQUIVALENT.read_text())["equivalent"]


def judge(drawn: list[Mutant], at_once: int, alone: bool = False) -> int:
    """Prints what noticed each of them; the number of survivors that nobody has explained."""
    known = equivalent()
    if stale := set(known) - {mutant.name for mutant in mutants()}:
        raise SystemExit(f"{EQUIVALENT}: no such mutants: {sorted(stale)}; take them out.")
    unknown = 0
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(at_once) as pool:
        copies: queue.Queue[Path] = queue.Queue()
        for index in range(at_once):
            copies.put(copied(Path(temporary) / str(index)))
        asked = [mutant for mutant in drawn if mutant.name not in known]
        paths = [mutant.path for mutant in asked]
        unchanged = Path(temporary) / "0"
        sets = {(tuple(own(unchanged, one)), marks(one)) for one in paths if alone or marks(one) == EVERY}
        sets |= set() if alone else {(nearest(one) or TESTS, FAST) for one in paths}
        for order, which in sorted(sets):
            if order and (first := failing(unchanged, order, which)):
                raise SystemExit(f"the tests fail without any mutant: {first}; mend that first.")
        running = {pool.submit(judged, mutant, copies, alone): mutant for mutant in asked}
        for done in as_completed(running):
            mutant, by = running[done], done.result()
            unknown += not by
            print(f"{'noticed ' if by else 'SURVIVED'}  {mutant.rule}  {mutant.name}  {by}", flush=True)
    spared = len(drawn) - len(asked)
    print(f"{len(drawn)} mutants: {len(asked) - unknown} noticed, {spared} equivalent, {unknown} survived")
    return unknown


def drawn(every: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """By the digest of their names: where a file changes, the draw changes by the mutants of that file alone."""
    return sorted(every, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())[:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, default=120, help="how many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--within", default="", help="of paths that begin so")
    parser.add_argument("--at-once", type=int, default=2, help="how many are judged beside each other")
    parser.add_argument(
        "--own",
        action="store_true",
        help="ask only the tests that import the changed module, and those of its method; another might notice more",
    )
    parser.add_argument("--list", action="store_true", help="count them by rule, and run nothing")
    asked = parser.parse_args()
    every = [mutant for mutant in mutants() if mutant.path.startswith(asked.within)]
    if asked.list:
        print("\n".join(mutant.name for mutant in every))
        print(dict(collections.Counter(mutant.rule for mutant in every)))
        return 0
    return judge(drawn(every, asked.draw, asked.seed), asked.at_once, asked.own) > 0


if __name__ == "__main__":
    sys.exit(main())
