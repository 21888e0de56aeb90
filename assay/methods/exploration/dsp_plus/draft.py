"""A draft of each proof in words, and sketches that are written with a draft in view."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask.prompts import rendered, reworded
from assay.part import Asking, Count, Expansion
from assay.prompt import Prompt
from assay.types import Episode, Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec, Sampling

ROLE = "drafter"
_ASKING = {
    "compact": "{question} /",
    "natural": "{question}\n\nDo not write the proof in Coq yet. Plan it on paper: each step of the calculation on a "
    "line of its own, one formula a line, in detail and without prose.",
}
_SKETCHING = {
    "compact": "{question} /{hint}/",
    "natural": "{question}\n\nThis is a plan of the proof:\n{hint}\n\nTranslate it into tactics, with `assert` for "
    "each step. Here a goal may be left out: write `prove_with H1 H2.` in its place, with the hypotheses that it "
    "needs, or `admit.`.",
}


def drafts(requests: Sequence[Request], *, codec: Codec, longest: int) -> list[Request]:
    """The requests, each for a draft instead of a proof."""
    made = []
    for request in requests:
        changes: dict[str, Any] = {"role": ROLE, "tag": ROLE, "group": f"{request.group}/draft"}
        writing = dataclasses.replace(request, max_new=min(longest, request.max_new), **changes)
        made.append(reworded(writing, request.prompt.within(_ASKING, instead=True), codec))
    return made


class Drafts(Asking):
    """The role `drafter` first plans each proof; `sketch-drafts` of `expand` asks for the proofs (DSP+ 2506.11487).

    ask=(Drafts(),), expand=(SketchDrafts(),)
    --mechanism.ask drafts --mechanism.expand sketch-drafts
    """

    longest: Count = 1024  # the most tokens of a draft; the limit of answers holds too
    does = drafts

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (
            prompt.within(_ASKING, instead=True),
            prompt.within(_SKETCHING, hint="").longer(min(self.longest, max_new)),
        )


def sketch_drafts(episodes: Sequence[Episode], *, codec: Codec, sampling: Sampling) -> list[Request]:
    """A request for a proof with each draft in view, without what stands before its last `</think>`."""
    done = {episode.request.parent for episode in episodes}
    made = []
    for episode in episodes:
        draft = episode.request
        if draft.role != ROLE or draft.id in done:
            continue
        plan = episode.text.rpartition("</think>")[2].strip()
        prompt = draft.prompt.for_an_answer().within(_SKETCHING, hint=plan)
        values = sampling.of(draft.problem) | {"draw": draft.draw, "round": draft.round + 1, "parent": draft.id}
        group = draft.group.removesuffix("/draft")
        made.append(
            Request(draft.problem, rendered(prompt, codec), group, sample=draft.sample, worded=prompt, **values)
        )
    return made


class SketchDrafts(Expansion):
    """Asks for a proof with each draft in view; the proofs of a theorem are one group (DSP+ 2506.11487).

    expand=(SketchDrafts(), CloseSketches())
    --mechanism.expand sketch-drafts,close-sketches
    """

    does = sketch_drafts
    needs = ("texts",)
