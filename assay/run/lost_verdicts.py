"""Answers that could not be verified: a run warns of some, and ends, to be resumed, when they are many.

A lost worker, a judge that is down or a gold that cannot be read leaves an answer without a reward; it does not train.
One such answer is an accident. When a large share is lost step after step, the run spends its time on answers that
teach nothing, and the others are no fair sample: those that take long to verify are lost first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from assay.reward.controls import MADE_INVALID
from assay.types import Episode

WARNED = 0.05  # a larger share of the answers of a step is told
ENDED = 0.20  # a larger share in `STEPS` steps, one after the other, ends the run
STEPS = 3


@dataclass
class LostVerdicts:
    """Watches the share of answers that were lost, step by step.

    lost = LostVerdicts(warn=print)
    ending = lost(episodes)  # "" or why the run should end
    """

    warn: Callable[[str], None]
    in_a_row: int = 0  # steps with too many, up to the last one
    told: frozenset[str] = frozenset()  # the kinds of errors that the last step warned of

    def __call__(self, episodes: Sequence[Episode]) -> str:
        """Why the run should end after this step; '' if it goes on. Warns when a kind of error becomes frequent."""
        kinds = Counter(kind for episode in episodes if (kind := lost_by(episode)))
        count = sum(kinds.values())
        share = count / max(len(episodes), 1)
        self.in_a_row = self.in_a_row + 1 if share > ENDED else 0
        causes = ", ".join(f"{kind} {number}" for kind, number in kinds.most_common())
        said = f"{count} of {len(episodes)} answers of this step could not be verified ({causes})"
        if self.in_a_row >= STEPS:
            return f"{said}, and more than {ENDED:.0%} in each of the last {STEPS} steps. {_advice(kinds)}"
        frequent = frozenset(kinds) if share > WARNED else frozenset[str]()
        if frequent - self.told:
            self.warn(f"warning: {said}; they do not train. {_advice(kinds)}")
        self.told = frequent
        return ""


def _advice(kinds: Collection[str]) -> str:
    """Where the cause of these errors is looked for."""
    return "; ".join([*(ADVICE_ON_WORLDS,) * ("world" in kinds), *(ADVICE,) * bool(set(kinds) - {"world"})])


ADVICE = "`assay doctor --externals` examines the programs that verify; docs/reference_answers.md lists the kinds"


ADVICE_ON_WORLDS = (
    "what went wrong in a world stands with each answer in the rollouts (`verdict_detail`) and the report"
)


def lost_by(episode: Episode) -> str:
    """The kind of the first error that left an answer without its verdict or a reward; '' if it has both. What the
    reward `misjudged` makes invalid on purpose is no error.
    """
    if episode.verdict is not None and episode.verdict.status == "invalid":
        return episode.verdict.kind
    return next((part.invalid for part in episode.rewards if part.invalid not in ("", MADE_INVALID)), "")
