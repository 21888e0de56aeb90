"""What a recipe is said to be: its factors, what it does on policy, how it differs from GRPO."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from sweeps import over

from assay.cli.main import main
from assay.known import RECIPES
from assay.lab.catalogue import listing
from assay.lab.explain import BESIDE, FACTORS, explain, factors_of, on_policy, text
from assay.objective import Case, Clip, Drop, HighEntropy, Judged, Likelihood, NoRatio, Objective, Open, Shaped, Shut


@pytest.mark.slow
@over(RECIPES)
def test_every_recipe_explains_itself(name: str) -> None:
    found = explain(name)
    assert json.loads(json.dumps(found)) == found
    assert tuple(found["factors"]) == FACTORS and tuple(found["beside"]) == BESIDE
    rows = [row for factors in found["factors"].values() for row in factors]
    assert all(row["says"] for row in rows)  # every part says what it is
    assert found["factors"]["advantage"] and found["factors"]["aggregation"]
    assert bool(found["against_grpo"]) == (name != "grpo")
    card = text(found)
    assert found["title"] in card and all(row["title"] in card for row in rows)


def test_what_differs_from_grpo_is_what_differs() -> None:
    """Dr. GRPO's paper: no standard deviation, a constant length, no KL."""
    assert explain("dr-grpo")["against_grpo"] == [
        "advantage: group-relative(scale=none, ddof=1, epsilon=1e-06) (GRPO: group-relative(scale=std, ddof=1, "
        "epsilon=1e-06))",
        "aggregation: fixed-length (GRPO: sequence-mean)",
        "regulariser: none (GRPO: kl(weight=0.04, estimator=k3, anchor=reference))",
    ]


def test_terms_and_cases_say_of_which_tokens() -> None:
    goal = Objective(
        cases=(Case(over=HighEntropy(share=0.2), gate=Open()),),
        extra=(Likelihood(weight=0.1, over=Judged(right=True), mean="own"),),
    )
    found = factors_of(dataclasses.replace(RECIPES["grpo"].mechanism, objective=goal))
    high = "high-entropy(share=0.2, by=row, side=high, ties=False)"
    assert [factor.title for factor in found["gate"]] == ["clip(low=0.2, high=0.2, dual=None)", f"open on {high}"]
    assert [factor.title for factor in found["extra"]] == ["likelihood(weight=0.1, mean=own) on judged(right=True)"]


@pytest.mark.parametrize(
    ("goal", "right", "wrong", "depends"),
    [
        (Objective(gate=Clip()), 1, 1, []),
        (Objective(ratio=NoRatio(), gate=Open()), 1, 1, []),
        (Objective(gate=Shut()), 0, 0, []),
        (Objective(gate=Shaped(gamma=0.1)), 0.1 / 1.1**2, 0.1 / 1.1**2, []),
        (Objective(correct=(Drop(low=2.0),)), 0, 0, []),
        (Objective(cases=(Case(over=Judged(right=True), gate=Shaped(gamma=1.0)),)), 0.25, 1, []),
    ],
)
def test_the_push_on_policy(goal: Objective, right: float, wrong: float, depends: list[str]) -> None:
    assert on_policy(goal) == {"right": round(right, 6), "wrong": round(wrong, 6), "depends": depends}


def test_the_command_prints_it_or_gives_it_as_data(capsys: Any) -> None:
    pytest.importorskip("torch")  # an explanation computes gradients
    assert main(["explain", "dapo"]) == 0
    assert "clip(low=0.2, high=0.28, dual=10)" in capsys.readouterr().out
    assert main(["explain", "dapo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == explain("dapo")
    assert main(["explain", "dapoo"]) == 2
    assert "'dapo'" in capsys.readouterr().err


def test_the_list_of_recipes_has_titles_papers_and_factors() -> None:
    """By `assay list recipes --json`: of every recipe, and of other packages' too, where they say so."""
    listed = {row["name"]: row for row in listing("recipes")}
    assert listed.keys() == RECIPES.keys()
    for name, found in listed.items():
        assert (found["title"], found["paper"], found["claim"]) == (
            RECIPES[name].title,
            RECIPES[name].paper,
            RECIPES[name].claim,
        )
        assert found["title"] and found["claim"]
        assert re.fullmatch(r"\d{4}\.\d{4,5}|[\w. ]+ \d{4}|-", found["paper"]), "an arXiv id, or an author and a year"
        assert tuple(found["factors"]) == FACTORS
        assert found["factors"]["advantage"] and found["factors"]["aggregation"]
