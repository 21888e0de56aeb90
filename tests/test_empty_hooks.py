"""A hook that has nothing to do changes no bit: GRPO with it is GRPO."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tiny import policy, recipe_of, register, run
from torch import Tensor

from assay.ask import Expert
from assay.ask.hints import Hinted
from assay.collect import Refill
from assay.collect.teachers import AskTeachers
from assay.collect.trees import Fork
from assay.curate import Aside, BandFirst
from assay.curate.parts import FirstGroups
from assay.curate.players import Untrained
from assay.known import SLOTS
from assay.memory.harvest import Harvest
from assay.memory.helpful import HoldTagged
from assay.memory.leftovers import KeepLeftovers
from assay.methods.ampo.make_room import MakeRoom
from assay.methods.arpo.forks import ForkAtReplies
from assay.methods.azr.memory import AdmitPosed
from assay.methods.azr.without_tag import WithoutTag
from assay.methods.bread.anchors import AnchorSearch
from assay.methods.bread.curate import OnAnchor
from assay.methods.cure.own_tokens import OwnTokens
from assay.methods.deepsearch.examined import KeepExamined
from assay.methods.deepsearch.solved import HoldSolved
from assay.methods.deepsearch.steps import Recall
from assay.methods.erpo.temperature import OwnTemperature
from assay.methods.erpo.track import TrackTemperature
from assay.methods.gfpo.difficulty import TrackDifficulty
from assay.methods.gfpo.filtered import Filtered, FilteredByDifficulty
from assay.methods.guide.retry import RetryWithHint
from assay.methods.guide.surplus import TakeTurns
from assay.methods.hpt.switch import SwitchToExpert
from assay.methods.questa.band import Band
from assay.methods.questa.partial_solution import CutAnywhere, PartialSolution
from assay.methods.rcrl.completions import CompleteSteps
from assay.methods.relift.study import Study
from assay.methods.relift.unsolved import HoldUnsolved
from assay.methods.rlad.players import Helpful, Unpaid
from assay.methods.rlep.replay import Replay
from assay.methods.rlep.successes import KeepSuccesses
from assay.methods.rlve.levels import Promote
from assay.methods.rorecomp.recompose import Recompose
from assay.methods.rstar2.resample import ResampleOnCorrect
from assay.methods.seele.rates import KeepRate
from assay.methods.seele.rounds import HintRounds
from assay.methods.spec_rl.drafts import Drafts
from assay.methods.spo.probe import Probe
from assay.methods.spo.values import TrackValues
from assay.part import Part
from assay.recipe import Mechanism

GROUP = 4
IDLE: list[tuple[str, Part]] = [
    ("ask", Expert(count=0)),
    ("ask", Probe(num=0)),
    ("ask", Replay(num=0)),
    ("expand", AnchorSearch(probes=0)),
    ("expand", Study()),
    ("expand", CompleteSteps(num=0)),
    ("curate", Aside()),
    ("curate", BandFirst(low=-1.0, high=2.0)),
    ("curate", Filtered(keep=GROUP)),
    ("curate", FilteredByDifficulty(hard=GROUP, medium=GROUP, easy=GROUP)),
    ("curate", OnAnchor()),
    ("curate", SwitchToExpert()),
    ("curate", TakeTurns()),
    ("remember", Harvest()),
    ("remember", HoldTagged()),
    ("remember", HoldUnsolved()),
    ("remember", KeepSuccesses()),
    ("remember", TrackDifficulty()),
    ("remember", TrackValues()),
    ("ask", Hinted(share=0.0)),
    ("ask", CutAnywhere(share=0.0)),
    ("ask", OwnTemperature()),
    ("ask", PartialSolution(percent=0.0)),
    ("ask", Recall()),
    ("expand", AskTeachers(most=0)),
    ("expand", Fork(branches=0, places=0)),
    ("expand", ForkAtReplies(total=GROUP)),
    ("expand", HintRounds(rounds=1)),
    ("expand", Refill(max_rounds=1)),
    ("expand", RetryWithHint(share=0.0)),
    ("curate", Band(low=-1.0, high=2.0)),
    ("curate", FirstGroups()),
    ("curate", Helpful()),
    ("curate", MakeRoom()),
    ("curate", OwnTokens()),
    ("curate", Recompose(share=1.0)),
    ("curate", ResampleOnCorrect(keep=GROUP)),
    ("curate", Unpaid()),
    ("curate", Untrained()),
    ("curate", WithoutTag()),
    ("remember", AdmitPosed()),
    ("remember", Drafts()),
    ("remember", HoldSolved()),
    ("remember", KeepExamined()),
    ("remember", KeepLeftovers()),
    ("remember", KeepRate()),
    ("remember", Promote()),
    ("remember", TrackTemperature()),
]
HOOKS = ("ask", "expand", "curate", "remember")
BUSY = {
    "ask": {"demonstrate", "as-role", "trunks", "steps", "begin-at-rate", "speculate", "abstract", "start-states"}
    | {
        "budget",
        "distilled",
        "expert-prefix",
        "greedy",
        "rehearse",
        "teach-abstractions",
        "write-then-solve",
        "conditioned",
    },
    "expand": {"search", "solve-posed", "solve-with"},
    "curate": {"mixed-groups", "solved-groups", "draw-leaves", "backed-up"}
    | {"nobody", "one-sided", "unsolved-groups", "whole-answers", "pairs", "mismatch", "train-at", "label-steps"},
    "remember": {"follow", "adapt-entropy"},
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
        assert {name for name, part in SLOTS[slot].items() if part not in idle} == BUSY[slot]
