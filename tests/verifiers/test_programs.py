"""Programs: comparators, asserts, plain data, and what each ending of a program is called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError, UsageError
from assay.sandbox import Chain, Execution, Limits, Ran, Sandbox, chosen
from assay.sandbox.limits import LONGEST_INPUT
from assay.types import Verdict
from assay.verifiers.programs import Call, Calls, Streams, calls_of, outcomes_of, program_in, read_tests, verify
from assay.verifiers.programs.compare import TEXT, VALUES
from assay.verifiers.programs.plain import DEEPEST, NotPlain, pack, unpack
from assay.verifiers.programs.readings import RETURNED, Apply, Constant
from assay.verifiers.programs.tested import verdict_of

QUICK = Limits(seconds=0.5, memory_mb=192, output_kb=64)
SANDBOXED = pytest.mark.external("sandbox")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(chosen().level, count=2) as one:
        yield one


TEXTS = [
    # found, expected, and the comparators that accept
    ("3\n", "3", "lines tokens numbers unordered"),
    ("3", "3", "exact lines tokens numbers unordered"),
    ("1 2", "1  2", "tokens numbers"),
    ("1 2\r\n3\r\n", "1 2\n3\n", "lines tokens numbers unordered"),
    ("b\na", "a\nb", "unordered"),
    ("0.001", "1e-3", "numbers"),
    (".001", "0.001", "numbers"),
    ("0.30000000000000004", "0.3", "numbers"),
    ("0.31", "0.3", ""),
    ("-0.0", "0", "numbers"),
    ("nan", "nan", "exact lines tokens numbers unordered"),
    ("nan", "1", ""),
    ("inf", "1e999", "numbers"),
    ("−1", "-1", ""),  # a Unicode minus
    ("１", "1", ""),  # a wide digit
    ("1_0", "10", ""),
    ("", "3", ""),
    ("3 4", "3", ""),
    ("yes", "YES", ""),
    ("a\n\nb", "a\nb", "tokens numbers"),
    ("a\na\nb", "a\nb\nb", ""),
]


@pytest.mark.parametrize(("found", "expected", "accepts"), TEXTS)
def test_outputs_are_compared_as_declared(found: str, expected: str, accepts: str) -> None:
    assert {name for name, same in TEXT.items() if same(found, expected)} == set(accepts.split())


PAIRS: list[tuple[Any, Any, str]] = [
    (2, 2, "equal python json close"),
    (2, 2.0, "python json close"),
    (True, 1, ""),
    (1, True, "truth"),
    (False, 0, ""),
    (True, True, "equal python json close truth"),
    (None, None, "equal python json close"),
    (None, False, "truth"),
    ("a", "a", "equal python json close"),
    (b"a", "a", ""),
    ([1, 2], [1, 2], "equal python json close unordered"),
    ((1, 2), [1, 2], "json close unordered"),
    ([2, 1], [1, 2], "unordered"),
    ({1, 2}, {2, 1}, "equal python json close unordered"),
    ([1, 2], {1, 2}, "unordered"),
    ({"a": 1}, {"a": 1.0}, "python json close"),
    ({"a": [1]}, {"a": (1,)}, "json close"),
    ({1: "x"}, {True: "x"}, ""),
    ([True], [1], ""),
    (0.1 + 0.2, 0.3, "close"),
    ([0.1 + 0.2], [0.3], "close"),
    (float("nan"), float("nan"), "equal python json close"),
    (float("nan"), 1.0, ""),
    (1.0, float("nan"), ""),
    (["a", "b"], "ab", ""),
    ({1}, (1,), "unordered"),
    (float("inf"), float("inf"), "equal python json close"),
    (10**400, 10**400, "equal python json close"),
    (10**400, 10**400 + 1, ""),
    ([], [], "equal python json close unordered"),
    ([[1], [2]], [[2], [1]], "unordered"),
    ("", None, ""),
]


@pytest.mark.parametrize(("found", "expected", "accepts"), PAIRS)
def test_values_are_compared_as_declared(found: Any, expected: Any, accepts: str) -> None:
    wanted = set(accepts.split())
    names = VALUES.keys() if type(expected) is bool else VALUES.keys() - {"truth"}
    assert {name for name in names if VALUES[name](found, expected)} == wanted


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(value=PLAIN)
def test_plain_data_survives_the_border(value: Any) -> None:
    found = unpack(pack(value))
    assert repr(found) == repr(value) or found == value
    assert type(found) is type(value)
    assert VALUES["equal"](found, value)


@pytest.mark.parametrize("kind", ["list", "tuple", "set", "dict"])
def test_what_is_nested_too_deeply_is_not_unpacked(kind: str) -> None:
    """A candidate may write such a frame itself: the reader must not follow it down."""

    def nested(depth: int) -> Any:
        inner = 1 if depth == 0 else nested(depth - 1)
        return [kind, [[1, inner]] if kind == "dict" else [inner]]

    with pytest.raises(NotPlain):
        unpack(nested(60))
    if kind != "set":  # of which no set can be a member
        assert type(unpack(nested(20))).__name__ == kind


@pytest.mark.parametrize("place", [0, 1])
def test_keys_and_values_of_a_dict_lie_one_level_below_it(place: int) -> None:
    def frame(depth: int) -> Any:
        inner: Any = 1
        for _ in range(depth):
            inner = ["tuple", [inner]]
        return ["dict", [[inner, 1] if place == 0 else [1, inner]]]

    assert len(unpack(frame(DEEPEST - 1))) == 1
    with pytest.raises(NotPlain, match="too deeply"):
        unpack(frame(DEEPEST))


def test_what_is_not_plain_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(40):
        deep = [deep]
    for value in (object(), 1j, type("Lie", (int,), {})(3), [object()], {1: {2: object()}}, deep, len, int):
        with pytest.raises(NotPlain):
            pack(value)
    for data in ([], ["int"], ["int", "x"], ["float", "x"], ["dict", [1]], ["list", 3], ["other", []], {"a": 1}, 1.5):
        with pytest.raises(NotPlain):
            unpack(data)


ASSERTS = [
    ("assert f(2) == 4", Call("f", (2,), 4)),
    ("assert f([1, 'a'], {'b': (2.5, None)}) == [-3]", Call("f", ([1, "a"], {"b": (2.5, None)}), [-3])),
    ("assert f(1) is None", Call("f", (1,), None)),
    ("assert f(1)", Call("f", (1,), True, "truth")),
    ("assert not f(1)", Call("f", (1,), False, "truth")),
    ("assert sorted(f(1)) == [1, 2]", Call("f", (1,), [1, 2], reading=Apply("sorted", (RETURNED,)))),
    ("assert set(f(1)) == {1, 2}", Call("f", (1,), {1, 2}, reading=Apply("set", (RETURNED,)))),
    ("assert Solution().run(1) == 2, 'message'", Call("Solution.run", (1,), 2)),
    ("assert 4 == f(2)", Call("f", (2,), 4)),
    ("assert f(2, a=[1]) == 2**10", Call("f", (2,), 1024, named={"a": [1]})),
    ("assert f(*(1, 2)) == set((4, 5))", Call("f", (1, 2), {4, 5})),
    ("x = [1]\nassert f(x) == 2", Call("f", ([1],), 2)),
    ("s = Solution()\nassert s.run(1) is True", Call("Solution.run", (1,), True)),
    ("assert sum(10, 15) == 6", Call("sum", (10, 15), 6)),  # no constant: a function that is called so
    ("assert abs(-3) == 4", Call("abs", (-3,), 4)),
    (
        "assert math.isclose(f(1), 0.5)",
        Call("f", (1,), True, "truth", reading=Apply("math.isclose", (RETURNED, Constant(0.5)))),
    ),
]


@pytest.mark.parametrize(("text", "call"), ASSERTS)
def test_asserts_become_calls_with_values(text: str, call: Call) -> None:
    assert calls_of(text) == (call,)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "", "assert", "assert f(x) == 4", "assert f(2) == g(2)", "f(2)", "assert f(2) == f(3)",
        "assert f(2) == f(2)", "assert True", "assert f(2) is 4", "import os", "assert f(g(1)) == 2",
        "assert f(" + "(" * 5000 + ")" * 5000 + ") == 1", "assert f(1) == " + "1+" * 5000 + "1",
        "assert f(" + "-" * 5000 + "1) == 1", "assert f(1) == " + "9" * 30_000, "assert f('\0') == 1",
        "assert __import__('os').system('true') == 0", "assert [].append(1) == 1", "assert (f(1) == 2, 'said')",
        "assert f(1) == 9**9**9", "assert f(1) == 'a' * 10**9", "assert f(1) == list(range(10**9))",
        "assert f(1) == 1 / 0", "assert f(1) == open('x').read()", "assert f(lambda: 1) == 2", "assert f(1) == 1j",
        "x = 1\nx.y = 2\nassert f(1) == 2", "while True: pass", "assert f(1)(2) == 3", "assert f(1).real == 1",
        "x = [1]\ny = x\nx.append(2)\nassert f(x) == 3", "def h(x): return x\nassert f(h(1)) == 1",
        "f = lambda x: 1\nassert f(1) == 1", "assert False, f(1)", "assert f(1) == 2 and False",
        "assert f(zip([1])) == 2",
        "assert f(1).keys() == {1}", "for i in range(10**6): assert f(i) == i", "assert f(1) == {**{}}",
        "assert f(random.randint(1, 2)) == 3", "import random\nassert f(random.choice([1])) == 1",
    ],
)  # fmt: skip
def test_asserts_that_only_the_candidate_could_decide_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="assert"):
        calls_of(text)


def test_rows_of_data_become_tests() -> None:
    assert read_tests({"streams": [["1", "2"]]}) == Streams((("1", "2"),))
    assert read_tests({"entry": "f", "calls": [[[2], 4]]}) == Calls((Call("f", (2,), 4),), "json")
    assert read_tests({"asserts": ["assert f(2) == 4"]}) == Calls((Call("f", (2,), 4),), "python")
    for row, said in (
        ({}, "expected|list under one of"), ({"streams": [["1"]]}, "test 1"), ({"calls": [[[2], 4]]}, "entry"),
        ({"streams": []}, "without tests"), ({"streams": "x"}, "list under"),
        ({"streams": [["1", "2"]], "compare": "x"}, "'x'"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=said):
            read_tests(row)
    with pytest.raises(DataError, match="object"):
        Calls((Call("f", (object(),), 1),))


def test_limits_that_nothing_could_meet_are_refused() -> None:
    for seconds in (0, -1, float("nan"), float("inf"), 10_000):
        with pytest.raises(UsageError, match="3600 seconds"):
            Limits(seconds=seconds)
    for options in ({"memory_mb": 8}, {"output_kb": 0}, {"processes": 0}, {"files_mb": -1}):
        with pytest.raises(UsageError, match="at least"):
            Limits(**options)


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("a\n```\nx = 1\n```\nb\n```py\ny = 2\n```\nc", "y = 2\n"),
        ("```python\nx = 1\n```\n```text\nnone\n```", "x = 1\n"),
        ("```python\nx = 1\n", None),
        ("x = 1", None),
        ("", None),
        ("```c\nint x;\n```", None),
        ("```python\n```", ""),
    ],
)
def test_the_last_closed_block_of_code_is_the_program(response: str, program: str | None) -> None:
    assert program_in(response) == program


@SANDBOXED
@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("def f(x): return x + 1", ""),
        ("def f(x): return x", "wrong"),
        ("def f(x): return 1 / 0", "runtime"),
        ("def f(x): return g(x)", "runtime"),
        ("def f(x:", "compile"),
        ("def f(x):\n    while True: pass", "time"),
        ("def f(x): return [x] * 10 ** 10", "memory"),
        ("def f(x):\n    while True: print('x' * 1000)", "output"),
        ("def f(x): return f(x)", "runtime"),
        ("def f(x):\n    import ctypes\n    ctypes.string_at(0)", "runtime"),
        ("", "runtime"),
        ("\0", "compile"),
        ("\ufeffdef f(x): return x + 1", ""),
        ("def f(x):\r\n    return x + 1\r\n", ""),
        ("def f(x):\n\treturn x + 1", ""),
        ("# \u202e\ndef f(x): return x + 1", ""),
        ("def f(x): return '\ud800'", "wrong"),
        ("(" * 100_000, "compile"),
        ("#" * 300_000, "format"),
    ],
)
def test_each_ending_of_a_program_has_its_name(program: str, kind: str, sandbox: Sandbox) -> None:
    (verdict,) = verify([(program, Calls((Call("f", (1,), 2),), limits=QUICK))], sandbox)
    assert verdict.status == ("fail" if kind else "ok")
    if program.startswith("#" * 9):
        assert "bytes" in verdict.detail
    assert verdict.kind == kind, verdict


@SANDBOXED
def test_a_program_of_ten_million_characters_has_a_verdict(sandbox: Sandbox) -> None:
    tests: list[Any] = [Calls((Call("f", (1,), 2),)), Streams((("1", "2"),))]
    verdicts = verify([("x" * 10_000_000, one) for one in tests], sandbox)
    assert [(one.status, one.kind) for one in verdicts] == [("fail", "format")] * 2


@SANDBOXED
def test_every_output_counts_and_every_call(sandbox: Sandbox) -> None:
    doubles = Streams((("1", "2"), ("2", "4"), ("3", "6")))
    programs = ["print(int(input()) * 2)", "print(2)", "x = int(input())\nprint(x * 2 if x < 3 else 0)"]
    assert [one.status for one in verify([(program, doubles) for program in programs], sandbox)] == [
        "ok",
        "fail",
        "fail",
    ]
    both = Calls((Call("f", (1,), 2), Call("g", (1,), 3), Call("Solution.run", (4,), 5)))
    right = "def f(x): return x + 1\ndef g(x): return x + 2\nclass Solution:\n    def run(self, x): return x + 1\n"
    assert [one.status for one in verify([(right, both), (right.replace("2", "7"), both)], sandbox)] == ["ok", "fail"]


class Failing(Sandbox):
    """A sandbox whose slots are all lost."""

    def follow(self, chains: Sequence[Chain]) -> list[list[Ran]]:
        return [[Ran("lost", detail="gone") for _ in chain.runs] for chain in chains]


class Played(Sandbox):
    """Plays each run of a chain from a list, and counts the runs."""

    def __init__(self, *came: Ran) -> None:
        super().__init__("L1")
        self.came = came
        self.runs = 0

    def follow(self, chains: Sequence[Chain]) -> list[list[Ran]]:
        return [self._played(chain) for chain in chains]

    def _played(self, chain: Chain) -> list[Ran]:
        found: list[Ran] = []
        for number, ran in enumerate(self.came):
            self.runs += 1
            found.append(ran)
            if not chain.goes_on(number, ran):
                break
        return found


RIGHT, WRONG = Ran("exit", 0, b"2"), Ran("exit", 0, b"3")
LOST, LATE = Ran("lost", detail="gone"), Ran("time")


@pytest.mark.parametrize(
    ("came", "status", "kind", "detail", "runs"),
    [
        ((RIGHT, RIGHT, RIGHT), "ok", "", "", 3),
        ((RIGHT, WRONG, RIGHT), "fail", "wrong", "test 2 of 3", 2),
        ((LATE, WRONG, RIGHT), "fail", "time", "test 1 of 3", 1),
        ((LOST, RIGHT, WRONG), "fail", "wrong", "test 3 of 3", 3),  # an error of ours proves nothing: it goes on
        ((LOST, WRONG, RIGHT), "fail", "wrong", "test 2 of 3", 2),
        ((RIGHT, LOST, RIGHT), "invalid", "worker_lost", "test 2 of 3", 3),
    ],
)
def test_judging_stops_at_the_first_failed_test(
    came: tuple[Ran, ...], status: str, kind: str, detail: str, runs: int
) -> None:
    tests = Streams((("1", "2"),) * 3)
    played = Played(*came)
    (verdict,) = verify([("x", tests)], played)
    assert (verdict.status, verdict.kind, played.runs) == (status, kind, runs) and verdict.detail.startswith(detail)
    every = Played(*came)
    (outcomes,) = outcomes_of([("x", tests)], every)
    assert every.runs == len(outcomes) == 3, "unless all tests are asked for"
    assert verdict_of(outcomes) == verdict, "and then the verdict is the same"


@SANDBOXED
@pytest.mark.slow
def test_the_tests_of_an_answer_share_its_seconds(sandbox: Sandbox) -> None:
    """Each run keeps its own limit; together they keep that of the answer."""
    quick, endless = "print(input())", "while True: pass"
    slow = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint(input())"
    tests = Streams(tuple((str(i), str(i)) for i in range(8)), limits=Limits(seconds=1.0), budget=1.15)
    few = Streams(tests.tests[:2], limits=tests.limits, budget=tests.budget)
    found = verify([(quick, tests), (endless, tests), (slow, tests), (slow, few)], sandbox)
    assert [one.kind for one in found] == ["", "time", "time", ""]
    assert found[1].detail.startswith("test 1 of 8") and found[2].detail[:6] == "test 4"
    (outcomes,) = outcomes_of([(slow, tests)], sandbox)
    assert [one.passed for one in outcomes] == [True] * 3 + [False] * 5


@SANDBOXED
@pytest.mark.slow
def test_waiting_uses_the_seconds_of_an_answer_too(sandbox: Sandbox) -> None:
    """A program that sleeps holds its place as one that computes does."""
    tests = Streams((("1", "1"),) * 8, limits=Limits(seconds=1.0), budget=1.5)
    (verdict,) = verify([("import time\ntime.sleep(0.7)\nprint(input())", tests)], sandbox)
    assert verdict.kind == "time"


@SANDBOXED
@pytest.mark.slow
def test_a_chain_ends_where_no_other_run_is_wanted(sandbox: Sandbox) -> None:
    runs = tuple(Execution("print(input())", str(i).encode()) for i in range(3))
    chains = [
        Chain(runs),
        Chain(runs, goes_on=lambda number, ran: ran.output.strip() != b"1"),
        Chain((Execution("while True: pass"),) * 3, seconds=0.2),
        Chain((Execution("x", b"0" * (LONGEST_INPUT + 1)), runs[0])),
        Chain(()),
    ]
    found = sandbox.follow(chains)
    assert [[one.output.decode().strip() for one in came] for came in found[:2]] == [["0", "1", "2"], ["0", "1"]]
    assert [[one.status for one in came] for came in found[2:]] == [["time", "time"], ["size", "exit"], []]


@pytest.mark.parametrize("budget", [0, -1, "4", True, 1e9, float("nan")])
def test_a_budget_is_a_number_of_seconds(budget: Any) -> None:
    with pytest.raises(DataError, match="'budget' is"):
        read_tests({"streams": [["1", "2"]], "budget": budget})
    assert read_tests({"streams": [["1", "2"]], "budget": 20}).budget == 20


def test_a_lost_sandbox_is_an_error_of_ours() -> None:
    with Failing("L1") as failing:
        verdicts = verify([("x", Streams((("1", "2"),))), ("x", Calls((Call("f", (1,), 2),)))], failing)
    assert [(one.status, one.kind) for one in verdicts] == [("invalid", "worker_lost")] * 2
    assert all(isinstance(one, Verdict) for one in verdicts)


@pytest.mark.slow
@SANDBOXED
def test_a_sandbox_that_is_killed_is_started_again(sandbox: Sandbox) -> None:
    import os
    import signal

    with Sandbox(sandbox.level, count=2) as mine:
        runs = [Execution(f"print({number} ** 2)") for number in range(20)]
        calm = [ran.output for ran in mine.map(runs)]
        for slot in mine._slots:
            os.kill(slot._pid, signal.SIGKILL)
        assert [ran.output for ran in mine.map(runs)] == calm == [b"%d\n" % (n * n) for n in range(20)]


@pytest.mark.slow
@SANDBOXED
@pytest.mark.parametrize("before", [0, 1000])
def test_the_last_line_of_standard_error_is_told(before: int, sandbox: Sandbox) -> None:
    program = f"import sys\nsys.stderr.write('x' * {before} + '\\n')\nraise ValueError('my reason')"
    (verdict,) = verify([(program, Streams((("", "1"),), limits=QUICK))], sandbox)
    assert verdict.kind == "runtime" and verdict.detail.endswith("ValueError: my reason")
