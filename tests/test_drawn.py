"""What the suites over all recipes try: a part that depends on the commit alone, never without the best known."""

from __future__ import annotations

import dataclasses

import pytest
from drawn import BEST_KNOWN, LEARNERS, Draw, files_of_part, method_of, source, touched

from assay.known import METHOD_OF, RECIPES

MODULE = max(METHOD_OF.values(), key=[*METHOD_OF.values()].count)  # of the method with the most recipes
METHOD = MODULE.rpartition(".")[2]
SEVERAL = [name for name, module in METHOD_OF.items() if module == MODULE]


def draw(by: str, *, always: frozenset[str] = frozenset(), whole: bool = False) -> Draw:
    return Draw(by, always, whole)


@pytest.mark.parametrize("by", ["commit a", "commit b", "files c"])
def test_a_third_is_drawn_with_the_best_known_and_a_twentieth_is_for_the_fast_tests(by: str) -> None:
    made = draw(by)
    assert set(BEST_KNOWN) <= set(made.recipes) <= set(RECIPES)
    assert len(RECIPES) / 3 - 1 <= len(made.recipes) <= len(RECIPES) / 3 + 1 + len(BEST_KNOWN)
    assert set(made.few) <= set(made.recipes)
    assert abs(len(made.few) - len(RECIPES) / 20) <= 1


def test_another_commit_draws_others_and_the_same_one_the_same() -> None:
    made = [draw(f"commit {number}") for number in range(40)]
    assert made[3].recipes == draw("commit 3").recipes
    assert len({one.recipes for one in made}) == 40
    assert set().union(*(one.recipes for one in made)) == set(RECIPES), "forty commits leave none out"


def test_what_a_commit_changes_is_tried_by_it_and_everything_on_demand() -> None:
    made = draw("commit a")
    out = next(name for name in RECIPES if name not in made.recipes)
    with_it = dataclasses.replace(made, always=frozenset({out}))
    assert out in with_it.recipes and out in with_it.few
    every = draw("commit a", whole=True)
    assert every.recipes == every.few == tuple(RECIPES)


def test_the_fast_tests_have_those_of_the_methods_that_they_draw() -> None:
    made = draw("commit a", always=frozenset({SEVERAL[-1]}))
    assert method_of(f"tests/methods/group/{METHOD}/test_{METHOD}.py::test_x[1]") == METHOD not in made.passed_over
    assert method_of("tests/test_drawn.py::test_x") == "" not in made.passed_over
    assert len(made.passed_over) > 100 and not draw("commit a", whole=True).passed_over


def test_a_method_that_is_in_the_change_has_its_recipes_named(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"diff": f"assay/methods/baselines/grpo.py\nassay/methods/group/{METHOD}/credit.py\n"}
    changes["ls-files"] = "assay/methods/gates/gone.py\nassay/methods/new.py\n"
    monkeypatch.setattr("drawn._git", lambda word, *_: changes[word])
    assert {"grpo", *SEVERAL} == touched()


def test_cases_within_a_test_take_turns_and_keep_their_order() -> None:
    cases = list("abcdefghij")
    made = [draw(f"commit {number}").turn(cases, 3) for number in range(40)]
    assert all(len(one) == 3 and one == sorted(one) for one in made)
    assert set().union(*made) == set(cases) and made[3] == draw("commit 3").turn(cases, 3)
    assert draw("commit a").turn(cases, 99) == draw("commit a", whole=True).turn(cases, 3) == cases


def test_without_a_repository_the_files_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drawn._git", lambda *_: "0123456789abcdef\n")
    assert source() == "commit 0123456789ab"
    monkeypatch.setattr("drawn._git", lambda *_: "")
    kind, digest = source().split()
    assert kind == "files" and len(digest) == 12 and source() == f"files {digest}"


def test_parts_are_all_files_once_and_about_as_many_tests_each() -> None:
    tests = {f"tests/test_{number}.py": 1 + number % 7 for number in range(60)}
    parts = [files_of_part(f"{part}/4", tests) for part in (1, 2, 3, 4)]
    assert sorted(file for part in parts for file in part) == sorted(tests)
    sizes = [sum(tests[file] for file in part) for part in parts]
    assert max(sizes) - min(sizes) <= 7
    assert files_of_part("1/1", tests) == frozenset(tests)


@pytest.mark.parametrize("part", ["0/4", "5/4", "2", "two/4", "1/0"])
def test_a_part_that_cannot_be_is_refused(part: str) -> None:
    with pytest.raises(pytest.UsageError, match="takes K/N"):
        files_of_part(part, {})


def test_six_recipes_have_their_learning_looked_at_and_deep_tests_all() -> None:
    made = draw("commit a")
    assert len(made.learners) == LEARNERS and set(draw("commit a", whole=True).learners) == set(RECIPES)
    assert set().union(*(draw(f"commit {number}").learners for number in range(400))) > set(RECIPES) - set(made.few)
