"""The foreign programs that the tasks of a run need: examined before training, versions compared on resume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.externals import require
from assay.part import name_of, parts_of
from assay.recipe import Recipe
from assay.reward.endpoint_judges import Judged
from assay.source import Pool
from assay.tasks import short, task
from assay.tasks.data import is_data


def require_externals(pool: Pool, rewards: Sequence[str] = ()) -> dict[str, str]:
    """The versions of the externals that a pool needs. Raises ConfigError if one is missing or verifies wrongly.

    With `rewards`, reward functions grade the rows of files, also in exams.
    """
    needs: dict[str, list[str]] = {}
    for share in pool.shares:
        known = task(share.task)
        verified = () if rewards and is_data(share.task) else known.checker.externals
        for name in (*verified, *(known.world.externals if known.world else ())):
            needs.setdefault(name, []).append(share.task)
    if not needs:
        return {}
    tasks = dict.fromkeys(short(name) for names in needs.values() for name in names)
    return require(needs, f"task {', '.join(repr(name) for name in tasks)}")


def versions(now: Mapping[str, str], before: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """External -> its versions in the order in which the run used them; `before` is from run.json."""
    return {
        name: [*before.get(name, ()), *([version] if list(before.get(name, ()))[-1:] != [version] else [])]
        for name, version in now.items()
    }


def changes(now: Mapping[str, str], before: Mapping[str, Sequence[str]]) -> list[str]:
    """A warning for each external of another version than the one that the run used last."""
    return [
        f"{name} verified this run in version {before[name][-1]} and is now {version}: later verdicts may differ from "
        "earlier ones on equal answers. Install the old version again, or start a new run, if that matters"
        for name, version in now.items()
        if before.get(name) and before[name][-1] != version
    ]


def judged_by(recipe: Recipe) -> dict[str, Judged]:
    """The rewards of a recipe that ask a judge, a model behind an endpoint, by their names; {} if none does."""
    parts = parts_of((recipe.mechanisms, recipe.stages))
    return {name_of(part): part for part in parts if isinstance(part, Judged)}
