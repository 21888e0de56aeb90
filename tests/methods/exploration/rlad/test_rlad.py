"""Abstractions and answers: who is asked what, what each is worth, who trains, and what bare problems keep."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
import worked
from fitting import CHAIN, CHAINS, CODEC, planned
from fitting import policy as reader
from hypothesis import given
from hypothesis import strategies as st
from tiny import (
    ALONE,
    Letters,
    Notes,
    batch_of,
    episode,
    loss_and_gradient,
    models_for,
    policy,
    recipe_of,
    register,
    require_resumable,
    run,
    segment,
    stages_of,
)
from worded import added

from assay.ask import Sampling, first_requests
from assay.ask.demonstrate import demonstrate
from assay.engine.interface import Span
from assay.errors import DataError
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.methods.exploration.rlad.abstract import (
    GIVEN,
    abstract,
    distilled,
    teach_abstractions,
    to_abstract,
    write_then_solve,
)
from assay.methods.exploration.rlad.players import helpful, without_advantage
from assay.methods.exploration.rlad.solve import solve_with
from assay.methods.exploration.rlad.usefulness import usefulness
from assay.models import Models
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.rng import Key
from assay.run.context_fit import check_lengths
from assay.types import Episode, Problem, Request, Row, Stats

RLAD = ("rlad", "rlad-hierarchical", "rlad-two", "rlad-joint")


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


def small(name: str, **scale: object) -> Recipe:
    rows = {"num_prompts": 2, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of(name, max_new=3, **{**rows, **scale})


def requests(problems: int = 8, samples: int = 16) -> list[Request]:
    some = [ALONE.problem(Key(i), level=1) for i in range(problems)]
    return first_requests(some, Memory(0), first=0, samples=samples, sampling=Sampling(max_new=6), codec=Letters())


def judged(z: Episode, *right: bool) -> list[Episode]:
    """Answers with this abstraction, or without any."""
    parent = z.request.id if z.request.role == "abstraction" else ""
    return [
        dataclasses.replace(one, request=dataclasses.replace(one.request, parent=parent, draw=z.request.draw))
        for one in (episode([1], sample=i, reward=float(r)) for i, r in enumerate(right))
    ]


def idea(sample: int = 0, text: str = "", **changes: object) -> Episode:
    made = episode([2], sample=sample, role="abstraction", reward=None, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(made, verdict=None, text=text)


# Who is asked what


def test_every_eighth_problem_is_bare_and_abstractions_come_first() -> None:
    made = abstract(requests(), codec=Letters(), num=1, longest=2, bare=0, bare_every=8)
    assert [r.role for r in made] == ["abstraction"] * 7 + ["policy"] * 16
    assert {r.max_new for r in made[:7]} == {2} and {r.tag for r in made[7:]} == {"bare"}
    assert {r.draw for r in made[7:]} == {7} and {r.group for r in made[7:]} == {"0:7/bare"}
    both = abstract(requests(1), codec=Letters(), num=4, longest=2, bare=8, bare_every=0)
    assert [r.role for r in both] == ["abstraction"] * 4 + ["policy"] * 8


def test_answers_follow_their_abstraction_once() -> None:
    asked = abstract(requests(1), codec=Letters(), num=2, longest=2, bare=0, bare_every=0)
    written = [Episode(r, (segment([2, 3]),), "stop", text=text) for r, text in zip(asked, ("bc", "d"), strict=True)]
    found = solve_with(written, codec=Letters(), sampling=Sampling(max_new=6), samples=3)
    assert [r.parent for r in found] == [asked[0].id] * 3 + [asked[1].id] * 3
    assert all(r.helped for r in found)
    assert (
        {r.group for r in found} == {"0:0"}
        and len({r.id for r in found}) == 6
        and {r.role for r in found} == {"policy"}
    )
    assert Letters().decode(found[0].context.tolist()) == "abcc"  # the question, the hint, the mark of the codec
    answers = [Episode(r, (segment([1]),), "stop") for r in found]
    assert solve_with([*written, *answers], codec=Letters(), sampling=Sampling(max_new=6), samples=3) == []


def test_wording_of_conversations_touches_the_last_message_alone() -> None:
    talk = ({"role": "system", "content": "s {x}"}, {"role": "user", "content": "q {y}"})
    problem = Problem("tiny", talk, {}, "q", wording="natural")
    asked = "q {y}"
    assert Prompt.of(problem).within(GIVEN, hint="h").told == (
        talk[0],
        {"role": "user", "content": f"<hint>\nh\n</hint>\n\n{asked}"},
    )
    told = to_abstract(Prompt.of(problem)).told
    assert not isinstance(told, str) and told[1]["content"].startswith(f"{asked}\n\nDo not solve this.")


# What an abstraction is worth


@given(st.lists(st.lists(st.sampled_from([True, False, None]), max_size=4), min_size=1, max_size=4), st.randoms())
@pytest.mark.slow
def test_the_mean_of_its_own_answers_in_any_order(outcomes: list, random: object) -> None:
    """None counts nowhere: an error of ours. An abstraction without a judged answer has no reward yet."""
    ideas = [idea(i) for i in range(len(outcomes))]
    everyone = list(ideas)
    for z, results in zip(ideas, outcomes, strict=True):
        right = [bool(r) for r in results]
        made = judged(z, *right)
        everyone += [
            one if r is not None else dataclasses.replace(one, verdict=None, rewards=())
            for one, r in zip(made, results, strict=True)
        ]
    random.shuffle(everyone)  # type: ignore[attr-defined]
    for found, results in zip(usefulness(ideas, everyone=everyone), outcomes, strict=True):
        known = [r for r in results if r is not None]
        assert (found is None) == (not known)
        assert found is None or found.value == pytest.approx(np.mean(known))


def test_only_what_helps_and_does_not_leak_is_imitated() -> None:
    """Without: 1 of 4. With: 2 of 4, 1 of 4, 4 of 4 but it gives the answer away, none judged."""
    problem = Problem("tiny", "a", {"letter": "a"}, "a", level=1, solution="7,2#123")
    ideas = [idea(0), idea(1), idea(2, text="is 123"), idea(3)]
    ideas = [dataclasses.replace(z, request=dataclasses.replace(z.request, problem=problem)) for z in ideas]
    results = ([True, True, False, False], [True, False, False, False], [True] * 4, [])
    without = judged(episode([1]), True, False, False, False)
    answers = [one for z, right in zip(ideas, results, strict=True) for one in judged(z, *right)]
    rows = [Row(one) for one in (*ideas, *answers, *without)]
    rows = [dataclasses.replace(r, episode=r.episode) for r in rows]
    draws = {row.episode.request.draw for row in rows}
    assert len(draws) == 1
    kept = helpful(rows, role="abstraction", margin=0.0, least=3)
    assert [row.in_loss for row in kept[:4]] == [True, False, False, False] and all(r.in_loss for r in kept[4:])
    assert not any(row.in_loss for row in helpful(rows, role="abstraction", margin=0.3, least=3)[:4])


def test_answers_are_compared_over_their_problem_and_abstractions_by_their_means() -> None:
    """Two ideas with means 1 and 1/2, so +-1/sqrt 2; answers 1, 1, 1, 0 with mean 3/4 and deviation 1/2."""
    recipe = small("rlad-hierarchical")
    ideas = [idea(i, group="p/z", draw=0) for i in range(2)]
    answers = [*judged(ideas[0], True, True), *judged(ideas[1], True, False)]
    worth = usefulness(ideas, everyone=[*ideas, *answers])
    ideas = [dataclasses.replace(z, rewards=(r,)) for z, r in zip(ideas, worth, strict=True) if r]
    batch = batch_of(recipe, [Row(one) for one in (*ideas, *answers)])
    means = {batch.request[i]: batch.advantage[batch.at[i]] for i in range(len(batch))}
    found = [means[z.request.id] for z in ideas]
    np.testing.assert_allclose(found, [2**-0.5, -(2**-0.5)], rtol=1e-4)
    np.testing.assert_allclose([means[a.request.id] for a in answers], [0.5, 0.5, 0.5, -1.5], rtol=1e-4)


# Bare problems


def bare_and_not() -> list[Row]:
    """Two groups of answers, the second of them bare; old and reference log-probs differ from the policy's."""
    engine, random = policy("fp64"), np.random.default_rng(4)
    rows = [
        Row(episode([1, 2, 0], group=group, sample=i, reward=float(i < 2)), tag="bare" if group == "b" else "")
        for group in "ab"
        for i in range(4)
    ]
    result = []
    for row in rows:
        one = row.episode
        (s,) = engine.score([Span(one.request.context, one.stream("ids").astype(np.int32))])
        shift = random.normal(0, 0.5, 3).astype(np.float32)
        result.append(row.mark(old=s.logp, ref=s.logp + shift))
    return result


def test_a_bare_problem_keeps_its_kl_and_nothing_else() -> None:
    """Its policy gradient is exactly zero, its KL is not, and nobody else's advantage knows of the mark."""
    recipe = recipe_of("rlad", max_new=3)
    paid, masked = bare_and_not(), without_advantage(bare_and_not(), tag="bare")
    one, other = (batch_of(recipe, rows) for rows in (paid, masked))
    mine = np.repeat([tag == "bare" for tag in other.tag or ()], other.lengths)
    assert (other.advantage[mine] == 0).all() and other.mask[mine].all() and other.counted[mine].all()
    assert (one.advantage[mine] != 0).all()
    np.testing.assert_array_equal(one.advantage[~mine], other.advantage[~mine])
    bare = np.flatnonzero([tag == "bare" for tag in other.tag or ()])
    plain = dataclasses.replace(recipe.mechanism.objective, regularise=())
    without = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=plain))
    engine = policy("fp64")
    _, kept = loss_and_gradient(engine, other, recipe, rows=bare)
    _, none = loss_and_gradient(engine, other, without, rows=bare)
    assert kept.norm() > 1e-6 and (none == 0).all()


# What is given and what is held


def test_a_given_abstraction_is_half_of_the_steps_or_the_hint_unless_it_tells_the_answer() -> None:
    """Steps a, b, a# of `aba`: half of three is two, so `a,b`; the answer `a` is in it."""
    problem = worked.TASK.pose({"letters": "aba"}, level=3)
    assert problem.solution == "a,b,a#a"
    request = Request(problem, Reading().render("aba"), "0:0/z", 6, role="abstraction")

    def text(least: int, shortest: int = 1, share: float = 0.5, **changes: Any) -> str | None:
        asked = dataclasses.replace(request, problem=dataclasses.replace(problem, **changes))
        found = distilled([asked], codec=Reading(), share=share, shortest=shortest, least=least)
        if not found:
            return None
        (one,) = found
        assert one.max_new == 0 and one.prefix[0].origin.all() and one.prefix[0].ids[-1] == 0
        return Reading().decode(one.prefix[0].ids.tolist()[:-1])

    assert text(2) == "a,b" and text(1) is None
    assert text(2, shortest=3) == "a,b" and text(2, shortest=4) is None
    assert text(2, share=0.2) == "a" and text(2, hints=("b b",)) == "b b" and text(1, hints=("b b",)) == "b b"
    assert text(2, solution="a") is None  # a single step is the answer
    with pytest.raises(DataError, match=r"neither a hint nor a worked solution.*stages\.0\.share 0"):
        text(2, solution=None)


def test_an_abstraction_and_its_answer_are_one_text_with_one_advantage() -> None:
    (one,) = write_then_solve(requests(1, 1), codec=Letters())
    assert one.context.tolist() == Letters().render("a").tolist() and one.role == "policy"
    assert one.prompt.told == "a !"
    rows = [Row(episode([2, 3, 1], sample=i, reward=float(i))) for i in range(2)]
    batch = batch_of(small("rlad-joint"), rows)
    np.testing.assert_allclose(batch.advantage, [*[-(2**-0.5)] * 3, *[2**-0.5] * 3], rtol=1e-4)


def test_a_base_is_taught_abstractions_beside_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 requests with share 0.3: 120 +- 5 deviations of 9; never all of the steps."""
    worked.register(monkeypatch)
    problem = worked.TASK.pose({"letters": "ab"}, level=2)
    some = [Request(problem, Reading().render("ab"), "0:0", 6, sample=i) for i in range(400)]
    made = demonstrate(teach_abstractions(some, Memory(0), codec=Reading(), share=0.3), Memory(0), codec=Reading())
    texts = [Reading().decode(np.concatenate([s.ids for s in r.prefix]).tolist()) for r in made]
    assert set(texts) == {"a.", "a,b#b."} and abs(texts.count("a.") - 120) < 46
    assert {r.max_new for r in made} == {0}


def test_an_abstraction_is_never_longer_than_an_answer_may_be() -> None:
    for longest, expected in ((4, 4), (1024, 6)):
        made = abstract(requests(1), codec=Letters(), num=1, longest=longest, bare=1, bare_every=0)
        assert [r.max_new for r in made] == [expected, 6]


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "hint"), [(5, 5), (1024, 20)])
def test_abstractions_must_fit_before_the_question(longest: int, hint: int) -> None:
    """` [`, the abstraction and `]` after the question; never more tokens than an answer, here 20."""
    experiment = planned("rlad-two", CHAINS, **{"mechanism.ask.0.longest": str(longest), "scale.max-new": "20"})
    _, plain, _ = check_lengths(planned("grpo", CHAINS, **{"scale.max-new": "20"}), reader(128))
    assert check_lengths(experiment, reader(plain + 3 + hint + 20))[1] == plain + 3 + hint
    with pytest.raises(DataError, match="positions"):
        check_lengths(experiment, reader(plain + 3 + hint + 19))


def test_what_is_written_first_lengthens_each_prompt() -> None:
    assert added(RECIPES["rlad"], CHAIN, CODEC) == 3 + 1024


# In the loop


@pytest.mark.slow
@pytest.mark.parametrize("name", RLAD)
def test_a_run_goes_on_bit_for_bit(name: str) -> None:
    require_resumable(small(name), lambda: policy("fp32", init_std=0.1), after=1)


@pytest.mark.parametrize("name", ["rlad-hierarchical", "rlad-two"])
@pytest.mark.slow
@pytest.mark.learning
def test_both_players_learn_on_policy(name: str) -> None:
    recipe, engine = small(name, num_prompts=8), policy("fp32", init_std=0.1)
    notes, _ = run(recipe, engine)
    for episodes in notes.episodes:
        roles = [e.request.role for e in episodes]
        assert roles.count("abstraction") == 8 * 4 and roles.count("policy") == 8 * 4 * 4
        known = {e.request.id for e in episodes if e.request.role == "abstraction"}
        assert all(e.request.parent in known for e in episodes if e.request.role == "policy")
        assert all((e.verdict is None) == (e.request.role == "abstraction") for e in episodes)
    assert len(notes.batches[0]) == (1 if name == "rlad-hierarchical" else 2)
    assert {role for step in notes.batches for b in step for role in b.roles or ()} == {"policy", "abstraction"}


@pytest.mark.slow
def test_the_proposer_learns_first_and_the_solver_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten steps: one of imitation, one in which both write and nobody learns, one of imitation, seven of the solver."""
    worked.register(monkeypatch)
    recipe = small("rlad", num_prompts=8, num_steps=10)
    phases, notes = stages_of(recipe, pool=worked.POOL, codec=Reading()), Weights()
    models = models_for(recipe, policy("fp32", vocab=Reading.vocab, context=64, init_std=0.1))
    memory = train(phases, models, Memory(0), notes)
    roles = [{role for b in step for role in b.roles or ()} for step in notes.batches]
    assert roles == [{"abstraction"}, set(), {"abstraction"}, *[{"policy"}] * 7] and memory.stage == 3
    steps = itertools.pairwise(notes.seen)
    moved = [{name for name in ("policy", "proposer") if now[name] != before[name]} for before, now in steps]
    assert moved == [{"proposer"}, set(), {"proposer"}, *[{"policy"}] * 7]
    given, written, told = notes.episodes[0], notes.episodes[1], notes.episodes[2]
    for e in given:  # all steps but the last, which of two and three are half
        assert e.text == ",".join(e.request.problem.spec["letters"][:-1]) and e.segments[0].origin.all()
    kept = [row.episode for row in notes.rows[1] if row.tag == "helpful"]
    assert kept and len(told) == 32 and {e.text for e in told} == {e.text for e in kept}
    assert memory.budget.generated_tokens == sum(len(e) for step in (written, *notes.episodes[3:]) for e in step)
    assert {tag for b in notes.batches[3] for tag in b.tag or ()} == {"", "bare"} and not memory.kept


class Weights(Notes):
    """Keeps the weights of every set, before the first step and after each."""

    seen: list[dict[str, bytes]]

    def started(self, memory: Memory, models: Models) -> None:
        self.seen = [_weights(models)]

    def step(self, memory: Memory, models: Models, episodes: Any, rows: Any, batches: Any, stats: Stats) -> None:
        super().step(memory, models, episodes, rows, batches, stats)
        self.seen.append(_weights(models))


def _weights(models: Models) -> dict[str, bytes]:
    return {name: b"".join(p.detach().numpy().tobytes() for p in models[name].model.parameters()) for name in models}  # type: ignore[attr-defined]


class Reading(worked.Signs):
    """Passes over the signs of the templates that it does not know."""

    def encode(self, text: str) -> np.ndarray:
        return super().encode("".join(sign for sign in text if sign in self.signs))
