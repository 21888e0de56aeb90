"""Whether a prediction is how the text goes on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from assay.part import Rewarding
from assay.types import Episode, Problem, Reward
from assay.verifiers.answers import find_answer

if TYPE_CHECKING:
    from assay.ask import Codec


def goes_on(said: str, pieces: Sequence[str]) -> bool:
    """Whether `said` is a beginning of the text that these pieces make, of one piece or more, byte for byte."""
    text, ends = "".join(pieces).encode(), set(accumulate(len(piece.encode()) for piece in pieces))
    written = said.encode()
    return len(written) in ends and text.startswith(written) and bool(written)


def continues(episodes: Sequence[Episode], *, codec: Codec) -> list[Reward | None]:
    """1 if the prediction is how the solution goes on behind what the prompt shows of it, else 0; None for a problem
    without a solution.
    """
    result: list[Reward | None] = []
    for episode in episodes:
        problem = episode.request.problem
        shown = len(episode.request.prompt.begun)
        ids = codec.encode(problem.solution or "").tolist()
        pieces = [codec.decode([token]) for token in ids[shown:]]
        said = episode.text if problem.wording == "compact" else find_answer(episode.text, problem.wording) or ""
        result.append(Reward("continues", float(goes_on(said, pieces))) if ids else None)
    return result


class Continues(Rewarding):
    """1 for a prediction that is a beginning of the true continuation and ends where one of its tokens ends (RPT
    2506.08007).

        reward=(Continues(),)
        --mechanism.reward continues
    """

    solutions = "some"

    does = continues
    outcome = True

    def lacks(self, problem: Problem) -> str | None:
        return None if problem.solution else "a worked solution"
