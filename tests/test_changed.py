"""`changed`, a record with other fields as `dataclasses.replace` makes it, and `light`, constructors of records."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.types import Episode, Request, Reward, Row, Segment, changed, light


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Above:
    last: int = 7


@dataclasses.dataclass(frozen=True)
class _Plain(_Above):
    first: int
    second: str = "b"
    third: dict[str, int] = dataclasses.field(default_factory=dict)


@light
@dataclasses.dataclass(frozen=True)
class _Light(_Above):
    first: int
    second: str = "b"
    third: dict[str, int] = dataclasses.field(default_factory=dict)


RIGHT = [((1,), {}), ((1, "c"), {}), ((1, "c", {"x": 1}), {}), ((), {"first": 1, "last": 2}), ((1,), {"third": {}})]
WRONG = [((), {}), ((1, "c", {}, 4), {}), ((1,), {"first": 2}), ((1,), {"fourth": 2}), ((), {"second": "c"})]


@pytest.mark.parametrize(("values", "named"), [*RIGHT, *WRONG])
def test_a_light_constructor_takes_and_refuses_what_the_plain_one_does(values: tuple, named: dict) -> None:
    try:
        plain = vars(_Plain(*values, **named))
    except TypeError as error:
        with pytest.raises(TypeError) as found:
            _Light(*values, **named)
        assert str(found.value) == str(error).replace("_Plain", "_Light")
    else:
        assert vars(_Light(*values, **named)) == plain


def test_a_light_record_is_frozen_has_containers_of_its_own_and_its_signature() -> None:
    one, other = _Light(1), _Light(1)
    assert one == other and one.third is not other.third
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.first = 2  # type: ignore[misc]
    assert str(inspect.signature(_Light)) == str(inspect.signature(_Plain))
