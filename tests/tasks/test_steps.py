"""Steps of chains of thought: where they stand, what each task that verifies them promises, and worked solutions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tasks import CHAINS, HELD, HOSTILE, marked

from assay.rng import Key
from assay.tasks import TASKS, quantities, quantities_python, search_stream, task, trace
from assay.tasks.steps import Chain, Step, chain, divided, spans_of
from assay.tasks.strategies import Strategies
from assay.tasks.task import Solution
from assay.types import Problem
from assay.verifiers.answers import Wording

MODULES = {
    "search-stream": search_stream,
    "quantities": quantities,
    "quantities-python": quantities_python,
    "trace": trace,
}
JUDGED = [marked(name) for name in MODULES]
PLACES = [marked(name, level) for name in MODULES for level in task(name).generator.levels]
MARKS = st.text("0123456789abcdfmqz+-*/=<>!~?#,|\n \\boxed{}", max_size=120)
WORDINGS: tuple[Wording, Wording] = ("compact", "natural")


def posed(name: str, level: int, seed: int, wording: Wording = "compact") -> Problem:
    return task(name).problem(Key(seed, "steps", name), level=level, wording=wording)


def chain_of(problem: Problem, text: str) -> Chain:
    found = task(problem.task).chain(problem, text)
    assert found is not None
    return found


def test_the_tasks_whose_steps_are_verified_are_these() -> None:
    assert set(MODULES) == CHAINS
    problem = TASKS["mod-chain"].problem(Key(0), level=2)
    assert TASKS["mod-chain"].chain(problem, problem.solution or "") is None


@pytest.mark.parametrize(
    ("text", "wording", "body", "answer"),
    [
        ("1+1=2,2+2=4#4", "compact", "1+1=2,2+2=4", "4"),
        ("1+1=2#", "compact", "1+1=2", None),
        ("4", "compact", "", "4"),
        ("1+1=2,2+", "compact", "1+1=2,2+", None),  # cut before its answer
        ("a#b#c", "compact", "a#b", "c"),
        ("", "compact", "", None),
        ("1 + 1 = 2\nAnswer: \\boxed{2}", "natural", "1 + 1 = 2\n", "2"),
        ("\\boxed{2}", "natural", "", "2"),
        ("1 + 1 = 2\n2", "natural", "1 + 1 = 2\n2", None),
        ("1 + 1 = 2\n\\boxed{2", "natural", "1 + 1 = 2\n\\boxed{2", None),
        ("\\boxed{}", "natural", "", None),
    ],
)
def test_a_response_is_divided_into_steps_and_answer(text: str, wording: Wording, body: str, answer: str) -> None:
    assert divided(text, wording) == (body, answer)


def test_steps_stand_between_marks_without_space_around_them() -> None:
    body = " 1=1, ,~|abc,<2"
    assert [body[begin:end] for begin, end in spans_of(body, "compact")] == ["1=1", "~", "abc", "<2"]
    body = "Let us see, slowly.\n 1 + 1 = 2 \n\n~"
    assert [body[begin:end] for begin, end in spans_of(body, "natural")] == ["1 + 1 = 2", "~"]


def test_a_chain_has_the_verdicts_of_its_reading_at_the_places_of_the_steps() -> None:
    found = chain(lambda spec, steps, answer: (["valid", "wrong"], "contrary"), {}, "x=1, y=2#3", "compact")
    assert found == Chain((Step(0, 3, "valid"), Step(5, 8, "wrong")), "contrary")
    assert (found.share("valid"), found.share("useless")) == (0.5, 0.0)
    assert Chain((), "none").share("wrong") == 0.0


@pytest.mark.parametrize("name", JUDGED)
def test_strategies_have_their_shares_and_follow_from_the_content(name: str) -> None:
    shares = MODULES[name].WAYS.shares
    assert sum(shares.values()) == pytest.approx(1.0)
    found = drawn(shares, name, 4000)
    for strategy, share in shares.items():  # within five standard deviations
        assert abs(found.count(strategy) / 4000 - share) < 5 * (share * (1 - share) / 4000) ** 0.5
    first = posed(name, task(name).generator.levels[0], 3)
    again = task(name).pose(dict(first.spec), level=first.level)
    assert again.solution == first.solution


def drawn(shares: Mapping[str, float], name: str, count: int) -> list[str]:
    """The strategies of so many problems."""
    ways = Strategies(name, shares, lambda spec: spec["content"], lambda spec, strategy: Solution(strategy))
    problems = [{"content": str(number)} for number in range(count)]
    for one in problems[:5]:
        assert sorted([ways.solve(one).answer, *(other.answer for other in ways.others(one))]) == sorted(shares)
    return [ways.solve(one).answer for one in problems]


def test_a_share_of_one_is_always_drawn() -> None:
    assert set(drawn({"no": 0.0, "yes": 1.0}, "a", 50)) == {"yes"}
    assert drawn({"rounded": 0.0}, "a", 1) == ["rounded"]  # shares that sum up to less by rounding


@pytest.mark.parametrize(("name", "level"), PLACES)
def test_worked_solutions_of_every_strategy_are_right_and_have_right_steps(name: str, level: int) -> None:
    """Wrong are only the steps that the next one takes back; a solution without steps is a shortcut."""
    for seed in range(6):
        for wording in WORDINGS:
            problem = posed(name, level, seed, wording)
            written = task(name).traces(problem)
            assert len(written) == len(MODULES[name].WAYS.shares)
            for text in written:
                found = chain_of(problem, text)
                assert task(name).verify(problem, text).status == "ok"
                assert found.ending == ("faithful" if found.steps else "shortcut")
                said = [(text[step.begin : step.end], step.verdict) for step in found.steps]
                wrong = [place for place, (_, verdict) in enumerate(said) if verdict == "wrong"]
                assert wrong == [place - 1 for place, (one, _) in enumerate(said) if one == "~"]
                assert not found.steps or any(verdict == "valid" for _, verdict in said)


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_worked_solutions_are_chains_of_thought(name: str) -> None:
    """At the level that a run takes by itself, solutions with steps have 40 characters or more, mostly 60 and more. A
    small model begins with fewer steps where each is code.
    """
    level = 4 if name in HELD else task(name).generator.first or task(name).generator.levels[0]
    problems = [posed(name, level, seed) for seed in range(100)]
    lengths = sorted(len(text) for problem in problems for text in task(name).traces(problem)[:1] if "," in text)
    assert lengths[len(lengths) // 2] >= 60 and lengths[-1] <= 400
    hardest = [len(posed(name, task(name).generator.levels[-1], seed).solution or "") for seed in range(30)]
    assert max(hardest) <= 400


def promises(problem: Problem, text: str) -> None:
    """The places of the steps are in order and within the text; an answer is given or not."""
    found = chain_of(problem, text)
    places = [place for step in found.steps for place in (step.begin, step.end)]
    assert places == sorted(places) and all(step.begin < step.end for step in found.steps)
    assert not places or places[-1] <= len(text)
    assert {step.verdict for step in found.steps} <= {"valid", "useless", "wrong"}
    if task(problem.task).verify(problem, text).status == "ok":
        assert found.ending in ("faithful", "contrary", "shortcut")


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("wording", WORDINGS)
def test_steps_of_hostile_texts_are_verified(name: str, wording: Wording) -> None:
    problem = posed(name, task(name).generator.levels[-1], 1, wording)
    solution = problem.solution or ""
    for text in HOSTILE:
        for response in (
            text,
            f"{text}#1",
            f"{text},{text}#{text}",
            f"{text}\n{text}\\boxed{{{text}}}",
            solution + text,
        ):
            promises(problem, response)
    for text in (
        "~,~,~",
        "<,<,<",
        "1=1=1=1",
        "=,=",
        "<" + "9" * 300,
        "4*7=28" + " 9" * 300,
        "=",
        "9" * 300 + "=1",
        "²=1",
        "1²=1,٣=3",
        "a=" + "٣",
        "?,1?",
        "^1",
    ):
        promises(problem, text.replace(",", "\n") if wording == "natural" else text)


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(text=st.text(max_size=60) | MARKS, natural=st.booleans())
def test_steps_of_any_text_are_verified(name: str, text: str, natural: bool) -> None:
    promises(posed(name, task(name).generator.levels[0], 2, "natural" if natural else "compact"), text)


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 40))
def test_a_worked_solution_with_any_change_is_verified(name: str, data: st.DataObject, seed: int) -> None:
    """A piece is cut out of it and another put in; and what stands before the change has no wrong step more."""
    problem = posed(name, task(name).generator.levels[0], seed)
    text = data.draw(st.sampled_from(task(name).traces(problem)))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 12)))
    changed = text[:begin] + data.draw(MARKS) + text[end:]
    promises(problem, changed)
    before = [step for step in chain_of(problem, text).steps if step.end < begin and "#" not in changed[:begin]]
    after = chain_of(problem, changed).steps[: len(before)]
    if "#" in changed and before:
        assert [step.verdict == "wrong" for step in before] == [step.verdict == "wrong" for step in after]
