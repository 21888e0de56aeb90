"""GDPO: each reward compared for itself."""

from __future__ import annotations

import dataclasses
import math

import pytest
from credited_rows import credited
from paid import earned
from tiny import END, episode

from assay.errors import ConfigError
from assay.methods.shaping.gdpo.credit import PerReward
from assay.methods.shaping.gdpo.formatted import Formatted
from assay.types import Reward, Row, Verdict


def test_what_can_be_read_is_formatted() -> None:
    kinds = [Verdict.ok(), Verdict.fail("wrong"), Verdict.fail("format"), Verdict.fail("truncated")]
    answers = [dataclasses.replace(episode([1]), verdict=verdict) for verdict in kinds]
    assert earned(Formatted(readable=1.0, malformed=-0.5), answers) == [1.0, 1.0, -0.5, -0.5]


def paid(*parts: tuple[float | None, float | None], name: str = "g") -> list[Row]:
    """Rows with a correctness and a format reward; None where a part says nothing."""
    rows = []
    for i, values in enumerate(parts):
        named = [Reward(n, v) for n, v in zip(("outcome", "format"), values, strict=True) if v is not None]
        rows.append(Row(dataclasses.replace(episode([1, END], group=name, sample=i), rewards=tuple(named))))
    return rows


def test_what_grpo_puts_together_stays_apart() -> None:
    """Of two answers: one is better in one reward, or in both; the sums are normalised to the same, the parts not."""
    one, both = paid((0.0, 0.0), (1.0, 0.0)), paid((0.0, 0.0), (1.0, 1.0), name="h")
    half = 1 / math.sqrt(2)
    assert credited(PerReward(epsilon=0.0), one + both) == pytest.approx([-half, half, -2 * half, 2 * half])
    weighed = credited(PerReward(weights=(3.0, 0.5), epsilon=0.0), one + both)
    assert weighed == pytest.approx([-3 * half, 3 * half, -3.5 * half, 3.5 * half])
    scaled = [r.mark(episode=dataclasses.replace(r.episode, rewards=(Reward("outcome", 7 * r.reward),))) for r in one]  # type: ignore[operator]
    assert credited(PerReward(epsilon=0.0), scaled) == pytest.approx([-half, half])


def test_a_reward_that_does_not_apply_adds_nothing_and_weights_are_counted() -> None:
    rows = paid((1.0, None), (0.0, 2.0), (0.0, 4.0))
    third, half = math.sqrt(1 / 3), 1 / math.sqrt(2)
    found = credited(PerReward(epsilon=0.0), rows)
    assert found == pytest.approx([2 / 3 / third, -1 / 3 / third - half, -1 / 3 / third + half])
    with pytest.raises(ConfigError, match="outcome, format"):
        credited(PerReward(weights=(1.0,)), paid((1.0, 1.0), (0.0, 0.0)))
