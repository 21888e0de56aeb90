"""The verdict of a role with tools is the reward of an answer; where it comes to none, there is no judgement."""

from __future__ import annotations

from collections.abc import Sequence

from assay.ask import Codec
from assay.methods.judges.cosine_verifier.ask_verifier import answered, verdicts_of
from assay.part import Rewarding
from assay.reward.endpoint_judges import gold_of
from assay.types import Episode, Problem, Reward

NAME = "verified-by"


def verdict_of(verifier: Episode, codec: Codec) -> str | None:
    """The verdict of a verifier. None where it says none, where a limit cut it off or its world failed, and where the
    last of its programs reached a limit: whoever judges without the value that he asked for guesses.
    """
    from assay.worlds.interpreter import ANEW

    if verifier.finish != "stop" or verifier.verdict is None or verifier.verdict.status == "invalid":
        return None
    replies = [segment for segment in verifier.segments if segment.is_reply]
    if replies and replies[-1].failed and ANEW in codec.decode(replies[-1].ids.tolist()):
        return None
    return verifier.verdict.answer


def verified_by(
    episodes: Sequence[Episode], *, everyone: Sequence[Episode], codec: Codec, role: str
) -> list[Reward | None]:
    """1 for an answer that the verifier calls correct and 0 for one that it calls incorrect; 0 without a final answer.
    No judgement where the verifier makes none; None for an answer that nobody was asked about.
    """
    from assay.tasks.equivalence import CORRECT

    verdicts = {key: verdict_of(verifier, codec) for key, verifier in verdicts_of(everyone, role).items()}

    def of(episode: Episode) -> Reward | None:
        key = answered(episode)
        if key is None:
            return Reward(NAME, 0.0) if gold_of(episode.request.problem) else None
        if key not in verdicts:
            return None
        verdict = verdicts[key]
        return Reward.no_judgement(NAME) if verdict is None else Reward(NAME, float(verdict == CORRECT))

    return [of(episode) for episode in episodes]


class VerifiedBy(Rewarding):
    """1 for a final answer that a role with tools calls correct, else 0 (CoSineVerifier 2512.01224).

    Where the verifier comes to no verdict, reaches its limit of turns, or its last program reached a limit, the answer
    has no judgement. One without a final answer earns 0 and is not verified.

        expand=(AskVerifier(role="verifier"),), reward=(VerifiedBy(role="verifier"),)
        --mechanism.reward verified-by --mechanism.reward.0.role verifier
    """

    role: str = "verifier"  # the role that `ask-verifier` asks
    does = verified_by
    needs = ("texts",)

    def lacks(self, problem: Problem) -> str | None:
        return None if gold_of(problem) else "a reference answer"
