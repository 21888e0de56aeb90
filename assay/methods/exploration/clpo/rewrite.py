"""The policy rewrites the problems that it finds hard or medium, and solves the new texts in the same step."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from assay.ask.hints import holds_answer
from assay.ask.prompts import rendered, reworded
from assay.part import Count, Expansion
from assay.prompt import Prompt, text_asked
from assay.types import Episode, Problem, Request, by_group
from assay.verifiers.answers import find_answer

if TYPE_CHECKING:
    from assay.ask import Codec, Sampling

ROLE = "rewriter"
Mode = Literal["hard", "medium"]
HARD: Mode = "hard"
MEDIUM: Mode = "medium"
ASKING: dict[Mode, dict[str, str]] = {
    HARD: {
        "compact": "{question} [{answer}] <",
        "natural": "Write the following problem anew so that it is easier to solve: in plainer words, or with a part "
        "of the way already done. Its answer must stay {answer}, and must not stand in the text. Write the new problem "
        "alone.\n\n{question}",
    },
    MEDIUM: {
        "compact": "{question} [{answer}] >",
        "natural": "Write the following problem anew in another form: another story, other names, another order. Its "
        "answer must stay {answer}, and must not stand in the text. Write the new problem alone.\n\n{question}",
    },
}
"""Mode -> wording -> the prompt of the rewriter, who sees the answer."""


def mode_of(episodes: Iterable[Episode], *, hard: float, medium: float) -> Mode | None:
    """`hard` if a <= hard, `medium` if hard < a <= medium, else None; a is the accuracy of the judged answers."""
    judged = [e.right for e in episodes if e.verified]
    if not judged or (accuracy := sum(judged) / len(judged)) > medium:
        return None
    return HARD if accuracy <= hard else MEDIUM


def rewrite(
    episodes: Sequence[Episode],
    *,
    codec: Codec,
    sampling: Sampling,
    group_size: int,
    hard: float,
    medium: float,
    longest: int,
    least: int,
) -> list[Request]:
    """First a request to rewrite each hard or medium problem; once these are written, a group of answers to each text
    that may be used. The answers to a rewritten problem are a group of their own.
    """
    groups = by_group(episodes)
    asked: list[Request] = []
    for name, group in groups.items():
        first = group.members[0].request
        if first.role == ROLE:
            asked += _solving(group.members[0], groups, codec, sampling, group_size, least)
        elif not first.parent and f"{name}/{ROLE}" not in groups:
            mode = mode_of(group.members, hard=hard, medium=medium)
            if mode is not None and (answer := answer_of(first.problem)):
                changes = {"group": f"{name}/{ROLE}", "role": ROLE, "tag": mode, "sample": 0, "round": first.round + 1}
                writing = dataclasses.replace(first, max_new=min(longest, first.max_new), **changes)
                asked.append(reworded(writing, to_rewrite(first.prompt, mode, answer), codec))
    return asked


class Rewrite(Expansion):
    """The policy simplifies the problems that it finds hard and varies those that it finds medium, and answers the
    rewritten problems too (CLPO 2509.25004).

    A rewritten text is used if it was written to its end, is another text than the question, and does not contain the
    answer. Such answers do not count in pass rates.
    """

    solutions = "some"

    hard: float = 0.3  # up to this accuracy a problem is hard, and is simplified
    medium: float = 0.7  # up to this accuracy a problem is medium, and is varied
    longest: Count = 1024  # the most tokens of a rewritten problem; the limit of answers holds too
    least: int = 3  # characters; a shorter answer may occur in the new problem by chance
    does = rewrite
    needs_verdict = True

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        answer = answer_of(problem)
        asking = [to_rewrite(prompt, mode, answer) for mode in ASKING] if answer else []
        return [prompt.longer(min(self.longest, max_new)), *asking]


def to_rewrite(prompt: Prompt, mode: Mode, answer: str) -> Prompt:
    """The prompt that asks for the question in another form, with this answer."""
    return prompt.within(ASKING[mode], instead=True, answer=answer)


def answer_of(problem: Problem) -> str:
    """The answer that the worked solution gives; '' if there is none."""
    return find_answer(problem.solution or "", problem.wording) or ""


def usable(episode: Episode, *, least: int) -> bool:
    """Whether a rewritten problem may be asked: it ended by itself, is not empty, new, and keeps the answer back."""
    problem, text = episode.request.problem, episode.text.strip()
    asked = text_asked(problem.prompt)
    same = text == asked.strip()
    return episode.finish == "stop" and bool(text) and not same and not holds_answer(problem, text, least=least)


def _solving(
    written: Episode,
    groups: Collection[str],
    codec: Codec,
    sampling: Sampling,
    group_size: int,
    least: int,
) -> list[Request]:
    """Requests for a group of answers to a rewritten problem, unless they were made before or the text is no use."""
    asked = written.request
    group = f"{asked.group}/{asked.tag}"
    if group in groups or not usable(written, least=least):
        return []
    prompt = asked.prompt.for_an_answer().in_words(written.text.strip())
    fields = {"draw": asked.draw, "round": asked.round + 1, "parent": asked.id, "tag": asked.tag, "worded": prompt}
    values, context = sampling.of(asked.problem) | fields, rendered(prompt, codec)
    return [Request(asked.problem, context, group, sample=i, **values) for i in range(group_size)]
