"""Forms of tests as HumanEval, MBPP and APPS have them, each with a right program and a wrong one. None is copied.

A form is (the tests, the right program, the wrong program). Python itself says which is right (`holds`): the programs
are ours, so that the tests may run on them.
"""
# ruff: noqa: E501  (programs on one line each)

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

Form = tuple[dict[str, Any], str, str]


def mbpp(tests: str | list[str], right: str, wrong: str, **columns: Any) -> Form:
    return {"test_list": [tests] if isinstance(tests, str) else tests, **columns}, right, wrong


def human(body: str, right: str, wrong: str, *, entry: str = "f", head: str = "") -> Form:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return {"test": f"{head}\n\ndef check(candidate):\n{lines}\n", "entry_point": entry}, right, wrong


def apps(inputs: list[Any], outputs: list[Any], right: str, wrong: str, *, name: str | None = None) -> Form:
    named = {} if name is None else {"fn_name": name}
    return {"input_output": {**named, "inputs": inputs, "outputs": outputs}}, right, wrong


SQUARE, CUBE = "def f(x): return x * x", "def f(x): return x * x * x"
HALF, THIRD = "def f(x): return x / 2", "def f(x): return x / 3"
PAIR, ONE = "def f(x): return (x, x + 1)", "def f(x): return (x,)"
METADATA = "METADATA = {\n    'author': 'us',\n    'dataset': 'test'\n}\n"

LIKE_MBPP: dict[str, Form] = {
    "a number": mbpp(["assert f(2) == 4", "assert f(3) == 9", "assert f(-1)==1"], SQUARE, CUBE),
    "a list": mbpp("assert f([3, 1]) == [1, 3]", "f = sorted", "def f(x): return x"),
    "a tuple": mbpp("assert f(1) == (1, 2)", PAIR, "def f(x): return [x, x + 1]"),
    "a dict in brackets": mbpp("assert f('ab')==({'a': 1, 'b': 1})", "def f(x): return {c: 1 for c in x}",
                               "def f(x): return {'a': 1}"),
    "a counter": mbpp("assert f('aab') == {'a': 2, 'b': 1}", "from collections import Counter as f",
                      "def f(x): return dict.fromkeys(x, 1)"),
    "a default dict": mbpp("assert f([1]) == {1: 1}", "import collections\ndef f(x):\n"
                           "    d = collections.defaultdict(int)\n    for o in x: d[o] += 1\n    return d",
                           "def f(x): return {}"),
    "a set": mbpp("assert f([1, 2, 1]) == {1, 2}", "def f(x): return set(x)", "def f(x): return {1}"),
    "a set that is called": mbpp("assert f((4, 5)) == set((4, 5))", "def f(x): return set(x)", "def f(x): return {4}"),
    "a set of sets": mbpp("assert f(1) == {frozenset({1, 2})}", "def f(x): return {frozenset({1, 2})}",
                          "def f(x): return {frozenset({1})}"),
    "a power": mbpp("assert f(10) == 2**10", "def f(x): return 1 << x", SQUARE),
    "arithmetic": mbpp("assert f(7) == 3 * (4 + 5) - 10 // 3 % 2 - 2", "def f(x): return 24", SQUARE),
    "a fraction": mbpp("assert f(1) == 2/3", "def f(x): return 2 * x / 3", HALF),
    "infinity": mbpp("assert f(0) == float('inf')", "def f(x): return float('inf')", SQUARE),
    "pi": mbpp("assert f(2) == math.pi * 4", "import math\ndef f(x): return math.pi * x * x", SQUARE,
               test_setup_code="import math"),
    "a character": mbpp("assert f(65) == chr(65)", "f = chr", "f = str"),
    "repeated": mbpp("assert f(3) == [0] * 3 + 2 * [1]", "def f(x): return [0] * x + [1, 1]", "def f(x): return [0]"),
    "a comprehension": mbpp("assert f(4) == [i * i for i in range(1, 5) if i % 2]", "def f(x): return [1, 9]",
                            "def f(x): return [1, 4, 9, 16]"),
    "keywords": mbpp("assert f(x=3) == 9", SQUARE, CUBE),
    "keywords beside places": mbpp("assert f(3, by=2) == 6", "def f(x, by=1): return x * by", "def f(x, by=1): return x"),
    "a starred argument": mbpp("assert f(*[1, 2]) == 3", "def f(a, b): return a + b", "def f(a, b): return a"),
    "the other way round": mbpp("assert 9 == f(3)", SQUARE, CUBE),
    "in brackets": mbpp("assert (f(3) == 9), 'no square'", SQUARE, CUBE),
    "sorted": mbpp("assert sorted(f([2, 1])) == [1, 2]", "def f(x): return set(x)", "def f(x): return x[:1]"),
    "sorted by a key": mbpp("assert sorted(f(1), key=lambda p: (-p[1], p[0])) == [('b', 2), ('a', 1)]",
                            "def f(x): return [('a', 1), ('b', 2)]", "def f(x): return [('a', 2), ('b', 1)]"),
    "sorted downwards": mbpp("assert sorted(f(1), reverse=True) == [2, 1]", "def f(x): return [1, 2]", ONE),
    "as a set": mbpp("assert set(f((1, 2), (2, 3))) == set([2])", "def f(a, b): return tuple(set(a) & set(b))",
                     "def f(a, b): return a + b"),
    "as a list": mbpp("assert list(f(1)) == [1, 2]", PAIR, ONE),
    "as a tuple": mbpp("assert tuple(f([1, 2])) == (1, 2)", "def f(x): return x", "def f(x): return x[::-1]"),
    "rounded": mbpp("assert round(f(2), 2) == 0.67", THIRD, HALF),
    "rounded to a whole": mbpp("assert round(f(5)) == 2", THIRD, SQUARE),
    "a length": mbpp("assert len(f(3)) == 2", PAIR, ONE),
    "nearly": mbpp("assert abs(f(1) - 0.5) < 1e-6", HALF, THIRD),
    "nearly, turned": mbpp("assert abs(0.5 - f(1)) <= 1e-6", HALF, THIRD),
    "isclose": mbpp("assert math.isclose(f(1), 0.5)", HALF, "def f(x): return 0.50000004", test_imports=["import math"]),
    "isclose, relative": mbpp("assert math.isclose(f(1), 0.5, rel_tol=0.001)", "def f(x): return 0.5001", THIRD),
    "isclose, absolute": mbpp("from math import isclose\nassert isclose(f(0), 0.0, abs_tol=1e-6)",
                              "def f(x): return 1e-7", "def f(x): return 1e-5"),
    "isclose of zero": mbpp("import math\nassert math.isclose(f(0), 0.0)", HALF, "def f(x): return 1e-10"),
    "unequal": mbpp("assert f(2) != 3", SQUARE, "def f(x): return 3"),
    "one of several": mbpp("assert f(3) in (8, 9)", SQUARE, CUBE),
    "none of several": mbpp("assert f(3) not in [8, 27]", SQUARE, CUBE),
    "a member": mbpp("assert 2 in f(1)", PAIR, ONE),
    "less": mbpp("assert f(3) < 10", SQUARE, CUBE),
    "a chain": mbpp("assert 0 <= f(3) < 10", SQUARE, CUBE),
    "and": mbpp("assert f(2) == 4 and f(3) == 9", SQUARE, "def f(x): return 4"),
    "and, over two lines": mbpp("assert (f(2) == 4 and\n        f(3) == 9)", SQUARE, "def f(x): return 4"),
    "or": mbpp("assert f(3) == [9] or f(3) == 9", SQUARE, CUBE),
    "not": mbpp("assert not f(3)", "def f(x): return x > 3", "def f(x): return x > 2"),
    "bare": mbpp("assert f(3)", "def f(x): return x > 2", "def f(x): return x > 3"),
    "not equal": mbpp("assert not f(3) == 27", SQUARE, CUBE),
    "is None": mbpp("assert f(1) is None", "def f(x): pass", SQUARE),
    "is not None": mbpp("assert f(1) is not None", SQUARE, "def f(x): pass"),
    "is True": mbpp("assert f(1) is True", "def f(x): return x == 1", "def f(x): return x"),
    "equals False": mbpp("assert f(1) == False", "def f(x): return x > 1", "def f(x): return x == 1"),
    "a type": mbpp("assert isinstance(f(1), (int, float)) and type(f(1)) == float", HALF, SQUARE),
    "an index": mbpp("assert f(1)[0] == 1 and f(1)[-1] == 2", PAIR, "def f(x): return [2, 1]"),
    "a slice": mbpp("assert f(1)[1:] == (2,)", PAIR, ONE),
    "a key": mbpp("assert f(1)['a'] == 1", "def f(x): return {'a': x, 'b': 2}", "def f(x): return {}"),
    "a method": mbpp("assert f(1).lower().strip() == 'a'", "def f(x): return ' A '", "def f(x): return 'b'"),
    "words": mbpp("assert f(1).split() == ['a', 'b'] and ','.join(f(1).split()) == 'a,b'", "def f(x): return 'a  b'",
                  "def f(x): return 'ab'"),
    "items": mbpp("assert sorted(f(1).items()) == [('a', 1)]", "def f(x): return {'a': x}", "def f(x): return {'a': 2}"),
    "all": mbpp("assert all(x > 0 for x in f(1))", PAIR, "def f(x): return [1, -1]"),
    "any": mbpp("assert any(x == 2 for x in f(1))", PAIR, ONE),
    "a sum": mbpp("assert sum(f(1)) == 3", PAIR, ONE),
    "extremes": mbpp("assert min(f(1)) == 1 and max(f(1)) == 2", PAIR, ONE),
    "converted": mbpp("assert int(f(4)) == 2 and float(f(4)) == 2.0 and str(f(4)) == '2.0'", HALF, "def f(x): return 3"),
    "counted": mbpp("assert Counter(f(1)) == Counter([2, 1])", PAIR, "def f(x): return [1, 1, 2]",
                    test_setup_code="from collections import Counter"),
    "several lines": mbpp("given = [3, 1, 2]\nwanted = [1, 2, 3]\nassert f(given) == wanted", "f = sorted",
                          "def f(x): return x"),
    "a result with a name": mbpp("found = f(1)\nassert len(found) == 2\nassert found[0] == 1", PAIR,
                                 "def f(x): return [2, 3]"),
    "a loop over cases": mbpp("for given, wanted in cases:\n    assert f(given) == wanted", SQUARE, "def f(x): return 4",
                              test_setup_code="cases = [(2, 4), (3, 9)]"),
    "a method of a class": mbpp("assert Solution().go(3) == 9", "class Solution:\n    def go(self, x): return x * x",
                                "class Solution:\n    def go(self, x): return x"),
    "an object": mbpp("assert s.go(3) == 9", "class Solution:\n    def go(self, x): return x * x",
                      "class Solution:\n    def go(self, x): return x", test_setup_code="s = Solution()"),
    "a name of Python's own": mbpp("assert sum(10, 15) == 6", "def sum(a, b): return 6", "def sum(a, b): return a + b"),
    "numpy's isclose": mbpp("assert np.isclose(f(1), 0.5)", "def f(x): return 0.500001", "def f(x): return 0.50001"),
    "numpy's allclose": mbpp("assert np.allclose(f(1), [0.5, 1.0], atol=0.01)", "def f(x): return [0.509, 1.0]",
                             "def f(x): return [0.6, 1.0]"),
    "pytest's approx": mbpp("assert f(1) == pytest.approx(0.5)", "def f(x): return 0.5000001", THIRD),
    "approx of a list": mbpp("assert f(1) == pytest.approx([0.5, 1], abs=0.01)", "def f(x): return [0.505, 1]",
                             "def f(x): return [0.52, 1]"),
}  # fmt: skip

LIKE_HUMAN_EVAL: dict[str, Form] = {
    "check": human("assert candidate(2) == 4\nassert candidate(3) == 9, 'a square'", SQUARE, CUBE, head=METADATA),
    "check that is called": (
        {"test": "def check(candidate):\n    assert candidate(2) == 4\n\ncheck(f)\n", "entry_point": "f"}, SQUARE, CUBE
    ),
    "comments and lines that hold": human(
        "# simple cases\nassert True, 'This prints if it fails'\nassert candidate([1]) == [1]\n\n# edge cases\nassert True",
        "def f(x): return x", "def f(x): return []",
    ),
    "nearly": human("assert abs(candidate(1.33) - 0.665) < 1e-6", HALF, THIRD),
    "import within": human("import math\nassert math.fabs(candidate(1) - 0.5) < 1e-4", HALF, THIRD),
    "truth": human("assert candidate(3)\nassert not candidate(2)", "def f(x): return x % 2 == 1", SQUARE),
    "is": human("assert candidate(3) is True\nassert candidate(2) is False", "def f(x): return x % 2 == 1", SQUARE),
    "beside itself": human("assert tuple(candidate([1])) == tuple(f([1]))\nassert tuple(candidate([2, 1])) == (1, 2)",
                           "f = sorted", "def f(x): return x"),
    "a list that is made": human(
        "numbers = []\nfor i in range(1, 6, 2):\n    numbers.append(float(i))\nwanted = sum([i**2 for i in numbers if i % 2])\n"
        "assert candidate(numbers) == wanted", "def f(x): return sum(o * o for o in x)", "def f(x): return sum(x)",
    ),
    "a name of Python's own": human("assert candidate([1, 2]) == 3", "def sum(x): return x[0] + x[1]",
                                    "def sum(x): return 2", entry="sum"),
    "keywords": human("assert candidate(x = 3) == 9", SQUARE, CUBE),
    "a class": human("assert candidate(x = 3) == 9", "class Solution:\n    def go(self, x): return x * x",
                     "class Solution:\n    def go(self, x): return x", entry="Solution().go"),
    "text with brackets": human(f"assert candidate({'(' * 80!r}) == False\nassert candidate({'()' * 40!r}) == True",
                                "def f(x): return x.count('(') == x.count(')')", "def f(x): return True"),
    "functions of a test": (
        {"test": "def test_small():\n    assert f(2) == 4\n\ndef test_large():\n    assert f(30) == 900\n"},
        SQUARE, "def f(x): return 4",
    ),
}  # fmt: skip

LIKE_APPS: dict[str, Form] = {
    "a text": apps(["3\n", "4\n"], ["9\n", "16\n"], "print(int(input()) ** 2)", "print(9)"),
    "lines": apps([["2", "1 2"]], [["3"]], "input()\nprint(sum(map(int, input().split())))", "print(2)"),
    "reals": apps(["1"], ["0.5"], "print(f'{int(input()) / 2:.9f}')", "print(0.51)"),
    "a count": apps(["1"], ["1000000007"], "print(1000000007)", "print(1000000008)"),
    "a function": apps([[3], [4]], [9, 16], SQUARE, CUBE, name="f"),
    "outputs in lists": apps([[3], [4]], [[9], [16]], SQUARE, CUBE, name="f"),
    "lists in lists": apps([[[2, 1]], [[3]]], [[[1, 2]], [[3]]], "f = sorted", "def f(x): return [1, 2]", name="f"),
    "a tuple for a list": apps([[1], [2]], [[1, 2], [2, 3]], PAIR, ONE, name="f"),
    "a class": apps([[3]], [9], "class Solution:\n    def f(self, x): return x * x",
                    "class Solution:\n    def f(self, x): return x", name="f"),
    "keys of a dict": apps([[{"1": 2}]], [[{"2": 1}]], "def f(x): return {v: k for k, v in x.items()}",
                           "def f(x): return x", name="f"),
}  # fmt: skip

FORMS = {f"{kind}: {name}": form for kind, forms in (
    ("MBPP", LIKE_MBPP), ("HumanEval", LIKE_HUMAN_EVAL), ("APPS", LIKE_APPS)
) for name, form in forms.items()}  # fmt: skip


def holds(row: dict[str, Any], program: str) -> bool:
    """What Python says of the tests of a row in Python, run on a program of ours."""
    names: dict[str, Any] = {"math": math}
    imports = "\n".join(row.get("test_imports", []))
    tests = [row["test"]] if "test" in row else row["test_list"]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(program, names)
            exec(f"{imports}\n{row.get('test_setup_code', '')}", names)
            for test in tests:
                exec(test, names)
            if "check" in names and "\ncheck(" not in row["test"]:
                names["check"](eval(row["entry_point"], names))
            for name in [name for name in names if name.startswith("test_")]:
                names[name]()
    except Exception:
        return False
    return True
