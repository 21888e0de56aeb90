"""What `make gpu` is to reach, and whether it did: each goal is reached, missed or not measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

SAMPLING = {"0.1B": 0.3, "0.5B": 0.5, "1.5B": 0.5}  # of the floor of sampling, with the answers of `gpu_device.FULL`
LEARNING = {"0.5B": 0.30, "1.5B": 0.40}  # of the card's products
GENERATE, BEST = 4.0, 1.0  # seconds of a step of TRL with `generate`, and of its best configuration, beside one of ours
HOST = 0.10  # of a step, in which the device waits for the host
AGREE = 1.9e-6  # nats between sampler and learner in fp32, in the mean over tokens
PLAN = 0.05  # of the planned peak, above or below it
AGREEMENT = "sampler against learner in fp32, mean"  # the check that measures it


@dataclass(frozen=True)
class Goal:
    """A number that was hoped for, and the one that was measured."""

    name: str
    bound: float
    side: Literal["at least", "at most"]
    value: float | None = None

    @property
    def word(self) -> Literal["reached", "missed", "not measured"]:
        if self.value is None:
            return "not measured"
        held = self.value >= self.bound if self.side == "at least" else self.value <= self.bound
        return "reached" if held else "missed"


def as_data(goal: Goal) -> dict[str, Any]:
    return {"name": goal.name, "side": goal.side, "bound": goal.bound, "value": goal.value, "word": goal.word}


def goals_of(data: dict[str, Any]) -> list[Goal]:
    """All goals, whatever was measured. A rehearsal measures none of them."""
    data = data if not data["toy"] else {part: [] for part in data}
    rows = {row["model"]: row for row in data["rows"]}
    goals = []
    for model, bound in SAMPLING.items():
        share = rows.get(model, {}).get("sample_share")
        goals.append(Goal(f"sampling, {model}, of its floor", bound, "at least", share))
    for model, bound in LEARNING.items():
        share = rows.get(model, {}).get("learn_share")
        goals.append(Goal(f"learning, {model}, of the card's products", bound, "at least", share))
    for model in SAMPLING:
        mine, others = rows.get(model, {}).get("step_s"), _seconds(data["trl"], model)
        plain, best = others.get("generate"), min(others.values(), default=None)
        goals.append(Goal(f"a step, {model}: TRL with generate / ours", GENERATE, "at least", _ratio(plain, mine)))
        goals.append(Goal(f"a step, {model}: TRL's best / ours", BEST, "at least", _ratio(best, mine)))
    for model in LEARNING:
        profile = next((row for row in data["profile"] if row["model"] == model), {})
        goals.append(Goal(f"host, {model}, of a step", HOST, "at most", profile.get("host_share")))
    check = next((row for row in data["checks"] if row["name"] == AGREEMENT), {})
    goals.append(Goal("sampler and learner in fp32, nats", AGREE, "at most", check.get("value")))
    for model in SAMPLING:
        off = _ratio(rows.get(model, {}).get("peak_gib"), rows.get(model, {}).get("planned_gib"))
        goals.append(Goal(f"peak, {model}, off the plan", PLAN, "at most", None if off is None else abs(off - 1)))
    return goals


def _seconds(rows: list[dict[str, Any]], model: str) -> dict[str, float]:
    """Configuration -> seconds of a step, of what was measured."""
    return {row["configuration"]: row["step_s"] for row in rows if row["model"] == model and row["step_s"] is not None}


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below
