"""What a round leaves: proofs, for the prover, and conjectures that were barely proved, for the conjecturer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.rehearse import rehearse
from assay.memory.episodes import bare
from assay.memory.posed import posed
from assay.methods.exploration.stp.matched import matches
from assay.part import Asking, Count, Curator, Proportion, Remembering
from assay.rng import digest
from assay.tasks import task
from assay.tasks.abilities import Proving
from assay.tasks.pose import PREFIX
from assay.types import Episode, Problem, Request, Row

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "lessons"
NO_LEMMA = 4096  # conjectures without a lemma that are taken, whatever the number of the others


def key_of(episode: Episode) -> str:
    """The name of a lesson: equal answers to a problem have one."""
    return f"{episode.request.problem.id}/{digest('lesson', episode.stream('ids').tobytes())}"


def lemmas_of(problem: Problem, answer: str) -> tuple[str, ...]:
    """The lemmas that an answer to this problem uses; none where the task does not tell."""
    proving = task(problem.task).ability(Proving)
    return tuple(proving.lemmas(problem.spec, answer)) if proving is not None else ()


def given_lemma(conjecture: Episode) -> str:
    """The lemma that the prompt of a conjecture named; "" if it named none."""
    return str(conjecture.request.problem.spec["shown"][0].get("lemma", ""))


def answers_by_problem(episodes: Sequence[Episode]) -> dict[str, list[Episode]]:
    """The verified answers of this step to each statement, by the id of its problem."""
    found: dict[str, list[Episode]] = {}
    for episode in episodes:
        asked = episode.request.problem
        if episode.verified and episode.provenance == "fresh" and not asked.task.startswith(PREFIX):
            found.setdefault(asked.id, []).append(episode)
    return found


def proof_of(episode: Episode) -> str:
    """The proof in an answer that is right."""
    return (episode.verdict and episode.verdict.answer) or episode.text


def keep_lessons(
    memory: Memory,
    *,
    episodes: Sequence[Episode],
    below: float,
    inelegant: float,
    most: int,
    place: str,
) -> Memory:
    """The memory with the lessons of this step. A lesson that it holds already is renewed."""
    held = {key_of(episode): episode for episode in memory.kept.get(place, ())}
    store = memory.store(place)
    lessons, rates, unproved = (dict(store.get(name, {})) for name in ("lessons", "rates", "unproved"))
    answers = answers_by_problem(episodes)
    conjectured = {problem.id for episode in episodes if (problem := posed(episode)) is not None}
    for problem, own in answers.items():
        right = {key_of(answer): answer for answer in own if answer.right}
        rate = sum(answer.right for answer in own) / len(own)
        own_conjecture = problem in conjectured
        if not own_conjecture:
            rates[problem] = rate or rates.get(problem, 0.0)
            unproved.pop(problem, None)
            if not rates[problem]:
                unproved[problem] = own[0].request.problem.canonical
        about = {"of": "proof", "posed": own_conjecture, "rate": rate, "count": len(right), "round": memory.stage}
        for key, answer in right.items():
            held[key] = bare(answer)
            lessons[key] = about | {"length": len(proof_of(answer))}
    for episode, weight in _conjectures(episodes, answers, list(unproved.values()), below, inelegant, most):
        held[key := key_of(episode)] = bare(episode)
        lessons[key] = {"of": "conjecture", "weight": weight, "round": memory.stage}
    return memory.hold(place, list(held.values())).keep(
        place, {"lessons": lessons, "rates": rates, "unproved": unproved}
    )


def _conjectures(
    episodes: Sequence[Episode],
    answers: Mapping[str, Sequence[Episode]],
    targets: Sequence[str],
    below: float,
    inelegant: float,
    most: int,
) -> list[tuple[Episode, float]]:
    """The conjectures that train the conjecturer, with their weights."""
    barely: dict[str, list[tuple[Episode, str, float]]] = {}
    for episode in episodes:
        problem = posed(episode)
        own = answers.get(problem.id, ()) if problem is not None else ()
        right = [answer for answer in own if answer.right]
        lemma = given_lemma(episode) if problem is not None else ""
        if problem is None or not right or len(right) / len(own) >= below:
            continue
        if lemma and not any(lemma in lemmas_of(problem, proof_of(answer)) for answer in right):
            continue
        elegance = min(len(proof_of(answer)) for answer in right) / max(1, len(problem.canonical))
        barely.setdefault(lemma, []).append((episode, problem.canonical, elegance))
    free = max(20 * sum(len(own) for lemma, own in barely.items() if lemma), NO_LEMMA)
    barely[""] = barely.get("", [])[:free]
    chosen = [triple for own in barely.values() for triple in elegant(own, inelegant)]
    matched = matches([text for _, text, _ in chosen], targets, most=most)
    pairs = Counter(matched)
    return [(chosen[i][0], count * len(chosen) / len(targets)) for i, count in sorted(pairs.items())]


def elegant(found: Sequence[tuple[Episode, str, float]], inelegant: float) -> list[tuple[Episode, str, float]]:
    """The conjectures without the share whose shortest proof is the shortest beside the statement."""
    dropped = math.floor(inelegant * len(found))
    order = sorted(range(len(found)), key=lambda i: found[i][2])[dropped:]
    return [found[i] for i in sorted(order)]


class KeepLessons(Remembering):
    """Holds all different proofs, with the success rate of their statement, and the conjectures with a success rate
    0 < s < `below` whose proof uses the lemma that was given. Of those of each lemma, the share `inelegant` with the
    lowest length of proof / length of statement is dropped; the rest is matched with the targets that were tried and
    are not proved (STP 2502.00212).

        remember=(KeepLessons(),)
        --mechanism.remember keep-lessons
    """

    keeps = STORE

    below: Proportion = 0.25
    inelegant: Proportion = 0.2
    most: Count = 4  # targets that a conjecture is matched with
    does = keep_lessons
    needs_verdict = True
    needs = ("texts",)


def of_rounds(lesson: Mapping[str, Any], stage: int, recent: int) -> bool:
    """Whether a lesson trains in a round: those of the last `recent` rounds, of two stages each; of proofs those of
    statements with s <= 1/2.
    """
    return lesson["round"] > stage - 2 * recent and (lesson["of"] == "conjecture" or lesson["rate"] <= 0.5)


def of_all(lesson: Mapping[str, Any], below: float = 0.25) -> bool:
    """Whether a lesson trains the last model: all proofs of the targets, and those of conjectures with s <= 1/4."""
    return lesson["of"] == "proof" and (not lesson["posed"] or lesson["rate"] <= below)


def rehearse_lessons(
    requests: Sequence[Request], memory: Memory, *, recent: int, last: bool, place: str
) -> list[Request]:
    """Each request becomes a lesson, in epochs."""
    lessons = memory.store(place).get("lessons", {})
    wanted = {key for key, one in lessons.items() if (of_all(one) if last else of_rounds(one, memory.stage, recent))}
    chosen = [episode for episode in memory.kept.get(place, ()) if key_of(episode) in wanted]
    return rehearse(requests, memory.hold(place, chosen), name=STORE, place=place)


class RehearseLessons(Asking):
    """Replaces every request by a lesson of the last `recent` rounds: a conjecture, or a proof of a statement with a
    success rate of at most 1/2. `last`: by a proof of any round, of a target or of a conjecture with at most 1/4 (STP).

        ask=(RehearseLessons(recent=3),)
        --mechanism.ask rehearse-lessons --mechanism.ask.0.recent 3
    """

    reads = (KeepLessons,)

    recent: Count = 3
    last: bool = False
    does = rehearse_lessons


def weight_of(lesson: Mapping[str, Any], *, decay: float, last: bool) -> float:
    """Of a conjecture its weight; of a proof exp(-decay length) / number of proofs, in the end without the divisor."""
    if lesson["of"] == "conjecture":
        return float(lesson["weight"])
    return math.exp(-decay * lesson["length"]) / (1 if last else lesson["count"])


def lesson_weights(rows: Sequence[Row], memory: Memory, *, decay: float, last: bool, place: str) -> list[Row]:
    """The rows of lessons with their weights. Others stay as they are."""
    lessons = memory.store(place).get("lessons", {})
    result = []
    for row in rows:
        lesson = lessons.get(key_of(row.episode)) if row.episode.provenance == "replay" else None
        result.append(row if lesson is None else row.mark(weight=weight_of(lesson, decay=decay, last=last)))
    return result


class LessonWeights(Curator):
    """A row of a proof weighs exp(-decay length) / number of proofs of its statement, the length in characters; that of
    a conjecture the sum of its matches (STP 2502.00212).

        curate=(LessonWeights(decay=0.001),)
        --mechanism.curate lesson-weights --mechanism.curate.0.decay 0.001
    """

    reads = (KeepLessons,)
    writes = ("rows",)

    decay: float = 0.001
    last: bool = False  # without the number of proofs, as for the last model
    does = lesson_weights
