"""`changed`: a record with other fields, as `dataclasses.replace` makes it."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.types import Episode, Request, Reward, Row, Segment, changed


def records() -> list[Episode | Request | Segment | Row]:
    made = episode([1, 2, 3], reward=1.0)
    return [made, made.request, made.segments[0], Row(made)]


@pytest.mark.parametrize("record", records(), ids=lambda record: type(record).__name__)
def test_it_gives_what_replace_gives(record: Episode) -> None:
    for field in dataclasses.fields(record):
        ours, theirs = changed(record, **{field.name: "x"}), dataclasses.replace(record, **{field.name: "x"})
        assert type(ours) is type(record)
        assert all(getattr(ours, f.name) is getattr(theirs, f.name) for f in dataclasses.fields(record))
        assert vars(ours).keys() == vars(theirs).keys()


@pytest.mark.parametrize("record", records(), ids=lambda record: type(record).__name__)
def test_the_constructors_of_these_records_only_store(record: Episode) -> None:
    assert not hasattr(record, "__post_init__") and not hasattr(type(record), "__slots__")


@given(st.floats(-2, 2), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_what_a_record_remembers_is_computed_anew(value: float, ids: list[int]) -> None:
    before = episode([1, 2], reward=0.5)
    assert (before.reward, len(before), before.request.id) == (0.5, 2, before.request.id)
    segment = episode(ids).segments[0]
    after = changed(before, rewards=(Reward("other", value),), segments=(segment,))
    assert (after.reward, len(after)) == (value, len(ids)) and (before.reward, len(before)) == (0.5, 2)
    request = changed(before.request, sample=before.request.sample + 1)
    assert request.id == dataclasses.replace(before.request, sample=before.request.sample + 1).id != before.request.id


def test_a_field_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="Episode has no field verdikt"):
        changed(episode([1]), verdikt=None)
