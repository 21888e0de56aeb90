"""Which recipes the suites over all recipes try in this run: a part that the commit picks, always with the best known.

A third of the recipes is drawn by a hash of the commit's id, or of the package's files where there is no repository, so
that commits take turns. `--drawn-by 'commit 0123456789ab'` draws what another run drew. The best known ones are always
in it, and those whose method this commit or the working tree changes. Cases of the others are marked `deep`: they run
in `make test-deep`, with `--all-recipes`, and whenever no mark is asked for. `make test-fast` has a twentieth,
and the tests of their methods alone, and starts no external program.

Tests that assert what a run learns are drawn too, those of six recipes, and of a test that is marked `turns(3)` a third
of the cases; the fixture `turn` does the same within one test. `--part 2/4` runs the second of four parts of whatever
is asked for, whole files each.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assay.known import METHOD_OF, RECIPES

Case = TypeVar("Case")

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "assay"
BEST_KNOWN = ("reinforce", "rloo", "grpo", "dr-grpo", "dapo", "gspo", "ppo", "sft", "dpo")
SHARE, FAST_SHARE = 1 / 3, 1 / 20
FAST_CASES = 3  # of one test in `make test-fast`, about
LEARNERS = 6  # recipes whose learning `make test` looks at


def _git(*arguments: str) -> str:
    """What git says; nothing where there is no repository or it does not know."""
    if not (ROOT / ".git").exists():
        return ""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def source() -> str:
    """What picks: `commit 0123456789ab`, or `files 0123456789ab`."""
    commit = _git("rev-parse", "HEAD").strip()
    if commit:
        return f"commit {commit[:12]}"
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return f"files {digest.hexdigest()[:12]}"


def touched() -> frozenset[str]:
    """Recipes whose method this commit or the working tree changes."""
    named = _git("diff", "--name-only", "HEAD~1", "--", "assay/methods").splitlines()
    named += _git("ls-files", "--others", "--exclude-standard", "--", "assay/methods").splitlines()
    methods = {parts[3].removesuffix(".py") for path in named if len(parts := Path(path).parts) > 3}
    return frozenset(name for name, module in METHOD_OF.items() if module.rpartition(".")[2] in methods)


@dataclass(frozen=True)
class Draw:
    """`source` and `always` are the same in every worker of a run: the process that starts them says so."""

    source: str
    always: frozenset[str]
    whole: bool  # every recipe

    @cached_property
    def recipes(self) -> tuple[str, ...]:
        """Those of `make test`."""
        return self._first(SHARE, self.always.union(BEST_KNOWN))

    @cached_property
    def few(self) -> tuple[str, ...]:
        """Those of `make test-fast`, all of which are drawn."""
        return self._first(FAST_SHARE, self.always)

    @cached_property
    def learners(self) -> tuple[str, ...]:
        """Those whose learning is looked at in `make test`."""
        return self._first(LEARNERS / len(RECIPES), self.always)

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """The folders of methods that have recipes, and none among these."""
        return _folders(RECIPES) - _folders(self.few)

    def _first(self, share: float, always: Iterable[str]) -> tuple[str, ...]:
        if self.whole:
            return tuple(RECIPES)
        by_lot = sorted(RECIPES, key=self.lot)[: round(share * len(RECIPES))]
        chosen = {*by_lot, *always}
        return tuple(name for name in RECIPES if name in chosen)

    def turn(self, cases: Sequence[Case], count: int) -> list[Case]:
        """Of the cases within one test those whose turn it is, in their order; all where every recipe is asked for."""
        chosen = range(len(cases)) if self.whole else sorted(range(len(cases)), key=lambda i: self.lot(str(i)))[:count]
        return [cases[i] for i in sorted(chosen)]

    def lot(self, name: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self.source}/{name}".encode()).digest()[:8], "big")

    def mark(self, item: pytest.Item, cases: int) -> None:
        """A case outside the draw is a deep one; one outside the smaller draw is a slow one, as are the tests of a
        method outside it, and those of external programs, which take seconds to start. Of a test with many cases a
        draw of some `FAST_CASES` is left to `make test-fast`, unless its mark `thin` says otherwise.
        """
        if method_of(item.nodeid) in self.passed_over or item.get_closest_marker("external"):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("over_recipes"):
            if _case(item) not in self.recipes:
                item.add_marker(pytest.mark.deep)
            if _case(item) not in self.few:
                item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("learning") and not self._looks_at(item):
            item.add_marker(pytest.mark.deep)
        turns = item.get_closest_marker("turns")
        if turns is not None and not self.whole and self.lot(item.name) % turns.args[0]:
            item.add_marker(pytest.mark.deep)
        thin = item.get_closest_marker("thin")
        every = thin.args[0] if thin is not None else -(-cases // FAST_CASES)
        if not self.whole and self.lot(item.name) % every:
            item.add_marker(pytest.mark.slow)

    def _looks_at(self, item: pytest.Item) -> bool:
        """Whether a learning test is of a recipe whose learning is drawn, or of no recipe alone."""
        method = method_of(item.nodeid)
        return method in _folders(self.learners) if method else _case(item) in (None, *self.learners)

    def __str__(self) -> str:
        few = f"of these {len(self.few)} in make test-fast"
        return f"recipes drawn: {len(self.recipes)} of {len(RECIPES)} by {self.source}, {few} (--all-recipes: all)"


def method_of(nodeid: str) -> str:
    """The folder of the method whose own test this is; "" of another test."""
    _, found, behind = nodeid.partition("tests/methods/")
    return behind.split("/")[1] if found else ""


def _folders(names: Iterable[str]) -> frozenset[str]:
    return frozenset(METHOD_OF[name].rpartition(".")[2] for name in names)


def _case(item: pytest.Item) -> str | None:
    """The recipe that a test over recipes tries; None where it is of no recipe."""
    return getattr(item, "callspec").params.get("name") if hasattr(item, "callspec") else None  # noqa: B009


def _function(item: pytest.Item) -> str:
    """The file and the name of a test without its case."""
    return item.nodeid.partition("[")[0]


def files_of_part(part: str, tests: Mapping[str, int]) -> frozenset[str]:
    """The files of the part `2/4`, of four that have about as many tests each; file -> its tests."""
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", part)
    if found is None or int(found[1]) > int(found[2]):
        raise pytest.UsageError(f"--part takes K/N, such as 2/4 for the second of four parts, not '{part}'")
    mine, count = int(found[1]) - 1, int(found[2])
    loads, parts = [0] * count, [set[str]() for _ in range(count)]
    for file in sorted(tests, key=lambda name: (-tests[name], name)):
        least = loads.index(min(loads))
        loads[least] += tests[file]
        parts[least].add(file)
    return frozenset(parts[mine])


class Drawing:
    """Draws once a run, tells the workers, and says at the end what was drawn."""

    def __init__(self, config: pytest.Config) -> None:
        told: dict[str, Any] = getattr(config, "workerinput", {})
        always = frozenset(told["drawn_always"]) if told else touched()
        by = told.get("drawn_by") or config.getoption("drawn_by") or source()
        self.draw = Draw(by, always, whole=bool(config.getoption("all_recipes")))
        self.part: str | None = config.getoption("part")

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput |= {"drawn_by": self.draw.source, "drawn_always": sorted(self.draw.always)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        cases = Counter(_function(item) for item in items)
        for item in items:
            self.draw.mark(item, cases[_function(item)])
        if self.part:
            mine = files_of_part(self.part, Counter(item.nodeid.partition("::")[0] for item in items))
            items[:] = [item for item in items if item.nodeid.partition("::")[0] in mine]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.line(str(self.draw))
