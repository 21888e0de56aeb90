"""Who is rewritten and how, which texts are solved, what a text is worth, and runs with and without a rewriter."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import worked
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, recipe_of, require_resumable, run, segment
from worded import grown
from worked import POOL, Signs, beginner, register

from assay.ask import Sampling
from assay.methods.exploration.clpo.gain import accuracy_gain
from assay.methods.exploration.clpo.rewrite import ROLE, Rewrite, answer_of, mode_of, rewrite, usable
from assay.recipe import Recipe
from assay.rng import Key
from assay.types import Episode, Problem, Request

SAMPLING = Sampling(max_new=6)
PROBLEM = worked.TASK.problem(Key(1), level=2)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


class Codec(Signs):
    """The signs of the rewriter's prompts are passed over."""

    def encode(self, text: str) -> Any:
        return super().encode("".join(sign for sign in text if sign in self.signs))


def small(name: str = "clpo", **scale: object) -> Recipe:
    rows = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of(name, max_new=6, **{**rows, "num_minibatches": 1, **scale})


def answers(*rights: bool | None, group: str = "0:0", problem: Problem = PROBLEM) -> list[Episode]:
    made = [episode([1], reward=None if right is None else float(right)) for right in rights]
    asked = [
        Request(problem, Codec().render(problem.prompt), group, max_new=6, sample=i, draw=int(group[-1]))
        for i in range(len(rights))
    ]
    return [dataclasses.replace(e, request=r) for e, r in zip(made, asked, strict=True)]


def asked(episodes: Sequence[Episode], **changes: Any) -> list[Request]:
    values = {"group_size": 4, "hard": 0.3, "medium": 0.7, "longest": 5, "least": 3, **changes}
    return rewrite(episodes, codec=Codec(), sampling=SAMPLING, **values)


def text(request: Request, written: str, finish: str = "stop") -> Episode:
    return Episode(request, (segment([1, 2]),), finish, text=written)  # type: ignore[arg-type]


# Who is rewritten


@pytest.mark.parametrize(
    ("rights", "mode"),
    [
        ([False] * 4, "hard"),
        ([True, False, False, False], "hard"),
        ([True, True, False, False], "medium"),
        ([True, True, True, False], None),
        ([True, None, None, None], None),
        ([True, False, None, None], "medium"),
        ([None, None], None),
    ],
)
def test_bands_by_hand(rights: list[bool | None], mode: str | None) -> None:
    """Of four: none or one right is hard, two medium, three or four easy; errors of ours count nowhere."""
    assert mode_of(answers(*rights), hard=0.3, medium=0.7) == mode
    found = asked(answers(*rights))
    places = [(r.role, r.tag, r.group, r.max_new, r.round) for r in found]
    assert places == ([(ROLE, mode, "0:0/rewriter", 5, 1)] if mode else [])


def test_a_bound_belongs_to_the_band_below_it() -> None:
    """One of four is hard up to 1/4, two of four are medium up to 1/2; an answer that was not judged counts nowhere."""
    one, two = answers(True, False, False, False), answers(True, True, False, False)
    assert [mode_of(some, hard=0.25, medium=0.5) for some in (one, two)] == ["hard", "medium"]
    unjudged = dataclasses.replace(one[0], verdict=None)
    assert mode_of([*two, unjudged], hard=0.25, medium=0.5) == "medium"
    assert mode_of([unjudged], hard=0.25, medium=0.5) is None


def test_the_longer_of_text_and_question_to_the_rewriter_is_added_to_a_prompt() -> None:
    """9 tokens of a text, or the 7 that an answer may have; ` [a] ` in the question to the rewriter has 5."""
    longer = [grown(Rewrite(longest=most), PROBLEM, Codec(), limit) for most, limit in ((9, 20), (9, 7), (2, 20))]
    assert longer == [9, 7, 5]


def test_the_rewriter_reads_question_and_answer_in_the_wording_of_the_mode() -> None:
    answer = answer_of(PROBLEM)
    assert answer == PROBLEM.spec["letters"][-1]
    (hard,) = asked(answers(False, False))
    assert hard.context.tolist() == Codec().render(f"{PROBLEM.prompt} [{answer}] ").tolist()
    natural = dataclasses.replace(PROBLEM, wording="natural", solution="it is \\boxed{17}", prompt="q {x}")
    prompts = {}
    for rights, mode in (([False], "hard"), ([True, False], "medium")):
        seen: list[str] = []
        codec = Codec()
        codec.render = lambda prompt, seen=seen: seen.append(prompt) or Signs().encode("a")  # type: ignore[method-assign]
        rewrite(
            answers(*rights, problem=natural),
            codec=codec,
            sampling=SAMPLING,
            group_size=4,
            hard=0.3,
            medium=0.7,
            longest=5,
            least=3,
        )
        prompts[mode] = seen[-1]
    assert all("must stay 17" in told and told.endswith("q {x}") for told in prompts.values())
    assert "easier" in prompts["hard"] and "another form" in prompts["medium"]
    assert asked(answers(False, problem=dataclasses.replace(PROBLEM, solution=None))) == [], "no answer to keep"


def test_each_rewritten_problem_is_solved_once_by_a_group_of_its_own() -> None:
    first = [*answers(False, False), *answers(True, False, group="0:1")]
    writing = asked(first)
    written = [text(writing[0], "ba"), text(writing[1], "ab,a")]
    solving = asked([*first, *written])
    assert [r.group for r in solving] == ["0:0/rewriter/hard"] * 4 + ["0:1/rewriter/medium"] * 4
    assert {r.parent for r in solving[:4]} == {writing[0].id} and all(r.helped for r in solving)
    assert solving[0].context.tolist() == Codec().render("ba").tolist() and solving[0].max_new == 6
    assert len({r.id for r in (*writing, *solving)}) == 10 and {r.round for r in solving} == {2}
    done = [dataclasses.replace(e, request=r) for e, r in zip(answers(*[False] * 8), solving, strict=True)]
    assert asked([*first, *written, *done]) == [], "an all-wrong group of a rewritten problem is not rewritten again"


def test_texts_that_are_no_use() -> None:
    problem = dataclasses.replace(PROBLEM, solution="1,2#345", prompt="ab")
    request = dataclasses.replace(answers(False, problem=problem)[0].request, role=ROLE, tag="hard")
    for written, finish, good in [
        ("ba", "stop", True),
        ("ba", "length", False),
        ("  ", "stop", False),
        (" ab ", "stop", False),
        ("b 345", "stop", False),
        ("b 34", "stop", True),
    ]:
        assert usable(text(request, written, finish), least=3) == good, written
    talk = tuple({"role": role, "content": said} for role, said in (("user", "b"), ("assistant", "a"), ("user", "ab")))
    spoken = dataclasses.replace(request, problem=dataclasses.replace(problem, prompt=talk))
    assert [usable(text(spoken, written), least=3) for written in ("ab", "a", "b")] == [False, True, True]


@given(st.lists(st.sampled_from([True, False]), min_size=1, max_size=9), st.floats(0, 1), st.floats(0, 1))
def test_a_harder_problem_is_never_in_an_easier_band(rights: list[bool], one: float, other: float) -> None:
    hard, medium = sorted((one, other))
    order = ["hard", "medium", None]
    fewer = [right and i != rights.index(True) for i, right in enumerate(rights)] if any(rights) else rights
    here, below = (mode_of(answers(*some), hard=hard, medium=medium) for some in (rights, fewer))
    assert order.index(below) <= order.index(here)


# What a text is worth


def test_the_gain_by_hand() -> None:
    """Three of four against one of four: 0.5. None for a text that nobody solved, or whose answers are all lost."""
    first = answers(True, False, False, False)
    writing = asked(first)[0]
    others = [dataclasses.replace(writing, group=g) for g in ("9:9/rewriter", "0:0/rewriter")]
    written = [text(writing, "ba"), text(others[0], "ba"), text(dataclasses.replace(others[1], draw=7), "b")]
    solved = [
        dataclasses.replace(e, request=dataclasses.replace(e.request, parent=writing.id, group="x"))
        for e in answers(True, True, True, False, None)
    ]
    lost = [
        dataclasses.replace(e, request=dataclasses.replace(e.request, parent=written[2].request.id, group="y"))
        for e in answers(None, None)
    ]
    found = accuracy_gain(written, everyone=[*first, *written, *solved, *lost])
    assert found[0] is not None and found[0].value == pytest.approx(0.5)
    assert found[1:] == [None, None]


# Runs


def test_a_run_trains_originals_and_rewritten_problems_and_not_the_rewriter() -> None:
    notes, memory = run(small(num_prompts=8), beginner(), pool=POOL, codec=Codec())
    every = [row for rows in notes.rows for row in rows]
    tags = {row.episode.request.tag for row in every if row.in_loss}
    assert {"", "hard"} <= tags and not any(row.in_loss for row in every if row.role == ROLE)
    bare = [row for row in every if not row.episode.request.helped]
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == len(bare)
    for rows in notes.rows:
        groups: dict[str, set[bool]] = {}
        for row in rows:
            groups.setdefault(row.group, set()).add(row.episode.right)
        assert all(len(groups[row.group]) == 2 for row in rows if row.in_loss)


def test_a_rewriter_that_trains_gets_its_gain_as_advantage() -> None:
    notes, _ = run(small("clpo-rewriter", num_prompts=8), beginner(), pool=POOL, codec=Codec())
    rows = [row for step in notes.rows for row in step if row.role == ROLE and row.in_loss]
    assert rows and {row.group.split("/")[-1] for row in rows} == {ROLE}
    gains = {row.episode.request.id: row.reward for row in rows}
    assert any(gain for gain in gains.values())
    found = {
        request: float(advantage)
        for step in notes.batches
        for batch in step
        for request, role, at in zip(batch.request, batch.roles or (), batch.at[:-1], strict=True)
        if role == ROLE and (advantage := batch.advantage[at]) is not None
    }
    assert found == pytest.approx({name: gains[name] for name in found}) and found


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    recipe = small("clpo-rewriter", num_steps=4, learning_rate=0.02)
    require_resumable(recipe, beginner, after=2, pool=POOL, codec=Codec())


def test_the_task_of_the_tests_has_answers() -> None:
    assert worked.TASK.verify(PROBLEM, answer_of(PROBLEM)).status == "ok"
