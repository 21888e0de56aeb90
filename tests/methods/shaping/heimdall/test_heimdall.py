"""Heimdall: which answers are asked about, what verdicts earn, the pessimistic choice, and a verifier that learns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import END, Letters, episode, policy, recipe_of, register, run
from worded import grown

from assay.lab.trial import small_run
from assay.memory import Memory
from assay.methods.shaping.heimdall.verifier import AskVerdicts, ShowVerdicts, VerdictAgrees, ask_verdicts
from assay.part import bind
from assay.record import RunFolder
from assay.types import Episode
from assay.verifiers.elections import majority, pessimistic

ASKED = {"role": "policy", "verifier": "verifier", "length": 3}


class Words(Letters):
    """Letters as they are, in which `b` is read as Yes and `c` as No."""

    def encode(self, text: str) -> np.ndarray:
        return super().encode(text.replace("+", "b").replace("-", "c"))

    def decode(self, ids: object) -> str:
        return super().decode(ids).replace("b", "+").replace("c", "-")  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def group(outcomes: Sequence[float | None], name: str) -> list[Episode]:
    return [episode([1, END], group=name, sample=i, reward=one, text="ab"[i % 2]) for i, one in enumerate(outcomes)]


def test_only_mixed_groups_are_asked_about_and_both_kinds_alike() -> None:
    episodes = [*group([1.0, 0.0, 0.0, None], "m"), *group([1.0] * 4, "r"), *group([0.0] * 4, "w")]
    requests = ask_verdicts(episodes, codec=Words(), memory=Memory(0), most=2, **ASKED)
    truth = {f"verdict/{one.request.id}": one.right for one in episodes[:3]}
    assert sorted(truth[request.group] for request in requests) == [False, True]
    assert all((request.role, request.max_new, request.prefix) == ("verifier", 3, ()) for request in requests)
    known = [dataclasses.replace(episodes[0], request=requests[0])]
    assert ask_verdicts([*episodes, *known], codec=Words(), memory=Memory(0), most=2, **ASKED) == []


def test_only_judged_answers_of_the_role_are_asked_about() -> None:
    right, wrong, lost = group([1.0, 0.0, None], "m")
    unjudged = dataclasses.replace(wrong, verdict=None)
    other = dataclasses.replace(wrong, request=dataclasses.replace(wrong.request, role="other"))
    for second, count in ((wrong, 2), (lost, 0), (unjudged, 0), (other, 0)):
        assert len(ask_verdicts([right, second], codec=Words(), memory=Memory(0), most=2, **ASKED)) == count


def test_the_draw_is_another_one_for_each_step_group_and_kind() -> None:
    """Half of 16 right answers, and half of 16 wrong ones."""

    def drawn(name: str, step: int) -> list[list[int]]:
        episodes = group([1.0] * 16 + [0.0] * 16, name)
        place = {f"verdict/{one.request.id}": i for i, one in enumerate(episodes)}
        memory = dataclasses.replace(Memory(0), step=step)
        asked = [place[r.group] for r in ask_verdicts(episodes, codec=Words(), memory=memory, most=8, **ASKED)]
        assert [i < 16 for i in asked] == [True] * 8 + [False] * 8 and len(set(asked)) == 16
        return [asked[:8], [i - 16 for i in asked[8:]]]

    found = [*drawn("m", 0), *drawn("m", 1), *drawn("n", 0)]
    assert len(set(map(tuple, found))) == 6


def test_how_much_longer_a_question_about_an_answer_is() -> None:
    """By its tokens and those of its reply, less those of the problem and the answer."""
    episodes = group([1.0, 0.0], "m")
    first = episodes[0]
    first_length = len(Words().render(first.request.problem.prompt)) + len(first.text)
    for length in (1, 3):
        part = AskVerdicts(most=1, length=length)
        asked = bind(part, codec=Words())(episodes, memory=Memory(0))[0]
        assert grown(part, first.request.problem, Words(), 8) == len(asked.context) + asked.max_new - first_length
    part = ShowVerdicts(most=1)
    shown = bind(part, codec=Words())(episodes, memory=Memory(0))[0]
    assert grown(part, first.request.problem, Words(), 8) == len(shown.context) + shown.given - first_length


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=6), max_size=4), st.integers(1, 3))
def test_verdicts_that_are_always_the_same_earn_nothing_on_average(groups: list[list[float | None]], most: int) -> None:
    everyone = [one for i, outcomes in enumerate(groups) for one in group(outcomes, f"g{i}")]
    requests = ask_verdicts(everyone, codec=Words(), memory=Memory(0), most=most, **ASKED)
    for word in "+-":
        replies = [dataclasses.replace(episode([1]), request=request, text=word) for request in requests]
        found = bind(VerdictAgrees())(replies, everyone=[*everyone, *replies])
        assert sum(reward.value for reward in found) == 0.0


def test_shown_verdicts_are_those_of_a_coin_that_is_tossed_anew_in_every_step() -> None:
    """About a right answer and a wrong one alike."""
    episodes, said = group([1.0, 0.0], "m"), []
    for step in range(40):
        memory = dataclasses.replace(Memory(0), step=step)
        shown = bind(ShowVerdicts(most=1), codec=Words())(episodes, memory=memory)
        said.append("".join(Words().decode(request.prefix[0].ids.tolist())[0] for request in shown))
    assert set(said) == {"++", "+-", "-+", "--"}


def test_what_verdicts_earn() -> None:
    right, wrong = group([1.0, 0.0], "g")
    requests = ask_verdicts([right, wrong], codec=Words(), memory=Memory(0), most=1, **ASKED)
    for text, worth in (("+", [1.0, -1.0]), ("a, so -", [-1.0, 1.0]), ("a", [-1.0, -1.0]), ("", [-1.0, -1.0])):
        replies = [dataclasses.replace(episode([1]), request=request, text=text) for request in requests]
        found = bind(VerdictAgrees())(replies, everyone=[right, wrong, *replies])
        assert [reward.value for reward in found] == worth
    (lost,) = bind(VerdictAgrees())(replies[:1], everyone=replies)  # its answer was lost
    assert lost is None


def test_the_pessimistic_choice_by_hand() -> None:
    """One answer 5 with verdicts 1, 1 and four answers 3 with verdicts of mean 0.8: of 10 verdicts, 1 - alpha ln 10 / 3
    against 0.8 - alpha ln 10 / 9, which are equal at alpha = 0.2 / (ln 10 (1/3 - 1/9)).
    """
    answers = ["5", "3", "3", "3", "3"]
    verdicts = [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.4, 0.0]]
    edge = (1.0 - 6.4 / 8) / (math.log(10) * (1 / 3 - 1 / 9))
    assert pessimistic(answers, verdicts, alpha=0.99 * edge) == "5"
    assert pessimistic(answers, verdicts, alpha=1.01 * edge) == "3"
    assert pessimistic([None, None], [[1.0], [1.0]], alpha=0.1) is None
    assert pessimistic(["a"], [[]], alpha=0.1) == "a"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=2, max_size=8))
def test_between_the_best_mean_and_the_majority(votes: list[tuple[str, int]]) -> None:
    answers, verdicts = [answer for answer, _ in votes], [[chance / 4] for _, chance in votes]
    means = {a: np.mean([v[0] for b, v in zip(answers, verdicts, strict=True) if a == b]) for a in set(answers)}
    assert means[pessimistic(answers, verdicts, alpha=0.0)] == pytest.approx(max(means.values()))  # type: ignore[index]
    most = pessimistic(answers, verdicts, alpha=1e4)
    assert answers.count(most) == answers.count(majority(answers))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.learning
def test_a_verifier_learns() -> None:
    """The solver is frozen and right now and then. What the verifier earns goes up, and nobody else trains."""
    values = {"num_prompts": 96, "group_size": 8, "num_steps": 60, "learning_rate": 0.004, "warmup_steps": 2}
    engine = policy("fp32", vocab=5, hidden=32, ffn=64, init_std=0.1)
    notes, _ = run(recipe_of("heimdall", max_new=4, **values), engine, codec=Words())
    earned = [[e.reward or 0.0 for e in step if e.request.role == "verifier"] for step in notes.episodes]
    first, last = np.concatenate(earned[:10]), np.concatenate(earned[-10:])
    shown("rise of what the verifier earns", last.mean() - first.mean(), above=0.1)
    shown("what it earns at last", last.mean(), above=0.1)  # 0 is a coin, or always the same verdict
    solved = [[e.right for e in step if e.request.role == "policy"] for step in notes.episodes]
    shown("change of the frozen solver", abs(np.mean(solved[-10:]) - np.mean(solved[:10])), below=0.02)


def test_three_steps_of_training_and_rollouts_of_the_role_that_trains(tmp_path: Path) -> None:
    """Verdicts are asked for after all answers, and have their share of 6 rows all the same."""

    def even(completions: object, **_: object) -> list[float]:
        return [float(sum(map(ord, text)) % 2) for text in completions]  # type: ignore[attr-defined]

    saving = {"saving.rollouts_every": 1, "saving.rollouts_max": 6}
    made = small_run("heimdall", tmp_path, reward=even, settings=saving)
    for record in made.metrics():
        assert record["rollouts"] >= 8
    folder = RunFolder.read_only(made.path)
    for record in folder.read("rollouts"):
        roles = folder.rollouts(record["step"], ["role"])["role"]
        missing, all_rows = record["left_out"], int(made.metrics()[record["step"] - 1]["rollouts"])
        assert len(roles) == 6 and sum(missing.values()) == all_rows - 6
        assert roles.count("verifier") == 3 or "verifier" not in missing
