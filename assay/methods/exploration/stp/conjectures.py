"""What a round asks: proofs of the targets, and conjectures in the manner of a theorem that was proved."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask import Codec, Sampling
from assay.collect.answers import answers_to
from assay.memory import Memory
from assay.memory.posed import posed
from assay.methods.exploration.stp.lessons import KeepLessons, lemmas_of, proof_of
from assay.part import Count, Expansion, Proportion, scales_with
from assay.source import Pool
from assay.source.epochs import in_epochs, set_of
from assay.source.pose import Posing
from assay.tasks import posing_of, task
from assay.tasks.pose import PREFIX
from assay.tasks.task import Spec
from assay.types import Episode, Problem, Request

if TYPE_CHECKING:
    from assay.rng import Key


def conjectures(
    memory: Memory,
    first: int,
    count: int,
    *,
    pool: Pool,
    drawn: int,
    size: int,
    share: float,
    least: float,
    lemma: float,
    cap: float,
    again: float,
    place: str,
) -> list[Problem]:
    """Targets that are not proved, then prompts for conjectures: their `share` of the `drawn` problems of a round."""
    posing = min(drawn - 1, math.ceil(share * drawn)) if drawn > 1 else 0
    targets = drawn - posing
    rates = memory.store(place).get("rates", {})
    key = memory.key("targets", memory.stage)
    every = set_of(pool, memory.seed, size)
    wanted = [goal for goal in every if not rates.get(goal.id) or key(goal.id).bits < again * 2**64] or list(every)
    seeds, named = _seeds(memory, rates, least, place), Counter[str]()
    result = []
    for ordinal in range(first, first + count):
        turn, index = divmod(ordinal, drawn)
        if index < targets:
            begin = memory.step * targets + turn * targets + index
            result += in_epochs(wanted, key, begin, 1)
            continue
        own = memory.key("conjecture", memory.step, ordinal)
        share_of = pool.shares[ordinal % len(pool.shares)].task
        chosen = prompt(own, share_of, seeds.get(share_of, []), pool, lemma=lemma)
        given = chosen.spec["shown"][0]["lemma"]
        if given and named[given] >= max(1, math.floor(cap * posing)):
            chosen = prompt(own, share_of, seeds.get(share_of, []), pool, lemma=0.0)
        named[chosen.spec["shown"][0]["lemma"]] += 1
        result.append(chosen)
    return result


def _seeds(memory: Memory, rates: dict[str, float], least: float, place: str) -> dict[str, list[Episode]]:
    """Task -> its proved targets, each with its first proof: those with a success rate above `least` if there are."""
    lessons = [e for e in memory.kept.get(place, ()) if not e.request.problem.task.startswith(PREFIX)]
    proved = {e.request.problem.id: e for e in reversed(lessons) if rates.get(e.request.problem.id)}
    often = [e for name, e in proved.items() if rates[name] > least] or list(proved.values())
    found: dict[str, list[Episode]] = {}
    for episode in often:
        found.setdefault(episode.request.problem.task, []).append(episode)
    return found


def prompt(key: Key, name: str, seeds: Sequence[Episode], pool: Pool, *, lemma: float) -> Problem:
    """The prompt for a conjecture of this task: a proved theorem with its proof and, with the probability `lemma`, a
    lemma that the proof uses. Until one is proved, the seed instance of the task is shown.
    """
    poses, posing = task(PREFIX + name), posing_of(task(name))
    parents: tuple[str, ...] = ()
    shown: list[Spec] = []
    for i in range(posing.shown):
        seed = seeds[key("seed", i).bits % len(seeds)] if seeds else None
        shown.append({**posing.seed, "proof": "", "lemma": ""} if seed is None else _shown(seed))
        parents += () if seed is None else (seed.request.problem.id,)
    if seeds and key("lemma").bits < lemma * 2**64:
        used = lemmas_of(seeds[key("seed", 0).bits % len(seeds)].request.problem, shown[0]["proof"])
        shown[0] = {**shown[0], "lemma": used[key("which").bits % len(used)] if used else ""}
    spec = {"shown": shown, "example": posing.seed}
    problem = poses.pose(spec, level=poses.generator.levels[0], wording=pool.wording)
    return dataclasses.replace(problem, solution=None, parents=tuple(dict.fromkeys(parents)), provenance="posed")


def _shown(seed: Episode) -> Spec:
    return {**seed.request.problem.spec, "proof": proof_of(seed), "lemma": ""}


class Conjectures(Posing):
    """Draws targets that are not proved yet, and `again` of the others, from a fixed set; a `share` of the problems are
    prompts for conjectures, which show a proved theorem with its proof and with a lemma that it uses (STP 2502.00212).

        source=Conjectures(size=512, share=0.5)
        --mechanism.source conjectures --mechanism.source.share 0.5
    """

    reads = (KeepLessons,)

    size: Count = scales_with("num_prompts", 512)
    share: Proportion = 0.5  # of the problems of a step; what else is drawn are targets, at least one
    least: Proportion = 0.35  # theorems with a higher success rate are shown
    lemma: Proportion = 0.5  # of the prompts for conjectures have a lemma
    cap: Proportion = 0.1  # the most prompts of a step that have the same lemma
    again: Proportion = 0.05  # of the targets that are proved
    does = conjectures
    needs = ("texts",)


def prove_conjectures(
    episodes: Sequence[Episode],
    memory: Memory,
    *,
    sampling: Sampling,
    codec: Codec,
    group_size: int,
    answers: int,
    place: str,
) -> list[Request]:
    """`answers` requests for each new conjecture, at most as many conjectures as targets were asked in this step."""
    own = [episode for episode in episodes if episode.request.problem.task.startswith(PREFIX)]
    asked = {episode.request.id for episode in own}
    if any(episode.request.parent in asked for episode in episodes):
        return []
    targets = {e.request.problem.id for e in episodes if e.request.id not in asked}
    earlier = targets | set(memory.store(place).get("rates", {}))
    new: dict[str, tuple[Episode, Problem]] = {}
    for episode in own:
        problem = posed(episode)
        if problem is not None and problem.id not in earlier and task(problem.task).split_of(problem.spec) == "train":
            new.setdefault(problem.id, (episode, problem))
    chosen = list(itertools.islice(new.values(), max(1, len(targets))))
    about: dict[str, Any] = {"sampling": sampling, "codec": codec, "answers": answers or group_size}
    return answers_to(chosen, episodes, memory, **about)


class ProveConjectures(Expansion):
    """The policy tries to prove each new conjecture of the step, several times (STP 2502.00212). Held-out theorems are
    none.

        expand=(ProveConjectures(),)
        --mechanism.expand prove-conjectures
    """

    reads = (KeepLessons,)

    answers: int = 0  # tries for each conjecture; 0: as many as for a target
    does = prove_conjectures
    needs = ("texts",)
