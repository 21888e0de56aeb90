"""Rules that code checks, those that a judge checks, and their product."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from data_files import jsonl
from fake_judge import Act, blocks, endpoint, serving
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode

from assay.errors import DataError
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.shaping.verif.rules import JudgedRules
from assay.part import Rewarding, bind
from assay.reward import KeptRules, Product
from assay.rng import Key
from assay.run.open_rows import require_rewarded
from assay.source import Pool, Share
from assay.tasks import task
from assay.tasks.data.task import data
from assay.types import Episode, Problem, Verdict
from assay.verifiers.instructions import CHECKS, fault_of, meets, share

KEPT: list[tuple[list[Any], str, str]] = [  # rule, a text that keeps it, and one that does not
    (["length", 3], "abc", "ab"),
    (["length-at-most", 3], "abc", "abcd"),
    (["words", 2], "two words", "two words more"),
    (["words-at-least", 2], "two words", "one"),
    (["words-at-most", 2], " two  words ", "two words more"),
    (["sentences", 2], "One. Two!", "One. Two. 3.5 is no end."),
    (["paragraphs", 2], "a\nb\n\n\n\nc", "a\nb"),
    (["bullets", 2], "- a\n  * b\n", "- a"),
    (["count", "ab", 2], "abab", "ababab"),
    (["count-at-least", "a", 2], "aaa", "a"),
    (["with", "b"], "abc", "acd"),
    (["without", "b"], "acd", "abc"),
    (["starts", "a"], "ab", "ba"),
    (["ends", "a"], "ba", "ab"),
    (["lowercase"], "straße 1", "Straße"),
    (["uppercase"], "A1", "A1b"),
    (["palindrome"], "abba", "abca"),
    (["json"], '{"a": [1]}', "{'a': 1}"),
]


def test_each_kind_of_rule_has_a_case() -> None:
    assert {rule[0] for rule, _, _ in KEPT} == set(CHECKS)


@pytest.mark.parametrize(("rule", "right", "wrong"), KEPT, ids=[rule[0] for rule, _, _ in KEPT])
def test_a_rule_by_hand(rule: list[Any], right: str, wrong: str) -> None:
    assert fault_of(rule) is None and meets(rule, right) and not meets(rule, wrong)
    for hostile in ("", " \n\t", "x" * 10_000_000):
        assert not meets(rule, hostile)
    assert isinstance(meets(rule, "[" * 100_000), bool)


@pytest.mark.parametrize(
    "rule",
    [[], "words", ["?"], ["words"], ["words", "2"], ["words", True], ["words", 1, 2], ["count", "a"], ["with", ""]],
)
def test_a_rule_that_is_none_is_told(rule: Any) -> None:
    assert fault_of(rule)


def test_the_share_of_rules() -> None:
    assert share([], "") == 1.0 and share([["with", "a"], ["with", "b"], ["length", 1]], "a") == pytest.approx(2 / 3)


@given(st.text("abcd", min_size=1, max_size=9), st.integers(1, 6), st.integers(0, 50))
def test_an_answer_is_right_exactly_if_it_keeps_every_rule(text: str, level: int, seed: int) -> None:
    constraints = task("constraints")
    problem = constraints.problem(Key(seed), level=level)
    verdict = constraints.verify(problem, text)
    kept = [meets(rule, text) for rule in problem.spec["rules"]]
    assert (verdict.status == "ok") == all(kept)
    assert verdict.scores["rules"] == pytest.approx(sum(kept) / level)
    assert constraints.verify(problem, problem.spec["hidden"]).status == "ok"


@pytest.mark.parametrize(
    "answer", ["", "abcd" * 100, "ABCD", "аbcd", "ab cd", "ab\x00", "ab\u202e", "e", "a|b", "[[1]]"]
)
def test_what_is_no_word_of_the_letters_keeps_nothing(answer: str) -> None:
    verdict = task("constraints").checker.check({"rules": [["without", "d"]], "hidden": "abc"}, answer)
    assert verdict.status == "fail" and verdict.scores["rules"] == 0.0


def asked(kept: float | None, soft: Any = (), text: str = "Dear all", finish: str = "stop") -> Episode:
    base = episode([1])
    problem = Problem("data", "Write.", {"columns": {"soft": soft}}, "p")
    verdict = dataclasses.replace(Verdict.fail("wrong"), scores={} if kept is None else {"rules": kept})
    request = dataclasses.replace(base.request, problem=problem)
    return dataclasses.replace(base, request=request, verdict=verdict, text=text, finish=finish)  # type: ignore[arg-type]


def values(part: Rewarding, *episodes: Episode) -> list[float | str | None]:
    found = bind(part)(list(episodes), everyone=(), memory=Memory(0))
    return [None if reward is None else reward.invalid or reward.value for reward in found]


def test_the_product_by_hand() -> None:
    def polite(_: int, said: dict[str, Any]) -> Act:
        wishes = blocks(said)["criteria"].splitlines()
        return Act(text=json.dumps({"met": ["kind" in line or "short" in line for line in wishes]}))

    with serving(polite) as server:
        part = Product(of=(KeptRules(), JudgedRules(endpoint(server))))
        episodes = [
            asked(0.5, ["is kind"]),
            asked(1.0, ["is kind", "is short"]),
            asked(1.0, ["is kind", "rhymes"]),  # all soft rules or nothing
            asked(0.75),
            asked(None, ["is kind"]),  # no score, and not right
            asked(1.0, ["is kind"], text=""),
            asked(1.0, ["is kind"], finish="length"),
            asked(1.0, "is kind"),
        ]
        assert values(part, *episodes) == [0.5, 1.0, 0.0, 0.75, 0.0, 0.0, 0.0, "bad_gold"]
    with serving([Act(text="fine, I guess")]) as server:
        part = Product(of=(KeptRules(), JudgedRules(endpoint(server, attempts=1))))
        assert values(part, asked(1.0, ["is kind"]), asked(0.5)) == ["judge_garbage", 0.5]


def test_a_row_without_rules_of_either_sort_is_refused_with_the_columns_that_it_lacks(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "soft": ["kind"]}, {"prompt": "b"}, {"prompt": "c", "rules": [], "soft": None}]
    pool = Pool((Share(data(jsonl(tmp_path / "rows.jsonl", rows)).name),))
    with pytest.raises(DataError) as caught:
        require_rewarded(RECIPES["verif"], pool, scored=False)
    said = str(caught.value)
    assert said.startswith("2 rows of rows.jsonl cannot be rewarded: nothing in verif does (lines 2, 3). What would: ")
    assert "the column 'rules' or the column 'soft'; or say what an answer earns with --reward" in said
