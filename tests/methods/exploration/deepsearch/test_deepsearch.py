"""DeepSearch: what flows back from answers that ended, which step is expanded next, and answers held for later."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import replying
from tiny import (
    ALONE,
    POOL,
    TINY,
    Letters,
    episode,
    group_of,
    models_of,
    phases_of,
    policy,
    recipe_of,
    register,
    require_resumable,
    run,
    segment,
    with_rounds,
)

from assay.ask.first_steps import FirstSteps, first_steps
from assay.collect.nodes import Node, Tree, uct
from assay.engine.layout import distinct
from assay.engine.sampling_call import prompt_of
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.memory import Memory
from assay.memory.examined import STORE, keep_examined
from assay.methods.exploration.deepsearch.backed_up import backed_up
from assay.methods.exploration.deepsearch.credit import process_relative
from assay.methods.exploration.deepsearch.recall import Recall, recall
from assay.methods.exploration.deepsearch.search import search, tree_of, worth
from assay.methods.exploration.deepsearch.solved import hold_solved
from assay.part import bind
from assay.recipe import Recipe, Stage
from assay.record.measure import step_stats
from assay.run.session import plan
from assay.source import Pool, Share
from assay.source.epochs import problem_set
from assay.source.examined import examine, unsolved
from assay.types import Episode, Origin, Problem, Request, Row, Verdict

KEEN = {"init_std": 0.1, "vocab": 4}
SELECT = {"group_size": 8, "max_new": 8, "explore": 2.0, "quality": 0.4, "doubt": 0.0, "depth": 0.01}


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(depth: int = 3, width: int = 4, **scale: object) -> Recipe:
    sizes = {"num_prompts": 4, "group_size": 4, "num_steps": 3, "learning_rate": 0.01, "warmup_steps": 0}
    recipe = recipe_of("deepsearch", max_new=6, **{**sizes, **scale})
    changed = dataclasses.replace(recipe.mechanism, ask=(Recall(), FirstSteps(width, depth)))
    return dataclasses.replace(recipe, mechanism=changed, stages=(Stage(),))  # rounds have tests of their own


class Grown:
    """A tree made by hand, of steps of two tokens; an answer that ends has a reward."""

    def __init__(self) -> None:
        self.made: dict[str, Episode] = {}

    def expand(self, parent: str, **children: float | None) -> None:
        """One round: names of the children of a node, and 1 or -1 where the answer ends there."""
        above = self.made.get(parent)
        round = 1 + max((e.request.round for e in self.made.values()), default=-1)
        for name, reward in children.items():
            made = episode([1], sample=len(self.made), reward=reward or 0.0, right=reward == 1, max_new=2)
            before = above.segments if above else ()
            request = dataclasses.replace(
                made.request, round=round, parent=parent, prefix=before, pauses=reward is None
            )
            own = segment([1, 2], node=name, old=np.full(2, -1.0, np.float32))
            changes = {"finish": "pause", "verdict": None, "rewards": ()} if reward is None else {}
            self.made[name] = dataclasses.replace(made, request=request, segments=(*before, own), **changes)

    @property
    def episodes(self) -> list[Episode]:
        return list(self.made.values())

    def tree(self, answers: int = 8) -> Tree:
        return tree_of(self.episodes, answers)

    def values(self) -> dict[str, tuple[float, int]]:
        tree = self.tree()
        return {"": (tree.root.value, tree.root.visits)} | {n: (v.value, v.visits) for n, v in tree.by_name.items()}


def by_hand() -> Grown:
    grown = Grown()
    grown.expand("", a=None, b=None)
    grown.expand("a", c=1.0, d=-1.0)
    grown.expand("b", e=-1.0, f=None)
    return grown


# What flows back


def test_values_of_a_tree_by_hand() -> None:
    """c is right at depth 2: gamma 1/3 at the root, 2/3 at a, 1 at c. d was passed over. e is wrong: b falls by 2/3,
    the root, above zero, stays.
    """
    found = by_hand().values()
    expected = {"": (1 / 3, 2), "a": (2 / 3, 2), "b": (-2 / 3, 2), "c": (1, 1), "d": (0, 0), "e": (-1, 1), "f": (0, 1)}
    assert found.keys() == expected.keys()
    for name, (value, visits) in expected.items():
        assert found[name] == (pytest.approx(value), visits), name


def test_a_right_answer_overwrites_what_is_below_zero() -> None:
    """g is right at depth 3: b had -2/3 and has 2/4, f 3/4, the root 1/3 + 1/4."""
    grown = by_hand()
    grown.expand("f", g=1.0, h=None)
    found = grown.values()
    assert [found[n][0] for n in ("g", "f", "b", "")] == pytest.approx([1, 3 / 4, 1 / 2, 7 / 12])


def test_far_ancestors_count_a_tenth_at_least() -> None:
    grown, name = Grown(), ""
    for depth in range(14):
        grown.expand(name, **{str(depth): None})
        name = str(depth)
    grown.expand(name, end=1.0)
    assert grown.values()[""][0] == pytest.approx(0.1)  # not 1/16


def test_one_answer_of_an_expansion_is_backed_up_the_surest_of_the_right_ones() -> None:
    grown = Grown()
    grown.expand("", wrong=-1.0, vague=1.0, sure=1.0, on=None)
    for name, old in (("wrong", -0.1), ("vague", -2.0), ("sure", -1.0)):
        made = grown.made[name]
        (own,) = made.segments
        grown.made[name] = dataclasses.replace(
            made, segments=(dataclasses.replace(own, old=np.full(2, old, np.float32)),)
        )
    assert [node.episode for node in grown.tree().backed] == [grown.made["sure"]]


def test_a_tree_that_has_ended_gives_all_its_answers() -> None:
    """Right ones first, as many as were asked for; an error of ours is no answer."""
    grown = Grown()
    grown.expand("", a=-1.0, b=1.0, c=-1.0, lost=-1.0)
    lost = grown.made["lost"]
    grown.made["lost"] = dataclasses.replace(lost, verdict=Verdict.invalid("bug"))
    assert [node.outcome for node in grown.tree().backed] == [1.0, -1.0, -1.0]
    assert len(grown.tree(answers=2).backed) == 2


# Which step is next


def ask(grown: Grown, **changes: object) -> list[Request]:
    return search(grown.episodes, Memory(0), **{**SELECT, **changes})  # type: ignore[arg-type]


def test_while_nothing_ended_the_search_goes_down() -> None:
    grown = Grown()
    grown.expand("", a=None, b=None, c=None)
    asked = ask(grown)
    assert [(r.parent, r.fork, r.round, r.sample, r.max_new, r.pauses) for r in asked] == [
        ("a", 2, 1, 3 + i, 2, True) for i in range(3)
    ]
    assert len(distinct([prompt_of(request) for request in asked])[1]) == 1


def test_after_an_answer_ended_the_best_of_the_frontier_is_next() -> None:
    """Q(parent): f's is b's -2/3 by 2 visits, b's own is the root's 1/3 by 1 visit."""
    grown = Grown()
    grown.expand("", a=None, b=None, z=None)
    grown.expand("a", c=1.0, d=None, y=None)
    tree = grown.tree()
    score = {n: worth(tree.by_name[n], 2 / 8, 0.4, 0.0, 0.01) for n in ("b", "d")}
    assert score["b"] == pytest.approx(0.4 * math.tanh(1 / 3) + 0.01 * math.sqrt(1 / 4))
    assert score["d"] == pytest.approx(0.4 * math.tanh((2 / 3) / 2) + 0.01 * math.sqrt(2 / 4))
    assert {request.parent for request in ask(grown)} == {"d"}
    doubtful = worth(tree.by_name["d"], 2 / 8, 0.4, 0.4, 0.01)
    assert doubtful == pytest.approx(score["d"] + 0.4)  # a mean surprisal of 1


def test_the_last_step_may_be_cut() -> None:
    """Of eight tokens three steps are written: the fourth ends the answer, whatever it is."""
    grown = Grown()
    for name, parent in (("a", ""), ("b", "a"), ("c", "b")):
        grown.expand(parent, **{name: None})
    assert [(r.max_new, r.pauses) for r in ask(grown)] == [(2, False)]


def test_enough_answers_end_the_search() -> None:
    assert ask(by_hand(), group_size=2) == [] != ask(by_hand(), group_size=3)


def test_upper_confidence() -> None:
    above = Node(None, None, 0, visits=8)
    assert uct(Node(None, above, 1, value=3.0, visits=2), 2.0) == pytest.approx(1.5 + 2 * math.sqrt(math.log(8) / 2))
    assert uct(Node(None, Node(None, None, 0), 1, visits=1), 2.0) == 0.0


# Credit


def test_tokens_have_the_value_of_their_step() -> None:
    """Rewards 1 and -1 have mean 0. On the way values are bounded; the last step is worth the reward."""
    rows = [Row(e) for e in by_hand().episodes]
    found = backed_up(rows, Memory(0), group_size=8, temperature=1.0)
    assert [row.in_loss for row in found] == [False, False, True, False, True, False]
    assert [row.in_loss for row in found] == [row.in_group for row in found] == [row.in_denominator for row in found]
    c, e = process_relative([row for row in found if row.in_loss], Memory(0))
    np.testing.assert_allclose(c.advantage, [math.tanh(2 / 3)] * 2 + [1.0] * 2, rtol=1e-6)  # type: ignore[arg-type]
    np.testing.assert_allclose(e.advantage, [math.tanh(-2 / 3)] * 2 + [-1.0] * 2, rtol=1e-6)  # type: ignore[arg-type]


def test_a_punishment_moves_all_steps_of_its_answer() -> None:
    rows = group_of([1.0, -1.5], lengths=[3, 2])
    rows = [rows[0].mark(process=np.array([0.2, 0.2, 1.0])), rows[1].mark(process=np.array([0.5, -1.0]))]
    first, second = process_relative(rows, Memory(0))
    np.testing.assert_allclose(first.advantage, [0.2 + 0.25, 0.2 + 0.25, 1.25])  # type: ignore[arg-type]
    np.testing.assert_allclose(second.advantage, [0.5 - 0.5 + 0.25, -1.5 + 0.25])  # type: ignore[arg-type]
    equal = process_relative([rows[0], rows[0]], Memory(0))
    assert all((row.advantage == 0).all() for row in equal)


# The collector


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 4))
def test_every_sampled_token_belongs_to_one_step(seed: int, depth: int, width: int) -> None:
    """What was generated is what the nodes hold; a pause is not a cut; each tree gives at most a group's rows."""
    recipe = small(depth, width, num_steps=1)
    notes, memory = run(recipe, policy("fp32", **KEEN, seed=seed % 5), seed=seed)
    (episodes,), (rows,) = notes.episodes, notes.rows
    held = {(s.node, i) for e in episodes for s in e.segments for i in range(len(s))}
    assert memory.budget.generated_tokens == len(held)
    assert len({e.request.id for e in episodes}) == len(episodes)
    step = -(-6 // depth)
    for e in episodes:
        assert len(e.segments[-1]) <= step and len(e) <= 6
        assert (e.finish == "pause") == (e.verdict is None) == (not e.rewards)
        assert e.finish != "pause" or (len(e) % step == 0 and len(e) < 6)
        assert e.finish != "length" or len(e) == 6
    ended = [e for e in episodes if e.finish != "pause"]
    assert memory.budget.rollouts == memory.budget.verified_answers == len(ended)
    whole = [e for e in ended if not e.request.parent and not e.request.pauses]
    assert memory.store("pass-rates").get("tiny/1", [0, 0])[1] == len(whole) == (16 * width // 4 if depth == 1 else 0)
    stats = step_stats(episodes, rows)
    assert stats["rollouts"] == len(ended) and stats["reward/verifier_failed"] == 0
    assert stats["length/truncated"] == pytest.approx(np.mean([e.finish == "length" for e in ended]))
    for group in {row.group for row in rows}:
        tree = tree_of([e for e in episodes if e.request.group == group], 4)
        assert sum(row.in_loss for row in rows if row.group == group) == len(tree.backed) <= 4
        assert len(tree.backed) == 4 or not tree.frontier
        assert all(len(node.children) in (0, width) for node in [tree.root, *tree.nodes])


def test_answers_of_one_step_are_plain_rollouts() -> None:
    """Depth 1: the same samples as without search, all of them train, and a token is worth reward less mean."""
    notes, _ = run(small(depth=1, num_steps=1), policy("fp32", **KEEN))
    plain = recipe_of("dr-grpo", max_new=6, num_prompts=4, group_size=4, num_steps=1)
    source = small().mechanism.source
    plain = dataclasses.replace(plain, mechanism=dataclasses.replace(plain.mechanism, source=source))
    expected, _ = run(plain, policy("fp32", **KEEN))
    assert [e.stream("ids").tolist() for e in notes.episodes[0]] == [
        e.stream("ids").tolist() for e in expected.episodes[0]
    ]
    (batch,), (other,) = notes.batches[0], expected.batches[0]
    outcomes = {r.episode.request.id: r.episode.rewards[0].value + r.episode.rewards[1].value for r in notes.rows[0]}
    for group in set(batch.group):
        rewards = [outcomes[r] for r, g in zip(batch.request, batch.group, strict=True) if g == group]
        for i in [i for i, g in enumerate(batch.group) if g == group]:
            hoped = outcomes[batch.request[i]] - np.mean(rewards)
            np.testing.assert_allclose(batch.advantage[batch.at[i] : batch.at[i + 1]], hoped, atol=1e-6)
    assert batch.mask.all() and batch.request == other.request


@pytest.mark.slow
def test_a_world_may_reply_within_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reply is waited for as ever; the step goes on and pauses at its own end."""

    def reply(spec: object, text: str) -> str | None:
        return "c" if text.endswith("b") and text.count("c") < 2 else None

    register(monkeypatch, dataclasses.replace(TINY, world=replying(reply, "b")))
    notes, memory = run(small(depth=2, num_steps=1), policy("fp32", decode=Letters().decode, **KEEN))
    (episodes,) = notes.episodes
    assert any((e.stream("origin") == Origin.ENV).any() for e in episodes)
    assert any(e.finish == "pause" for e in episodes)
    for e in episodes:
        assert len(e) <= 6 and (e.finish != "pause" or e.segments[-1].origin[-1] == Origin.POLICY)
    policy_tokens = {(s.node, i) for e in episodes for s in e.segments if s.node for i in range(len(s))}
    assert memory.budget.generated_tokens == len(policy_tokens)


# Answers held for later


def rows_of(problem: str, right: Sequence[bool], provenance: str = "fresh") -> list[Row]:
    made = [
        episode([1, 2, 0], group=problem, prompt=problem, sample=i, reward=1.0 if ok else -1.0, right=ok)
        for i, ok in enumerate(right)
    ]
    return [Row(dataclasses.replace(e, provenance=provenance)) for e in made]  # type: ignore[arg-type]


def held(memory: Memory) -> dict[str, int]:
    answers = [e.request.problem.canonical for e in memory.kept.get("solved", ())]
    return {name: answers.count(name) for name in answers}


def test_right_answers_to_hard_problems_are_held() -> None:
    rows = [
        *rows_of("a", [True, False, False, False]),
        *rows_of("b", [False] * 4),
        *rows_of("c", [True, True, False, False]),
    ]
    memory = hold_solved(Memory(0), rows=rows, group_size=8, most=0.25, place="solved")
    assert held(memory) == {"a": 1}
    (answer,) = memory.kept["solved"]
    assert answer.provenance == "replay" and answer.request.prefix == ()
    assert [(s.node, s.old, s.ids.tolist()) for s in answer.segments] == [("", None, [1, 2, 0])]
    again = hold_solved(memory, rows=rows_of("a", [False] * 4), group_size=8, most=0.25, place="solved")
    assert held(again) == {"a": 1}  # nothing new
    own = hold_solved(memory, rows=rows_of("a", [True] * 4, "replay"), group_size=8, most=0.25, place="solved")
    assert held(own) == {"a": 1}  # what was recalled proves nothing
    more = hold_solved(memory, rows=rows_of("a", [False, True, False, False]), group_size=1, most=0.25, place="solved")
    assert held(more) == {"a": 1}  # no more than a group has rows
    mastered = hold_solved(memory, rows=rows_of("a", [True, True, False]), group_size=8, most=0.25, place="solved")
    assert held(mastered) == {}


def test_a_held_answer_takes_the_place_of_a_sample_and_ends_the_search() -> None:
    recipe, engine = small(num_minibatches=2), policy("fp32", **KEEN)
    phases, memory = phases_of(recipe), Memory(0)
    problem = phases.source(memory)[0]
    answer = dataclasses.replace(rows_of("a", [True])[0].episode, provenance="replay")
    answer = dataclasses.replace(answer, request=dataclasses.replace(answer.request, problem=problem))
    answer = dataclasses.replace(answer, segments=(segment([1, 2, 0], old=None),))
    memory = memory.hold("solved", [answer])
    models = models_of(engine)
    requests = phases.ask(models, phases.source(memory), memory)
    assert [request.max_new for request in requests[:4]] == [0, 6, 6, 6] and len(requests) == 16
    episodes, memory = phases.collect(models, requests, memory)
    assert len(episodes) == 16 and [e.provenance for e in episodes[:4]] == ["replay", "fresh", "fresh", "fresh"]
    rows, _ = phases.forwards(models, phases.curate(models, episodes, memory), memory)
    assert all(row.in_loss for row in rows) and rows[0].old is not None
    np.testing.assert_allclose(rows[1].old, rows[1].episode.stream("old"), atol=1e-5)  # type: ignore[arg-type]
    (batch,) = phases.credit(rows, memory)
    assert batch.sampled is not None and np.isnan(batch.sampled[:3]).all() and batch.mask[:3].all()
    after = phases.remember(memory, models, episodes, rows, {})
    assert after.budget.generated_tokens == sum(len(e) for e in episodes if e.provenance == "fresh")


def test_more_answers_than_samples_are_not_asked_for() -> None:
    answers = [row.episode for row in rows_of("a", [True] * 5)]
    requests = [dataclasses.replace(row.episode.request, group="now") for row in rows_of("a", [False] * 3)]
    found = recall(requests, Memory(0).hold("solved", answers), place="solved")
    assert [request.max_new for request in found] == [0, 0, 0] and len({request.id for request in found}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("after", [2, 4])
def test_a_stopped_run_ends_with_the_same_bits(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With answers held across the stop."""
    register(monkeypatch, ALONE)
    recipe = small(depth=2, group_size=8, num_steps=6, learning_rate=0.002)
    notes, _ = run(recipe, policy("fp32", **KEEN))
    assert any(e.provenance == "replay" for step in notes.episodes for e in step)
    require_resumable(recipe, lambda: policy("fp32", **KEEN), after=after)


# Rounds


def shares(**known: float) -> Memory:
    return Memory(0).keep(STORE, {task_problem(letter).id: share for letter, share in known.items()})


def task_problem(letter: str) -> Problem:
    return next(problem for problem in problem_set(POOL, 0, 2) if problem.spec["letter"] == letter)


def letters(problems: Sequence[Problem]) -> list[str]:
    return [problem.spec["letter"] for problem in problems]


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ({}, "ab"),
        ({"a": 0.25, "b": 0.5}, "a"),
        ({"a": 0.75}, "b"),  # nobody has examined b
        ({"a": 0.5, "b": 0.75}, "a"),  # all are solved: the least
        ({"a": 0.5, "b": 0.5}, "ab"),
    ],
)
def test_a_round_works_on_what_is_not_solved(known: dict[str, float], left: str) -> None:
    """Four at a time, every epoch holds each problem once; an examination asks for each once."""
    memory = shares(**known)
    drawn = letters(unsolved(memory, 0, 4, pool=POOL, drawn=4, size=2, most=0.25))
    assert sorted(drawn) == sorted(left * (4 // len(left)))
    assert all(set(drawn[i : i + len(left)]) == set(left) for i in range(0, 4, len(left)))
    assert sorted(letters(examine(memory, 0, 4, pool=POOL, size=2, most=0.25))) == sorted(left)


def test_a_refill_reads_on_where_the_draw_ended() -> None:
    sizes = {"pool": POOL, "drawn": 4, "size": 2, "most": 0.25}
    whole = letters(unsolved(Memory(0), 0, 9, **sizes))
    assert [letters(unsolved(Memory(0), at, 1, **sizes)) for at in range(9)] == [[letter] for letter in whole]
    assert letters(unsolved(Memory(0, step=1), 0, 5, **sizes)) == whole[4:]


def test_an_examination_is_noted_as_shares() -> None:
    made = [row.episode for row in [*rows_of("a", [True, False, False, False]), *rows_of("b", [False, True])]]
    made[-1] = dataclasses.replace(made[-1], verdict=Verdict.invalid("bug"))
    lost = dataclasses.replace(rows_of("c", [True])[0].episode, verdict=Verdict.invalid("bug"))
    ids = [episode.request.problem.id for episode in (made[0], made[4], lost)]
    before = Memory(0).keep(STORE, {ids[0]: 1.0, ids[2]: 0.5})
    assert keep_examined(before, episodes=[*made, lost]).stores[STORE] == {ids[0]: 0.25, ids[1]: 0.0, ids[2]: 0.5}


@pytest.mark.slow
def test_each_round_begins_with_one_step_that_examines_and_teaches_nothing() -> None:
    """Six steps: one examines, two search, and again. Four answers of a group of eight; the weights stand still."""
    recipe = recipe_of("deepsearch", max_new=6, num_prompts=2, group_size=8, num_steps=6, warmup_steps=0)
    recipe = with_rounds(recipe, 1)
    assert [stage.name for stage in recipe.stages] == ["examine", "search", "examine again", "search again"]
    notes, memory = run(recipe, policy("fp32", **KEEN))
    examined = [not any(r.in_loss for r in rows) for rows in notes.rows]
    assert examined == [True, False, False, True, False, False]
    for step in (0, 3):
        assert [e.request.sample for e in notes.episodes[step]] == [0, 1, 2, 3]  # the set is one problem here
        assert not any(e.request.pauses or e.request.parent for e in notes.episodes[step])
        assert "update/steps" not in notes.stats[step]
    (share,) = memory.stores[STORE].values()
    assert share == np.mean([e.right for e in notes.episodes[3]])


@pytest.mark.slow
def test_a_run_of_two_rounds_resumes() -> None:
    recipe = recipe_of("deepsearch", max_new=6, num_prompts=2, group_size=8, num_steps=6, learning_rate=0.002)
    recipe = with_rounds(recipe, 1)
    require_resumable(recipe, lambda: policy("fp32", **KEEN), after=4)


@pytest.mark.parametrize(
    ("limit", "depth", "size"), [(16384, 64, 256), (1024, 64, 16), (128, 64, 4), (22, 64, 4), (6, 64, 3), (22, 1, 22)]
)
def test_short_answers_are_searched_in_steps_that_say_something(limit: int, depth: int, size: int) -> None:
    """64 steps of an answer of 22 tokens would be of one: steps have 4 at the least, and there are at least two."""
    asked = dataclasses.replace(episode([1]).request, max_new=limit)
    first = first_steps([asked] * 8, Memory(0), width=8, depth=depth, least=4, marks="")
    assert {(request.max_new, request.pauses) for request in first} == {(size, size < limit)}


def test_deepsearch_on_a_laptop_has_no_nodes_of_one_token() -> None:
    made, _ = plan(RECIPES["deepsearch"], model="x/y", pool=Pool((Share("countdown", (3, 4)),)), profile="laptop")
    recall_, part = made.recipe.mechanism.ask
    asked = dataclasses.replace(episode([1]).request, max_new=made.recipe.scale.max_new)
    (first, *_) = bind(part)([asked], Memory(0))
    assert isinstance(recall_, Recall) and first.max_new == 4


@pytest.mark.parametrize("values", [{"width": 0}, {"depth": 0}, {"least": 0}])
def test_a_search_of_nothing_is_refused_before_anything_is_loaded(values: dict[str, int]) -> None:
    overrides = {f"mechanism.ask.1.{name}": str(value) for name, value in values.items()}
    (name,) = values
    with pytest.raises(ConfigError, match=rf"mechanism\.ask\.1\.{name} must be 1 or more, not 0"):
        plan(RECIPES["deepsearch"], model="x/y", pool=Pool((Share("countdown", (3,)),)), overrides=overrides)
