"""What tests make of returned values: as Python does, bounded, and with the tolerances of the libraries they name."""
# ruff: noqa: E501  (asserts on lines of their own)

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.programs import Call, calls_of
from assay.verifiers.programs.compare import VALUES
from assay.verifiers.programs.readings import RETURNED, Apply, Choice, Constant, Named, Stopped, free, read_as
from assay.verifiers.programs.tolerances import Approx, allclose, isclose, near

MANY = settings(max_examples=60, deadline=None, derandomize=True)
NUMBERS = st.integers(-3, 9) | st.sampled_from([0.5, 2.0, -1.25, 1e300, math.inf, 0.1 + 0.2])
SCALARS = NUMBERS | st.none() | st.sampled_from(["", "a", "ab", "Ab a", "3", "-7", "1.5", " x "]) | st.just(b"a")
RETURNS = st.recursive(
    SCALARS,
    lambda one: (
        st.lists(one, max_size=4)
        | st.lists(one, max_size=4).map(tuple)
        | st.dictionaries(SCALARS, one, max_size=3)
        | st.sets(NUMBERS, max_size=4)
    ),
    max_leaves=8,
) | st.sampled_from([[1, 2], (1, 2), [2, 1], {1, 2}, {"a": 1}, [("a", 1), ("b", 2)], 0.333333, "a,b", [[1], [2]], 4])

ASSERTED = """
f(1) == [1, 2] | f(1) != [1, 2] | [1, 2] == f(1) | not f(1) | f(1) | f(1) is None | f(1) is not None
sorted(f(1)) == [1, 2] | sorted(f(1), reverse=True) == [2, 1] | sorted(f(1), key=len) == [[1], [2]]
sorted(f(1), key=lambda p: -p[1]) == [("b", 2), ("a", 1)] | set(f(1)) == {1, 2} | set(f(1)) <= {1, 2, "a", 4}
list(f(1)) == [1, 2] | tuple(f(1)) == (1, 2) | len(f(1)) == 2 | len(f(1)) > 1 | sum(f(1)) == 3 | sum(f(1), 2) == 5
min(f(1)) == 1 | max(f(1)) == 2 | max(f(1), key=lambda x: -x) == 1 | min(f(1), default=0) == 0 | max(f(1), 3) == 4
abs(f(1)) == 3 | abs(f(1) - 0.33) < 1e-2 | round(f(1), 2) == 0.33 | round(f(1)) == 2 | f(1) + 1 == 5 | f(1) * 2 == 8
f(1) - 1 < 3 | 7 - f(1) == 3 | f(1) / 2 == 2 | f(1) // 2 == 2 | f(1) % 3 == 1 | f(1) ** 2 == 16 | -f(1) == -4
f(1) + [3] == [1, 2, 3] | f(1) * 2 == [1, 2, 1, 2] | f(1) + "c" == "abc" | f(1) & {1, 7} == {1} | f(1) | {7} == {1, 2, 7}
0 <= f(1) <= 4 | 1 < f(1) < 9 > 2 | f(1) in (4, 5, "a") | f(1) not in [4, "a"] | 1 in f(1) | "a" in f(1) | 2 not in f(1)
f(1)[0] == 1 | f(1)[-1] == 2 | f(1)[1:] == [2] | f(1)[::-1] == (2, 1) | f(1)["a"] == 1 | f(1)[0][0] == 1 | f(1)[:1] == "a"
f(1) == 4 or f(1) == [1, 2] | f(1) and f(1)[0] == 1 | not (f(1) == 4) | (5 if f(1) else 6) == 5 | f(1) == 4 and f(2) != 5
isinstance(f(1), (int, float)) | isinstance(f(1), str) | type(f(1)) == list | type(f(1)) is tuple | type(f(1)) in (int, set)
str(f(1)) == "4" | str(f(1)) == "[1, 2]" | repr(f(1)) == "'a'" | int(f(1)) == 4 | int(f(1)) == 3 | float(f(1)) == 4.0
bool(f(1)) | f(1).lower() == "ab a" | f(1).split() == ["Ab", "a"] | f(1).split(",") == ["a", "b"] | f(1).strip() == "x"
f(1).startswith("a") | f(1).count("a") == 1 | f(1).count(1) == 1 | f(1).index(2) == 1 | f(1).replace("a", "b") == "b"
",".join(f(1)) == "a,b" | "".join(sorted(f(1))) == "ab" | f(1).isdigit() | f(1).get("a") == 1 | f(1).get("b", 7) == 7
list(f(1).keys()) == ["a"] | sorted(f(1).values()) == [1] | list(f(1).items()) == [("a", 1)] | dict(f(1)) == {"a": 1, "b": 2}
all(x > 0 for x in f(1)) | any(x == 2 for x in f(1)) | [x for x in f(1) if x != 1] == [2] | sum(x for x in f(1)) == 3
[a + b for a, b in zip(f(1), f(1)[1:])] == [3] | {x: 1 for x in f(1)} == {1: 1, 2: 1} | {x for x in f(1)} == {1, 2}
list(zip(f(1), [3, 4])) == [(1, 3), (2, 4)] | list(enumerate(f(1))) == [(0, 1), (1, 2)] | list(reversed(f(1))) == [2, 1]
[y for x in f(1) for y in x] == [1, 2] | Counter(f(1)) == Counter([2, 1]) | math.isclose(f(1), 0.3) | math.sqrt(f(1)) == 2
math.isclose(f(1), 4, rel_tol=1e-3) | math.isclose(f(1), 0, abs_tol=0.5) | math.floor(f(1)) == 0 | f(1) == range(3)
f(1) == f(1) and f(1) == 4 | f(1) in range(3, 5) | f(1) == list(range(1, 3)) | f(1) == [i for i in range(3) if i]
""".replace("f(1) | {7} ==", "f(1).union({7}) ==")
ASSERTS = [one.strip() for line in ASSERTED.strip().splitlines() for one in line.split(" | ")]


def verified(calls: tuple[Call, ...], value: Any) -> bool:
    """Whether every call is met by a program that always returns this value."""
    try:
        return all(VALUES[call.compare or "python"](call.made_of(value), call.expected) for call in calls)
    except Stopped as error:
        assert error.kind == "wrong"
        return False


def said_by_python(text: str, value: Any) -> bool:
    """What Python says of the assert. It is ours, as the value is."""
    try:
        return bool(eval(text, {"f": lambda _: value, "math": math, "Counter": Counter}))
    except Exception:
        return False


@pytest.mark.slow
@MANY
@given(RETURNS)
def test_asserts_are_read_as_python_runs_them(value: Any) -> None:
    assert len(ASSERTS) > 110
    for text, calls in READ.items():
        assert verified(calls, value) == said_by_python(text, value), (text, value)


READ = {text: calls_of(f"assert {text}") for text in ASSERTS}


def test_each_assert_holds_for_some_value_and_fails_for_another() -> None:
    """Or the comparison with Python would say little of it. `f(1) == range(3)` holds for no plain value."""
    values = [[1, 2], (1, 2), [2, 1], {1, 2}, {"a": 1}, [("a", 1), ("b", 2)], 0.333333, "a,b", [[1], [2]], 4, None, "a",
              "Ab a", " x ", "3", 0.3, 2, 3, "ab", -3, 0, 0.5, 6, ["a", "b"], [], [1], {"a": 1, "b": 7}, 5, "b"]  # fmt: skip
    for text, calls in READ.items():
        assert {verified(calls, value) for value in values} == ({False} if "== range" in text else {True, False}), text


# --- conventions that differ from Python's ----------------------------------------------------------------------


def test_a_bool_is_no_number_and_what_is_alike_does_not_differ() -> None:
    one, other = calls_of("assert f(1) == 1"), calls_of("assert f(1) != 1")
    assert not verified(one, True) and not verified(other, 1.0)
    assert not verified(other, True), "neither equal nor unequal: no answer gains by the convention"
    assert not verified(calls_of("assert f(1) != float('nan')"), math.nan)
    assert not verified(calls_of("assert f(1) not in (1, 2)"), True)


def test_members_of_a_set_are_taken_in_one_order_and_its_text_is_none() -> None:
    words = {"b", "a", "c"}
    assert verified(calls_of("assert list(f(1)) == ['a', 'b', 'c']"), words)
    assert verified(calls_of("assert ''.join(x for x in f(1)) == 'abc'"), words)
    assert not verified(calls_of("assert str(f(1)) == \"{'a', 'b', 'c'}\""), words)


# --- bounds -----------------------------------------------------------------------------------------------------

WIDE = list(range(100_000))


LONG: list[tuple[str, Any]] = [
    ("all(x in f(1) for x in f(1))", WIDE),
    ("[x for x in f(1) for y in f(1)] == []", WIDE),
    ("f(1) ** f(1) == 1", 10**9),
    ("f(1) * f(1) == 1", 10**9000),
    ("f(1) << 10**9 == 1", 1),
    ("2 ** f(1) == 1", 10**12),
    ("'ab' * f(1) == ''", 10**12),
    ("[0] * f(1) == []", 10**12),
    ("list(range(f(1))) == []", 10**12),
    ("max(range(f(1))) == 1", 10**12),
    ("all(range(1, f(1)))", 10**12),
    ("str(f(1)) == ''", 10**5000),
    ("str(f(1)) == ''", [[10**5000]]),
    ("math.factorial(f(1)) == 1", 10**6),
    ("math.comb(f(1), 2) == 1", 10**6),
    ("round(f(1), -10**6) == 1", 5),
    ("'x'.ljust(f(1)) == ''", 10**12),
    ("f(1).replace('', f(1)) == ''", "x" * 100_000),
    ("f(1).join(f(1)) == ''", "x" * 100_000),
    ("int(f(1)) == 1", "9" * 100_000),
    ("set(f(1)) == {1}", [k * ((1 << 61) - 1) for k in range(10_000)]),
    ("Counter(f(1)) == {1: 1}", [k * ((1 << 61) - 1) for k in range(10_000)]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "value"), LONG, ids=range(len(LONG)))
def test_what_would_take_long_is_not_computed(text: str, value: Any) -> None:
    (call,) = calls_of(f"assert {text}")
    with pytest.raises(Stopped) as caught:
        call.made_of(value)
    assert caught.value.kind == "undecided"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["sorted(f(1)) == [1]", "set(f(1)) == {1}", "sum(f(1)) == 1", "all(x < 0 for x in f(1))"]
)
def test_wide_values_are_read(text: str) -> None:
    (call,) = calls_of(f"assert {text}")
    assert not verified((call,), WIDE)


def test_what_the_test_raises_is_the_answers_failure() -> None:
    with pytest.raises(Stopped, match="TypeError") as caught:
        read_as(Apply("sorted", (RETURNED,)), None)
    assert caught.value.kind == "wrong"
    assert free(Apply("+", (RETURNED, Choice("or", (Named("x"), Constant(1)))))) == {"", "x"}


# --- tolerances -------------------------------------------------------------------------------------------------

CLOSE = st.sampled_from([0.0, 1.0, -1.0, 1e-9, 1e-8, 2e-8, 1.00001, 1.000011, 100.001, 100.0011, math.inf, -math.inf,
                         math.nan, 1e300])  # fmt: skip


@MANY
@given(CLOSE, CLOSE, st.sampled_from([0, 1e-5, 0.1]), st.sampled_from([0, 1e-8, 0.5]), st.booleans())
def test_numpys_tolerance_is_numpys(a: float, b: float, rtol: float, atol: float, nan: bool) -> None:
    with np.errstate(all="ignore"):
        named = {"rtol": rtol, "atol": atol, "equal_nan": nan}
        assert isclose(a, b, **named) == bool(np.isclose(a, b, **named))
        assert isclose(a, b) == bool(np.isclose(a, b))
        assert allclose([[a], [b]], [[b], [a]], **named) == bool(np.allclose([[a], [b]], [[b], [a]], **named))
        assert allclose([a, b], b) == bool(np.allclose([a, b], b))


@MANY
@given(CLOSE, CLOSE, st.sampled_from([None, 1e-5, 0.1]), st.sampled_from([None, 1e-8, 0.5]), st.booleans())
def test_pytests_tolerance_is_pytests(found: float, wanted: float, rel: Any, absolute: Any, nan: bool) -> None:
    theirs = {"rel": rel, "abs": absolute, "nan_ok": nan}
    ours = (rel, absolute, nan)
    assert near(found, Approx(wanted, *ours)) == (found == pytest.approx(wanted, **theirs))
    assert near([found, 1], Approx([wanted, 1], *ours)) == ([found, 1] == pytest.approx([wanted, 1], **theirs))
    assert near({"a": found}, Approx({"a": wanted}, *ours)) == ({"a": found} == pytest.approx({"a": wanted}, **theirs))


def test_the_second_number_is_the_measure() -> None:
    """|a - b| <= 0.1 |b|: of 100 and 110 the difference is a tenth of 100 and less than a tenth of 110."""
    one, other = (calls_of(f"assert np.isclose({pair}, rtol=0.0999, atol=0)") for pair in ("f(1), 110", "110, f(1)"))
    assert verified(one, 100) and not verified(other, 100)
