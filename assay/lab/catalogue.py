"""`assay list` and `assay show`: recipes, tasks, bases, parts and papers, as a table of rows and as cards."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from assay.errors import UsageError, unknown
from assay.known import GROUPS, OTHER_PACKAGES, RECIPES, SLOTS, group_of, spelt
from assay.lab.explain import factors_of, shown_stage
from assay.lab.list_text import listing_text
from assay.lab.part_card import part_card, part_text
from assay.lab.released import compared, deviations, idle, released
from assay.recipe import PROFILES, Recipe, at_profile
from assay.run.configure import to_data
from assay.tasks import MADE_ON_DEMAND, TASKS
from assay.view.text import columns, listed


def listing(what: str, words: str = "") -> list[dict[str, Any]]:
    """A row for each item of `what`, with at least `name` and `summary`; of papers only those that the words name.

    listing("papers", "dapo")[0]["recipes"]
    assay list papers dapo --json
    """
    if what == "papers":
        from assay.lab import papers

        return papers.rows(words)
    if words:
        raise UsageError(
            f"`assay list {what}` takes no words, but got '{words}'. Only `assay list papers WORDS` takes some."
        )
    return _LISTS[what]()


def _recipes() -> list[dict[str, Any]]:
    ordered = sorted(RECIPES.values(), key=lambda r: [*GROUPS, OTHER_PACKAGES].index(group_of(r.name)))
    return [
        {
            "name": r.name,
            "group": group_of(r.name),
            "summary": r.title + (f"; here with {r.mechanism.source.world}" if r.mechanism.source.world else ""),
            "title": r.title,
            "paper": r.paper,
            "claim": r.claim,
            "factors": {
                name: [factor.title for factor in factors] for name, factors in factors_of(shown_stage(r)[1]).items()
            },
        }
        for r in ordered
    ]


def _tasks() -> list[dict[str, Any]]:
    return [
        {"name": t.name, "summary": t.summary, "domain": t.domain, "levels": [levels[0], levels[-1]]}
        for t in TASKS.values()
        for levels in [t.generator.levels]
    ]


def _gym() -> list[dict[str, Any]]:
    from assay.tasks.gym.task import gym_names

    return [{"name": f"gym:{name}", "summary": f"reasoning-gym's {name}, with our splits"} for name in gym_names()]


def _parts() -> list[dict[str, Any]]:
    rows = []
    for slot, registry in SLOTS.items():
        for name, record in registry.items():
            summary = (record.__doc__ or "").strip().split("\n")[0]
            rows.append({"name": f"{slot}:{name}", "summary": summary, "fields": to_data(record())})
    return rows


def _measures() -> list[dict[str, Any]]:
    """What `assay analyse` can ask of a base and of a run that began from it."""
    from assay.lab.analyses import NAMES, measure

    rows = [measure(name) for name in NAMES]
    return [{"name": one.name, "summary": one.asks, "paper": one.paper, "needs": list(one.needs)} for one in rows]


def _worlds() -> list[dict[str, Any]]:
    from assay.lab.world_rows import world_rows

    return world_rows()


def _bases() -> list[dict[str, Any]]:
    from assay.run import fresh_models, pretrained
    from assay.run.bases import BASES, describe

    fresh = map(fresh_models.describe, fresh_models.names())
    return [*map(describe, BASES.values()), *fresh, *map(pretrained.describe, pretrained.PRETRAINED.values())]


_LISTS = {
    "recipes": _recipes,
    "tasks": _tasks,
    "worlds": _worlds,
    "measures": _measures,
    "bases": _bases,
    "parts": _parts,
    "gym": _gym,
}


def card(name: str) -> dict[str, Any]:
    """The card of a recipe, task or base, of a part `SLOT:NAME`, or of a paper or technique, as data. `paper:NAME` is
    always a paper.

    card("gate:clip")["used_by"]
    assay show gate:clip --json
    """
    from assay.run import fresh_models, pretrained
    from assay.run.bases import BASES, describe

    if name.startswith("paper:"):
        return _paper_card(name.removeprefix("paper:"))
    if (spelling := spelt(name)) is not None:
        return _recipe_card(RECIPES[spelling])
    if name in TASKS or name.startswith(MADE_ON_DEMAND):
        return _task_card(name)
    if name in BASES:
        return {"kind": "base", **describe(BASES[name]), "recipe": to_data(BASES[name])}
    if name in pretrained.PRETRAINED:
        return pretrained.card(pretrained.PRETRAINED[name])
    if fresh_models.is_fresh(name):
        return {"kind": "base", **fresh_models.describe(name)}
    slot, _, part = name.partition(":")
    if part in SLOTS.get(slot, ()):
        return part_card(slot, part)
    return _card_of_paper_or_error(name)


def _card_of_paper_or_error(name: str) -> dict[str, Any]:
    """The card of the paper with exactly this name, which is the name of nothing else."""
    from assay.lab import papers
    from assay.run import fresh_models
    from assay.run.bases import BASES
    from assay.run.pretrained import PRETRAINED

    if (found := papers.named(name)) is not None:
        return papers.row(found)
    parts = (f"{slot}:{part}" for slot, parts in SLOTS.items() for part in parts)
    names = {*RECIPES, *TASKS, *BASES, *fresh_models.names(), *PRETRAINED, *parts, *papers.names()}
    raise unknown("recipe, task, base, part or paper", name, names, "assay list recipes|tasks|bases|parts|papers")


def _paper_card(name: str) -> dict[str, Any]:
    """The card of a paper. If several papers match the name, that with exactly this name."""
    rows = listing("papers", name)
    if len(rows) > 1:
        rows = [row for row in rows if row["name"] == name] or rows
    if len(rows) > 1:
        raise UsageError(
            f"'{name}' means several papers: {', '.join(row['name'] for row in rows)}. "
            f"`assay list papers {name}` shows them, `assay show paper:{rows[0]['name']}` the first."
        )
    return rows[0]


def _recipe_card(recipe: Recipe) -> dict[str, Any]:
    from assay.run.experiment import Evaluation, Machine, Saving, Tracking

    scales = {}
    for profile in PROFILES:
        at, rules = at_profile(recipe, profile)
        scales[profile] = {"values": dataclasses.asdict(at.scale), "rules": rules, "idle": idle(at)}
    return {
        "kind": "recipe",
        "name": recipe.name,
        "title": recipe.title,
        "paper": recipe.paper,
        "claim": recipe.claim,
        "tasks": list(recipe.tasks),
        "mechanism": to_data(recipe.mechanism),
        "scales": scales,
        "settings": {
            name: dataclasses.asdict(group())
            for name, group in {
                "evaluation": Evaluation,
                "machine": Machine,
                "saving": Saving,
                "tracking": Tracking,
            }.items()
        },
        "notes": list(recipe.notes),
        "deviations": deviations(recipe),
        "missing": recipe.missing,
        "released": _released(recipe),
    }


def _released(recipe: Recipe) -> dict[str, Any] | None:
    """Every value that the authors published beside ours, and why those differ that do; None: nothing is on record."""
    if (known := released(recipe.name)) is None:
        return None
    rows = [dataclasses.asdict(one) | {"same": one.same} for one in compared(recipe, known)]
    return {"read": known.read, "values": rows}


def _task_card(name: str) -> dict[str, Any]:
    from assay.rng import Key
    from assay.run.bases import BASES
    from assay.source import Share
    from assay.tasks import task
    from assay.tasks.abilities import OwnPolicy

    shown = task(name)
    (level,), seconds = Share.parse(name).levels, shown.checker.seconds
    examples = {}
    for wording in ("natural",) if name.startswith("gym:") else ("compact", "natural"):
        problem = shown.problem(Key("card", name), level=level, wording=wording)
        examples[wording] = {"prompt": problem.prompt, "solution": problem.solution}
    return {
        "kind": "task",
        "name": shown.name,
        "domain": shown.domain,
        "summary": shown.summary,
        "levels": list(shown.generator.levels),
        "first": level,
        "judging": f"{seconds:g} s of the processor for an answer, at most" if seconds else "at once",
        "bases": {
            base.name: f"made at level {listed(list(map(str, dict.fromkeys(share.levels))))}"
            for base in BASES.values()
            for share in base.pool.shares
            if share.task == name
        }
        | ({own.kind: "untrained"} if (own := shown.ability(OwnPolicy)) else {}),
        "examples": examples,
    }


def card_text(found: Mapping[str, Any]) -> str:
    """A card as text for a terminal: nested data as indented lines."""
    if "cited" in found:
        return listing_text([found])
    if found["kind"] == "part":
        return part_text(found)
    if found["kind"] == "recipe":
        inner = {name: value for name, value in found.items() if name != "released"}
        return "\n".join([*_lines(inner, 0), *_released_lines(found["released"])])
    return "\n".join(_lines(found, 0))


def _released_lines(found: Mapping[str, Any] | None) -> list[str]:
    """A table of settings with their values here and in the release; below it what no setting stands for, in words."""
    if found is None:
        return ["released: no configuration of the authors is on record here"]
    rows = [row for row in found["values"] if row["here"] is not None]
    table = [(row["name"], str(row["here"]), str(row["released"]), row["why"]) for row in rows]
    words = [f"{row['name']}: {row['released']}. {row['why']}" for row in found["values"] if row["here"] is None]
    lines = [*columns([("setting", "here", "released", "why they differ"), *table]), *(line.rstrip() for line in words)]
    return [f"released: {found['read']}", *(f"  {line}" for line in lines)]


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(value, Mapping):
        lines = []
        for name, item in value.items():
            if isinstance(item, Mapping | list) and item:
                lines += [f"{pad}{name}", *_lines(item, depth + 1)]
            else:
                lines.append(f"{pad}{name}: {_plain(item)}")
        return lines
    if isinstance(value, list):
        lines = []
        for item in value:
            inner = _lines(item, depth + 1) if isinstance(item, Mapping | list) else [f"{pad}  {_plain(item)}"]
            lines += [f"{pad}- {inner[0].strip()}", *inner[1:]]
        return lines
    return [f"{pad}{_plain(value)}"]


def _plain(value: Any) -> str:
    return "-" if value is None or value == [] or value == {} else str(value)
