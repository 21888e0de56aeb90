"""A posed problem is worth the more, the less often it is solved, if it stands at all."""

from __future__ import annotations

from collections.abc import Sequence

from assay.memory.posed import posed
from assay.methods.exploration.ssp.solve_valid import CHECK
from assay.part import Rewarding
from assay.types import Episode, Reward


def adversarial(episodes: Sequence[Episode], *, everyone: Sequence[Episode], invalid: float) -> list[Reward | None]:
    """1 - the share of right answers. `invalid` for a text that is no problem, and for a problem of which a reader of
    its pages came to another answer than it claims. None where nobody has a verdict.
    """
    result: list[Reward | None] = []
    for episode in episodes:
        own = [e for e in everyone if e.request.parent == episode.request.id and e.verdict is not None]
        refuted = any(e.request.tag == CHECK and e.verdict is not None and e.verdict.status == "fail" for e in own)
        right = [e.right for e in own if not e.request.tag and e.verdict is not None and e.verdict.status != "invalid"]
        if refuted or posed(episode) is None:
            result.append(Reward("adversarial", invalid))
        else:
            result.append(Reward("adversarial", 1 - sum(right) / len(right)) if right else None)
    return result


class Adversarial(Rewarding):
    """A posed problem that stands earns 1 - s, s the share of the solver's answers that are right; what is no problem,
    and what its own pages do not answer, earns `invalid` (SSP 2510.18821).

        Rule("proposer", reward=(Adversarial(invalid=0.0),))
        --mechanism.rules.0.reward adversarial --mechanism.rules.0.reward.0.invalid -0.5
    """

    invalid: float = 0.0
    does = adversarial
