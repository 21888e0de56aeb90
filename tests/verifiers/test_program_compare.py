"""Comparators of programs: total, exact on integers, and indifferent to the order of what has none."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from assay.sandbox import Limits, Sandbox, chosen
from assay.verifiers.programs import Call, Calls, Streams, verify
from assay.verifiers.programs.compare import CLOSE, EQUAL, JSON, PYTHON, TEXT, VALUES, alike, form, shown
from assay.verifiers.programs.plain import MOST_ALIKE, NotPlain, pack, unpack

HUGE = 10**5000  # more digits than Python writes
PRIME = (1 << 61) - 1  # hashes of integers are remainders of it: its multiples share one
MANY = settings(max_examples=60, deadline=None, derandomize=True)
ORDERED = ("equal", "python", "json", "close")

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, 2**53 + 1, 0, 1, -1, -2])
    | st.sampled_from([0, 1, -1]).map(lambda one: HUGE + one)  # which no strategy may hold, as it cannot be shown
    | st.floats()
    | st.sampled_from([0.0, -0.0, 1.0, 2.0**53, math.inf, -math.inf, math.nan])
    | st.text(st.characters(codec=None, exclude_categories=()), max_size=4)
    | st.sampled_from(["\ud800", "\0", "ab"])
    | st.binary(max_size=3)
)
KEYS = st.recursive(
    SCALARS, lambda one: st.lists(one, max_size=3).map(tuple) | st.frozensets(one, max_size=3), max_leaves=4
)
PLAIN = st.recursive(
    SCALARS,
    lambda one: (
        st.lists(one, max_size=4)
        | st.lists(one, max_size=4).map(tuple)
        | st.dictionaries(KEYS, one, max_size=3)
        | st.sets(KEYS, max_size=4)
    ),
    max_leaves=10,
)
FRAMES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, 10**4000])
    | st.floats()
    | st.text(max_size=4)
    | st.tuples(st.sampled_from(["int", "float", "bytes", "set", "dict"]), st.text("0x1f-.einan", max_size=5)).map(list)
    | st.tuples(st.sampled_from(["int", "float", "bytes"]), st.integers() | st.just(10**400)).map(list),
    lambda one: (
        st.lists(one, max_size=4)
        | st.dictionaries(st.text(max_size=2), one, max_size=2)
        | st.tuples(st.sampled_from(["list", "tuple", "set"]), st.lists(one, max_size=4)).map(list)
        | st.tuples(st.just("dict"), st.lists(st.tuples(one, one).map(list), max_size=3)).map(list)
    ),
    max_leaves=10,
)  # what a program may write itself, past `pack`


def copied(value: Any) -> Any:
    """The value as it comes out of the sandbox."""
    return unpack(json.loads(json.dumps(pack(value))))


def turned(value: Any, draw: random.Random) -> Any:
    """The same value, whose sets and dicts were filled in another order."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(turned(one, draw) for one in value)
    if kind in (set, frozenset):
        return kind(draw.sample([turned(one, draw) for one in value], len(value)))
    if kind is dict:
        pairs = [(turned(key, draw), turned(one, draw)) for key, one in value.items()]
        return dict(draw.sample(pairs, len(pairs)))
    return value


# --- totality -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@MANY
@given(PLAIN, PLAIN)
@example([[HUGE], [1]], [[3], [4]])
@example({(HUGE,), (1,)}, {(3,), (4,)})
@example({frozenset({HUGE}), frozenset({"\ud800"})}, {frozenset({math.nan}), 1})
@example([{1: HUGE}, None], [None, {1: 2}])
def test_any_two_values_are_the_same_or_not(found: Any, expected: Any) -> None:
    for name, same in VALUES.items():
        for one, other in ((found, expected), (expected, found), (copied(found), expected)):
            if name == "truth":
                other = bool(other)
            assert type(same(one, other)) is bool


@pytest.mark.slow
@MANY
@given(PLAIN, st.randoms())
def test_a_value_is_itself_in_whatever_order_it_was_made(value: Any, draw: random.Random) -> None:
    other = turned(copied(value), draw)
    for name in ORDERED:
        assert VALUES[name](value, other), name
    if type(value) in (list, tuple, set):
        members = [turned(one, draw) for one in value]
        draw.shuffle(members)
        assert VALUES["unordered"](members, value)
        assert VALUES["unordered"](tuple(members), value)


@pytest.mark.slow
@MANY
@given(PLAIN, PLAIN, st.randoms())
def test_no_verdict_depends_on_the_order_of_sets(found: Any, expected: Any, draw: random.Random) -> None:
    for name in (*ORDERED, "unordered"):
        assert VALUES[name](found, expected) == VALUES[name](turned(found, draw), turned(expected, draw))


@pytest.mark.slow
@MANY
@given(PLAIN, PLAIN)
def test_forms_are_equal_for_what_is_alike_and_can_be_ordered(one: Any, other: Any) -> None:
    for rules in (EQUAL, PYTHON, JSON):
        assert alike(one, other, rules) == alike(other, one, rules) == (form(one, rules) == form(other, rules))
        assert (form(one, rules) < form(other, rules)) + (form(one, rules) > form(other, rules)) <= 1
        assert not alike(one, other, EQUAL) or alike(one, other, rules)
    assert not alike(one, other, JSON) or alike(one, other, CLOSE)


@pytest.mark.slow
@MANY
@given(FRAMES)
@example(["float", 10**400])
@example(["set", [["list", []]]])
@example(["dict", [[["set", [["float", "nan"]]], 1]]])
def test_what_a_program_writes_itself_is_a_value_or_none(frame: Any) -> None:
    try:
        value = unpack(frame)
    except NotPlain:
        return
    assert VALUES["equal"](value, copied(value))
    assert type(VALUES["unordered"](value, [value])) is bool


@pytest.mark.slow
@MANY
@given(PLAIN, st.randoms())
@example([HUGE], random.Random(1))
def test_a_value_is_shown_by_one_text(value: Any, draw: random.Random) -> None:
    assert shown(value) == shown(copied(value))
    if '"dict"' not in json.dumps(pack(value)):  # whose order is a part of it
        assert shown(value) == shown(turned(value, draw))


def test_a_value_is_shown_as_python_writes_it() -> None:
    for value in ([], (), {}, (1,), [1, (2, "a")], {"a": [None, True, 1.5]}, {1}, set(), {2, 1, 3}, b"a", "\ud800"):
        assert shown(value) == repr(value)
    assert shown([{"b", "a"}, HUGE]) == "[{'a', 'b'}, an integer of 16610 bits]"


@MANY
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=30), st.text(max_size=12))
@example("9" * 5000, "8" * 5000)
@example("1e99999999999999999999", "1")
@example("snan", "nan")
@example("1e400", "1" + "0" * 400)
def test_any_two_outputs_are_the_same_or_not(found: str, expected: str) -> None:
    for same in TEXT.values():
        assert type(same(found, expected)) is bool
        assert same(found, found) and same(expected, expected)


@pytest.mark.parametrize("kind", ["set", "dict"])
@pytest.mark.slow
def test_members_that_share_a_hash_are_no_way_to_gain_time(kind: str) -> None:
    """35,000 of them took 24 s to put into a set. `MOST_ALIKE` bounds what each of them is compared with."""
    members: list[Any] = [["int", hex(k * PRIME)] for k in range(1, 35_000)]
    frame = [kind, [[one, 1] for one in members] if kind == "dict" else members]
    with pytest.raises(NotPlain, match="share a hash"):
        unpack(frame)
    fewer = [["int", hex(k * PRIME)] for k in range(MOST_ALIKE)]
    assert len(unpack(["set", [*fewer, *range(1, 100)]])) == MOST_ALIKE + 99


WIDE = [k * PRIME for k in range(60_000)]
DEEP: Any = 1
for _ in range(30):
    DEEP = frozenset({DEEP, 0})
NESTED = [{frozenset({(k, str(k)), k}): [k, {k}]} for k in range(2000)]


@pytest.mark.parametrize("value", [WIDE, DEEP, NESTED, [[k % 2] * 30 for k in range(3000)]], ids=range(4))
@pytest.mark.slow
def test_large_values_are_compared_without_comparing_each_with_each(value: Any) -> None:
    """Each of these would take minutes if members were sought one by one, or forms made anew at each level."""
    other = list(reversed(value)) if isinstance(value, list) else value
    assert VALUES["unordered"](value, other) and VALUES["python"](value, copied(value))


# --- numbers --------------------------------------------------------------------------------------------------

TOKENS = [
    # found, expected, whether `numbers` accepts
    ("1000000007", "1000000007", True),
    ("1000000008", "1000000007", False),
    ("1000000007.0", "1000000007", True),
    ("1.000000007e9", "1000000007", True),
    ("1e9", "1000000007", False),
    ("1e9", "1000000000", True),
    ("1000000008.0", "1000000007", False),
    ("12345678999999999999", "12345678901234567890", False),
    ("12345678901234567890.0", "12345678901234567890", True),
    ("12345678901234567890.5", "12345678901234567890", False),
    ("+5", "5", True),
    ("005", "5", True),
    ("-0", "0", True),
    ("-5", "5", False),
    ("3.0", "3", True),
    ("3.0000000001", "3", True),  # the rounding of a sum
    ("3.000001", "3", False),
    ("2.9999999", "3", False),
    ("3", "3.0", True),
    ("1000000008", "1000000007.0", True),  # a float is expected, which may be rounded
    ("0.30000000000000004", "0.3", True),
    ("0.3000002", "0.3", True),
    ("0.300001", "0.3", False),
    ("1" + "0" * 400, "1e400", False),  # `1e400` is infinite where numbers are rounded
    ("9" * 5000, "9" * 4999 + "8", False),
    ("0" + "9" * 5000, "9" * 5000, True),
    ("inf", "9" * 400, False),
    ("1.", "1", True),
    (".5", "0.5", True),
]


@pytest.mark.parametrize(("found", "expected", "same"), TOKENS, ids=range(len(TOKENS)))
def test_integers_are_compared_exactly_where_they_are_printed(found: str, expected: str, same: bool) -> None:
    assert TEXT["numbers"](f"x {found}\n", f"x {expected}") == same


NUMBERS: list[tuple[Any, Any, bool]] = [
    (1000000008, 1000000007, False),
    (1000000007.0, 1000000007, True),
    (1e9, 1000000007, False),
    (1000000008.0, 1000000007, False),
    (9007199254740992.0, 9007199254740993, False),
    (HUGE + 1, HUGE, False),
    (math.inf, HUGE, False),
    (HUGE, math.inf, False),
    (3.0, 3, True),
    (2.9999999999999996, 3, True),
    (3.000001, 3, False),
    (3, 3.0, True),
    (1000000008, 1000000007.0, True),
    (0.1 + 0.2, 0.3, True),
    (0.3001, 0.3, False),
    (1e-10, 0, True),
    (1e-8, 0, False),
    (True, 1, False),
    ([1, {"a": 1000000008}], [1, {"a": 1000000007}], False),
    ({1: 0.1 + 0.2}, {1: 0.3}, True),
    ({0.1 + 0.2}, {0.3}, True),
    ({1000000008}, {1000000007}, False),
]


@pytest.mark.parametrize(("found", "expected", "same"), NUMBERS, ids=range(len(NUMBERS)))
def test_integers_are_compared_exactly_where_they_are_returned(found: Any, expected: Any, same: bool) -> None:
    assert VALUES["close"](found, expected) == same


@MANY
@given(st.integers(), st.integers())
def test_two_integers_are_close_if_they_are_one(a: int, b: int) -> None:
    assume(a != b)
    assert VALUES["close"](a, a) and not VALUES["close"](a, b)
    assert not VALUES["close"](float(a) if float(a) != b else a, b)
    assert TEXT["numbers"](f"{a}", f"{a}") and not TEXT["numbers"](f"{a}", f"{b}")
    assert not TEXT["numbers"](f"{a}.0", f"{b}")


# --- in the sandbox -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(chosen().level, count=2) as one:
        yield one


@pytest.mark.external("sandbox")
@pytest.mark.slow
def test_one_answer_beside_others_changes_no_verdict(sandbox: Sandbox) -> None:
    """The fourth program returns integers that Python does not write, in lists that are to be ordered."""
    tests = Calls((Call("f", (1,), [[3], [4]]),), "unordered", Limits(seconds=2.0))
    forged = "import os\nos.write(3, b'{\"value\": [\"float\", 1' + b'0' * 400 + b']}\\n')\ndef f(x): return 1"
    programs = [
        "def f(x): return [[4], [3]]", "def f(x): return [[1]]", "def f(x): return {(3,), (4,)}",
        "def f(x): return [[10**5000],[1]]", forged, "def f(x): return {k * (2**61 - 1) for k in range(300)}",
        "def f(x): return [float('nan'), '\\ud800']",
    ]  # fmt: skip
    alone = [verify([(program, tests)], sandbox)[0] for program in programs]
    assert [one.status for one in alone] == ["ok", "fail", "ok", "fail", "fail", "fail", "fail"]
    assert verify([(program, tests) for program in programs], sandbox) == alone


@pytest.mark.external("sandbox")
def test_an_estimate_of_a_count_is_wrong(sandbox: Sandbox) -> None:
    printed = Streams((("", "1000000007"),), "numbers", Limits(seconds=2.0))
    returned = Calls((Call("f", (), 1000000007),), "close", Limits(seconds=2.0))
    verdicts = verify(
        [("print(1000000007.0)", printed), ("print(10 ** 9)", printed), ("print(1e9)", printed),
         ("def f(): return 1000000007.0", returned), ("def f(): return 1000000008", returned)], sandbox,
    )  # fmt: skip
    assert [one.status for one in verdicts] == ["ok", "fail", "fail", "ok", "fail"]
