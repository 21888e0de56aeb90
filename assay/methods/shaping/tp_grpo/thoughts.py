"""Credit of thoughts: bad ones of right answers lose some of it, and good ones of wrong answers are spared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.part import Shape
from assay.reward.stepped import token_at
from assay.reward.within import Decoder
from assay.tasks import chain_of
from assay.tasks.steps import TAKE_BACK, Chain
from assay.types import Row, by_group


def thoughts(rows: Sequence[Row], *, codec: Decoder, alpha: float) -> list[Row]:
    """A_t by the mark of the token's thought, from the advantage A of the outcome (TP-GRPO 2507.23317):

    right answer: A - alpha acc_g in a thought that is wrong, where acc_g is the accuracy of the group, else A.
    wrong answer: A in a thought that the answer was built on, and in the answer itself; 0 in every other thought.
    """
    result = list(rows)
    for group in by_group(rows).values():
        cost = alpha * float(np.mean([row.right for row in group.members]))
        for i in group.places:
            result[i] = _marked(rows[i], codec, cost)
    return result


def _marked(row: Row, codec: Decoder, cost: float) -> Row:
    episode = row.episode
    chain = chain_of(episode.request.problem, episode.text)
    if chain is None or row.advantage is None:
        return row
    ids, advantage, begin = episode.stream("ids").tolist(), np.array(row.advantage, np.float64), 0
    for step, blamed in zip(chain.steps, built_on(chain, episode.text, right=episode.right), strict=True):
        end = 1 + token_at(step.end - 1, ids, codec)
        if episode.right and blamed:
            advantage[begin:end] -= cost
        elif not episode.right and not blamed:
            advantage[begin:end] = 0.0
        begin = end
    return row.mark(advantage=advantage)


def built_on(chain: Chain, text: str, *, right: bool) -> Iterator[bool]:
    """Whether each step is wrong; in a wrong answer, wrong and not taken back, so that the answer was built on it."""
    following = [text[step.begin : step.end] == TAKE_BACK and step.verdict == "valid" for step in chain.steps[1:]]
    for step, taken_back in zip(chain.steps, [*following, False], strict=False):
        yield step.verdict == "wrong" and (right or not taken_back)


class Thoughts(Shape):
    """Advantages by thoughts, which are runs of steps with equal verdicts, for tasks that verify steps (TP-GRPO
    2507.23317).

    In a right answer a wrong thought loses alpha times the accuracy of the group. In a wrong answer a thought that it
    was not built on has no advantage.

        shape=(Thoughts(alpha=1.0),)
        --mechanism.shape thoughts --mechanism.shape.0.alpha 1
    """

    alpha: float = 1.0  # what a wrong thought of a right answer costs where all answers of the group are right
    does = thoughts
    needs_verdict = True
