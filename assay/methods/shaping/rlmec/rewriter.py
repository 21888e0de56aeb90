"""A role that rewrites answers with as few edits as it can: how it is asked, taught, and what the policy sees of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask.hints import answered
from assay.collect.ask_judges import judged_before, open_to_judgement, request_about
from assay.memory import Memory
from assay.methods.shaping.rlmec.edits import REWRITTEN, distance
from assay.part import Expansion
from assay.prompt import Prompt
from assay.types import Episode, Origin, Problem, Request, Segment, by_group

if TYPE_CHECKING:
    from assay.ask import Codec

REWRITE = {
    "compact": "E {question} [{hint}] [{answer}]",
    "natural": "{question}\n\nA correct solution:\n{hint}\n\nA response:\n{answer}\n\nThe response ends here. Correct "
    "its mistakes, so that it reaches the right answer, and change as little of it as you can. A response that is "
    "right already stays as it is, even if it goes another way than the solution.",
}


def to_rewrite(prompt: Prompt, problem: Problem, text: str) -> Prompt:
    """The prompt that asks for this response to the problem, corrected."""
    return prompt.within(REWRITE, instead=True, hint=problem.solution or "", answer=text)


def _about(episode: Episode, role: str, codec: Codec) -> Request:
    request = episode.request
    prompt, group = to_rewrite(request.prompt, request.problem, episode.text), f"{request.group}/{role}"
    return request_about(episode, prompt, codec, role=role, group=group, parent=request.id, fork=0)


def _answers(episodes: Sequence[Episode], of: str) -> list[Episode]:
    """The answers that may be rewritten."""
    return [e for e in episodes if open_to_judgement(e, of) and e.provenance == "fresh" and e.request.tag != REWRITTEN]


def show_rewrites(
    episodes: Sequence[Episode], memory: Memory, *, codec: Codec, of: str, role: str, most: float
) -> list[Request]:
    """For each wrong answer the nearest right one that is known, as the rewriter's answer, if it takes at most `most`
    edits for each of its tokens; and as many right answers as these, drawn at random, which stay as they are.
    """
    if judged_before(episodes, role):
        return []
    wrong, right = [], []
    for group in by_group(_answers(episodes, of)).values():
        right_texts = [e.text for e in group.members if e.right]
        solution = group.members[0].request.problem.solution
        right_texts += [solution] if solution else []
        texts = {text: codec.encode(text) for text in right_texts}
        for episode in group.members:
            if episode.right:
                right.append(answered(_about(episode, role, codec), episode.text, codec))
                continue
            ids = codec.encode(episode.text)
            far = {text: distance(ids, own) for text, own in texts.items()}
            nearest = min(far, key=lambda text: far[text], default="")
            if nearest and far[nearest] <= most * len(texts[nearest]):
                wrong.append(answered(_about(episode, role, codec), nearest, codec))
    order = memory.key("show-rewrites", memory.step).generator().permutation(len(right))
    return [*wrong, *(right[i] for i in sorted(order[: len(wrong)].tolist()))]


class ShowRewrites(Expansion):
    """A role is shown, as texts to imitate, how wrong answers become right with the fewest edits, and that right ones
    stay as they are (RLMEC 2401.06081).

        expand=(ShowRewrites(role="rewriter", most=0.5),)
        --mechanism.expand show-rewrites --mechanism.expand.0.most 0.5
    """

    solutions = "some"

    role: str = "rewriter"  # who is shown; a name in the recipe's `roles`
    of: str = "policy"  # the role whose answers are rewritten
    most: float = 0.5  # edits, as a share of the tokens of the right answer; wrong answers that need more are left out
    does = show_rewrites
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (to_rewrite(prompt, problem, "").longer(max_new),)

    def refusal(self, **_: Any) -> str | None:
        if self.role == self.of or self.most < 0:
            return f"show-rewrites: role and of must differ, and most be 0 or more, not {self.role} and {self.most:g}."
        return None


def ask_rewrites(episodes: Sequence[Episode], *, codec: Codec, of: str, role: str) -> list[Request]:
    """First a request to the rewriter for each wrong answer; then, for each right answer as it is and each rewrite that
    is right, a request that shows it to the policy.
    """
    answers = _answers(episodes, of)
    known = judged_before(episodes, role)
    if asked := [_about(e, role, codec) for e in answers if not e.right and e.request.id not in known]:
        return asked
    if any(e.request.tag == REWRITTEN for e in episodes):
        return []
    rewrites = {e.request.parent: e for e in episodes if e.request.role == role and e.right}
    pairs = [(e, e if e.right else rewrites.get(e.request.id)) for e in answers]
    return [_shown(answer, found) for answer, found in pairs if found is not None]


def _shown(answer: Episode, found: Episode) -> Request:
    """The request for the answer, with this text as its whole answer."""
    request, origin = answer.request, found.stream("origin")
    given = np.where(origin == Origin.POLICY, np.int8(Origin.INJECTED), origin)
    prefix = (Segment(found.stream("ids").astype(np.int32), given),)
    about = {"prefix": prefix, "max_new": 0, "tag": REWRITTEN, "parent": request.id, "round": request.round + 2}
    return dataclasses.replace(request, group=f"{request.group}/{REWRITTEN}", fork=0, **about)


class AskRewrites(Expansion):
    """A role rewrites each wrong answer of another role; the policy then sees its right answers, and the rewrites that
    are right, as texts to imitate (RLMEC 2401.06081). `weigh-edits` of `curate` weighs their tokens.

        expand=(AskRewrites(role="rewriter"),)
        --mechanism.expand ask-rewrites --mechanism.expand.0.role rewriter
    """

    solutions = "some"

    role: str = "rewriter"  # who rewrites; a name in the recipe's `roles`
    of: str = "policy"  # the role whose answers are rewritten
    does = ask_rewrites
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (to_rewrite(prompt, problem, "").longer(max_new),)

    def refusal(self, **_: Any) -> str | None:
        if self.role == self.of:
            return f"ask-rewrites: '{self.role}' would rewrite its own rewrites. Name the rewriter's role differently."
        return None
