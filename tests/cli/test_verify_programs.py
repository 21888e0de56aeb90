"""`assay verify explain --by programs`."""

from __future__ import annotations

import json

import pytest
from small_runs import Shell

pytestmark = pytest.mark.external("sandbox")
ASSERTS = "assert f(2) == 4\nassert f(3) == 9"
STREAMS = json.dumps({"streams": [["2", "4"], ["3", "9"]]})


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.slow
def test_each_test_of_a_program_is_explained(shell: Shell) -> None:
    wrong = shell("verify", "explain", ASSERTS, "def f(x): return x + 2", "--by", "programs", "--json").document
    assert (wrong["verdict"], wrong["kind"]) == ("fail", "wrong")
    assert wrong["why"] == "1 of 2 tests passed; test 2: wrong, returned 5"
    right = shell(
        "verify", "explain", ASSERTS, "So:\n```python\ndef f(x): return x * x\n```", "--by", "programs", "--json"
    )
    assert (right.document["verdict"], right.document["mark"]) == ("ok", "the last block of code")
    printed = shell("verify", "explain", STREAMS, "print(int(input()) ** 2)", "--by", "programs", "--json")
    assert printed.document["verdict"] == "ok"


@pytest.mark.slow
def test_tests_that_cannot_be_judged_are_refused(shell: Shell) -> None:
    for tests, said in (("assert f(2) == g(2)", "outside the candidate's process"), ("{", "no JSON")):
        reply = shell("verify", "explain", tests, "def f(x): return x", "--by", "programs")
        assert reply.code == 64 and said in reply.err
