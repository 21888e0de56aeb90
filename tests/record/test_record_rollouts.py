"""Rollouts as parquet: each column says what the episode said, and a reader of the file needs nothing of ours."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.credit.pack import BatchRule, credit, pack
from assay.errors import StorageError
from assay.host import failpoint
from assay.memory import Memory
from assay.record import RunFolder
from assay.record.rollouts import left_out, read_rollouts, rollout_table, shared_out, write_rollouts
from assay.streams import streams_of
from assay.types import Batch, Episode, Origin, Problem, Request, Reward, Row, Segment, Verdict

PROBLEM = Problem(task="sum", prompt="1+1", spec={}, canonical="1+1", level=3)


def decode(ids: Any) -> str:
    return "".join(chr(97 + i) for i in ids)


def episode(sample: int = 0, **changes: Any) -> Episode:
    hint = Segment(np.array([1], np.int32), np.full(1, Origin.INJECTED, np.int8))
    said = Segment(
        np.array([2, 3], np.int32),
        np.zeros(2, np.int8),
        old=np.array([-0.5, -1.5], np.float32),
        mu=np.array([-0.25, -1.25], np.float32),
        version=5,
    )
    base = Episode(
        request=Request(PROBLEM, np.array([0, 1], np.int32), group="g", max_new=4, sample=sample, prefix=(hint,)),
        segments=(hint, said),
        finish="stop",
        text="cd",
        verdict=Verdict.ok("2"),
        rewards=(Reward("correct", 1.0), Reward("format", 0.5), Reward("steps", 9.0, scope="turn")),
    )
    return dataclasses.replace(base, **changes)


def credited(one: Episode, *advantage: float) -> Batch:
    """The batch in which it trained, behind another answer; a critic is to learn 0.5 of every state."""
    other = Row(episode(7), advantage=np.full(3, 9.0), target=np.full(3, 0.25, np.float32))
    mine = Row(one, advantage=np.array([0.0, *advantage]), target=np.full(3, 0.5, np.float32))
    return pack([other, mine], places=[5, 0])


def test_the_columns_of_an_episode() -> None:
    one = episode()
    table = rollout_table([one], decode, step=12, batches=[credited(one, 2.0, -1.0)])
    row = {name: values[0] for name, values in table.items()}
    assert row["step"] == 12 and row["level"] == 3 and row["sample"] == 0 and row["length"] == 3
    assert (row["problem"], row["task"], row["group"], row["request"]) == (PROBLEM.id, "sum", "g", one.request.id)
    assert (row["prompt"], row["completion"], row["finish"]) == ("ab", "cd", "stop")
    assert (row["verdict"], row["verdict_kind"], row["answer"]) == ("ok", "", "2")
    assert row["reward"] == 1.5  # the episode-scope parts alone
    assert (row["reward/correct"], row["reward/format"], row["reward/steps"]) == (1.0, 0.5, 9.0)
    assert row["tokens"] == [1, 2, 3] and row["context"] == [0, 1]
    assert row["origin"] == [1, 0, 0] and row["version"] == [0, 5, 5]
    assert math.isnan(row["old"][0]) and row["old"][1:] == [-0.5, -1.5]
    assert math.isnan(row["mu"][0]) and row["mu"][1:] == [-0.25, -1.25]
    assert row["advantage"] == [0.0, 2.0, -1.0] and row["target"] == [0.5, 0.5, 0.5]
    assert row["entropy"] is None and row["ref"] is None and row["in_loss"] is None and row["weight"] is None


def test_a_row_adds_its_marks_and_its_forwards() -> None:
    old = np.array([-1, -2, -3], np.float32)
    row = Row(episode(), in_loss=False, in_denominator=False, weight=0.5, batch="x", old=old, ref=old - 1)
    table = rollout_table([row], decode, step=0)
    assert [table[name] for name in ("in_loss", "in_group", "in_denominator")] == [[False], [True], [False]]
    assert table["weight"] == [0.5] and table["batch"] == ["x"]
    assert table["old"] == [[-1, -2, -3]] and table["ref"] == [[-2, -3, -4]]
    assert table["advantage"] == [None] and table["target"] == [None]


def talked() -> Episode:
    """An answer with a reply to a call that made no sense."""
    reply = Segment(np.array([4], np.int32), np.full(1, Origin.ENV, np.int8), failed=True)
    one = episode()
    request = dataclasses.replace(one.request, prefix=(), seat="policy")
    mine = dataclasses.replace(one.segments[1], earned=np.array([0, 0.5], np.float32))
    return dataclasses.replace(one, request=request, segments=(mine, reply, mine), text="cdecd")


def test_turns_come_back_with_texts_that_the_file_has_only_once(tmp_path: Path) -> None:
    path = write_rollouts(tmp_path, 1, rollout_table([talked(), episode()], decode, step=1))
    (first, plain) = pq.read_table(path).column("turns").to_pylist()
    assert plain is None and set(first[0]) == {"author", "start", "stop", "tokens", "failed", "earned", "reads"}
    again = read_rollouts(path)
    told = [(turn["author"], turn["text"], turn["failed"], turn["earned"]) for turn in again["turns"][0]]
    assert told == [("policy", "cd", False, 0.5), ("world", "e", True, None), ("policy", "cd", False, 0.5)]
    assert read_rollouts(path, ["turns"])["turns"] == again["turns"], "without the text being asked for"
    assert again["seat"] == ["policy", None] and again["play"] == ["g#0", None]


def test_numbers_of_a_world_have_columns_where_there_are_any(tmp_path: Path) -> None:
    """Two steps of an observation of two numbers, an action and a cost of one; and three candidates of a step."""
    seen, action = np.array([[0.5, 1], [2, 3]], np.float32), np.array([[1], [0]], np.float32)
    numbers = {"seen": seen, "action": action, "cost": np.ones((2, 1), np.float32)}
    walk = episode(segments=(dataclasses.replace(episode().segments[1], **numbers),))
    path = write_rollouts(tmp_path, 1, rollout_table([walk, episode()], decode, step=1))
    rows = read_rollouts(path)
    assert rows["seen"] == [[[0.5, 1], [2, 3]], None] and rows["action"] == [[[1], [0]], None]
    assert rows["cost"] == [[[1], [1]], None] and rows["turns"] == [None, None]
    candidates = dataclasses.replace(episode().segments[1], seen=np.zeros((2, 3, 2), np.float32))
    deep = write_rollouts(tmp_path, 2, rollout_table([episode(segments=(candidates,))], decode, step=2))
    assert read_rollouts(deep)["seen"] == [np.zeros((2, 3, 2)).tolist()]
    assert not {"seen", "action", "cost"} & set(rollout_table([episode()], decode, step=0))


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    table = rollout_table([episode()], decode, step=1)
    old = {name: values for name, values in table.items() if name not in ("seat", "play", "turns")}
    again = read_rollouts(write_rollouts(tmp_path, 1, old))
    exact = [name for name in old if name not in ("old", "mu")]  # which begin with NaN
    assert list(again) == list(old) and [again[name] for name in exact] == [old[name] for name in exact]


def test_of_plays_that_end_early_no_more_are_kept_than_of_others() -> None:
    """Short plays are complete first; the draws of the step say what is kept."""
    drawn = [of_role("policy", place, draw=draw) for place, draw in enumerate([2, 3, 0, 1])]
    assert shared_out(drawn, 2) == [2, 3]


def of_role(role: str, sample: int, *, draw: int = 0, **changes: Any) -> Row:
    one = episode(sample)
    return Row(dataclasses.replace(one, request=dataclasses.replace(one.request, role=role, draw=draw)), **changes)


def test_copies_of_a_row_have_each_its_own_advantage() -> None:
    """One request trains three times, in two batches, and stands a fourth time outside of the loss."""

    def numbered(rows: Any, *, memory: Memory) -> list[Row]:
        return [row.mark(advantage=np.full(3, float(i))) for i, row in enumerate(rows, start=1)]

    copy = Row(episode())
    left = copy.mark(in_loss=False, in_denominator=False)
    rows = [copy.mark(batch="b"), left, copy.mark(in_group=False), copy.mark(batch="a", weight=2.0)]
    batches = credit(rows, Memory(0), rule_of=lambda role: BatchRule((numbered,), "policy"))
    table = rollout_table(rows, decode, step=1, batches=batches)
    assert table["advantage"] == [[1.0] * 3, None, [0.0] * 3, [6.0] * 3]
    some = rollout_table(rows, decode, step=1, batches=batches, places=[0, 3])
    assert some["advantage"] == [[1.0] * 3, [6.0] * 3] and some["batch"] == ["b", "a"]


def test_the_limit_is_shared_among_roles_and_odd_ones_go_to_what_trains() -> None:
    answers = [of_role("policy", i, in_loss=False) for i in range(6)]
    verdicts = [of_role("verifier", i) for i in range(3)]
    rows = [*answers, *verdicts]
    found = {most: shared_out(rows, most) for most in (0, 1, 4, 5, 8, 9, 99)}
    assert found[0] == [] and found[1] == [6] and found[4] == [0, 1, 6, 7] and found[5] == [0, 1, 6, 7, 8]
    assert found[8] == [0, 1, 2, 3, 4, 6, 7, 8] and found[9] == found[99] == list(range(9))
    assert left_out(rows, found[5]) == {"policy": 4} and left_out(rows, found[9]) == {}
    assert left_out(rows, found[0]) == {"policy": 6, "verifier": 3}


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=24), st.integers(0, 30))
def test_no_role_has_more_than_another_that_misses_some(drawn: list[tuple[str, bool]], most: int) -> None:
    rows = [of_role(role, i, in_loss=trains) for i, (role, trains) in enumerate(drawn)]
    kept = shared_out(rows, most)
    assert kept == sorted(set(kept)) and len(kept) == min(most, len(rows))
    counts = {role: sum(rows[place].role == role for place in kept) for role, _ in drawn}
    missing, training = left_out(rows, kept), {role for role, trains in drawn if trains}
    for role in missing:
        assert all(counts[role] >= count - 1 for count in counts.values())
        if role in training:
            assert all(counts[role] >= count for other, count in counts.items() if other not in training)
        places = [place for place, row in enumerate(rows) if row.role == role]
        assert [place for place in places if place in kept] == places[: counts[role]], "its first rows"


OF_0_1_0 = {
    *("step", "level", "draw", "sample", "round", "length", "problem", "task", "group", "request", "role", "tag"),
    *("provenance", "prompt", "completion", "finish", "verdict", "verdict_kind", "verdict_detail", "answer", "batch"),
    *("temperature", "reward", "weight", "in_loss", "in_group", "in_denominator"),
    *("context", "tokens", "origin", "version", "old", "mu", "ref", "entropy", "value", "process", "advantage"),
}
"""Columns that readers of files know from the first version on."""


def test_every_stream_of_one_number_a_token_has_a_column_and_no_old_name_is_gone() -> None:
    columns = set(rollout_table([], decode, step=0))
    declared = {**streams_of(Segment), **streams_of(Row)}
    each = {name for name, stream in declared.items() if stream.per == "token" and not stream.wide}
    single = {"tokens" if name == "ids" else name for name in each}
    assert columns == OF_0_1_0 | {"seat", "play", "turns"} | single


def test_an_error_of_ours_has_no_reward() -> None:
    table = rollout_table([episode(verdict=Verdict.invalid("worker_lost", "gone"))], decode, step=1)
    assert table["reward"] == [None]
    assert (table["verdict"], table["verdict_kind"], table["verdict_detail"]) == (
        ["invalid"],
        ["worker_lost"],
        ["gone"],
    )


def test_a_part_that_some_lack() -> None:
    table = rollout_table([episode(), episode(1, rewards=(Reward("other", 2.0),))], decode, step=1)
    assert table["reward/other"] == [None, 2.0]
    assert table["reward/correct"] == [1.0, None]
    assert table["reward"] == [1.5, 2.0]


def test_a_stream_of_the_wrong_length_is_refused() -> None:
    one = episode()
    with pytest.raises(StorageError, match=r"advantage .*has 2 values for 3 tokens"):
        rollout_table([Row(one, advantage=np.zeros(2))], decode, step=1)


def test_the_file_gives_back_what_was_written(tmp_path: Path) -> None:
    one = episode()
    rows = [Row(one), Row(episode(1, segments=(), text="", verdict=None, rewards=()))]
    table = rollout_table(rows, decode, step=7, batches=[credited(one, 2.0, -1.0)])
    path = write_rollouts(tmp_path, 7, table)
    assert path.name == "step-00000007.parquet"
    found = read_rollouts(path)
    assert list(found) == list(table)
    for name in table:
        assert repr(found[name]) == repr(table[name])
    assert read_rollouts(path, ["tokens"]) == {"tokens": [[1, 2, 3], []]}


def test_types_do_not_depend_on_the_rows(tmp_path: Path) -> None:
    """Else the files of two steps could not be read as one table."""
    full = write_rollouts(tmp_path, 1, rollout_table([Row(episode(rewards=()))], decode, step=1))
    bare = write_rollouts(tmp_path, 2, rollout_table([], decode, step=2))
    assert pq.read_schema(full).equals(pq.read_schema(bare))
    kinds = {field.name: str(field.type) for field in pq.read_schema(full)}
    assert kinds["tokens"] == "list<element: int32>" and kinds["advantage"] == "list<element: float>"
    assert kinds["reward"] == "double" and kinds["in_loss"] == "bool" and kinds["completion"] == "string"


@pytest.mark.slow
@given(st.lists(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.floats(width=32)), max_size=5), max_size=4))
@settings(max_examples=20, deadline=None)
def test_tokens_and_streams_are_kept_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[tuple[int, float]]]
) -> None:
    episodes = []
    for number, pairs in enumerate(rows):
        ids = np.array([i for i, _ in pairs], np.int32)
        old = np.array([p for _, p in pairs], np.float32)
        episodes.append(episode(number, segments=(Segment(ids, np.zeros(len(ids), np.int8), old=old),)))
    folder = tmp_path_factory.mktemp("rollouts")
    found = read_rollouts(write_rollouts(folder, 1, rollout_table(episodes, decode, step=1)))
    for pairs, tokens, old in zip(rows, found["tokens"], found["old"]):
        assert tokens == [i for i, _ in pairs]
        assert np.array(old, np.float32).tobytes() == np.array([p for _, p in pairs], np.float32).tobytes()


def test_rollouts_after_the_resumed_step_are_moved_aside(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", identity={}) as run:
        for step in range(4):
            assert run.write_rollouts(step, {"step": [step]})
            if step == 1:
                run.save(1, tensors={"w.safetensors": {"w": np.zeros(1)}})
        run.rewind(run.load())
        assert run.rollout_steps() == [0, 1]
        assert read_rollouts(run.path / "orphans/step-00000003-1.parquet") == {"step": [3]}
        assert run.rollouts(1) == {"step": [1]}
        run.rewind(None)
        assert run.rollout_steps() == []


def test_a_full_disk_costs_rollouts_and_at_the_third_time_the_run(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", identity={}) as run:
        failpoint.arm("rollouts.before_write:enospc:*")
        try:
            assert not run.write_rollouts(1, {"step": [1]})
            assert not run.write_rollouts(2, {"step": [2]})
            with pytest.raises(StorageError, match="3 steps in a row"):
                run.write_rollouts(3, {"step": [3]})
        finally:
            failpoint.arm(None)
        assert list((run.path / "rollouts").iterdir()) == []


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(StorageError, match="cannot be read"):
        read_rollouts(tmp_path / "x.parquet")
    with pytest.raises(StorageError, match="cannot be read"):
        read_rollouts(tmp_path / "absent.parquet")
