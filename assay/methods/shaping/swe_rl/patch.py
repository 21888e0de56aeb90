"""The similarity of a patch as a reward."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.types import Episode, Reward


def patch_match(episodes: Sequence[Episode], *, score: str, malformed: float) -> list[Reward | None]:
    """The score of the verdict; without one, 1 for a right answer and `malformed` for any other."""
    result: list[Reward | None] = []
    for episode in episodes:
        said = (episode.verdict.scores if episode.verdict else {}).get(score)
        plain = 1.0 if episode.right else malformed
        result.append(Reward("patch-match", plain if said is None or episode.finish != "stop" else said))
    return result


class PatchMatch(Rewarding):
    """The similarity of a patch with the reference, from 0 to 1, as the verifier scored it (SWE-RL 2502.18449).

    reward=(PatchMatch(malformed=-0.5),)
    --mechanism.reward patch-match --mechanism.reward.0.malformed -0.5
    """

    score: str = "patch"  # the score's name in the verdict
    malformed: float = -1.0  # of an answer that was cut, or that is wrong where the verdict has no such score
    does = patch_match
    needs = ("texts",)
    needs_verdict = True
    outcome = True
