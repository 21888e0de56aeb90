"""Each question once more, in other words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.ask.hints import lengthened
from assay.memory import Memory
from assay.part import Asking
from assay.rng import Key
from assay.tasks import task
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.ask import Codec


def in_other_words(problem: Problem, key: Key) -> Problem:
    """The same problem as its task says it in another way, with the problem as its parent; unchanged but for that if
    the task has one way alone.
    """
    known = task(problem.task)
    said = problem
    if known.reworded is not None:
        spec = known.reworded(problem.spec, key.generator())
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
        context = codec.render(said[name].prompt)
        result.append(dataclasses.replace(request, problem=said[name], context=context, group=name))
    return result


class Paraphrased(Asking):
    """Asks each question in other words too, with as many answers (Co-rewarding 2508.00410). `partner-vote` judges each
    group by the answers of the other.

    A task says how (`Task.reworded`); one that cannot gets the same question in a second group.

        ask=(Paraphrased(),)
        --mechanism.ask paraphrased
    """

    does = paraphrased

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        return max(0, lengthened(problem, in_other_words(problem, Key("grows")).prompt, codec))
