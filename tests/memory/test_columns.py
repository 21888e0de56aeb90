"""What a memory holds, as a checkpoint keeps it: every bit comes back, problems stand once, damage is noticed."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, reopened, saved

from assay.errors import StorageError
from assay.memory import Memory
from assay.memory.columns import FILE, of_columns, to_columns
from assay.prompt import Form, Prompt
from assay.record.checkpoint import Store
from assay.types import Episode, Problem, Request, Reward, Segment, Verdict

TEXT = st.text(max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
BITS = {"ids": "<i4", "origin": "i1", "old": "<f4", "mu": "<f4", "entropy": "<f4"}


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """Any bits: infinities, numbers that are none, a log-prob of every token."""
    size, known = draw(st.integers(0, 4)), draw(st.sets(st.sampled_from(("old", "mu", "entropy", "context"))))
    streams: dict[str, Any] = {
        name: np.frombuffer(
            draw(st.binary(min_size=size * np.dtype(bits).itemsize, max_size=size * np.dtype(bits).itemsize)), bits
        )
        for name, bits in BITS.items()
        if name in ("ids", "origin") or name in known
    }
    if "context" in known:
        streams["context"] = np.arange(draw(st.integers(0, 3)), dtype="<i4")
    if draw(st.booleans()):
        streams["all_logp"] = np.full((size, draw(st.integers(1, 3))), draw(st.floats(width=32)), "<f4")
    return Segment(**streams, version=draw(st.integers(0, 9)), node=draw(TEXT), failed=draw(st.booleans()))


problems = st.builds(
    Problem,
    task=TEXT,
    prompt=TEXT | st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=2).map(tuple),
    spec=st.dictionaries(TEXT, JSON, max_size=2),
    canonical=TEXT,
    level=st.integers(0, 9),
    solution=st.none() | TEXT,
    hints=st.lists(TEXT, max_size=2).map(tuple),
    parents=st.lists(TEXT, max_size=2).map(tuple),
    wording=st.sampled_from(["compact", "natural"]),
)
contexts = st.lists(st.integers(0, 99), max_size=3).map(lambda ids: np.array(ids, "<i4"))
prompts = st.builds(
    Prompt,
    question=TEXT | st.lists(st.dictionaries(TEXT, TEXT | st.lists(TEXT), max_size=2), max_size=2).map(tuple),
    wording=st.sampled_from(["compact", "natural"]),
    hints=st.lists(TEXT, max_size=2).map(tuple),
    forms=st.lists(st.builds(Form, TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple), st.booleans())).map(
        tuple
    ),
    notes=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
    begun=st.lists(st.integers(0, 99), max_size=2).map(tuple),
)
verdicts = st.builds(
    Verdict,
    status=st.sampled_from(["ok", "fail", "invalid"]),
    kind=TEXT,
    answer=st.none() | TEXT,
    scores=st.dictionaries(TEXT, st.none() | st.floats(allow_nan=False), max_size=2),
)
rewards = st.builds(
    Reward,
    name=TEXT,
    value=st.floats(allow_nan=False) | st.integers(-3, 3),
    at=st.none() | st.just(np.array([1, 2], "<i4")),
)


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    request = Request(
        draw(problems),
        draw(contexts),
        draw(TEXT),
        draw(st.integers(0, 9)),
        temperature=draw(st.floats(0, 2)),
        stop=tuple(draw(st.lists(TEXT, max_size=2))),
        sample=draw(st.integers(0, 9)),
        prefix=tuple(draw(st.lists(segments(), max_size=2))),
        pauses=draw(st.booleans()),
        train_context=draw(st.none() | contexts),
        worded=draw(st.none() | prompts),
    )
    return Episode(
        request,
        tuple(draw(st.lists(segments(), max_size=2))),
        draw(st.sampled_from(["stop", "length", "pause", "error"])),
        text=draw(TEXT),
        verdict=draw(st.none() | verdicts),
        rewards=tuple(draw(st.lists(rewards, max_size=2))),
        context=draw(st.none() | contexts),
        path=tuple(draw(st.lists(TEXT, max_size=2))),
        provenance=draw(st.sampled_from(["fresh", "replay", "teacher"])),
    )


def bits(value: Any) -> Any:
    """A value that compares equal to another if all its types and bits do."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return (type(value).__name__, *((field.name, bits(getattr(value, field.name))) for field in fields))
    if isinstance(value, dict):
        return {name: bits(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(bits, value))
    return (type(value).__name__, repr(value))


@pytest.mark.turns(3)
@pytest.mark.slow
@given(st.dictionaries(TEXT, st.lists(episodes(), max_size=3).map(tuple), max_size=3))
@settings(max_examples=80, deadline=None)
def test_every_bit_of_every_field_comes_back(kept: dict[str, tuple[Episode, ...]]) -> None:
    memory = Memory(0, kept=kept)
    again = reopened(memory)
    assert bits(dict(again.kept)) == bits(kept)
    assert saved(again) == saved(memory)


def held(count: int, **changes: Any) -> tuple[Episode, ...]:
    """Answers of a thousand tokens to ten problems of a thousand letters."""
    made = []
    for i in range(count):
        prompt = f"{i % 10}" + "p" * 1000
        problem = Problem("tiny", prompt, {"letter": "a"}, prompt)
        one = episode([1, 2, 0], sample=i, **changes)
        made.append(dataclasses.replace(one, request=dataclasses.replace(one.request, problem=problem)))
    return tuple(made)


@pytest.mark.slow
def test_a_problem_stands_once_however_many_answers_are_held() -> None:
    sizes = [sum(column.nbytes for column in to_columns({"x": held(count)}).values()) for count in (10, 1010)]
    assert sizes[0] > 10_000, "ten problems"
    assert sizes[1] - sizes[0] < 1000 * 300, "a thousand answers more, and no problem"
    again = of_columns(to_columns({"x": held(1000)}))["x"]
    assert len({id(one.request.problem) for one in again}) == 10


def test_a_column_does_not_keep_the_whole_file_alive() -> None:
    (first, *_) = of_columns(to_columns({"x": held(100)}))["x"]
    stream = first.segments[0].ids
    assert stream.base is None or stream.base.nbytes == stream.nbytes


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    store = Store(tmp_path, identity={}, reserve=0)
    store.save(1, tensors={FILE: to_columns({"x": held(3)})})
    store.save(2, tensors={FILE: to_columns({"x": held(4)})})
    file = store.folder(2) / FILE
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    checkpoint = store.load()
    assert checkpoint is not None and checkpoint.step == 1 and "SHA-256" in checkpoint.rejected[0]
    assert len(of_columns(checkpoint.tensors(FILE))["x"]) == 3


def test_log_probs_that_are_not_known_are_no_reason_to_refuse_a_save(tmp_path: Path) -> None:
    unknown = held(2)[0]
    hole = dataclasses.replace(unknown.segments[0], old=np.array([np.nan, -np.inf, -0.0], np.float32))
    store = Store(tmp_path, identity={}, reserve=0)
    store.save(1, tensors={FILE: to_columns({"x": [dataclasses.replace(unknown, segments=(hole,))]})})
    checkpoint = store.load()
    assert checkpoint is not None
    (again,) = of_columns(checkpoint.tensors(FILE))["x"]
    assert again.segments[0].old is not None and again.segments[0].old.tobytes() == hole.old.tobytes()  # type: ignore[union-attr]


def test_columns_that_hold_something_else_are_refused_in_words() -> None:
    columns = to_columns({"x": held(2)})
    del columns["request/draw"]
    with pytest.raises(StorageError, match="cannot read episodes from these columns: KeyError: 'request/draw'"):
        of_columns(columns)


def test_a_hint_of_which_earlier_columns_say_only_that_it_was_is_remembered() -> None:
    columns = to_columns({"x": held(2)})
    schema = json.loads(columns["schema"].tobytes())
    schema["tables"]["/request"]["fields"]["hinted"] = "u1"
    columns |= {
        "request/hinted": np.array([1, 0], "u1"),
        "schema": np.frombuffer(json.dumps(schema).encode(), "u1"),
    }
    kept = of_columns(columns)["x"]
    assert [one.request.hinted for one in kept] == [True, False] == [one.request.helped for one in kept]
    assert [one.request.id for one in kept] == [one.request.id for one in held(2)]


def as_before(value: Any) -> Any:
    """JSON of an episode as versions wrote it that had no columns."""
    if isinstance(value, np.ndarray):
        shape = {"shape": list(value.shape)} if value.ndim != 1 else {}
        return {"dtype": value.dtype.str, **shape, "bytes": base64.b64encode(value.tobytes()).decode()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_before(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name != "worded"}
    if isinstance(value, dict):
        return {name: as_before(item) for name, item in value.items()}
    return [as_before(item) for item in value] if isinstance(value, tuple | list) else value


@pytest.mark.slow
@given(st.lists(episodes(), max_size=2).map(tuple))
@settings(max_examples=30, deadline=None)
def test_checkpoints_of_earlier_versions_open(kept: tuple[Episode, ...]) -> None:
    bare = [dataclasses.replace(one, request=dataclasses.replace(one.request, worded=None)) for one in kept]
    data = json.loads(json.dumps({**Memory(3, step=7).to_data(), "kept": {"x": [as_before(one) for one in bare]}}))
    memory = Memory.of(data, {})
    assert (memory.seed, memory.step) == (3, 7) and bits(memory.kept["x"]) == bits(tuple(bare))
