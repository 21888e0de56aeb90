"""Units: conversions by hand and by another table, dimensions, and what is no quantity."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rng import Key
from assay.worlds import Scene, ToolError
from assay.worlds.units import UNITS, Measure, convert, converted, exact, number, quantity, unit

SECONDS = {"s": 1, "ms": Fraction(1, 1000), "min": 60, "h": 3600, "day": 86400}
METRES = {
    "m": 1,
    "km": 1000,
    "dm": Fraction(1, 10),
    "cm": Fraction(1, 100),
    "mm": Fraction(1, 1000),
    "ft": Fraction(381, 1250),
}
GRAMS = {"g": 1, "kg": 1000, "mg": Fraction(1, 1000), "t": 10**6}


def told(asked: str) -> str:
    return convert(Scene({}, Key(0)), asked)


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("3 km/h to m/s", "5/6"),
        ("36 km/h to m/s", "10"),
        ("1 kWh to kJ", "3600"),
        ("1 N*m to J", "1"),
        ("2.5 L to cm^3", "2500"),
        ("1 kg*m/s^2 to N", "1"),
        ("1 kg*m^-1*s^-2 to Pa", "1"),
        ("-1/3 h to min", "-20"),
        ("1 inch to cm", "2.54"),
        ("1 mi in ft", "5280"),
        ("1 min to h", "1/60"),
        ("0.25 m to m", "0.25"),
        (" 7  t to kg ", "7000"),
    ],
)
def test_conversions_by_hand(asked: str, reply: str) -> None:
    assert told(asked) == reply


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("3 km to h", "different things"),
        ("3 m^2 to m", "different things"),
        ("3 parsec to m", "no unit 'parsec'"),
        ("3 kmh to m/s", "did you mean"),
        ("3 km", "expected a value"),
        ("", "expected a value"),
        ("three km to m", "'three' is no number"),
        ("1/0 km to m", "over zero"),
        ("3 km/ to m", "'' is no unit"),
        ("3 m^99 to m^99", "no unit with a whole power"),
        ("3 " + "m*" * 30 + "m to m", "at most 12 factors"),
        ("3 " + "m*" * 90 + "m to m", "too long"),
        ("9" * 81 + " m to km", "is no number"),
        ("1 " + "*".join(["km^9"] * 10) + " to " + "*".join(["mm^9"] * 10), "too many digits"),
        ("x" * 10**6, "expected a value"),
    ],
)
def test_what_cannot_be_converted_is_told(asked: str, words: str) -> None:
    with pytest.raises(ToolError, match=words.replace("^", "\\^")):
        told(asked)


@given(
    value=st.fractions(-100, 100, max_denominator=40),
    signs=st.lists(st.sampled_from("*/"), min_size=2, max_size=2),
    lengths=st.tuples(st.sampled_from(sorted(METRES)), st.sampled_from(sorted(METRES))),
    times=st.tuples(st.sampled_from(sorted(SECONDS)), st.sampled_from(sorted(SECONDS))),
    masses=st.tuples(st.sampled_from(sorted(GRAMS)), st.sampled_from(sorted(GRAMS))),
)
def test_products_of_units_by_another_table(
    value: Fraction, signs: list[str], lengths: tuple[str, str], times: tuple[str, str], masses: tuple[str, str]
) -> None:
    source, target = (f"{lengths[i]}{signs[0]}{times[i]}{signs[1]}{masses[i]}" for i in range(2))
    tables = (METRES, SECONDS, GRAMS)
    ratios = [
        Fraction(table[one]) / table[other]
        for table, (one, other) in zip(tables, (lengths, times, masses), strict=True)
    ]
    expected = value * ratios[0]
    for sign, ratio in zip(signs, ratios[1:], strict=True):
        expected = expected * ratio if sign == "*" else expected / ratio
    assert converted(value, source, target) == expected
    assert converted(expected, target, source) == value
    assert quantity(f"{exact(value)} {source}") == quantity(f"{exact(expected)} {target}")


def test_what_a_conversion_tells_is_a_number_for_the_next_one() -> None:
    told = exact(converted(Fraction(1), "cm/day/t", "km/ms/mg"))
    assert told == "1/8640000000000000000000" and number(told) == Fraction(1, 8640000000000000000000)


@given(st.fractions(-(10**6), 10**6, max_denominator=10**7))
def test_a_written_number_is_read_back(value: Fraction) -> None:
    assert number(exact(value)) == value


def test_written_numbers() -> None:
    written = [exact(Fraction(text)) for text in ("25", "-1/4", "5/6", "1/1000000", "1/10000000", "0", "-0.05")]
    assert written == ["25", "-0.25", "5/6", "0.000001", "1/10000000", "0", "-0.05"]


def test_named_units_are_made_of_the_base_units() -> None:
    assert unit("J") == unit("kg*m^2/s^2") and unit("kW") == unit("kJ/s") and unit("L") == unit("dm^3")
    assert unit("m/s/s") == unit("m/s^2") == Measure(Fraction(1), (1, 0, -2))
    assert all(measure.size > 0 for measure in UNITS.values())
