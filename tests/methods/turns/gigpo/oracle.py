"""What the paper says of the tokens of a step, in plain Python: letters are answered in one turn, whose state is the
prompt, so that the turn is compared with the same turns as the answer.
"""

from collections.abc import Sequence

from formulas import centred, clipped, over_tokens, standardised
from oracles import Answer, Oracle, Step


def twice(answers: Sequence[Answer], step: Step) -> list[float]:
    return [2 * a for a in standardised()(answers, step)]


def twice_centred(answers: Sequence[Answer], step: Step) -> list[float]:
    return [2 * a for a in centred(answers, step)]


ORACLES = {
    "gigpo": Oracle(twice, clipped(kl=0.01), over_tokens),
    "gigpo-mean": Oracle(twice_centred, clipped(kl=0.01), over_tokens),
    "gigpo-search": Oracle(twice, clipped(kl=0.001), over_tokens),
}
