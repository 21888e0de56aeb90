"""The second look: in training, an independent oracle verifies a share of the answers that the verifier found right.

A policy learns whatever the verifier accepts, so a verifier with a hole is farmed. The second oracle of a task
(`Checker.second`) is another program, or the same one on fresh data. Rewarded answers that it refuses are counted,
shown and, if they are more than an accident, end the run: weights trained on such verdicts are worth nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import VerifierError
from assay.rng import Key, uniforms
from assay.tasks import task
from assay.tasks.verifying import second_verdicts
from assay.types import Episode, Stats, Verdict
from assay.verifiers.rates import certain_share

LOOKED, REFUSED = "second_look/answers", "second_look/refused"  # metrics: counts of a step
ALARM = 0.005  # a share of refused answers from which a reader is warned
STOP = 0.02  # the run ends when the lower end of the exact 95 % interval of the share is larger than this ...
LEAST = 2  # ... and this many answers were refused: one is an accident, whatever the interval says
SHOWN = 200  # characters of an answer in a warning


@dataclass
class SecondLook:
    """Looks at a share of the right answers of each step, and keeps count over the run.

    look = SecondLook(0.02, warn=print)
    stats = look(episodes, memory.key("second look"))  # {"second_look/answers": 3.0, "second_look/refused": 0.0}
    """

    share: float
    warn: Callable[[str], None]
    looked: int = 0
    refused: int = 0
    _wrong: tuple[Episode, Verdict] | None = None  # of the last step

    def remember(self, metrics: Iterable[Mapping[str, Any]]) -> None:
        """Takes over the counts of the steps that a resumed run has behind it."""
        for record in metrics:
            self.looked += int(record.get(LOOKED, 0))
            self.refused += int(record.get(REFUSED, 0))

    def __call__(self, episodes: Sequence[Episode], key: Key) -> Stats:
        """The counts of this step; empty if no task has a second oracle. An answer on which the second oracle itself
        fails (`invalid`) is not counted.
        """
        self._wrong = None
        right = [e for e in episodes if e.verdict is not None and e.verdict.status == "ok" and _has_second(e)]
        if not right or not self.share:
            return {}
        chances = uniforms([key(episode.request.id) for episode in right], 1)[:, 0]
        seen = [episode for episode, chance in zip(right, chances, strict=True) if chance < self.share]
        pairs = [(e, v) for e, v in zip(seen, second_verdicts(seen), strict=True) if v and v.status != "invalid"]
        wrong = [(episode, verdict) for episode, verdict in pairs if verdict.status != "ok"]
        self.looked += len(pairs)
        self.refused += len(wrong)
        self._wrong = wrong[-1] if wrong else None
        return {LOOKED: float(len(pairs)), REFUSED: float(len(wrong))}

    def tell(self) -> None:
        """Warns if an answer of this step was refused. Raises VerifierError if too many were in the whole run."""
        if self._wrong is None:
            return
        episode, verdict = self._wrong
        name, text = episode.request.problem.task, repr(episode.text[:SHOWN])
        counted = f"{self.refused} of {self.looked} right answers that it looked at"
        said = f"{verdict.kind}{': ' if verdict.detail else ''}{verdict.detail}"
        if self.refused >= LEAST and certain_share(self.refused, self.looked) > STOP:
            raise VerifierError(
                f"the second oracle of task '{name}' refused {counted}, more than {STOP:.0%}: the policy has found an "
                f"answer that deceives the verifier. The last one, {text}, was refused with {said}. Mend the verifier, "
                "then begin a new run."
            )
        self.warn(f"warning: the second oracle of task '{name}' refused {counted}; the last: {text} ({said}).")


def _has_second(episode: Episode) -> bool:
    return task(episode.request.problem.task).checker.second is not None
