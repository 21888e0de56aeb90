"""Streams are declared once: whoever carries them reads the declaration, and none is forgotten on the way."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_cases import engine_of
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, policy, recipe_of, segment

from assay.credit.pack import pack
from assay.engine.interface import Want
from assay.objective.improve import minibatches
from assay.objective.view import view_of, view_of_batch
from assay.rng import Key
from assay.streams import Batch, Carried, Names, Stream, TokenFloats, streams_of, token_streams
from assay.types import Origin, Row, Segment

OFFSETS = {"at": "ids", "context_at": "context", "generation_at": "generation"}
NUMBERS = {"seen", "action"}  # what a world of numbers showed, and was told
NOISE = Stream("noise", per="token")
SIGNS = Stream("signs", per="row")


def array_of(stream: Stream, count: int, random: np.random.Generator) -> Any:
    """Any values of the type that is declared."""
    if stream.dtype == "str":
        return Names.of(f"{stream.name} {i}" for i in range(count))
    shape = (count, 3) if stream.wide else (count,)
    values = random.random(shape) if stream.dtype.startswith("float") else random.integers(0, 2, shape)
    return values.astype(stream.dtype)


def full_batch(lengths: list[int]) -> Batch:
    """Every stream that a batch declares, filled; and constants and weights of terms."""
    rows, tokens, random = len(lengths), sum(lengths), np.random.default_rng(sum(lengths))
    counts = {"token": tokens, "row": rows}
    context_at = np.cumsum([0, *(1 + i % 3 for i in range(rows))])
    return Batch(
        context=random.integers(0, 9, context_at[-1]).astype(np.int32),
        context_at=context_at,
        at=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        generation=np.arange(2 * rows, dtype=np.int32),
        generation_at=2 * np.arange(rows + 1),
        term_weights={"kl": random.random(tokens).astype(np.float32)},
        constants={NOISE: random.random(tokens), SIGNS: random.random((rows, 2))},
        **{name: array_of(stream, counts[stream.per], random) for name, stream in streams_of(Batch).items()},
    )


def everything(batch: Batch) -> dict[str, tuple[Any, np.ndarray | None]]:
    """What a batch holds, each with the offsets of its rows; None: a value for each row."""
    per_row = {name for name, stream in streams_of(Batch).items() if stream.per == "row"}
    offsets = {tokens: getattr(batch, at) for at, tokens in OFFSETS.items()}
    found = {
        field.name: (getattr(batch, field.name), None if field.name in per_row else offsets.get(field.name, batch.at))
        for field in dataclasses.fields(batch)
        if field.name not in {*OFFSETS, "role", "term_weights", "constants"}
    }
    found |= {f"weight of {name}": (value, batch.at) for name, value in batch.term_weights.items()}
    found |= {s.name: (value, batch.at if s.per == "token" else None) for s, value in batch.constants.items()}
    return found


# The declaration


def test_a_declaration_is_read_from_the_type_of_the_field() -> None:
    declared = streams_of(Batch)
    assert declared["old"] == Stream("old", per="token", dtype="float32")
    assert declared["top_ids"] == Stream("top_ids", per="token", dtype="int32", wide=True)
    assert declared["temperature"] == Stream("temperature", per="row", dtype="float32")
    assert declared["group"] == Stream("group", per="row", dtype="str")
    assert not declared.keys() & {*OFFSETS, "context", "generation", "role", "term_weights", "constants"}
    assert streams_of(Row).keys() >= streams_of(Carried).keys() and "context" not in streams_of(Segment)


def test_every_array_of_a_batch_is_declared_or_an_offset() -> None:
    batch = full_batch([2, 1])
    arrays = {f.name for f in dataclasses.fields(batch) if isinstance(getattr(batch, f.name), np.ndarray | Names)}
    assert arrays == streams_of(Batch).keys() | OFFSETS.keys() | {"context", "generation"}


# Selecting rows


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_select_takes_the_same_rows_of_everything(lengths: list[int], data: st.DataObject) -> None:
    batch = full_batch(lengths)
    chosen = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=6))
    found = batch.select(chosen)
    assert len(found) == len(chosen) and found.lengths.tolist() == [lengths[i] for i in chosen]
    parts = everything(found)
    for name, (whole, at) in everything(batch).items():
        part, new_at = parts[name]
        for place, row in enumerate(chosen):
            expected = whole[row] if at is None else whole[at[row] : at[row + 1]]
            got = part[place] if new_at is None else part[new_at[place] : new_at[place + 1]]
            np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.randoms(use_true_random=False))
def test_rows_in_another_order_and_back_are_the_same_batch(lengths: list[int], random: Any) -> None:
    batch, order = full_batch(lengths), list(range(len(lengths)))
    random.shuffle(order)
    again = batch.select(order).select(np.argsort(order))
    whole = everything(batch)
    for name, (value, at) in everything(again).items():
        np.testing.assert_array_equal(value, whole[name][0], err_msg=name)
        np.testing.assert_array_equal([] if at is None else at, [] if at is None else whole[name][1], err_msg=name)
        assert type(value) is type(whole[name][0]) and getattr(value, "dtype", 0) == getattr(whole[name][0], "dtype", 0)


def test_what_nobody_filled_stays_none() -> None:
    batch = dataclasses.replace(full_batch([1, 2]), old=None, generation=None, generation_at=None, tag=None)
    found = batch.select([1])
    assert found.old is None and found.generation is None and found.tag is None
    assert "old" not in token_streams(found)


# Names


WORDS = st.lists(st.sampled_from(["", "a", "b", "ab"]), max_size=8)


@given(WORDS)
def test_names_are_read_as_the_texts_that_they_were_made_of(words: list[str]) -> None:
    names = Names.of(words)
    assert list(names) == words and len(names) == len(words) and names == tuple(words) and names == words
    assert [names[i] for i in range(len(names))] == words and names.codes.dtype == np.int32
    assert len(set(names.table)) == len(names.table) == len(set(words))
    assert all(
        names.count(word) == words.count(word) and names.are(word).tolist() == [w == word for w in words]
        for word in "ab"
    )


@given(WORDS, st.data())
def test_a_selection_keeps_the_table_and_numbers_the_names_that_are_left(words: list[str], data: st.DataObject) -> None:
    names = Names.of(words)
    rows = data.draw(st.lists(st.sampled_from(range(len(words))), max_size=8)) if words else []
    chosen = names[np.array(rows, np.int64)]
    expected = [words[row] for row in rows]
    assert chosen == expected and chosen.table is names.table
    order = list(dict.fromkeys(expected))
    assert chosen.numbers.tolist() == [order.index(word) for word in expected]


def test_names_differ_from_others_and_from_what_is_no_name() -> None:
    names = Names.of("ab")
    assert names != Names.of("ba") and names != ("a",) and names != 3 and names == Names.of("ab")
    with pytest.raises(TypeError, match="unhashable"):
        hash(names)


class Watched(tuple[str, ...]):
    """A table that counts how often it is looked into."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        type(self).looks += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[str]:
        type(self).looks += 1
        return super().__iter__()


def test_selecting_rows_looks_at_no_name() -> None:
    """Not one of three thousand, nor does cutting a batch into mini-batches."""
    batch = full_batch([1] * 3000)
    for name, stream in streams_of(type(batch)).items():
        if stream.dtype == "str":
            names = getattr(batch, name)
            object.__setattr__(names, "table", Watched(names.table))
    part = batch.select(np.arange(2999, -1, -1))
    assert len(part) == 3000 and Watched.looks == 0
    cut = list(minibatches(batch, recipe_of("grpo", num_minibatches=4).scale, Key(0)))
    assert sum(map(len, cut)) == 3000 and Watched.looks == 0
    assert part.request[0] == "request 2999" and Watched.looks == 1


# Packing


def full_row(sample: int, count: int) -> Row:
    """Every stream that a row and its segments declare, filled."""
    random = np.random.default_rng(sample)
    said = {name: array_of(s, count, random) for name, s in streams_of(Segment).items() if name != "origin"}
    said["origin"] = np.full(count, Origin.POLICY, np.int8)
    own = {name: stream for name, stream in streams_of(Row).items() if stream.per == "token"}
    found_out = {name: array_of(stream, count, random) for name, stream in own.items()}
    found_out |= {"keep": np.ones(count, bool), "bootstrap": float(sample)}
    return Row(episode([Segment(**said)], sample=sample), weight=1.0, **found_out)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5))
def test_every_stream_of_rows_that_a_batch_has_is_packed(lengths: list[int]) -> None:
    """From the row; what rows do not declare from their segments, `old` of which a batch calls `sampled`."""
    rows = [full_row(i, count) for i, count in enumerate(lengths)]
    batch = pack(rows)
    of_rows = streams_of(Row).keys() & streams_of(Batch).keys()
    of_segments = (streams_of(Segment).keys() & streams_of(Batch).keys()) - of_rows
    assert of_rows >= streams_of(Carried).keys() and of_segments == {"ids", "origin", "mu", "entropy", *NUMBERS}
    expected = {name: [getattr(row, name) for row in rows] for name in of_rows}
    expected |= {name: [getattr(row.episode.segments[0], name) for row in rows] for name in of_segments}
    expected["sampled"] = [row.episode.segments[0].old for row in rows]
    for name, pieces in expected.items():
        packed, row_by_row = getattr(batch, name), streams_of(Batch)[name].per == "row"
        np.testing.assert_array_equal(packed, pieces if row_by_row else np.concatenate(pieces), err_msg=name)
        assert packed.dtype == streams_of(Batch)[name].dtype, name


def test_constants_are_packed_as_they_are_declared() -> None:
    filled = Stream("filled", per="row", fill=0.0)
    rows = [Row(episode([1] * count, sample=i)) for i, count in enumerate((2, 0, 1))]
    rows = [row.mark(constants={NOISE: np.full(len(row.episode), float(i))}) for i, row in enumerate(rows)]
    rows[0] = rows[0].mark(constants={**rows[0].constants, filled: np.array([1.0, -1.0])})
    batch = pack(rows)
    assert batch.constants[NOISE].tolist() == [0.0, 0.0, 2.0]
    assert batch.constants[filled].tolist() == [[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]]
    assert {array.dtype for array in batch.constants.values()} == {np.dtype("float32")}


def test_a_constant_that_some_rows_lack_and_one_of_another_length_are_errors() -> None:
    row = Row(episode([1, 1]))
    with pytest.raises(ValueError, match=r"noise is there for 1 of 2 rows"):
        pack([row, row.mark(constants={NOISE: np.ones(2)})])
    with pytest.raises(ValueError, match=r"noise of request .* has the shape \(3,\), expected \(2,\)"):
        pack([row.mark(constants={NOISE: np.ones(3)})])
    with pytest.raises(ValueError, match=r"ref of request .* has the shape \(1,\), expected \(2,\)"):
        pack([row.mark(ref=np.ones(1, np.float32))])


def test_a_row_out_of_the_loss_may_lack_what_others_have() -> None:
    rows = [Row(episode([1, 1]), ref=np.ones(2, np.float32)), Row(episode([1], sample=1), in_loss=False)]
    assert pack(rows).ref.tolist() == [1.0, 1.0, 0.0]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="ref is there for 1 of 2 rows"):
        pack([rows[0], rows[1].mark(in_loss=True)])


# One declaration is all


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Risky(Carried):
    """What a method might add to `Carried`."""

    risk: TokenFloats | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class RiskyRow(Row, Risky):
    pass


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class RiskyBatch(Batch, Risky):
    pass


def test_a_new_stream_goes_all_the_way_without_another_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    """From rows through packing, selecting and chunks into the view of an objective."""
    packing = sys.modules[pack.__module__]
    monkeypatch.setattr(packing, "Row", RiskyRow)
    monkeypatch.setattr(packing, "Batch", RiskyBatch)
    risks = {sample: np.arange(count, dtype=np.float64) + 10 * sample for sample, count in enumerate((3, 1, 2))}
    rows = [RiskyRow(episode([1] * len(risk), sample=sample), risk=risk) for sample, risk in risks.items()]
    batch: Any = pack(rows)
    assert batch.risk.tolist() == [0, 1, 2, 10, 20, 21] and batch.risk.dtype == np.float32
    assert batch.select([2, 0]).risk.tolist() == [20, 21, 0, 1, 2]
    assert view_of_batch(batch, key=Key(0)).streams["risk"].tolist() == batch.risk.tolist()
    engine, seen = engine_of(vocab=13), {}
    for chunk in engine.chunks(batch, tokens=4):
        view = view_of(engine.forward(chunk, Want()), chunk, counted=3, key=Key(0))
        parts = view.streams["risk"].split(chunk.batch.lengths.tolist())
        seen |= {int(row): part.tolist() for row, part in zip(chunk.rows, parts, strict=True)}
    assert seen == {sample: risk.tolist() for sample, risk in risks.items()}


@pytest.mark.parametrize("precision", ["fp32", "fp64", "native"])
def test_constants_go_all_the_way_too(precision: str) -> None:
    """Numbers of masked tokens are silent; those of rows stand."""
    reply = segment([2], origin=Origin.ENV)
    rows = [
        Row(episode([segment([1, 1]), reply], sample=i)).mark(
            constants={NOISE: np.array([i, 0.5, np.nan]), SIGNS: np.array([i, -1.0])},
            term_weights={"kl": np.array([0.25, i, np.nan])},
        )
        for i in range(3)
    ]
    engine = policy(precision)
    for chunk in engine.chunks(pack(rows).select([2, 0, 1]), tokens=5):
        view = view_of(engine.forward(chunk, Want()), chunk, counted=3, key=Key(0))
        samples = [(2, 0, 1)[row] for row in chunk.rows]
        assert view.constant(NOISE).tolist() == [x for i in samples for x in (i, 0.5, 0.0)]
        assert view.constant(SIGNS).tolist() == [[i, -1.0] for i in samples]
        assert view.term_weights["kl"].tolist() == [x for i in samples for x in (0.25, i, 0.0)]
