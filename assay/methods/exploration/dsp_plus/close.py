"""Proofs that fail are taken as sketches: masked, closed by tactics of automation, and else gone on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.hints import answered, written_by_others
from assay.methods.exploration.dsp_plus.sketch import Told, Trial, before_hole, closed, is_hole, masked, sketched
from assay.part import Count, Expansion
from assay.tasks import task
from assay.types import Episode, Problem, Request, by_group

if TYPE_CHECKING:
    from assay.ask import Codec

CLOSED, OPEN = "closed", "open hole"
CLOSERS = ("now auto.", "now lia.", "now firstorder.", "now congruence.")
_MARKED = {"compact": "{}", "natural": "```coq\n{}\n```"}


def trial_of(statement: str, preamble: str) -> Trial:
    """What a session of Coq says of sentences under this statement. Raises RuntimeError on an error of ours."""
    from assay.externals import workers_of
    from assay.verifiers.proofs.coq import MOST_TACTICS, asked
    from assay.verifiers.unfinished import unfinished

    def trial(row: Sequence[str]) -> Told:
        if len(row) > MOST_TACTICS:
            return Told("nothing")
        (outcome,) = workers_of("coq").map([asked(statement, row, preamble)])
        if (verdict := unfinished(outcome, "coq")) is not None:
            if verdict.status == "invalid":
                raise RuntimeError(verdict.detail)
            return Told("nothing")
        return told_by(outcome.result["status"], outcome.result["place"], outcome.result["said"])

    return trial


def told_by(status: str, place: int, words: str) -> Told:
    """The answer of a session. `Qed` says of a proof with holes alone that goals were given up."""
    match status:
        case "proved":
            return Told("proved")
        case "open":
            return Told("holes" if "given up goals" in " ".join(words.split()) else "open")
        case "tactic":
            return Told("refused", place - 1)
        case "statement":
            raise RuntimeError(f"coq: {words}")
        case _:
            return Told("nothing")


def in_coq(problem: Problem) -> bool:
    """Whether an answer to the problem is a row of tactics for Coq, written without replies."""
    if problem.provenance == "data" or "statement" not in problem.spec:
        return False
    asked_of = task(problem.task)
    return "coq" in asked_of.checker.externals and asked_of.world is None


def repaired(problem: Problem, text: str, closers: Sequence[str], trial: Trial) -> list[str] | None:
    """The sentences of an answer, masked and with as many holes closed as these tactics close. None if it is no row of
    tactics, or if Coq says nothing.
    """
    from assay.tasks.coq import answer_in
    from assay.verifiers.proofs.coq import Unreadable

    marked = answer_in(problem, text)
    if marked is None:
        return None
    try:
        sketch = masked(sketched(marked, problem.spec.get("preamble", "")), trial)
    except Unreadable:
        return None
    return None if sketch is None else closed(sketch, trial, closers)


def close_sketches(
    episodes: Sequence[Episode], *, codec: Codec, closers: tuple[str, ...], rounds: int
) -> list[Request]:
    """A request for each failed answer to a theorem of Coq: answered by the proof, if all holes were closed, else for
    what stands behind the first hole that is open. None once `rounds` rounds have gone on, nor where a proof is there.
    """
    done = {episode.request.parent for episode in episodes}
    made: list[Request] = []
    for group in by_group(episodes).values():
        if any(member.right for member in group.members) or not in_coq(group.members[0].request.problem):
            continue
        free = 1 + max(member.request.sample for member in group.members)
        for member in group.members:
            request = member.request
            if member.verified and request.id not in done and request.tag != CLOSED:
                further = _further(member, codec, closers, rounds)
                made += [] if further is None else [dataclasses.replace(further, sample=free, parent=request.id)]
                free += 1
    return made


def _further(episode: Episode, codec: Codec, closers: tuple[str, ...], rounds: int) -> Request | None:
    request = episode.request
    problem = request.problem
    trial = trial_of(problem.spec["statement"], problem.spec.get("preamble", ""))
    sketch = repaired(problem, episode.text, closers, trial)
    if sketch is None:
        return None
    next_round = dataclasses.replace(request, round=request.round + 1, prefix=())
    form = _MARKED[problem.wording]
    if not any(map(is_hole, sketch)):
        return dataclasses.replace(answered(next_round, form.format(" ".join(sketch)), codec), tag=CLOSED)
    begun = codec.encode(form.partition("{")[0] + " ".join(before_hole(sketch)))
    left = request.max_new + request.given - len(begun)
    if left < 1 or (request.tag == OPEN and request.round > rounds):
        return None
    prefix = (written_by_others(begun),) if len(begun) else ()
    return dataclasses.replace(next_round, tag=OPEN, prefix=prefix, max_new=left)


class CloseSketches(Expansion):
    """Takes each failed proof in Coq as a sketch (DSP+ 2506.11487). Sentences that Coq refuses are masked by holes;
    each hole is closed by the first of `closers` that closes it; a proof without holes joins the group, tagged
    `closed`. Otherwise the policy goes on from the first open hole, tagged `open hole`, up to `rounds` times.

        expand=(CloseSketches(rounds=4),)
        --mechanism.expand close-sketches --mechanism.expand.0.rounds 4
    """

    closers: tuple[str, ...] = CLOSERS  # tactics that end a goal or fail, in the order in which they are tried
    rounds: Count = 4  # the most rounds in which the policy goes on behind a hole
    does = close_sketches
    needs = ("texts",)
    needs_verdict = True

    def refusal(self, **_: object) -> str | None:
        from assay.verifiers.proofs.coq import Unreadable, sentences

        for closer in self.closers:
            try:
                alone = len(sentences(closer, "library")) == 1
            except Unreadable:
                alone = False
            if not alone:
                return f"close-sketches: '{closer}' is not one tactic that a proof may have, such as {CLOSERS[0]}"
        return None
