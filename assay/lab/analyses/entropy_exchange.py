"""`entropy-exchange`: what a run paid with its entropy: when in training, in which answers, and at which tokens.

It reads the metrics and the rollouts of a run. The rollouts of its first recorded step are read again by its last
policy: on fixed answers a change of entropy is one of the policy, and not of what it writes. What a cell of answers, or
a part of the tokens, is worth for learning takes updates that are restricted to it, and is a study; the two ways to
shape advantages are recipes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError
from assay.lab.analyses.boundary import told
from assay.lab.analyses.exchange import SEGMENT, Exchange, Turn, exchange, parts, shares, turn
from assay.lab.analyses.measure import Cell, Lacking, Measure, Plot, Reading, Sheet
from assay.lab.study.charts import Line
from assay.rng import Key
from assay.scoring.intervals import Interval, interval
from assay.types import Origin

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

KEY = Key("entropy-exchange")
ENTROPY, SCORES = "policy/entropy", ("reward/accuracy", "reward/mean")
COLUMNS = ("group", "verdict", "context", "tokens", "origin", "old", "entropy", "advantage", "temperature")
PERPLEXITY = ("low", "middle", "high")
TENTHS = 10
MOST = 20.0  # nats: more than any vocabulary has


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of one step with what was recorded at their tokens, and what the last policy makes of the same tokens."""

    group: np.ndarray  # int[S], the number of the problem of each answer
    right: np.ndarray  # bool[S]
    advantage: np.ndarray  # float[S], the mean over the tokens of an answer
    cost: np.ndarray  # float[S], the mean of -log p, the logarithm of the perplexity
    answer: np.ndarray  # int[T], the answer of each token
    place: np.ndarray  # float[T], where in its answer, in [0, 1)
    entropy: np.ndarray  # float[T], as recorded
    moved: np.ndarray  # float[T], |log p| of the last policy less that of the recorded one
    change: np.ndarray  # float[T], of entropy, from the recorded policy to the last one


def falls(answers: Answers) -> dict[str, Interval | None]:
    """The change of entropy at the tokens of right, and of wrong answers, by problem: dH+ and dH-. None for less than
    two problems with such answers.
    """
    found: dict[str, Interval | None] = {}
    for name, mark in (("right", answers.right), ("wrong", ~answers.right)):
        mine = mark[answers.answer]
        group = answers.group[answers.answer][mine]
        counts, sums = np.bincount(group), np.bincount(group, answers.change[mine])
        means = sums[counts > 0] / counts[counts > 0]
        found[name] = interval(means, KEY(name), bounds=(-MOST, MOST)) if len(means) > 1 else None
    return found


def cells(answers: Answers) -> list[dict[str, float | str]]:
    """Answers by third of perplexity and sign of advantage: their share of answers, of right ones, and of sum |A|."""
    third = parts(answers.cost, len(PERPLEXITY))
    weight = np.abs(answers.advantage)
    whole = float(weight.sum()) or 1.0
    rows: list[dict[str, float | str]] = []
    for i, name in enumerate(PERPLEXITY):
        for sign, mark in (("+", answers.advantage > 0), ("-", answers.advantage < 0)):
            mine = (third == i) & mark
            rows.append(
                {
                    "perplexity": name,
                    "advantage": sign,
                    "answers": float(mine.mean()),
                    "right": float(answers.right[third == i].mean()),
                    "weight": float(weight[mine].sum()) / whole,
                }
            )
    return rows


def tokens(answers: Answers) -> dict[str, dict[str, list[float]]]:
    """By tenth of entropy, and by tenth of the place in an answer: the share of tokens, of entropy, and of sum
    |change of log p|. Tenths of entropy have a tenth of the tokens each, which is what chance gives of the rest.
    """
    tenths = {
        "entropy": parts(answers.entropy, TENTHS),
        "place": np.minimum((answers.place * TENTHS).astype(int), TENTHS - 1),
    }
    weights = {"tokens": np.ones(len(answers.entropy)), "entropy": answers.entropy, "moved": answers.moved}
    return {
        by: {name: shares(part, weight, TENTHS).tolist() for name, weight in weights.items()}
        for by, part in tenths.items()
    }


def series(metrics: list[dict[str, Any]]) -> tuple[list[int], np.ndarray, np.ndarray, str]:
    """Steps, entropies and scores of a run, with the name of the score."""
    name = next((name for name in SCORES if any(name in row for row in metrics)), "")
    rows = [row for row in metrics if row.get(ENTROPY) is not None and name and row.get(name) is not None]
    if len(rows) < 2 * SEGMENT:
        raise Lacking(f"entropy and score of {2 * SEGMENT} steps are needed; the run recorded those of {len(rows)}.")
    entropy, score = (np.array([float(row[key]) for row in rows]) for key in (ENTROPY, name))
    return [int(row["step"]) for row in rows], entropy, score, name


def _first_rollouts(pair: Pair) -> tuple[int, dict[str, list[Any]], list[dict[str, Any]]]:
    """The first recorded step of the child, its rollouts, and the metrics of the run."""
    from assay.record.folder import RunFolder

    if not (Path(pair.child.model) / "run.json").is_file() or not pair.child.model:
        raise Lacking(f"{pair.child.name} is no run with metrics and rollouts: give the folder of a run.")
    folder = RunFolder.read_only(pair.child.model)
    steps = folder.rollout_steps()
    if not steps:
        raise Lacking(f"{pair.child.name} has recorded no rollouts.")
    try:
        return steps[0], folder.rollouts(steps[0], COLUMNS), folder.read("metrics")
    except AssayError as error:
        raise Lacking(f"the record of {pair.child.name} cannot be read: {error}") from error


def answers_of(pair: Pair, rollouts: dict[str, list[Any]]) -> Answers:
    """The answers of recorded rollouts, at the tokens that the policy wrote, read again by the policy of the child."""
    from assay.engine.choose import frozen_engine
    from assay.engine.interface import Span
    from assay.host.space import device_of

    rows = [dict(zip(rollouts, values, strict=True)) for values in zip(*rollouts.values(), strict=True)]
    rows = [row for row in rows if row["tokens"] and all(row[name] for name in ("old", "entropy", "advantage"))]
    if not rows:
        raise Lacking("the rollouts hold no entropies.")
    engine = frozen_engine(pair.child.policy, device=device_of("auto"), precision="fp32")
    spans = [
        Span(np.array(row["context"], np.int32), np.array(row["tokens"], np.int32), row["temperature"]) for row in rows
    ]
    again = engine.score(spans, entropy=True)
    number = {name: i for i, name in enumerate(dict.fromkeys(row["group"] for row in rows))}
    own = [np.array(row["origin"]) == Origin.POLICY for row in rows]
    old, entropy, advantage = (
        [np.array(row[name], dtype=float)[mine] for row, mine in zip(rows, own, strict=True)]
        for name in ("old", "entropy", "advantage")
    )
    logp, now = ([np.asarray(getattr(s, n), float)[m] for s, m in zip(again, own)] for n in ("logp", "entropy"))
    lengths = [len(row) for row in old]
    return Answers(
        group=np.array([number[row["group"]] for row in rows]),
        right=np.array([row["verdict"] == "ok" for row in rows]),
        advantage=np.array([row.mean() for row in advantage]),
        cost=np.array([-row.mean() for row in old]),
        answer=np.repeat(np.arange(len(rows)), lengths),
        place=np.concatenate([np.arange(n) / n for n in lengths]),
        entropy=np.concatenate(entropy),
        moved=np.abs(np.concatenate(logp) - np.concatenate(old)),
        change=np.concatenate(now) - np.concatenate(entropy),
    )


def take(pair: Pair) -> Reading:
    first, rollouts, metrics = _first_rollouts(pair)
    steps, entropy, score, name = series(metrics)
    line, stage = exchange(entropy, score, KEY), turn(steps, entropy)
    answers = answers_of(pair, rollouts)
    spent, table, by_token = falls(answers), cells(answers), tokens(answers)
    return Reading(
        says=_said(line, stage, spent, first),
        figures={
            "score": name,
            "exchange": vars(line),
            "turn": None if stage is None else vars(stage),
            "falls": {mark: None if b is None else [b.mean, b.low, b.high] for mark, b in spent.items()},
            "cells": table,
            "tokens": by_token,
        },
        tables=(_stages(line, stage), _spent(spent, first), _cells(table), *map(_tokens, by_token, by_token.values())),
        plots=(_plot(steps, entropy, score),),
        beware=(
            "Entropy and score both have a trend and fit a line in any case: read the changes from step to step.",
            "Both are of the same answers of a step, whose luck they share.",
            "Where the answer stands at the end, late tokens matter by the form of the task.",
        ),
    )


def _said(line: Exchange, stage: Turn | None, spent: dict[str, Interval | None], first: int) -> str:
    pieces = [f"R = {-line.a:+.3f} exp(H) + {line.b:.3f} leaves {1 - line.explained:.0%} of the squares of the score"]
    pieces.append(f", a line through the steps {1 - line.by_step:.0%}. ")
    if stage is not None:
        pieces.append(
            f"Entropy changes by {stage.before:+.4f} a step before step {stage.step}, {stage.after:+.4f} after. "
        )
    apart = ", ".join(f"{told(one, sign=True)} in {mark} answers" for mark, one in spent.items() if one is not None)
    return "".join(pieces) + f"On the answers of step {first} it changed by {apart}."


def _stages(line: Exchange, stage: Turn | None) -> Sheet:
    rows: list[tuple[Cell, ...]] = [
        ("a of R = -a exp(H) + b", line.a),
        ("b", line.b),
        ("R2 of exp(H)", line.explained),
        ("R2 of the step alone", line.by_step),
        ("correlation of changes", line.changes),
        ("chance of so large a one", line.chance),
    ]
    if stage is not None:
        rows += [("plateau from step", stage.step), ("explained by two lines, of one line's rest", stage.explained)]
    return Sheet("Score and entropy along the run", ("", "value"), tuple(rows))


def _spent(spent: dict[str, Interval | None], first: int) -> Sheet:
    rows = tuple((mark, None if one is None else told(one, sign=True)) for mark, one in spent.items())
    return Sheet(f"Change of entropy at the tokens of the answers of step {first}", ("answers", "nats"), rows)


def _cells(table: list[dict[str, float | str]]) -> Sheet:
    return Sheet("Answers by perplexity and advantage", tuple(table[0]), tuple(tuple(row.values()) for row in table))


def _tokens(by: str, columns: dict[str, list[float]]) -> Sheet:
    rows = tuple((f"{i + 1}", *(values[i] for values in columns.values())) for i in range(TENTHS))
    names = {"tokens": "share of tokens", "entropy": "of entropy", "moved": "of sum |change of log p|"}
    return Sheet(f"Tokens by tenths of {by}", ("tenth", *(names[name] for name in columns)), rows)


def _plot(steps: list[int], entropy: np.ndarray, score: np.ndarray) -> Plot:
    lines = tuple(
        Line(name, tuple((float(step), float(v), float(v), float(v)) for step, v in zip(steps, values, strict=True)))
        for name, values in (("entropy", entropy), ("score", score))
    )
    return Plot("Entropy and score", lines, x="step", y="nats, score")


ENTROPY_EXCHANGE = Measure(
    name="entropy-exchange",
    title="What entropy was spent on",
    paper="2508.02260",
    asks="when in training, in which answers and at which tokens was entropy exchanged for score?",
    needs=("rollouts",),
    take=take,
)
