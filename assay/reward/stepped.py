"""A reward for the steps of a chain of thought, from tasks that verify each step exactly."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from assay.part import Rewarding
from assay.reward.within import Decoder
from assay.tasks import chains_of
from assay.tasks.steps import Chain, StepVerdict
from assay.types import Episode, Reward, RewardScope


def valid_steps(
    episodes: Sequence[Episode], *, codec: Decoder, valid: float, useless: float, wrong: float, last: bool
) -> list[Reward | None]:
    """r_k = `valid`, `useless` or `wrong` at the last token of step k; None for a task that cannot verify steps. With
    `last`, `valid` at the last token of a right answer and `wrong` at that of any other.
    """
    worth: dict[StepVerdict, float] = {"valid": valid, "useless": useless, "wrong": wrong}
    chains = chains_of([(episode.request.problem, episode.text) for episode in episodes])
    return [_steps(*pair, codec, worth, last) for pair in zip(episodes, chains, strict=True)]


def _steps(
    episode: Episode, chain: Chain | None, codec: Decoder, worth: dict[StepVerdict, float], last: bool
) -> Reward | None:
    if chain is None:
        return None
    found = [*zip(ends_of(chain, episode, codec).tolist(), (worth[step.verdict] for step in chain.steps), strict=True)]
    if last and len(episode):
        found.append((len(episode) - 1, worth["valid" if episode.right else "wrong"]))
    values, at = np.array([value for _, value in found]), np.array([place for place, _ in found], dtype=np.int32)
    return Reward("valid-steps", float(values.sum()), "span", values, at)


def ends_of(chain: Chain, episode: Episode, codec: Decoder) -> np.ndarray:
    """int32[K]: the last token of each step of an answer."""
    ids = episode.stream("ids").tolist()
    return np.array([token_at(step.end - 1, ids, codec) for step in chain.steps], dtype=np.int32)


def token_at(character: int, ids: Sequence[int], codec: Decoder) -> int:
    """The index of the token with which this character of the text is complete."""
    return bisect_left(range(len(ids) - 1), character + 1, key=lambda token: len(codec.decode(ids[: token + 1])))


class ValidSteps(Rewarding):
    """Each step of the answer earns what its verdict is worth, if the task verifies steps (docs/task.md).

    A step that takes back a wrong one is valid. So that mistakes made on purpose do not pay, `wrong` costs at least
    what `valid` earns.

    For your own recipes: on tasks that verify steps, with a credit that tells tokens apart, such as `return-to-go`.

    reward=(Outcome(), ValidSteps(wrong=-0.2)), credit=ReturnToGo()
    --mechanism.reward outcome,valid-steps --mechanism.reward.1.wrong -0.2 --mechanism.credit return-to-go
    """

    valid: float = 0.05  # the reward of a step that is true and needed
    useless: float = 0.0  # of one that is true and not needed
    wrong: float = -0.05  # of one that is false, or does not follow from what stands before
    last: bool = False  # the answer too is a step, valid if it is right; False: its reward is another part's
    does = valid_steps

    @property
    def gives(self) -> RewardScope:
        return "span"

    def refusal(self, **_: object) -> str | None:
        if self.valid + self.wrong <= 0:
            return None
        return (
            f"valid-steps: a mistake that is taken back would earn {self.valid + self.wrong:g}, because valid is "
            f"{self.valid:g} and wrong {self.wrong:g}. Make wrong -{self.valid:g} or less."
        )
