"""The pools of posed problems: text that the policy wrote becomes an instance of a task and enters its pool."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.part import Count, Remembering
from assay.tasks import posing_of, task
from assay.tasks.pose import PREFIX
from assay.tasks.task import Spec
from assay.types import Episode, Problem
from assay.verifiers.answers import Wording, find_answer

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "posed"
CHECKS = ("read", "train-split", "new")  # the checks that an instance passed before it entered the pool


def admit_posed(memory: Memory, *, episodes: Sequence[Episode], cap: int, place: str = STORE) -> Memory:
    """Stores each new instance with its parents, the role that posed it, the policy's version, the checks it passed,
    and the share of its probes that were right.
    """
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


class AdmitPosed(Remembering):
    """Valid new problems enter the pool of their task, whatever their reward; a pool keeps its newest `cap` problems.

    remember=(AdmitPosed(cap=16384),)
    --mechanism.remember admit-posed --mechanism.remember.0.cap 16384
    """

    keeps = STORE

    cap: Count = 16384
    does = admit_posed
    needs = ("texts",)


def posed(episode: Episode) -> Problem | None:
    """The problem that this episode poses; None if it poses none, or if its text is not an instance of the task."""
    asked = episode.request.problem
    if not asked.task.startswith(PREFIX) or not episode.right:
        return None
    target = task(asked.task.removeprefix(PREFIX))
    spec = posing_of(target).read(find_answer(episode.text, asked.wording) or "", asked.spec["shown"])
    if spec is None:
        return None
    problem = instance_of(target.name, spec, asked.wording)
    return dataclasses.replace(problem, parents=asked.parents, provenance="posed")


def instance_of(name: str, spec: Spec, wording: Wording = "compact") -> Problem:
    """The instance of the task that the text of an answer describes; None if it describes none."""
    target = task(name)
    return target.pose(spec, level=posing_of(target).level(spec), wording=wording)


def admitted(episodes: Sequence[Episode], memory: Memory, place: str = STORE) -> list[tuple[Episode, Problem]]:
    """The posed instances of the step that may enter a pool: of the training split, and not posed before."""
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
    """The instances of a task's pool, oldest first; while the pool is empty, the seed instance of the task."""
    if entries := memory.store(place).get(name):
        return entries
    seed = posing_of(task(name)).seed
    return [{"spec": seed, "id": instance_of(name, seed).id, "parents": []}]


def solved(episode: Episode, everyone: Sequence[Episode], *, lost: str = "missing") -> list[bool]:
    """For each probe of the problem that this episode poses, whether it is right. A probe that an error of ours left
    without a verdict is left out, or counts as wrong, by `lost`.
    """
    verdicts = [e.verdict for e in everyone if e.request.tag == "probe" and e.request.parent == episode.request.id]
    counted = [v for v in verdicts if v is not None and (v.status != "invalid" or lost == "wrong")]
    return [v.status == "ok" for v in counted]
