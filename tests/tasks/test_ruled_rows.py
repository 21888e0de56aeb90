"""Rows of IFEval's form: reading, verdicts, rewards and the four accuracies, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from answers import answered

from assay.errors import DataError
from assay.reward import KeptRules
from assay.run import session
from assay.run.setup import Setup
from assay.scoring.instruction_rates import instruction_rates
from assay.tasks import task
from assay.tasks.data.task import data, tables
from assay.types import Verdict, changed

NO_COMMA, QUOTED = "punctuation:no_comma", "startend:quotation"
WORDS = "length_constraints:number_words"
LONG = {"num_words": 3, "relation": "at least", "keywords": None}


def row(prompt: str, *rules: tuple[str, Any]) -> dict[str, Any]:
    names, arguments = [name for name, _ in rules], [given for _, given in rules]
    return {"key": 1, "prompt": prompt, "instruction_id_list": names, "kwargs": arguments}


def written(folder: Path, *rows: dict[str, Any]) -> str:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return str(file)


BOTH = row("Write three words, quoted.", (WORDS, LONG), (QUOTED, {}))


def test_a_row_is_its_instructions_without_nulls(tmp_path: Path) -> None:
    name = data(written(tmp_path, BOTH, row("No commas.", (NO_COMMA, {})))).name
    (table,) = tables(name)
    assert table.columns.ruled and table.columns.answer == "instruction_id_list"
    gold = [[WORDS, {"num_words": 3, "relation": "at least"}], [QUOTED, {}]]
    assert json.loads(table.problems[0].spec["gold"]) == gold


def test_verdicts_have_the_scores_of_both_criteria(tmp_path: Path) -> None:
    name = data(written(tmp_path, BOTH)).name
    (problem,) = tables(name)[0].problems
    for text, status, scores in (
        ('"one two three"', "ok", (1.0, 1.0, 1.0)),
        ('Sure:\n"one two three"', "fail", (0.5, 1.0, 1.0)),
        ("one two", "fail", (0.0, 0.0, 0.0)),
        ("", "fail", (0.0, 0.0, 0.0)),
        ('<think>hm, "</think>"one two three"', "ok", (1.0, 1.0, 1.0)),
    ):
        verdict = task(name).verify(problem, text)
        assert verdict.status == status and tuple(verdict.scores.values()) == scores
        assert tuple(verdict.scores) == ("rules", "rules-loose", "loose")
    assert "does not follow startend:quotation" in task(name).verify(problem, "one two three").detail


def test_the_four_accuracies_are_those_of_the_paper(tmp_path: Path) -> None:
    """Three answers to rows of 2, 2 and 1 instructions: strictly 2, 1 and 0 are followed, loosely 2, 2 and 0."""
    name = data(written(tmp_path, BOTH, row("No commas.", (NO_COMMA, {})))).name
    two, one = tables(name)[0].problems
    pairs = [(two, '"one two three"'), (two, 'Sure:\n"one two three"'), (one, "a, b")]
    rates = instruction_rates(
        changed(answered(problem, text), verdict=task(name).verify(problem, text)) for problem, text in pairs
    )
    assert rates == pytest.approx(
        {"prompts_strict": 1 / 3, "prompts_loose": 2 / 3, "instructions_strict": 3 / 5, "instructions_loose": 4 / 5}
    )
    assert instruction_rates([changed(answered(two, ""), verdict=Verdict.invalid("bug"))]) == {}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (row("a", ("punctuation:no_commas", {})), "'punctuation:no_commas' is none of the kinds|begins with one of"),
        (
            row("a", (WORDS, {"num_words": 3})),
            f"'relation' of '{WORDS}' is one of .*, not nothing",
        ),
        (row("a", (WORDS, {**LONG, "num_word": 3})), "has no argument 'num_word'; it has num_words, relation"),
        ({**row("a", (NO_COMMA, {})), "kwargs": [{}, {}]}, "has 1 entries, and 'kwargs' has 2"),
        ({**row("a", (NO_COMMA, {})), "kwargs": None}, "are lists"),
    ],
)
def test_rows_that_cannot_be_checked_are_named_with_their_line(bad: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"(?s)line 2 has instructions that cannot be checked: .*({says})"):
        tables(data(written(tmp_path, BOTH, bad)).name)


def test_a_run_takes_such_rows_with_verdicts_or_shares_as_rewards(tmp_path: Path) -> None:
    rows = [row(f"Write {number} words.", (NO_COMMA, {})) for number in range(20)]
    file = written(tmp_path, *rows)
    for settings in ({}, {"recipe.mechanism.reward": "kept-rules"}):
        experiment, _ = session.planned(Setup("grpo", data=(file,), model="countdown", settings=settings))
        assert experiment.pool.wording == "natural"
    (problem, *_) = tables(data(written(tmp_path, BOTH)).name)[0].problems
    assert KeptRules().lacks(problem) is None and KeptRules().spoilt(problem) is None
    texts = ('"one two three"', "one two three", "one")
    rewards = KeptRules.does([answered(problem, text) for text in texts], score="rules")
    assert [reward and reward.value for reward in rewards] == [1.0, 0.5, 0.0]
