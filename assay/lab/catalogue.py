"""What there is, by name: recipes, tasks, bases and parts, as rows and as cards."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from assay.configure import to_data
from assay.errors import unknown
from assay.known import GROUPS, OTHERS, RECIPES, SLOTS, group_of, spelt
from assay.lab.explain import factors_of, shown_stage
from assay.recipe import PROFILES, Recipe, at_profile
from assay.tasks import TASKS


def listing(what: str) -> list[dict[str, Any]]:
    """Rows with at least `name` and `summary`."""
    return _LISTS[what]()


def _recipes() -> list[dict[str, Any]]:
    ordered = sorted(RECIPES.values(), key=lambda r: [*GROUPS, OTHERS].index(group_of(r.name)))
    return [
        {
            "name": r.name,
            "group": group_of(r.name),
            "summary": r.title + (f"; here with {r.mechanism.source.world}" if r.mechanism.source.world else ""),
            "title": r.title,
            "paper": r.paper,
            "claim": r.claim,
            "factors": {
                name: [factor.title for factor in found] for name, found in factors_of(shown_stage(r)[1]).items()
            },
        }
        for r in ordered
    ]


def _tasks() -> list[dict[str, Any]]:
    return [
        {"name": t.name, "summary": t.summary, "domain": t.domain, "levels": [t.levels.start, t.levels.stop - 1]}
        for t in TASKS.values()
    ]


def _gym() -> list[dict[str, Any]]:
    from assay.tasks.gym import gym_names

    return [{"name": f"gym:{name}", "summary": f"reasoning-gym's {name}, with our splits"} for name in gym_names()]


def _parts() -> list[dict[str, Any]]:
    rows = []
    for slot, registry in SLOTS.items():
        for name, record in registry.items():
            summary = (record.__doc__ or "").strip().split("\n")[0]
            rows.append({"name": f"{slot}:{name}", "summary": summary, "fields": to_data(record())})
    return rows


def _bases() -> list[dict[str, Any]]:
    from assay.bases import BASES, describe

    return [describe(made) for made in BASES.values()]


_LISTS = {
    "recipes": _recipes,
    "tasks": _tasks,
    "bases": _bases,
    "parts": _parts,
    "gym": _gym,
}


HEADINGS = {
    "objectives": "objectives: baselines, ratios, gates, corrections, whole losses, preferences, demonstrations",
    "shaping": "shaping: advantages, lengths, streams, replay",
    "exploration": "exploration: problems, hints, start states, forks, trees, drafts, buffers, teachers, self-play",
    OTHERS: "of other packages",
}


def listing_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line each, in groups below their headings where there are some."""
    width = max((len(row["name"]) for row in rows), default=0)
    lines = []
    for group, found in itertools.groupby(rows, key=lambda row: row.get("group")):
        indent = ""
        if group is not None:
            indent, heading = "  ", HEADINGS[group]
            lines += [""] * bool(lines) + [heading]
        lines += [f"{indent}{row['name']:<{width}}  {row['summary']}" for row in found]
    return "\n".join(lines)


def card(name: str) -> dict[str, Any]:
    """Everything about one recipe, task, base or part."""
    from assay.bases import BASES, describe

    if (known := spelt(name)) is not None:
        return _recipe_card(RECIPES[known])
    if name in TASKS or name.startswith("gym:"):
        return _task_card(name)
    if name in BASES:
        return {"kind": "base", **describe(BASES[name]), "recipe": to_data(BASES[name])}
    parts = {row["name"]: row for row in _parts()}
    if name in parts:
        return {"kind": "part", **parts[name]}
    names = [*RECIPES, *TASKS, *BASES, *parts]
    raise unknown("recipe, task, base or part", name, names, "assay list recipes|tasks|bases|parts")


def _recipe_card(recipe: Recipe) -> dict[str, Any]:
    from assay.experiment import Evaluation, Machine, Saving, Tracking

    scales = {}
    for profile in PROFILES:
        at, rules = at_profile(recipe, profile)
        scales[profile] = {"values": dataclasses.asdict(at.scale), "rules": rules}
    return {
        "kind": "recipe",
        "name": recipe.name,
        "title": recipe.title,
        "paper": recipe.paper,
        "claim": recipe.claim,
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
    }


def _task_card(name: str) -> dict[str, Any]:
    from assay.rng import Key
    from assay.tasks import task

    found = task(name)
    level = found.levels[0]
    examples = {}
    for wording in ("natural",) if name.startswith("gym:") else ("compact", "natural"):
        problem = found.problem(Key("card", name), level=level, wording=wording)
        examples[wording] = {"prompt": problem.prompt, "solution": problem.solution}
    return {
        "kind": "task",
        "name": found.name,
        "domain": found.domain,
        "summary": found.summary,
        "levels": list(found.levels),
        "examples": examples,
    }


def card_text(found: Mapping[str, Any]) -> str:
    """A card for a person: nested data as indented lines."""
    return "\n".join(_lines(found, 0))


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
