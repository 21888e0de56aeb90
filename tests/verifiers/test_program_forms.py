"""Tests of programs in the forms of public sets: each verifies a right and a wrong program as Python itself does."""
# ruff: noqa: E501  (tests on one line each)

from __future__ import annotations

from collections.abc import Iterator

import pytest
from program_forms import FORMS, LIKE_APPS, Form, holds

from assay.errors import DataError
from assay.sandbox import Limits, Sandbox, chosen
from assay.tasks.data.published import PUBLISHED, published
from assay.verifiers.programs import UnreadableTest, read_tests, verify
from assay.verifiers.programs.specs import Tests

QUICK = Limits(seconds=2.0, memory_mb=192, output_kb=64)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(chosen().level, count=2) as one:
        yield one


def form_of(form: Form) -> Tests:
    (column,) = [name for name in PUBLISHED if name in form[0]]
    return read_tests(published(form[0], column) or {}, limits=QUICK)


@pytest.mark.external("sandbox")
@pytest.mark.slow
def test_every_form_tells_a_right_program_from_a_wrong_one(sandbox: Sandbox) -> None:
    assert len(FORMS) >= 60
    read = {name: form_of(form) for name, form in FORMS.items()}
    pairs = [(FORMS[name][1], tests) for name, tests in read.items()]
    pairs += [(FORMS[name][2], tests) for name, tests in read.items()]
    verdicts = verify(pairs, sandbox)
    right, wrong = verdicts[: len(read)], verdicts[len(read) :]
    assert {name: one for name, one in zip(read, right, strict=True) if one.status != "ok"} == {}
    assert {name: one for name, one in zip(read, wrong, strict=True) if one.status != "fail"} == {}


@pytest.mark.parametrize("name", [name for name in FORMS if not name.startswith("APPS")])
def test_python_itself_agrees_which_program_is_right(name: str) -> None:
    row, right, wrong = FORMS[name]
    if any(module in str(row) for module in ("np.", "pytest.")):
        row = {**row, "test_imports": ["import numpy as np", "import pytest"]}
    assert (holds(row, right), holds(row, wrong)) == (True, False)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"test_list": ["assert f(2) == g(2)"]}, "two results"),
        ({"test_list": ["assert decode(encode('a')) == 'a'"]}, "called with what it returned"),
        ({"test_list": ["assert f(2) == 4", "assert f(x) == 4"]}, "name without a value"),
        ({"test_list": ["assert re.match('a', f(1))"], "test_setup_code": "import re"}, "function that tests are not read"),
        ({"test": "def check(candidate):\n    with open('x'): pass", "entry_point": "f"}, "statement that"),
        ({"test": "def check(candidate):\n    try:\n        candidate(1)\n    except ValueError: pass", "entry_point": "f"},
         "statement that"),
        ({"test": "def check(candidate):\n    assert True", "entry_point": "f"}, "no program can fail"),
        ({"test": "def check(candidate):\n    x = random.random()\n    assert candidate(x) == x", "entry_point": "f"},
         "function that tests are not read with"),
        ({"test": "x = 1", "entry_point": "f"}, "no assert"),
        ({"test_list": ["assert f(2) == 4 if x"]}, "no Python"),
        ({"test_list": ["assert len([1, 2]) == 2"]}, "no program can fail"),
        ({"test_list": ["assert sorted(f(1) + g(2)) == [1]"]}, "two results"),
        ({"test_list": ["assert f(1) == f(1)"]}, "no program can fail"),
        ({"test_list": ["f(1)\nassert f(2) == 4"]}, "statement that"),
        ({"test_list": ["x = [1]\nf(x)\nassert x == [2]"]}, "statement that"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why_and_where(row: dict[str, object], reason: str) -> None:
    (column,) = [name for name in PUBLISHED if name in row]
    with pytest.raises(UnreadableTest, match=reason) as caught:
        read_tests(published(row, column) or {})
    assert caught.value.reason in str(caught.value)


def test_the_line_is_named() -> None:
    with pytest.raises(DataError, match=r"line 4, .*x, y = "):
        read_tests(
            {"asserts": "def check(g):\n    assert g(1) == 1\n\n    x, y = h(), 2\n    assert g(x) == y", "entry": "f"}
        )


@pytest.mark.parametrize(
    "value",
    ["", "{", "[]", {"inputs": [1]}, {"inputs": ["1"], "outputs": []}, {"inputs": [], "outputs": []},
     {"inputs": ["1"], "outputs": [1]}, {"fn_name": 3, "inputs": [[1]], "outputs": [1]},
     {"fn_name": "f", "inputs": [1], "outputs": [1]}, {"inputs": "1", "outputs": "1"}, 3],
)  # fmt: skip
def test_inputs_and_outputs_that_are_none_are_named(value: object) -> None:
    with pytest.raises(DataError, match=r"input|argument|fn_name|without tests"):
        read_tests({"input_output": value})


def test_a_column_without_tests_has_none() -> None:
    assert published({"test_list": []}, "test_list") is published({}, "input_output") is None
    row, *_ = LIKE_APPS["a text"]
    assert published(row, "input_output") == row


@pytest.mark.external("sandbox")
def test_expected_values_never_go_in(sandbox: Sandbox) -> None:
    """A program that looks for what is expected of it finds its own arguments, and nothing else."""
    spy = (
        "import gc\ndef f(x):\n    held = [o for o in gc.get_objects() if type(o) in (list, tuple, dict)]\n"
        "    return any('7391' in str(o)[:2000] for o in held if 'find' not in str(o)[:2000])"
    )
    tests = read_tests({"asserts": "assert sorted(f(1)) == ['7391'] or f(1) == 7391 or f(1)"}, limits=QUICK)
    (verdict,) = verify([(spy, tests)], sandbox)
    assert (verdict.status, verdict.kind) == ("fail", "wrong")
