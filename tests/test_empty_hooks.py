"""A hook that has nothing to do changes no bit: GRPO with it is GRPO."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from of_methods import busy, made, said
from tiny import policy, recipe_of, register, run
from torch import Tensor

from assay.ask import AnnealTemperature, Expert, Fewer, ForgetReplies, LimitCalls, PosedOnce, Shorter, Templated
from assay.ask.also import AlsoAsk
from assay.ask.hints import Hinted
from assay.collect import ContinueSteps, Refill, StepSearch
from assay.collect.teachers import AskTeachers
from assay.collect.trees import Fork
from assay.curate import Agreed, Band, BandFirst, OwnTokens, StatisticsOnly
from assay.curate.parts import FirstGroups
from assay.curate.players import Untrained
from assay.curate.tags import WithoutTag
from assay.known import SLOTS
from assay.memory.examined import KeepExamined
from assay.memory.harvest import Harvest
from assay.memory.helpful import HoldTagged
from assay.memory.leftovers import KeepLeftovers
from assay.memory.posed import AdmitPosed
from assay.part import Part
from assay.recipe import Mechanism

GROUP = 4
IDLE: list[tuple[str, Part]] = [
    ("ask", LimitCalls(most=8)),
    ("ask", ForgetReplies(keep=8)),
    ("ask", AlsoAsk()),
    ("ask", AnnealTemperature(first=1.0, last=1.0)),
    ("ask", Expert(count=0)),
    ("ask", Fewer()),
    ("ask", Hinted(share=0.0)),
    ("ask", PosedOnce()),  # where no prompt asks for a new problem
    ("ask", Shorter()),
    ("ask", Templated()),  # in compact wording
    ("expand", AskTeachers(most=0)),
    ("expand", ContinueSteps(branches=0)),
    ("expand", Fork(branches=0, places=0)),
    ("expand", Refill(max_rounds=1)),
    ("expand", StepSearch()),  # where nobody asked for a first step
    ("curate", StatisticsOnly()),
    ("curate", Band(low=-1.0, high=2.0)),
    ("curate", OwnTokens()),
    ("curate", BandFirst(low=-1.0, high=2.0)),
    ("curate", Agreed()),
    ("curate", FirstGroups()),
    ("curate", Untrained()),
    ("curate", WithoutTag()),
    ("remember", AdmitPosed()),
    ("remember", Harvest()),
    ("remember", HoldTagged()),
    ("remember", KeepExamined()),
    ("remember", KeepLeftovers()),
    *made(said("IDLE")),
]
HOOKS = ("ask", "expand", "curate", "remember")
BUSY = busy() | {
    *("ask:as-role", "ask:demonstrate", "ask:first-steps", "ask:rehearse", "ask:trunks"),
    *("expand:ask-judge", "expand:ask-pairs", "curate:mixed-groups", "curate:no-training", "curate:pairs"),
    *("curate:ranked-pairs", "curate:train-at", "curate:unsure-tokens", "curate:whole-answers", "remember:follow"),
}
"""Parts that have no value at which they do nothing: they are what a method is."""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def trained(mechanism: Mechanism, plain: Any) -> dict[str, Any]:
    engine = policy("fp32")
    run(dataclasses.replace(plain, mechanism=mechanism), engine)
    return engine.state()


@pytest.fixture(scope="module")
def plain() -> Any:
    return recipe_of("grpo", num_prompts=6, group_size=GROUP, num_steps=3, learning_rate=1e-2)


@pytest.fixture(scope="module")
def expected(plain: Any) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        yield trained(plain.mechanism, plain)


@pytest.mark.thin(6)
@pytest.mark.parametrize(("slot", "part"), IDLE, ids=[type(part).__name__ for _, part in IDLE])
def test_an_idle_hook_changes_no_bit(slot: str, part: Part, plain: Any, expected: dict[str, Any]) -> None:
    found = trained(dataclasses.replace(plain.mechanism, **{slot: (part,)}), plain)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(value, found[name]) if isinstance(value, Tensor) else value == found[name], name


def test_the_plain_run_learns_something(plain: Any, expected: dict[str, Any]) -> None:
    """Else equal bits would say nothing."""
    start = policy("fp32").state()
    assert any(not torch.equal(start[name], expected[name]) for name in start if name.startswith("parameter/"))


def test_every_hook_is_idle_somewhere_or_busy() -> None:
    for slot in HOOKS:
        idle = {type(part) for place, part in IDLE if place == slot}
        hooks = {f"{slot}:{name}" for name, part in SLOTS[slot].items() if part not in idle}
        assert hooks == {place for place in BUSY if place.startswith(f"{slot}:")}
