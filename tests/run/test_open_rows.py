"""Which recipes can reward rows without a reference answer. Their parts say themselves what they read."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from data_files import jsonl, table_of
from of_methods import named, said
from small_runs import Shell
from tiny import episode

import assay
from assay.errors import DataError, UsageError
from assay.known import PARTS, RECIPES
from assay.memory import Memory
from assay.part import Part, Rewarding, bind, concerned, name_of
from assay.recipe import Recipe, with_mechanisms
from assay.reward import (
    Cascade,
    JudgedAlone,
    JudgedInPairs,
    KeptRules,
    Masked,
    OfTasks,
    Outcome,
    Product,
    SoftOverlong,
)
from assay.run.open_rows import Readers, require_rewarded
from assay.run.own_rewards import scored_by
from assay.source import Pool, Share
from assay.tasks.data.task import data
from assay.types import Episode, Problem, Reward, Verdict, changed

ROW = Problem(
    "data:x", "Say hello.", {"row": 1, "gold": None, "columns": {}}, "x", provenance="data", wording="natural"
)


def row(**columns: Any) -> Problem:
    return Problem(
        "data:x", "Say hello.", {"row": 1, "gold": None, "columns": columns}, "x", provenance="data", wording="natural"
    )


# What reads verdicts

VERDICTS = [None, Verdict.ok("a"), Verdict.fail("wrong", answer="a"), Verdict.fail("format"), Verdict.fail("empty")]
ELSEWHERE = {
    "reward:certainty": "entropies of a model",
    "reward:learnt-score": "a model",
    "reward:learnt-steps": "a model",
    **said("ELSEWHERE"),
}
"""Rewards that need more than answers, and what."""
ANSWERS_ALONE = sorted(PARTS[Rewarding].keys() - {place.removeprefix("reward:") for place in ELSEWHERE})


def answers(verdict: Verdict | None, problem: Problem = ROW) -> list[Episode]:
    texts = ["So \\boxed{a}", "\\boxed{b}", "no", "\\boxed{a}"]
    made = [episode([1, 2, 0], sample=i) for i in range(len(texts))]
    return [
        changed(one, request=changed(one.request, problem=problem), text=text, verdict=verdict)
        for one, text in zip(made, texts, strict=True)
    ]


def worths(part: Rewarding, verdict: Verdict | None) -> list[Any]:
    mine = answers(verdict)
    offered = {"max_new": 8, "num_steps": 4, "group_size": 4, "codec": SimpleNamespace(decode=str, end_ids=frozenset())}
    found = bind(part, **offered)(mine, everyone=mine, memory=Memory(0))
    return [None if one is None else (one.value, one.invalid) for one in found]


def test_what_needs_more_is_a_reward() -> None:
    assert {f"reward:{name}" for name in PARTS[Rewarding]} >= ELSEWHERE.keys()


@pytest.mark.parametrize("name", ANSWERS_ALONE)
def test_a_reward_that_says_it_reads_no_verdict_does_not(name: str) -> None:
    part = PARTS[Rewarding][name]()
    assert isinstance(part, Rewarding)
    if "endpoint" in inspect.signature(part.does).parameters:
        assert not part.reads_verdict(ROW), "a judge behind an endpoint decides by itself"
    elif not any(one.reads_verdict(ROW) for one in concerned((part,), ROW)):
        assert all(worths(part, verdict) == worths(part, None) for verdict in VERDICTS)


REASONS = {
    "collect:fragments": "walks, whose world says how they went; answers in words are collected as ever",
    "remember:admit-posed": "verdicts on answers to problems that the policy posed",
    "forwards:agreement": "metrics alone; answers without a verdict do not count",
    "reward:kept-rules": "the verdict of a task; of a row of data its own rules",
    "reward:judge-pairs": "an error of ours alone",
    "reward:judge-reference": "an error of ours alone",
    "reward:judge-single": "an error of ours alone",
    "forwards:reward-model": "an error of ours alone",
    "reward:scored": "what reward functions said",
    "reward:valid-steps": "steps that a task judges, which rows of data are not",
    **said("WITHOUT_VERDICT"),
}
"""Parts whose functions look at verdicts and that work without one, and what they look at there."""


def looks(part: type[Part]) -> bool:
    """Whether the function of a part, or one of its module that it calls, asks for `.right` or `.verdict`."""
    tree = ast.parse(Path(inspect.getfile(part.does)).read_text())
    known = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    todo, seen = [part.does.__name__], set[str]()
    while todo:
        name = todo.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        for node in ast.walk(known[name]):
            if isinstance(node, ast.Attribute) and node.attr in ("right", "verdict"):
                return True
            todo += [node.id] if isinstance(node, ast.Name) else []
    return False


@pytest.mark.slow
def test_every_part_that_looks_at_verdicts_says_so() -> None:
    """`reads_verdict` of its own, `needs_verdict`, or a reason why the part works without one."""
    every = {f"{kind.slots[0]}:{name}": part for kind, parts in PARTS.items() for name, part in parts.items()}
    silent = {n for n, p in every.items() if looks(p) and not p.needs_verdict and "reads_verdict" not in vars(p)}
    assert silent == set(REASONS)


def test_which_recipes_train_on_open_rows() -> None:
    """Each method says by hand which of its own do: all others name a part that reads verdicts, or need worked
    solutions.
    """
    without = {
        name for name, recipe in RECIPES.items() if not Readers(recipe).verdict(ROW) and recipe.solutions != "all"
    }
    assert without == named("OPEN")


def test_what_is_asked_of_a_row_depends_on_the_row_and_on_the_part() -> None:
    def read(*rewards: Rewarding, problem: Problem = ROW) -> list[str]:
        return [name_of(part) for part in concerned(rewards, problem) if part.reads_verdict(problem)]

    assert read(Cascade(then=JudgedAlone())) == ["outcome"]
    assert read(Masked(of=JudgedAlone(), only="right")) == ["mask"]
    assert read(Masked(of=JudgedAlone(), only="finished")) == []
    assert read(OfTasks(of=Outcome(), tasks=("trace",)), OfTasks(of=JudgedAlone(), tasks=("trace",), others=True)) == []
    assert Product(of=(KeptRules(), JudgedAlone())).lacks(ROW) is None
    assert Product(of=(KeptRules(), SoftOverlong())).lacks(ROW) == "the column 'rules'"
    assert (Outcome().lacks(ROW), SoftOverlong().lacks(ROW)) == ("a reference answer", "")
    assert JudgedInPairs(against="reference").lacks(ROW) == "a worked solution"


# What is refused


def judged_by(*rewards: Rewarding) -> Recipe:
    """GRPO with these rewards alone."""
    return with_mechanisms(RECIPES["grpo"], lambda mechanism: dataclasses.replace(mechanism, reward=rewards))


def refusal(path: Path, recipe: Recipe, *, scored: bool = False) -> str:
    with pytest.raises(DataError) as caught:
        require_rewarded(recipe, Pool((Share(data(path).name),)), scored=scored)
    return str(caught.value)


def test_a_row_that_nothing_judges_is_refused_with_what_would(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "rules": [["lowercase"]]}, {"prompt": "b"}, {"prompt": "c", "rules": None}]
    path = jsonl(tmp_path / "rows.jsonl", rows)
    said = refusal(path, judged_by(Product(of=(KeptRules(), SoftOverlong()))))
    assert said.startswith("2 rows of rows.jsonl cannot be rewarded: nothing in grpo does (lines 2, 3). What would: ")
    assert "the column 'rules'; or say what an answer earns with --reward" in said
    assert "grpo reads whether answers are right (outcome)" in refusal(path, RECIPES["grpo"])
    pool = Pool((Share(data(path).name),))
    assert require_rewarded(judged_by(JudgedAlone()), pool, scored=False) == []
    assert require_rewarded(RECIPES["grpo"], pool, scored=True) == []


UNREADABLE = [(recipe, *case) for recipe, cases in said("UNREADABLE").items() for case in cases]


@pytest.mark.parametrize(("recipe", "column", "value", "says"), UNREADABLE)
def test_a_column_that_cannot_be_read_is_refused_before_a_run(
    recipe: str, column: str, value: Any, says: str, tmp_path: Path
) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [{"prompt": "a", column: value}])
    for scored in (False, True):
        assert says in refusal(path, RECIPES[recipe], scored=scored)
    assert Readers(judged_by(JudgedAlone())).refused(table_of(path), scored=False) is None, "it does not read it"


# Rules that code checks


def kept(problem: Problem, text: str, finish: Any = "stop", verdict: Verdict | None = None) -> list[Reward | None]:
    made = episode([1, 0])
    one = changed(made, request=changed(made.request, problem=problem), text=text, finish=finish, verdict=verdict)
    return bind(KeptRules())([one])


@pytest.mark.parametrize(
    ("columns", "text", "finish", "expected"),
    [
        ({}, "anything", "stop", 1.0),
        ({"rules": []}, "anything", "stop", 1.0),
        ({"rules": None}, "", "stop", 1.0),
        ({"rules": [["words", 2], ["lowercase"]]}, "Two words", "stop", 0.5),
        ({"rules": [["words", 2], ["lowercase"]]}, "<think>LONG, LONG</think>two words", "stop", 1.0),
        ({"rules": [["words", 2]]}, "", "stop", 0.0),
        ({"rules": [["words", 2]]}, "two words", "length", 0.0),
        ({}, "anything", "length", 0.0),
    ],
)
@pytest.mark.parametrize("verdict", VERDICTS[:3], ids=["open", "right", "wrong"])
def test_the_share_of_hard_rules_by_hand(
    columns: dict[str, Any], text: str, finish: str, expected: float, verdict: Verdict | None
) -> None:
    (found,) = kept(row(**columns), text, finish, verdict)
    assert found is not None and found.value == expected


def test_of_rules_that_cannot_be_read_and_of_lost_answers_nothing_is_said() -> None:
    (found,) = kept(row(rules=[["words", "two"]]), "two words")
    assert found is not None and found.invalid == "bad_gold"
    assert kept(row(), "x", "error") == [None]


# Own reward functions


def rewards_of(name: str, *, only: bool = False) -> list[list[str]]:
    recipe = scored_by(RECIPES[name], ["/a/my.py:f=0.5"], only=only)
    return [[name_of(part) for part in mechanism.reward] for mechanism in recipe.mechanisms]


@pytest.mark.parametrize(("name", "expected"), said("SCORED").items())
def test_a_function_replaces_the_outcome_and_stands_beside_all_else(name: str, expected: list[list[str]]) -> None:
    assert rewards_of(name) == expected


def test_a_function_alone_replaces_all_rewards() -> None:
    for name in RECIPES:
        assert {tuple(rewards) for rewards in rewards_of(name, only=True)} == {("scored",)}, name


def test_both_ways_to_name_a_function_are_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("train", "grpo", "--reward", "a.py:f", "--only-reward", "a.py:f")
    assert reply.code == 2 and "leave one out" in reply.err
    with pytest.raises(UsageError, match="leave one out"):
        assay.train("grpo", reward="a.py:f", only_reward="a.py:f")


@pytest.mark.slow
def test_the_check_of_a_file_agrees_with_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": f"say {i}", "soft": ["kind"]} for i in range(40)]
    path, shell = jsonl(tmp_path / "rows.jsonl", [*rows, {"prompt": "say more"}]), Shell(capsys)
    expected = {"grpo": 64, **said("OPEN_FILE")}
    for recipe, code in expected.items():
        checked = shell("data", "check", path, "--recipe", recipe, "--json")
        planned = shell("train", recipe, "--data", path, "--model", "countdown", "--dry-run", "--json")
        assert checked.code == planned.code == code, recipe
        assert checked.code == 0 or checked.err == planned.err
        assert checked.code or checked.document["judged"]["refused"]["count"] == 0
    plain = shell("data", "check", path)
    assert plain.code == 0 and "41 rows without an answer" in plain.out
