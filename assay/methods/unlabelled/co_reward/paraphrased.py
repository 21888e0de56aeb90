"""Each question once more, in other words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.prompts import reworded
from assay.memory import Memory
from assay.part import Asking
from assay.prompt import Prompt
from assay.rng import Key
from assay.tasks import task
from assay.tasks.abilities import Rewording
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec


def in_other_words(problem: Problem, key: Key) -> Problem:
    """The same problem as its task says it in another way, with the problem as its parent; unchanged but for that if
    the task has one way alone.
    """
    known, said = task(problem.task), problem
    if (rewording := known.ability(Rewording)) is not None:
        spec = rewording.again(problem.spec, key.generator())
        said = known.pose(spec, level=problem.level, wording=problem.wording)
    return dataclasses.replace(said, parents=(problem.id,), provenance="reworded")


def paraphrased(requests: Sequence[Request], *, memory: Memory, codec: Codec) -> list[Request]:
    """The requests, and each of them once more for the question in other words, in a group of its own: that of the
    first question with `/reworded` behind its name.
    """
    said: dict[str, Problem] = {}
    result = list(requests)
    for request in requests:
        name = f"{request.group}/reworded"
        if name not in said:
            said[name] = in_other_words(request.problem, memory.key("reworded", memory.step, request.group))
        again = dataclasses.replace(request, problem=said[name], group=name)
        result.append(reworded(again, request.prompt.about(said[name]), codec))
    return result


class Paraphrased(Asking):
    """Asks each question in other words too, with as many answers (Co-rewarding 2508.00410). `partner-vote` judges each
    group by the answers of the other.

    A task says how (`Rewording`); one that cannot gets the same question in a second group.

        ask=(Paraphrased(),)
        --mechanism.ask paraphrased
    """

    does = paraphrased

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return prompt, prompt.about(in_other_words(problem, Key("grows")))
