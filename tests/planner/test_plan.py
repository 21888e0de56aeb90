"""Memory and seconds of a placement by hand, which placements are offered, and what `assay plan` says and refuses."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell, make_model
from tiny import register
from waiting_world import WAITING

from assay.errors import ConfigError
from assay.planner.doubt import doubts
from assay.planner.machines import CONSTANTS, GPUS, Constant, gpu
from assay.planner.plan import (
    BUCKET,
    Placement,
    Situation,
    Work,
    decode_rate,
    estimate,
    estimates,
    forward_flops,
    learner_memory,
    least_seconds,
    loop_of,
    placements,
    prefill_seconds,
    publish_seconds,
    score_seconds,
    server_memory,
    sum_seconds,
    train_seconds,
    whole_units,
    worth,
)
from assay.planner.shapes import PUBLISHED, shape
from assay.policy.config import PolicyConfig, parameters

# 10 tokens, width 8, 2 layers of 4 heads of 2 with 2 key-value heads, 12 wide inside; tied.
SMALL = PolicyConfig("qwen2", 10, 8, 2, 4, 2, 2, 12, 128, tied=True, attention_bias=True)
# a layer: q 8x8, k and v 4x8, o 8x8, gate and up 12x8, down 8x12, two norms of 8, biases of 8, 4 and 4
LAYER = 64 + 32 + 32 + 64 + 96 + 96 + 96 + 16 + 16
ALL = 2 * LAYER + 8 + 80
WORK = Work(prompts=4, group=2, prompt=6, limit=40, answer=10.0, micro_tokens=50)
EXACT = {name: dataclasses.replace(one, value=1.0) for name, one in CONSTANTS.items()} | {
    "kept": Constant(0.0, "assumed", ""),
    "launch": Constant(0.0, "assumed", ""),
    "reserve": Constant(0.0, "assumed", ""),
    "slots": Constant(4.0, "assumed", ""),
}
MADE_UP = dataclasses.replace(GPUS["h100"], memory=1e9, flops=1000.0, bandwidth=100.0, link=50.0)


def situation(gpus: int = 4, **changes: Any) -> Situation:
    made = Situation(SMALL, WORK, MADE_UP, gpus, EXACT)
    return dataclasses.replace(made, **changes)


def test_a_rank_holds_its_share_of_weights_gradients_and_moments() -> None:
    assert parameters(SMALL) == ALL
    two = learner_memory(situation(), 2)
    assert two["weights"] == two["gradients"] == 4 * ALL / 2 and two["moments"] == 8 * ALL / 2
    assert two["whole layers"] == 2 * (8 + 80) + 2 * LAYER + (2 + 2 + 4) * LAYER, (
        "the root and the next layer in bf16; a layer and its gradient in bf16, and that gradient once more in fp32"
    )
    assert two["publishing"] == BUCKET and two["output layer"] == 4 * 4 * 50 * 10
    eight = learner_memory(situation(work=dataclasses.replace(WORK, optimiser_bits=8, frozen=1)), 1)
    assert eight["moments"] == pytest.approx(2 * ALL * (1 + 4 / 256)) and eight["weights"] == 2 * 4 * ALL
    assert eight["gradients"] == 4 * ALL


def test_shares_of_rows_that_do_not_divide_are_those_of_the_first_rank() -> None:
    """Three ranks: ceil(8/3) = 3 rows of 8, ceil(4/3) = 2 of 4, 4 of 12, 4 of 10."""
    layer = 3 * 8 + 2 * 8 + 2 * 8 + 3 * 8 + 4 * 8 + 4 * 8 + 3 * 12 + 3 + 3 + 3 + 2 + 2
    assert learner_memory(situation(), 3)["gradients"] == 4 * (2 * layer + 3 + 4 * 8)


def test_a_server_has_room_for_answers_beside_its_weights() -> None:
    each = 2 * 2 * 2 * 2 * (6 + 10) * 2  # keys and values, layers, heads, width, tokens, bytes
    room = 2.0 * ALL + BUCKET + 3.5 * each
    found, rows = server_memory(situation(gpu=dataclasses.replace(MADE_UP, memory=room)), 1)
    assert found["weights"] == 2 * ALL
    assert rows == 3 and found["keys and values"] == 3 * each
    assert server_memory(situation(gpu=dataclasses.replace(MADE_UP, memory=room - 1.5 * each)), 1)[1] == 0, (
        "the longest answer, of 46 tokens, does not fit"
    )
    assert server_memory(situation(), 2)[1] == 8, "at most four a GPU"


def test_seconds_of_the_phases() -> None:
    flops = 2 * ALL * 8 * 16 + 4 * 2 * 4 * 2 * 8 * 16 * 16 / 2
    assert forward_flops(situation()) == flops
    assert train_seconds(situation(), 1) == pytest.approx(3 * flops / 1000)
    waves = math.ceil(8 * 16 / (2 * 50))
    moved = waves * 8 * ALL * 0.5 / 50
    assert train_seconds(situation(), 2) == pytest.approx(max(3 * flops / 2000, moved))
    slow = situation(gpu=dataclasses.replace(MADE_UP, link=1e-3))
    assert train_seconds(slow, 2) == pytest.approx(waves * 8 * ALL * 0.5 / 1e-3)
    scored = situation(work=dataclasses.replace(WORK, scored=2))
    assert score_seconds(scored, 2) == pytest.approx(2 * flops / 2000) and score_seconds(situation(), 1) == 0
    assert prefill_seconds(situation(), 2, 1) == pytest.approx(2 * ALL * 4 * 6 / 2000)
    cached = 3 * 2 * 2 * 2 * 2 * (6 + 5) * 2
    reading, products = (2 * ALL + cached) / 100, 2 * ALL * 3 / 1000
    assert decode_rate(situation(), 1, 3) == pytest.approx(1 / max(reading, products))


def test_sums_over_the_gpus_of_a_server() -> None:
    """2 layers with two sums each, of which each sends 2 x 3/4 of its numbers, 8 for a token, in 2 bytes, at 50 bytes a
    second, and takes 1 s beside; whatever is read is divided by 4.
    """
    assert sum_seconds(situation(), 1, 3) == 0.0
    of_three = 2 * 2 * (2 * 3 / 4 * 3 * 8 * 2 / 50 + 1.0)
    assert of_three == pytest.approx(9.76) and sum_seconds(situation(), 4, 3) == pytest.approx(of_three)
    cached = 3 * 2 * 2 * 2 * 2 * (6 + 5) * 2
    reading, products = (2 * ALL + cached) / 400, 2 * ALL * 3 / 4000
    assert decode_rate(situation(), 4, 3) == pytest.approx(1 / (max(reading, products) + of_three))
    prompts = 4 * 6 / 2  # tokens of each of two servers
    of_prompts = 2 * 2 * (2 * 1 / 2 * prompts * 8 * 2 / 50 + 1.0)
    assert prefill_seconds(situation(), 2, 2) == pytest.approx(2 * ALL * prompts / 2000 + of_prompts)


def test_a_larger_server_is_not_faster_for_nothing() -> None:
    """A token of a 7B model beside 64 others on an H100: 28 layers, 3584 wide, 56 sums.

    On 8 GPUs a sum is 2 x 7/8 x 64 x 3584 x 2 bytes / 450 GB/s = 1.8 microseconds and 10 beside, 0.66 ms of a step.
    """
    large = Situation(PUBLISHED["Qwen/Qwen2.5-7B"], dataclasses.replace(WORK, prompt=200), GPUS["h100"], 16)
    assert sum_seconds(large, 8, 64) == pytest.approx(56 * (2 * 7 / 8 * 64 * 3584 * 2 / 450e9 + 10e-6))
    assert sum_seconds(large, 8, 64) == pytest.approx(0.66e-3, rel=0.01)
    assert decode_rate(large, 8, 64) < 8 * decode_rate(large, 1, 64) / 2


def test_weights_are_published_by_the_way_that_is_asked_for() -> None:
    """Of 7.62 billion weights in fp32, 30.46 GB: by files at 2 GB/s written once and read by each of two servers; by
    gloo at 2.9 GB/s, by NCCL at 6.7 GB/s sent twice.
    """
    assert publish_seconds(situation(), 3) == 4 * ALL * 4 and publish_seconds(situation(), 3, "gloo") == 4 * ALL * 3
    large = Situation(PUBLISHED["Qwen/Qwen2.5-7B"], WORK, GPUS["h100"], 16)
    assert publish_seconds(large, 2) == pytest.approx(30.46 * 3 / 2, rel=1e-3)
    for way, rate in (("gloo", 2.9), ("nccl", 6.7)):
        asked = dataclasses.replace(large, work=dataclasses.replace(WORK, publish=way))
        assert publish_seconds(asked, 2) == pytest.approx(30.46 * 2 / rate, rel=1e-3)


def test_gradients_are_summed_in_fp32_while_they_and_the_weights_are_there() -> None:
    """The root of Qwen2.5-7B, with an output layer of its own: 2 x 152064 x 3584 + 3584 numbers, of 8 bytes: 8.72 GB.
    Where layers are larger than the root, a layer decides: 10 bytes each, and 2 of the root.
    """
    assert (
        whole_units(PUBLISHED["Qwen/Qwen2.5-7B"]) == 8 * (2 * 152064 * 3584 + 3584) == pytest.approx(8.72e9, rel=1e-3)
    )
    assert whole_units(SMALL) == 2 * 88 + 10 * LAYER


def test_the_edges_of_what_is_known_of_a_constant() -> None:
    low, high = Constant(0.4, "assumed", "", 1.6, most=1.0).edges
    assert (low.value, high.value) == (pytest.approx(0.25), pytest.approx(0.64))
    assert Constant(0.7, "assumed", "", 3.2, most=1.0).edges[1].value == 1.0, "a share of the peak is no more than it"
    assert all(one.known >= 1 and one.edges[0].value <= one.value <= one.edges[1].value for one in CONSTANTS.values())


def test_doubts_name_the_constants_at_whose_edges_the_other_is_better() -> None:
    s = situation(6)
    best, other = estimates(s)[0], estimates(s)[-1]
    assert best.placement != other.placement
    found = doubts(s, best, other)
    for doubt in found:
        edges = [edge.value for edge in s.constants[doubt.name].edges]
        moved = dataclasses.replace(s.constants[doubt.name], value=doubt.value)
        there = dataclasses.replace(s, constants={**s.constants, doubt.name: moved})
        ours, theirs = estimate(there, best.placement), estimate(there, other.placement)
        assert doubt.value in edges and theirs is not None
        assert ours is None or worth(theirs) < worth(ours)
    sure = {name: dataclasses.replace(one, known=1.0) for name, one in s.constants.items()}
    assert doubts(dataclasses.replace(s, constants=sure), best, other) == []
    wide = {name: dataclasses.replace(one, known=1e6) for name, one in s.constants.items()}
    assert doubts(dataclasses.replace(s, constants=wide), best, other)


def test_placements_use_every_gpu_and_nothing_twice() -> None:
    found = list(placements(situation(6)))
    assert len(found) == len(set(found)) and {one.gpus for one in found} == {6}
    assert {(one.learners, one.servers, one.tensor) for one in found} == {
        *((n, 6 - n, 1) for n in range(1, 6)),
        *((2, 2, 2), (4, 1, 2)),
        (2, 1, 4),
    }


def test_the_best_is_the_fastest_and_no_lag_is_taken_for_nothing() -> None:
    found = estimates(situation(6))
    assert found[0].step <= min(one.step for one in found) * 1.03**4
    idle = Situation(SMALL, dataclasses.replace(WORK, answer=1.0, limit=1), MADE_UP, 2, EXACT)
    bored = dataclasses.replace(idle, gpu=dataclasses.replace(MADE_UP, bandwidth=1e12, flops=1e3))
    assert estimates(bored)[0].placement.lag <= 1, "where servers take no time, no lag is worth its age"


def test_no_placement_that_is_left_out_would_have_been_faster() -> None:
    s = situation(12)
    every = [made for placement in placements(s) if (made := estimate(s, placement)) is not None]
    found = estimates(s)
    assert min(one.step for one in every) == min(one.step for one in found)
    for placement in placements(s):
        made, whole = loop_of(s, placement), estimate(s, placement)
        assert made is None or whole is None or least_seconds(made[0]) <= whole.step


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    tight = situation(2, gpu=dataclasses.replace(MADE_UP, memory=BUCKET + 20_000.0))
    assert estimate(tight, Placement(1, 1, 1, 0)) is None
    with pytest.raises(ConfigError, match=r"nothing fits on 2 h100: a learner's rank needs .* GPUs would"):
        estimates(tight)
    with pytest.raises(ConfigError, match="learners and servers need 2 at least"):
        estimates(situation(1))


def test_shapes_are_those_of_folders_bases_and_published_models(tmp_path: Path) -> None:
    assert shape("Qwen/Qwen2.5-7B-Instruct") == PUBLISHED["Qwen/Qwen2.5-7B"]
    assert parameters(shape(str(make_model(tmp_path)))) > 1000
    assert shape("countdown").layers > 1
    with pytest.raises(ConfigError, match=r"give a folder with its config\.json"):
        shape("nobody/nothing")
    with pytest.raises(ConfigError, match="the plan knows a100, h100"):
        gpu("tpu")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


LINE = ("plan", "grpo", "--model", "Qwen/Qwen2.5-0.5B", "--gpus", 4, "--scale.num-prompts", 8, "--scale.max-new", 256)


@pytest.mark.slow
def test_assay_plan_says_what_is_assumed(shell: Shell) -> None:
    told = shell(*LINE)
    assert told.code == 0, told.err
    parts = (
        "best   ",
        "next   ",
        "which is better ",
        "publish  files; by each way: files ",
        "nothing is won",
        "assumed",
    )
    for part in (*parts, "nothing of this was measured on a GPU"):
        assert part in told.out
    found = shell(*LINE, "--json").document
    assert found["parameters"] == parameters(PUBLISHED["Qwen/Qwen2.5-0.5B"]) and found["answers"] == 8 * 64
    best = found["best"]
    assert best["learners"] + best["servers"] * best["gpus_of_a_server"] == 4
    assert sum(best["learner_bytes"].values()) <= best["room_bytes"]
    assert {one["source"] for one in found["constants"].values()} == {"assumed", "published"}
    assert [one["lag"] for one in found["lags"]] == [0, 1, 2, 4]
    assert found["next_is_better_if"].keys() <= found["constants"].keys()
    by = found["publish_by"]
    assert best["seconds"]["publish"] == by["files"] > by["gloo"] > by["nccl"]
    other = shell(*LINE, "--machine.publish", "gloo", "--json").document
    assert other["best"]["seconds"]["publish"] == other["publish_by"]["gloo"]
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--gpus", 0), "--gpus is 0"),
        (("--gpu", "abacus"), "--gpu is 'abacus'"),
        (("--model", "x/y"), "whose shape is not known here"),
        (("--prompt-tokens", 0), "at least 1 token of a prompt"),
        (("--answer-tokens", 257), "1 to 256 (scale.max-new) of an answer"),
        (("--answer-tokens", 0), "1 to 256 (scale.max-new) of an answer"),
        (("--scale.nonsense", 1), "nonsense"),
    ],
)
def test_plans_that_cannot_be_made_are_refused(shell: Shell, more: tuple[object, ...], said: str) -> None:
    refused = shell(*LINE, *more)
    assert refused.code in (2, 78) and said in refused.err, refused.err


@pytest.mark.slow
def test_a_context_that_is_too_short_is_named(shell: Shell) -> None:
    found = shell(*LINE[:-1], 40_000, "--json").document
    assert any("the model's context is 32768" in caution for caution in found["cautions"])


# Worlds


def test_replies_lengthen_what_is_read_and_kept_and_not_what_is_written() -> None:
    """Two prompts of 6 tokens with 2 answers of 10 and replies of 4 in the mean and 20 at most, of two seats."""
    told = dataclasses.replace(WORK, prompts=2, replies=4.0, most_replies=20, seats=2)
    assert (told.answers, told.read, told.longest, told.tokens) == (8, 20.0, 66, 160.0)
    long, short = (situation(work=dataclasses.replace(told, replies=replies)) for replies in (4.0, 0.0))
    assert train_seconds(long, 2) > train_seconds(short, 2) and score_seconds(long, 2) >= score_seconds(short, 2)
    read = prefill_seconds(long, 1, 1) / prefill_seconds(short, 1, 1)
    assert read == pytest.approx((2 * 2 * 6 + 8 * 4) / (2 * 2 * 6)), "each reply is read once, prompts once for a group"
    assert decode_rate(long, 1, 4) <= decode_rate(short, 1, 4)
    plain = dataclasses.replace(told, replies=0.0, most_replies=0, seats=1)
    assert (plain.answers, plain.read, plain.longest) == (4, 16.0, 46)


def test_a_server_has_room_for_the_longest_answer_with_its_replies() -> None:
    """Keys and values of a token take 2 * 2 layers * 2 heads * 2 numbers * 2 bytes; nothing else is there."""
    each = 2 * 2 * 2 * 2 * 2
    memory = 2 * ALL + BUCKET + each * (6 + 40 + 20)
    card = dataclasses.replace(MADE_UP, memory=float(memory))
    fits = situation(gpu=card, work=dataclasses.replace(WORK, most_replies=20))
    assert server_memory(fits, 1)[1] > 0
    assert server_memory(dataclasses.replace(fits, work=dataclasses.replace(WORK, most_replies=21)), 1)[1] == 0


def test_assay_plan_tells_of_worlds(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, WAITING)
    line = ("plan", "grpo", "--model", "Qwen/Qwen2.5-0.5B", "--gpus", 2, "--scale.max-replies", 400)
    found = json.loads(shell(*line, "--task", "tiny", "--scale.longest-reply", 50, "--json").out)
    assert found["worlds"][1].endswith("one has 50 tokens at most") and "4 processes" in found["worlds"][0]
    said = shell(*line, "--task", "tiny", "--reply-tokens", 123).out
    assert "replies: 123 tokens of an answer in the mean and 400 at most" in said and "worlds   tiny: " in said
    assert json.loads(shell(*line, "--json").out)["worlds"] == []
    refused = shell(*line, "--reply-tokens", 401)
    assert refused.code == 78 and "0 to 400 (scale.max-replies)" in refused.err
    alone = shell("plan", "grpo", "--model", "pointer", "--task", "tsp:20")
    assert alone.code == 78 and "A policy of this kind runs in one process." in alone.err
