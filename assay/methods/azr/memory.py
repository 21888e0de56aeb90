"""Problems that a policy posed: what was written becomes an instance, and the instances of a task a pool."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.part import Remembering
from assay.tasks import task
from assay.tasks.pose import PREFIX
from assay.tasks.task import Spec
from assay.types import Episode, Problem
from assay.verifiers.answers import Wording, find_answer

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "posed"
CHECKS = ("read", "train-split", "new")  # what an instance passed before it came into the pool


def admit_posed(memory: Memory, *, episodes: Sequence[Episode], cap: int, place: str = STORE) -> Memory:
    """With their parents, who posed them, the policy's version, the checks passed, and the share of right probes."""
    store = memory.store(place)
    for episode, problem in admitted(episodes, memory, place):
        rate = solved(episode, episodes)
        entry = {
            "spec": problem.spec,
            "id": problem.id,
            "parents": list(problem.parents),
            "role": episode.request.role,
            "version": episode.segments[-1].version,
            "step": memory.step,
            "checks": list(CHECKS),
            "right": [sum(rate), len(rate)],
        }
        store[problem.task] = [*store.get(problem.task, []), entry][-cap:]
    return memory.keep(place, store)


@dataclass(frozen=True)
class AdmitPosed(Remembering):
    """Valid problems that are new come into the pool of their task, whatever their reward; the newest `cap` stay."""

    keeps = STORE

    cap: int = 16384
    does = admit_posed


def posed(episode: Episode) -> Problem | None:
    """The problem that this episode poses; None where it poses none, or where what it wrote is no instance."""
    asked, verdict = episode.request.problem, episode.verdict
    if not asked.task.startswith(PREFIX) or verdict is None or verdict.status != "ok":
        return None
    target = task(asked.task.removeprefix(PREFIX))
    assert target.posing is not None
    spec = target.posing.read(find_answer(episode.text, asked.wording) or "", asked.spec["shown"])
    if spec is None:
        return None
    problem = instance_of(target.name, spec, asked.wording)
    return dataclasses.replace(problem, parents=asked.parents, provenance="posed")


def instance_of(name: str, spec: Spec, wording: Wording = "compact") -> Problem:
    target = task(name)
    assert target.posing is not None
    return target.pose(spec, level=target.posing.level(spec), wording=wording)


def admitted(episodes: Sequence[Episode], memory: Memory, place: str = STORE) -> list[tuple[Episode, Problem]]:
    """What was posed and may be trained on: instances of the training split that nobody has posed before."""
    known = {entry["id"] for entries in memory.store(place).values() for entry in entries}
    found = []
    for episode in episodes:
        problem = posed(episode)
        if problem is None or problem.id in known or task(problem.task).split_of(problem.spec) != "train":
            continue
        known.add(problem.id)
        found.append((episode, problem))
    return found


def pool_of(memory: Memory, name: str, place: str = STORE) -> list[dict[str, Any]]:
    """The instances of a task's pool, oldest first; the seed of the task while there is none."""
    if entries := memory.store(place).get(name):
        return entries
    posing = task(name).posing
    assert posing is not None
    return [{"spec": posing.seed, "id": instance_of(name, posing.seed).id, "parents": []}]


def short_of(memory: Memory, names: Sequence[str], size: int, place: str = STORE) -> list[str]:
    """The tasks of which fewer than `size` problems were posed; nobody posed the seed."""
    store = memory.store(place)
    return [name for name in names if len(store.get(name, ())) < size]


def solved(episode: Episode, everyone: Sequence[Episode], *, lost: str = "missing") -> list[bool]:
    """Whether each probe of what this episode posed was right; one lost to an error of ours is missing or wrong."""
    verdicts = [e.verdict for e in everyone if e.request.tag == "probe" and e.request.parent == episode.request.id]
    counted = [v for v in verdicts if v is not None and (v.status != "invalid" or lost == "wrong")]
    return [v.status == "ok" for v in counted]
