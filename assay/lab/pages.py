"""The tables in docs/ that are generated from the records: of the recipes of a group of methods, of the components of
these recipes, of papers, of tasks, of kinds of policy, of parts for recipes of one's own, of the settings of other
trainers.

In a page a table stands between two comments, `<!-- recipes: gates -->` and `<!-- end -->`. `make docs`, which runs
`python -m assay.lab.pages docs/*.md`, writes the tables; a test fails if a page differs from what `make docs` would
write.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.errors import unknown
from assay.known import GROUPS, METHOD_OF, RECIPES, SLOTS
from assay.lab import blueprint
from assay.lab.composing import for_own_recipes
from assay.lab.papers import Paper, papers
from assay.part import Part, name_of
from assay.policy.kinds import ABILITIES, KINDS
from assay.run.foreign.keys import SYSTEMS, ForeignKeys, keys_of
from assay.run.kind_needs import serving
from assay.tasks import TASKS

PLAIN = ("grpo", "dapo", "reinforce")  # recipes whose parts the tables leave out, because most recipes share them
BLOCK = re.compile(r"^(<!-- (\w+): ([\w -]+?) -->\n).*?^(<!-- end -->)$", re.MULTILINE | re.DOTALL)


def filled(page: str) -> str:
    """The text of a page with its tables generated anew from the records."""
    return BLOCK.sub(lambda block: block[1] + table(block[2], block[3]) + block[4], page)


def table(what: str, of: str) -> str:
    """A table as Markdown. `what` is recipes, blueprint, papers, tasks, kinds, parts, keys or absent; `of` is a group
    of methods, a kind of papers, tasks, policies or parts, or another trainer.

    table("recipes", "gates")
    """
    if what not in TABLES:
        raise unknown("kind of table", what, TABLES, "assay/lab/pages.py")
    return "".join(f"| {' | '.join(row)} |\n" for row in TABLES[what](of))


def _recipes(group: str) -> Iterator[Sequence[str]]:
    """The rows for a group of methods: the recipes of each method, what the method is, and its parts."""
    if group not in GROUPS:
        raise unknown("group of methods", group, GROUPS, "assay list recipes")
    yield "recipe", "in one line", f"parts beside those of {_names(PLAIN)}"
    yield "---", "---", "---"
    plain = {place for name in PLAIN for place in _parts(name)}
    for method in GROUPS[group]:
        names = [name for name in RECIPES if METHOD_OF[name] == method]
        found: dict[str, list[str]] = {}
        for slot, part in dict.fromkeys(place for name in names for place in _parts(name)):
            if (slot, part) not in plain:
                found.setdefault(slot, []).append(part)
        told = [f"`{slot}` {' and '.join(found[slot])}" for slot in SLOTS if slot in found]
        yield _names(names), in_one_line(method), ", ".join(told)


def in_one_line(method: str) -> str:
    """A method in one line: the first paragraph of the docstring of its module, without the full stop at the end."""
    first = (importlib.import_module(method).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split()).removesuffix(".")


def _blueprint(group: str) -> Iterator[Sequence[str]]:
    """The rows for a group of methods: the components of each of their recipes."""
    if group not in GROUPS:
        raise unknown("group of methods", group, GROUPS, "assay list recipes")
    return blueprint.rows([RECIPES[name] for name in RECIPES if METHOD_OF[name] in GROUPS[group]])


def _parts(name: str) -> list[tuple[str, str]]:
    """(slot, part) for each part of a recipe, by name."""
    return list(_placed((RECIPES[name].mechanism, RECIPES[name].stages)))


def _placed(record: Any) -> Iterator[tuple[str, str]]:
    if isinstance(record, tuple):
        for item in record:
            yield from _placed(item)
    elif dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            parts = [item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, Part)]
            yield from ((field.name, name_of(part)) for part in parts)
            yield from _placed(value)


def _papers(kind: str) -> Iterator[Sequence[str]]:
    """The rows for a kind of papers, without empty columns. Papers that recipes cite are of their method's group."""
    mine = [paper for paper in papers() if _kind(paper) == kind]
    if not mine:
        raise unknown("kind of papers", kind, {_kind(paper) for paper in papers()}, "assay/lab/papers.toml")
    heads = ("name", "title", "cited as", "here", "what runs", "what of it is not here")
    rows = [(_names([p.name]), p.title, p.cited, p.here, _runs(p), p.missing) for p in mine]
    told = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    for row in (heads, ["---"] * len(heads), *rows):
        yield [row[column] for column in told]


def _kind(paper: Paper) -> str:
    """The table that lists the paper: for a paper that recipes cite that of its method's group, for others that of its
    kind.
    """
    method = METHOD_OF.get(paper.name)
    return next((group for group in GROUPS if method in GROUPS[group]), paper.kind)


def _runs(paper: Paper) -> str:
    told = [f"{what} {_names(found)}" for what in ("recipes", "tasks", "rewards") if (found := getattr(paper, what))]
    if not paper.recipes and not paper.tasks:
        told += [f"`{command}`" for command in paper.commands]
    return "; ".join([*told, *(f"needs {need}" for need in paper.needs)])


def _names(names: Sequence[str]) -> str:
    *first, last = [f"`{name}`" for name in names]
    return " and ".join([", ".join(first), last]) if len(first) == 1 else ", ".join([*first, last])


def _tasks(which: str) -> Iterator[Sequence[str]]:
    """The rows of the built-in tasks that a foreign program verifies (`external`), or of the others (`own`)."""
    if which not in ("own", "external"):
        raise unknown("set of tasks", which, ("own", "external"), "assay/lab/pages.py")
    yield "task", "in one line", "levels", "first", "verified by", "second oracle"
    yield ("---",) * 6
    for task in TASKS.values():
        if bool(task.checker.externals) == (which == "external"):
            made, checker = task.generator, task.checker
            levels = f"{made.levels[0]} to {made.levels[-1]}"
            by = _names(checker.externals) if checker.externals else "its own checker"
            yield f"`{task.name}`", task.summary, levels, str(made.first_level), by, "yes" if checker.second else "no"


def _parts_of_own(which: str) -> Iterator[Sequence[str]]:
    """The rows of the parts that fewer than two methods use (`own`)."""
    if which != "own":
        raise unknown("set of parts", which, ("own",), "assay/lab/pages.py")
    yield "part", "what it does", "when you take it", "options"
    yield ("---",) * 4
    for place, (does, when, options) in for_own_recipes().items():
        yield f"`{place}`", does, when, f"`{options}`"


def _keys(of: str) -> Iterator[Sequence[str]]:
    """The rows of the keys of another trainer that have a counterpart."""
    yield "theirs", "ours", "default there", "remark"
    yield ("---",) * 4
    for row in _foreign(of).rows.values():
        if row.ours:
            ours = ", ".join(f"`{name if name == 'recipe' else f'--{name}'}`" for name in row.settings)
            yield f"`{row.key}`", ours, "" if row.default is None else f"`{row.default}`", row.because.replace("|", "/")


def _absent(of: str) -> Iterator[Sequence[str]]:
    """The rows of the keys without counterpart: one for each reason."""
    yield "no counterpart, because", "keys", "a file that has them"
    yield ("---",) * 3
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in _foreign(of).rows.values():
        if not row.ours:
            reasons.setdefault((row.because, row.outcome), []).append(f"`{row.key}`")
    said = {"idle": "trains", "told": "trains, and the difference is told", "refused": "is refused"}
    for (because, outcome), keys in reasons.items():
        yield because.replace("|", "/"), ", ".join(keys), said[outcome]


def _foreign(of: str) -> ForeignKeys:
    """The table of keys of another trainer."""
    if of not in SYSTEMS:
        raise unknown("trainer", of, SYSTEMS, "assay/run/foreign")
    return keys_of(of)


def _kinds(of: str) -> Iterator[Sequence[str]]:
    """The rows of the kinds of policy (`all`), or of the recipes that a kind serves, by their groups."""
    if of == "all":
        yield "kind", "it is", "a policy of this kind", "recipes"
        yield ("---",) * 4
        for kind in KINDS.values():
            able = "; ".join(ABILITIES[ability] for ability in ABILITIES if kind.can(ability))
            yield f"`{kind.name}`", kind.about, able or "-", f"{len(list(serving(kind)))} of {len(RECIPES)}"
        return
    if of not in KINDS:
        raise unknown("kind of policy", of, KINDS, "assay/policy/kinds.py")
    yield "methods", "recipes that serve it"
    yield ("---",) * 2
    served = list(serving(KINDS[of]))
    for group, methods in GROUPS.items():
        if names := [name for name in served if METHOD_OF[name] in methods]:
            yield group, _names(names)


TABLES = {
    "kinds": _kinds,
    "keys": _keys,
    "absent": _absent,
    "recipes": _recipes,
    "blueprint": _blueprint,
    "papers": _papers,
    "tasks": _tasks,
    "parts": _parts_of_own,
}


def main(pages: Sequence[Path]) -> None:
    for page in pages:
        before = page.read_text(encoding="utf-8")
        if (after := filled(before)) != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
