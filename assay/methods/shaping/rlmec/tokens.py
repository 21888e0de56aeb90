"""The worth of each token of an answer to a rewriter: whether it would keep the token or write another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask.prompts import rendered
from assay.methods.shaping.rlmec.edits import REWRITTEN
from assay.methods.shaping.rlmec.rewriter import to_rewrite
from assay.models import Models
from assay.part import Credit, Forward, Gate
from assay.types import Row, Stats

if TYPE_CHECKING:
    from torch import Tensor

    from assay.ask import Codec


def worth(kept: np.ndarray, *, right: bool, below: float) -> np.ndarray:
    """r_t = clip(p_t - 1/2, 0, 1/2) in a right answer, clip(p_t - 1/2, -below, 0) in a wrong one."""
    return np.clip(kept - 0.5, 0.0, 0.5) if right else np.clip(kept - 0.5, -below, 0.0)


def rewriter_tokens(
    rows: Sequence[Row], *, models: Models, codec: Codec, role: str, of: str, below: float
) -> tuple[list[Row], Stats]:
    """`process` = r_t of the answers of a role, with p_t = pi_rm(y_t | question, solution, answer, y_<t)."""
    from assay.engine.interface import Span

    result = list(rows)
    places = [i for i, row in enumerate(rows) if row.in_loss and row.role == of]
    places = [i for i in places if rows[i].episode.request.tag != REWRITTEN]
    spans = []
    for episode in (rows[i].episode for i in places):
        asked = to_rewrite(episode.request.prompt, episode.request.problem, episode.text)
        spans.append(Span(rendered(asked, codec), episode.stream("ids").astype(np.int32)))
    token_scores = models.play(role).score(spans) if spans else []
    blamed = []
    for i, scores in zip(places, token_scores, strict=True):
        right = rows[i].right
        values = worth(np.exp(scores.logp.astype(np.float64)), right=right, below=below)
        result[i] = rows[i].mark(process=values.astype(np.float32))
        blamed += [] if right else [float((values < 0).mean())]
    return result, {f"{role}/blamed": float(np.mean(blamed))} if blamed else {}


class RewriterTokens(Forward):
    """Each token earns the probability that a rewriter, which sees question, solution and answer, writes it again, less
    a half: only gains in right answers, only losses in wrong ones (RLMEC 2401.06081).

        forwards=(RewriterTokens(role="rewriter"),)
        --mechanism.forwards rewriter-tokens --mechanism.forwards.0.role rewriter
    """

    role: str = "rewriter"  # whose probabilities; a name in the recipe's `roles`
    of: str = "policy"  # whose tokens
    below: float = 0.1  # the most that a token of a wrong answer loses
    does = rewriter_tokens
    needs_verdict = True


def process_alone(rows: Sequence[Row]) -> list[Row]:
    """A_t = r_t, the `process` stream. Tokens with r_t = 0 are left out of the denominator too."""
    result = []
    for row in rows:
        rewards = np.zeros(len(row.episode)) if row.process is None else np.asarray(row.process, np.float64)
        kept = rewards != 0
        result.append(row.mark(advantage=rewards, keep=kept if row.keep is None else kept & row.keep))
    return result


class ProcessAlone(Credit):
    """The reward of a token is its advantage: nothing that comes later counts, and no baseline.

    credit=ProcessAlone()
    --mechanism.credit process-alone
    """

    does = process_alone


def surrogate(ratio: Tensor, advantage: Tensor, *, low: float, high: float) -> Tensor:
    """g A = min(w A, clip(w, 1 - low, 1 + high) A): g = min(w, 1 + high) if A > 0, else max(w, 1 - low)."""
    return ratio.clamp(max=1 + high).where(advantage > 0, ratio.clamp(min=1 - low))


class Surrogate(Gate):
    """PPO's surrogate as a weight of log pi, so that no token loses its gradient (RLMEC 2401.06081). The weight of a
    token with A > 0 has an upper bound, that of one with A < 0 a lower bound.

        objective=Objective(gate=Surrogate(low=0.3, high=0.3))
        --mechanism.objective.gate surrogate --mechanism.objective.gate.low 0.3
    """

    low: float = 0.3
    high: float = 0.3
    does = surrogate
    off_policy = True
