"""Records without a decorator behave as frozen dataclasses do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.known import PARTS
from assay.part import Part, Record


class Plain(Record):
    """Two fields, and a constant of the class that is no field."""

    low: float
    high: float = 0.2
    fixed: ClassVar[int] = 3


class Longer(Plain, kw_only=True):
    """A field that is given by name alone."""

    name: str = "x"


@dataclass(frozen=True)
class Decorated:
    low: float
    high: float = 0.2
    fixed: ClassVar[int] = 3


VALUES = st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False))


@given(VALUES, VALUES)
def test_equality_hash_and_text_are_those_of_a_dataclass(one: tuple[float, float], other: tuple[float, float]) -> None:
    ours, theirs = (Plain(*one), Plain(*other)), (Decorated(*one), Decorated(*other))
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1]) == (one == other)
    assert hash(ours[0]) == hash(theirs[0])
    assert repr(ours[0]) == repr(theirs[0]).replace("Decorated", "Plain")
    assert ours[0] != theirs[0] and ours[0] == Plain(high=one[1], low=one[0])


def test_records_of_two_classes_are_never_equal() -> None:
    assert Plain(1.0) != Longer(1.0) and Longer(1.0) != Plain(1.0)
    assert Longer(1.0) == Longer(1.0, name="x") != Longer(1.0, name="y")


def test_the_functions_for_dataclasses_work() -> None:
    record = Longer(1.0, name="y")
    assert [field.name for field in dataclasses.fields(record)] == ["low", "high", "name"]
    assert dataclasses.replace(record, high=0.5) == Longer(1.0, 0.5, name="y")
    assert dataclasses.asdict(record) == {"low": 1.0, "high": 0.2, "name": "y"}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_is_equal(copied: Any) -> None:
    assert copied(Longer(1.0, name="y")) == Longer(1.0, name="y")


def test_a_record_does_not_change() -> None:
    record: Any = Plain(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError, match="Plain does not change"):
        record.low = 2.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        del record.low
    assert record == Plain(1.0)


@pytest.mark.parametrize(
    ("values", "named", "says"),
    [
        ((), {}, "Longer needs a value for its field 'low'"),
        ((1, 2, 3), {}, "Longer has 2 fields that need no name, and 3 values came"),
        ((1,), {"low": 2}, "Longer got two values for its field 'low'"),
        ((1,), {"width": 2}, "Longer has no field 'width'; its fields: low, high, name"),
    ],
)
def test_wrong_values_are_named(values: tuple[Any, ...], named: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError) as raised:
        Longer(*values, **named)
    assert str(raised.value) == says


def test_every_part_is_a_record_that_nothing_was_generated_for() -> None:
    """What a decorator would compile for each class is a larger part of the time until a command begins."""
    parts: list[type[Part]] = [part for kind in PARTS.values() for part in kind.values()]
    assert len(parts) > 200
    assert {part.__name__ for part in parts if vars(part).keys() & {"__init__", "__eq__", "__setattr__"}} == set()
