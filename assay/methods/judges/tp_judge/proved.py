"""A reward for solutions whose steps a prover verifies, and the groups whose solutions are all verified."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from assay.curate.parts import leave_out
from assay.methods.judges.tp_judge.formal import REPAIRS, Prove, fate_of_all, fates
from assay.part import Curator, Rewarding
from assay.tasks.steps import divided, spans_of
from assay.types import Episode, Problem, Reward, Row, by_group

NAME = "proved-steps"


class Unproved(RuntimeError):
    """The prover cannot answer, which is an error of ours: the kind of the verdict."""


def by_coq(statements: Sequence[str]) -> list[bool]:
    """Whether `lia` proves each statement, without assumptions. Raises Unproved."""
    from assay.verifiers.proofs.coq import Claim, verify

    verdicts = [one.verdict for one in verify([Claim(text, "lia.", preamble="library") for text in statements])]
    if broken := [verdict.kind for verdict in verdicts if verdict.status == "invalid"]:
        raise Unproved(broken[0])
    return [verdict.status == "ok" for verdict in verdicts]


def claims_in(episode: Episode) -> list[str]:
    """The steps of an answer that claim an equation."""
    wording = episode.request.problem.wording
    body, _ = divided(episode.text, wording)
    return [piece for begin, end in spans_of(body, wording) if "=" in (piece := body[begin:end])]


def proved_steps(episodes: Sequence[Episode], *, repairs: int, prove: Prove | None = None) -> list[Reward | None]:
    """1 for an answer all of whose steps are verified, 0 for one with a false step; no judgement where the prover
    decides neither.
    """
    claims = [claims_in(episode) for episode in episodes]
    try:
        judged = iter(fates(list(itertools.chain.from_iterable(claims)), prove or by_coq, repairs=repairs))
    except Unproved as broken:
        return [Reward.unknown(NAME, str(broken)) for _ in episodes]
    worth: dict[str, Callable[[], Reward]] = {
        "verified": lambda: Reward(NAME, 1.0),
        "false": lambda: Reward(NAME, 0.0),
        "error": lambda: Reward.no_judgement(NAME),
    }
    return [worth[fate_of_all([next(judged) for _ in own])]() for own in claims]


class ProvedSteps(Rewarding):
    """Coq judges the steps of an answer (Theorem Prover as a Judge 2502.13137). Each equation is stated formally; if
    neither it nor its negation is proved, it is read anew, up to `repairs` times. All verified: 1. One false: 0. Else
    there is no judgement.

    reward=(ProvedSteps(repairs=5),)
    --mechanism.reward proved-steps --mechanism.reward.0.repairs 5
    """

    repairs: int = len(REPAIRS)
    does = proved_steps
    needs = ("texts",)

    def refusal(self, **_: object) -> str | None:
        if 0 <= self.repairs <= len(REPAIRS):
            return None
        return f"proved-steps: repairs must be from 0 to {len(REPAIRS)}, not {self.repairs}."

    def lacks(self, problem: Problem) -> str | None:
        return None


def all_verified(rows: Sequence[Row]) -> list[Row]:
    """Leaves out the rows of all groups but those in which every answer has the reward 1."""
    out = set[int]()
    for group in by_group(rows).values():
        if any(row.reward != 1.0 for row in group.members):
            out |= set(group.places)
    return leave_out(rows, out)


class AllVerified(Curator):
    """Problems to which every answer is verified train, and no others (Theorem Prover as a Judge 2502.13137).

    reward=(ProvedSteps(),), curate=(AllVerified(),)
    --mechanism.reward proved-steps --mechanism.curate all-verified
    """

    does = all_verified
