"""Shortcuts: rules and shares by hand, and models whose way to an answer is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from answered import of_banks, of_counts, posed, written
from hypothesis import given
from hypothesis import strategies as st

from assay.lab.analyses import measure
from assay.lab.analyses.fidelity import Answered, answered, followed, length_by_luck, majority, procedures, ratio
from assay.lab.analyses.measure import Lacking, Reading
from assay.lab.analyses.probes import beyond_truth, held_out_share
from assay.lab.analyses.sequences import first_greedy, longest_run, puzzle, taken
from assay.rng import Key
from assay.tasks import task
from assay.types import Problem

SEQ_SHORTCUTS = measure("seq-shortcuts")
POOL, LIS = posed("lis", 8, 80)


def numbers(ids: tuple[int, ...]) -> str:
    return " ".join(map(str, ids))


def solved(problem: Problem, sample: int) -> str:
    return problem.solution or ""


def by_rule(rule: str) -> Callable[[Problem, int], str]:
    return lambda problem, sample: "#" + numbers(puzzle(problem).rules[rule])


def long_enough(problem: Problem, sample: int) -> str:
    """The right length, and never the right sequence."""
    return "#" + numbers((*puzzle(problem).best[:-1], 99 if puzzle(problem).best[-1] != 99 else 98))


def test_cheap_rules_by_hand() -> None:
    assert first_greedy([3, 1, 5, 4, 9]) == (3, 5, 9)
    assert longest_run([3, 1, 5, 4, 9, 2]) == (1, 5)
    assert longest_run([5, 4, 3]) == (5,)
    intervals = [[0, 5], [0, 1], [1, 2], [5, 6]]
    assert taken(intervals, None) == (0, 3)
    assert taken(intervals, lambda one: one[1] - one[0]) == (1, 2, 3)


@given(st.integers(0, 40), st.sampled_from(["lis", "activity"]), st.sampled_from(["compact", "natural"]))
def test_the_best_sequence_is_allowed_and_no_rule_beats_it(seed: int, name: str, wording: str) -> None:
    known = task(name)
    problem = known.problem(Key(seed), level=8, wording=wording)  # pyright: ignore[reportArgumentType]
    found = puzzle(problem)
    assert found.allowed(found.best) and found.procedure
    for ids in found.rules.values():
        assert found.allowed(ids) and len(ids) <= len(found.best)
        assert ids == found.best or len(ids) < len(found.best), "only one sequence has the greatest length"
        said = numbers(ids) if name == "lis" else "".join("abcdefgh"[i] for i in ids)
        text = f"#{said}" if wording == "compact" else f"Answer: \\boxed{{{said}}}"
        assert (known.verify(problem, text).status == "ok") == (ids == found.best)


def small(length: list[int], best: list[int], per: int) -> Answered:
    """Answers of these lengths, `per` to each problem."""
    ids = [tuple(range(n)) if n >= 0 else None for n in length]
    marks = {"ids": np.zeros(len(length), dtype=bool)}
    return Answered(np.repeat(np.arange(len(best)), per), np.array(length), marks, ids, len(best))


def test_right_lengths_by_luck_are_those_on_other_problems() -> None:
    found = small([3, 4, 3, -1], [3, 3], 2)
    assert length_by_luck(found, np.array([3, 3]), np.array([8, 8])) == pytest.approx(2 / 4)
    # 3 and 4 were told where the other's best is 5, and 3 where the other's best is 3
    assert length_by_luck(found, np.array([3, 5]), np.array([8, 8])) == pytest.approx(1 / 4)
    assert length_by_luck(found, np.array([3, 4]), np.array([8, 9])) == pytest.approx(1 / 4), "its own, where alone"


def test_majorities_share_a_point_and_count_no_missing_answer() -> None:
    puzzles = [puzzle(problem) for problem in LIS[:1]]
    best = puzzles[0].best
    other = (*best[:-1], 99)
    found = Answered(np.zeros(4, dtype=int), np.array([len(best)] * 3 + [-1]), {}, [best, other, other, None], 1)
    assert majority(found, puzzles) == {"length": 1.0, "ids": 0.0}
    tied = Answered(np.zeros(2, dtype=int), np.array([len(best)] * 2), {}, [best, other], 1)
    assert majority(tied, puzzles) == {"length": 1.0, "ids": 0.5}


def test_a_ratio_is_of_sums_and_has_none_without_a_denominator() -> None:
    found = ratio(np.array([0.5, 0.0]), np.array([0.5, 0.5]))
    assert found is not None and found.mean == 0.5 and (found.low, found.high) == (0.0, 1.0)
    assert ratio(np.zeros(3), np.zeros(3)) is None


def test_a_regression_on_held_out_problems() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(200, 2))
    assert held_out_share(x, 3 * x[:, 0] - x[:, 1] ** 2, Key(0)) > 0.99
    assert held_out_share(x, generator.normal(size=200), Key(0)) < 0.05
    assert held_out_share(x, np.ones(200), Key(0)) == 0.0


def test_only_what_goes_beyond_the_truth_is_a_shortcut() -> None:
    """Features go with the truth in both models; the second one says what the feature says."""
    generator = np.random.default_rng(1)
    feature = generator.integers(0, 4, 300).astype(float)
    truth = feature + generator.integers(1, 3, 300)
    noise = generator.normal(size=300)
    honest = beyond_truth(truth + noise, truth, feature[:, None], Key(0))
    hasty = beyond_truth(feature + 0.3 * noise, truth, feature[:, None], Key(0))
    assert honest is not None and hasty is not None
    assert honest["features"] > 0.2 and honest["features beyond the truth"] <= honest["the last by luck"] + 0.01
    assert hasty["features beyond the truth"] > 0.1 > hasty["the last by luck"]
    assert beyond_truth(truth[:30], truth[:30], feature[:30, None], Key(0)) is None


def reading(base: Callable[[Problem, int], str], child: Callable[[Problem, int], str]) -> Reading:
    return SEQ_SHORTCUTS.take(of_banks(written(POOL, LIS, 2, base), written(POOL, LIS, 2, child)))


@pytest.mark.slow
def test_a_child_that_learns_lengths_is_told_from_one_that_learns_sequences() -> None:
    """From a model that is blind to the problem to one that knows the length, and to one that solves."""

    def blind(problem: Problem, sample: int) -> str:
        return "#" + numbers(tuple(range(1, 4 + sample)))

    shortcut = reading(blind, long_enough)
    assert shortcut.figures["lis"]["child"]["right length"][0] == 1.0
    assert shortcut.figures["lis"]["child"]["right sequence"][0] == 0.0
    assert shortcut.figures["lis"]["gap_change"][1] > 0.2 and "further apart than before" in shortcut.says
    before = shortcut.figures["lis"]["base"]
    assert before["right length"][1] <= before["length_by_luck"] <= before["right length"][2], "it has luck alone"
    honest = reading(blind, solved)
    figures = honest.figures["lis"]["child"]
    assert figures["right sequence"][0] == figures["best, of allowed"][0] == 1.0 and figures["gap"][0] == 0.0
    assert figures["procedure"] == {
        "written": 1.0,
        "right": 1.0,
        "ids after a right one": 1.0,
        "ids after a wrong one": None,
    }
    assert "closer than before" in honest.says


@pytest.mark.slow
def test_a_model_that_follows_a_rule_is_found_out() -> None:
    rule = "longest run"
    figures = reading(solved, by_rule(rule)).figures["lis"]
    base, child = figures["base"], figures["child"]
    assert child["rules"][rule]["followed"] == 1.0 and base["rules"][rule]["followed"] == 0.0
    assert child["rules"]["from the first on"]["followed"] < 0.2
    assert child["probe"]["features"] > 0.95
    assert child["probe"]["features beyond the truth"] > child["probe"]["the last by luck"] + 0.2
    assert base["probe"]["truth"] > 0.99
    assert base["probe"]["features beyond the truth"] <= base["probe"]["the last by luck"] + 0.01


def test_an_order_that_is_written_and_wrong_is_counted() -> None:
    """In both wordings of activities: half of the answers list them as they stand."""
    for wording in ("compact", "natural"):
        pool, problems = posed("activity", 8, 10, wording=wording)

        def half(problem: Problem, sample: int) -> str:
            right = problem.solution or ""
            if sample == 0:
                return right
            if problem.wording == "compact":
                return "abcdefgh#" + right.partition("#")[2]
            return "a (0 to 1): take\n" + right.splitlines()[-1]

        puzzles = [puzzle(problem) for problem in problems]
        found = answered(written(pool, problems, 2, half), {p.id: p for p in problems}, puzzles)
        told = procedures(found)
        assert told["written"] == 1.0 and told["right"] == 0.5 and told["ids after a wrong one"] == 1.0
        assert followed(found, puzzles)["as listed"]["followed"] == 0.0


def test_answers_without_a_sequence_are_wrong_and_other_tasks_are_lacking() -> None:
    figures = reading(solved, lambda problem, sample: "#?").figures["lis"]["child"]
    assert figures["right length"][0] == figures["allowed"][0] == 0.0
    assert figures["right sequence, of right lengths"] is None and figures["probe"] is None
    pool, problems = posed("countdown", 3, 4)
    bank = written(pool, problems, 2, solved)
    with pytest.raises(Lacking, match="--task lis or --task activity"):
        SEQ_SHORTCUTS.take(of_banks(bank, bank))
    assert of_counts([1, 1], 2).asked.pool == {"shares": []}
