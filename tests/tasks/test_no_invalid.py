"""No text that a policy can write makes a verdict `invalid`, which is left for faults of ours."""

from __future__ import annotations

import pytest
from hostile_texts import FRAGMENTS, TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_answers import OF_TASK, Case, each, hostile, verdicts, wrapped

from assay.verifiers.explainers import VERIFIERS, verifier

RANDOM = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6), max_size=6).map("".join)


def invalid(name: str, texts: list[str]) -> list[tuple[str, str, str]]:
    """(text, kind, detail) of each answer that has no verdict."""
    cases = [
        Case(name, i % 3, wording, whole) for i, text in enumerate(texts) for wording, whole in wrapped(name, text)
    ]
    found = zip(cases, verdicts(cases), strict=True)
    return [(case.text[:80], one.kind, one.detail[:200]) for case, one in found if one.status == "invalid"]


def test_the_corpus_is_large_and_no_text_stands_in_it_twice() -> None:
    assert len(set(TEXTS.values())) >= 800


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", each())
def test_no_text_of_the_corpus_is_invalid(name: str) -> None:
    assert not invalid(name, hostile(name, 24 if name in OF_TASK else 6))


@pytest.mark.deep
@pytest.mark.parametrize("name", each())
def test_no_text_of_the_whole_corpus_is_invalid(name: str) -> None:
    assert not invalid(name, list(TEXTS.values()))


REFERENCES = {  # of every verifier, in the forms that it knows
    "mathematics": ("1/2", "(1, 2)", r"\{1, 2\}", r"x = k\pi, k \in \mathbb{Z}", "yes", r"\int_0^1 x^2 dx"),
    "metamath": ("p, (p>q) : q",),
    "verilog": ("module top(input a, output y); assign y = ~a; endmodule",),
    "optimisation": ("max 3a+2b;a+b<=4;a<=3",),
    "sql": (
        '{"tables": "create table t (a integer primary key, b text)", "query": "select b from t where a > 1"}',
        '{"tables": [{"name": "t", "columns": [{"name": "a", "kind": "integer", "values": [0, 30]}]}], '
        '"query": "select a from t"}',
    ),
    "smt": (
        '{"ask": "equal", "variables": {"a": "Int"}, "term": "(< a 4)"}',
        '{"ask": "values", "variables": {"a": "Real", "b": 8}, "terms": ["(< 0 a 1)", "(= b #x0f)"]}',
    ),
    "programs": ("assert f(2) == 4", "assert sorted(f(1)) == [[3], [4]]", '{"streams": [["1", "2"]], "budget": 1}'),
    "calls": ("wake(at=7);mail(to=bob)", '[{"name": "f", "arguments": {"a": [1, {"b": null}]}}]'),
    "patches": ('{"before": {"a.py": "x = 1\\n"}, "after": {"a.py": "x = 2\\n"}}',),
    "repairs": ('{"wrong": ["a=x+1"], "right": ["a=x+2"]}',),
    "constraints": ('[["words-at-most", 3], ["lowercase"]]', '[["words-at-least", 2], ["uppercase"]]'),
    "formats": ("natural", "opened", "steps", "bare"),
    "coq": ("forall P : Prop, P -> P",),
}
EXTERNALS_OF = {
    "mathematics": ["math-verify"], "metamath": ["metamath"], "verilog": ["iverilog", "yosys"], "sql": ["sqlite"],
    "optimisation": ["highs"], "smt": ["z3"], "programs": ["sandbox"], "coq": ["coq"],
}  # fmt: skip


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.external(e) for e in EXTERNALS_OF.get(one, [])]) for one in VERIFIERS]
)
def test_no_verifier_finds_a_text_invalid_in_any_form_of_its_reference(name: str) -> None:
    every = 40 if name in EXTERNALS_OF and name != "mathematics" else 4
    for reference in REFERENCES[name]:
        texts = [text for text in list(TEXTS.values())[::every] if len(text) < 100_000]
        found = zip(texts, verifier(name).explain([(reference, text) for text in texts]), strict=True)
        odd = [
            (text[:60], one.verdict.kind, one.verdict.detail) for text, one in found if one.verdict.status == "invalid"
        ]
        assert not odd, reference


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", each())
@settings(max_examples=8, deadline=None, derandomize=True)
@given(texts=st.lists(RANDOM, min_size=1, max_size=4))
def test_no_random_text_is_invalid(name: str, texts: list[str]) -> None:
    assert not invalid(name, texts)
