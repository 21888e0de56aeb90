"""Training of the critic: of two whole answers, the turns of the right one are to be worth more in sum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.ask import Codec
from assay.forwards.fit import Goal, fit
from assay.memory import Memory
from assay.methods.losses.sweet_rl.privileged import compared, privilege, told_spans, turn_advantages, turns_in
from assay.models import Models
from assay.part import Count, Forward, Positive
from assay.prompt import Prompt
from assay.types import Batch, Episode, Problem, Row, Stats, by_group

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Chunk, Outputs
    from assay.scale import Scale


def pairs_of(right: Sequence[bool]) -> list[tuple[int, int]]:
    """(winner, loser): the first right answer of a group against each wrong one; none if all are alike."""
    if True not in right:
        return []
    best = list(right).index(True)
    return [(best, place) for place, one in enumerate(right) if not one]


def bradley_terry(
    sums: np.ndarray, pairs: Sequence[tuple[int, int]], *, beta: float
) -> tuple[float, float, np.ndarray]:
    """(L, share of pairs that are in order, dL/dS) of L = mean over pairs of -log sigmoid(beta (S_w - S_l)), where S is
    the sum of the advantages of an answer's turns.
    """
    gradient = np.zeros(len(sums))
    if not pairs:
        return 0.0, 0.0, gradient
    winners, losers = np.array(pairs).T
    margin = beta * (sums[winners] - sums[losers])
    pull = beta / (1 + np.exp(np.minimum(margin, 700.0))) / len(margin)
    np.add.at(gradient, winners, -pull)
    np.add.at(gradient, losers, pull)
    right = float(((margin > 0) + 0.5 * (margin == 0)).mean())
    return float(np.logaddexp(0.0, -margin).mean()), right, gradient


def coefficients(episode: Episode, slope: float) -> np.ndarray:
    """dL/d log phi of each token: `slope` of the answer's sum, divided by the length of the token's turn."""
    found = np.zeros(len(episode))
    for turn in turns_in(episode):
        found[turn] = slope / len(turn)
    return found


def learn_turns(
    rows: Sequence[Row],
    *,
    models: Models,
    memory: Memory,
    codec: Codec,
    scale: Scale,
    micro_tokens: int,
    model: str,
    reference: str,
    told: bool,
    beta: float,
    rate: float,
    num_epochs: int,
) -> tuple[list[Row], Stats]:
    """The rows as they are. Takes `num_epochs` optimiser steps of the critic on the pairs of all groups of the step."""
    episodes, pairs = paired(rows)
    if not pairs:
        return list(rows), {}
    learning = Lesson(episodes, pairs, codec, models, model, reference, told, beta)
    settings = dataclasses.replace(
        scale, learning_rate=rate * scale.learning_rate, num_minibatches=1, num_epochs=num_epochs
    )
    key = memory.key("learn-turns", memory.step, model)
    batch = learning.batch()
    fit(models[model], batch, learning.goal(batch), key=key, scale=settings, micro_tokens=micro_tokens)
    loss, right = learning.seen[0]
    return list(rows), {f"{model}/loss": loss, f"{model}/accuracy": right, f"{model}/pairs": float(len(pairs))}


def paired(rows: Sequence[Row]) -> tuple[list[Episode], list[tuple[int, int]]]:
    """The answers that are in a pair, and the pairs as places among them. Fresh answers with a verdict count."""
    episodes: list[Episode] = []
    pairs: list[tuple[int, int]] = []
    for group in by_group(rows).values():
        own = [row.episode for row in group.members if row.verified and turns_in(row.episode)]
        made = pairs_of([episode.right for episode in own])
        places = {place: len(episodes) + i for i, place in enumerate(sorted({x for pair in made for x in pair}))}
        episodes += [own[place] for place in places]
        pairs += [(places[winner], places[loser]) for winner, loser in made]
    return episodes, pairs


@dataclasses.dataclass
class Lesson:
    """The pairs of a step, and how the critic learns from them.

    The slope of the loss at each answer's sum is computed from one pass over all answers before the passes that learn,
    so that a pair may lie in two micro-batches.
    """

    episodes: Sequence[Episode]
    pairs: Sequence[tuple[int, int]]
    codec: Codec
    models: Models
    model: str
    reference: str
    told: bool
    beta: float
    seen: list[tuple[float, float]] = dataclasses.field(default_factory=list)  # (loss, accuracy) before each step

    def batch(self) -> Batch:
        """A row for each path of an answer, in their order; nothing is masked."""
        from assay.engine.spans import laid

        return laid(told_spans(self.episodes, self.codec, told=self.told)[0])

    def weights(self) -> np.ndarray:
        """dL/d log phi at every token of the batch, under the critic's present weights."""
        of = {"model": self.model, "reference": self.reference, "told": self.told}
        logps = compared(self.models, self.episodes, self.codec, **of)
        sums = [
            turn_advantages(seen, bare, turns_in(episode)).sum()
            for episode, (seen, bare) in zip(self.episodes, logps, strict=True)
        ]
        loss, right, slopes = bradley_terry(np.array(sums), self.pairs, beta=self.beta)
        self.seen.append((loss, right))
        return np.concatenate([coefficients(*one) for one in zip(self.episodes, slopes.tolist(), strict=True)])

    def goal(self, whole: Batch) -> Goal:
        """The loss as a sum over tokens of this batch, all of whose rows come in each update, in any order."""
        from assay.engine.interface import Want

        row_of = {name: row for row, name in enumerate(whole.request)}

        def weigh(part: Batch) -> np.ndarray:
            rows = [row_of[name] for name in part.request]
            weights = self.weights()
            return np.concatenate([weights[whole.at[row] : whole.at[row + 1]] for row in rows])

        def pull(out: Outputs, chunk: Chunk, weight: np.ndarray) -> Tensor:
            """Has the gradient of the loss: the sum of dL/d log phi, held fixed, times log phi."""
            return (out.logp.new_tensor(weight) * out.logp).sum()

        return Goal(Want(), weigh, pull)


class LearnTurns(Forward):
    """A critic that is told what is hidden from the policy learns which of two answers has the better turns (SWEET-RL
    2503.15478): -log sigmoid(beta (sum of A over the turns of the right one - the same of the wrong one)).

    A of a turn is the mean over its tokens of log phi, with what is hidden before the prompt, less log ref, without it.
    The first right answer of a group is paired with each wrong one. `turn-advantage` of `reward` reads the critic.

        forwards=(LearnTurns(model="critic", reference="reference"),)
        --mechanism.forwards learn-turns --mechanism.forwards.0.model critic
    """

    needs_verdict = True

    model: str = "critic"  # its name in the recipe's `models`
    reference: str = "reference"  # the frozen model that it is compared with
    told: bool = True  # no: it reads what the policy reads, for comparison
    beta: Positive = 0.1
    rate: Positive = 1.0  # its learning rate, as a multiple of the policy's
    num_epochs: Count = 4  # its optimiser steps on the pairs of a step
    does = learn_turns

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        return (prompt.longer(len(codec.encode(privilege(problem)))) if self.told else prompt,)
