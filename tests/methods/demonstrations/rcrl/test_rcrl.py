"""Return-conditioned RL: what a step is worth, under which label it is learnt, and asking for good ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_draws import shown
from record_runs import IDENTITY
from tiny import ALONE, END, Letters, Table, batch_of, policy, recipe_of, require_resumable, run, update
from tiny import POOL as LETTERS_POOL
from tiny import register as register_letters
from worded import added
from worked import POOL, Signs, register

from assay.ask import Sampling, as_examined
from assay.engine.local import LocalEngine
from assay.engine.torch.engine import TorchEngine
from assay.known import RECIPES, SLOTS
from assay.lab.sample import asked_with
from assay.methods.demonstrations.rcrl.completions import COMPLETION, complete_steps, place_of, step_ends
from assay.methods.demonstrations.rcrl.condition import Conditioned, conditioned, labelled
from assay.methods.demonstrations.rcrl.labels import label_steps
from assay.part import Asking
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.record import RunFolder
from assay.rng import Key
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.scoring import bank
from assay.tasks.verifying import verify
from assay.types import Episode, Origin, Problem, Request, Reward, Row, Segment, Verdict

MAX_NEW = 12


class Marks(Signs):
    """The signs of the task, and those of labels."""

    signs = "ab,#[] GODBA\n"
    vocab = 1 + len(signs)


CODEC = Marks()


def question(sample: int = 0, *, group: str = "g", wording: Any = "compact", prompt: str = "ab") -> Request:
    problem = Problem("worked", prompt, {"letters": prompt}, prompt, wording=wording)
    return Request(problem, CODEC.render(prompt), group, MAX_NEW, draw=sum(map(ord, group)), sample=sample)


def answered(request: Request, text: str, *, right: bool | None = False, origin: str = "") -> Episode:
    """`.` is the end; `origin` spells who wrote each token: p or e."""
    ids = np.array([END if c == "." else 1 + CODEC.signs.index(c) for c in text], np.int32)
    who = np.array([Origin.ENV if c == "e" else Origin.POLICY for c in origin or "p" * len(text)], np.int8)
    new = slice(request.given, None)
    segment = Segment(ids[new], who[new], node=request.id, parent=request.parent)
    verdict = Verdict.invalid("bug") if right is None else Verdict.ok() if right else Verdict.fail("wrong")
    rewards = () if right is None else (Reward("outcome", float(right)),)
    return Episode(request, (*request.prefix, segment), "stop", text, verdict, rewards)


# Steps


@pytest.mark.parametrize(
    ("text", "wording", "origin", "ends"),
    [
        ("a,b,ab#a.", "compact", "", [2, 4, 9]),
        ("a.", "compact", "", [2]),
        ("a", "compact", "", [1]),
        ("", "compact", "", []),
        (".", "compact", "", [1]),
        ("a,b,.", "compact", "", [2, 5]),  # the end says nothing
        ("a,,b.", "compact", "", [3, 5]),
        (",a,b", "compact", "", [1, 3, 4]),
        ("a,b,", "compact", "", [2, 4]),
        ("a,b,a.", "compact", "ppeepp", [2, 6]),  # an environment ends no step
        ("a,b\n\nb\n.", "natural", "", [5, 8]),
        ("\n\na\nb", "natural", "", [2, 4, 5]),
    ],
)
def test_a_step_ends_at_a_mark(text: str, wording: str, origin: str, ends: list[int]) -> None:
    assert step_ends(answered(question(wording=wording), text, origin=origin), CODEC) == ends


@settings(max_examples=60)
@given(st.text("ab,.", max_size=14))
def test_steps_are_the_answer_end_to_end(text: str) -> None:
    ends = step_ends(answered(question(), text.rstrip(".") + "." * text.endswith(".")), CODEC)
    assert ends == sorted(set(ends)) and (ends[-1:] == [len(text.rstrip(".") + "." * text.endswith("."))] or not ends)


def test_every_step_but_the_last_is_gone_on_from() -> None:
    answers = [answered(question(0), "a,b,ab#a."), answered(question(1), "b."), answered(question(2), "b,a.")]
    asked = complete_steps(answers, codec=CODEC, num=3)
    assert [(r.group, r.sample, r.given, r.max_new) for r in asked] == [
        (f"g/completion {answer} {at}", sample, at, MAX_NEW - at)
        for answer, at in ((0, 2), (0, 4), (2, 2))
        for sample in range(3)
    ]
    assert len({r.id for r in asked}) == 9 and {r.tag for r in asked} == {COMPLETION}
    for request in asked:
        source = next(a for a in answers if a.request.id == request.parent)
        written = np.concatenate([s.ids for s in request.prefix])
        assert written.tolist() == source.stream("ids")[: request.given].tolist() and request.fork == request.given
    made = [answered(r, "a,b,a.", right=True) for r in asked]
    assert complete_steps([*answers, *made], codec=CODEC, num=3) == []


# Labels


def completions(answer: Episode, at: int, rights: Sequence[bool | None]) -> list[Row]:
    asked = [r for r in complete_steps([answer], codec=CODEC, num=len(rights)) if r.group == place_of(answer, at)]
    text = answer.text[:at] + "b."
    made = [answered(r, text, right=right) for r, right in zip(asked, rights, strict=True)]
    return [
        Row(e) if e.reward is not None else Row(e, in_loss=False, in_group=False, in_denominator=False) for e in made
    ]


def by_hand() -> list[Row]:
    """Steps a, | b, | ab#a. worth 3/4, 1/2 and wrong; a single right step; one that lost its verdict."""
    first, second = answered(question(0), "a,b,ab#a."), answered(question(1), "b.", right=True)
    lost = Row(answered(question(2), "b.", right=None), in_loss=False, in_group=False, in_denominator=False)
    rows = [Row(first), Row(second), lost]
    rows += completions(first, 2, [True, True, False, True])
    return rows + completions(first, 4, [True, False, None, None])


def test_labels_by_hand() -> None:
    """Good are a, and the second answer; bad are b, (one half is not above) and the end: two of each."""
    found = label_steps(by_hand(), codec=CODEC, threshold=0.5)
    learnt = [row for row in found if row.in_loss]
    keeps = [(row.tag, "".join("01"[int(k)] for k in row.keep)) for row in learnt]  # type: ignore[union-attr]
    assert keeps == [("GOOD", "110000000"), ("BAD", "001111111"), ("GOOD", "11")]
    assert [row.weight for row in learnt] == [1.0, 1.0, 1.0]
    texts = [CODEC.decode(row.episode.training_context.tolist()) for row in learnt]
    assert texts == ["ab [GOOD] ", "ab [BAD] ", "ab [GOOD] "]
    silent = [row for row in found if not row.in_loss]
    assert len(silent) == 1 + 8 and not any(row.in_denominator or row.in_group for row in silent)


def test_a_threshold_and_what_nobody_judged() -> None:
    rows = by_hand()
    found = [row for row in label_steps(rows, codec=CODEC, threshold=0.4) if row.in_loss]
    assert [(row.tag, int(row.keep.sum())) for row in found] == [("GOOD", 4), ("BAD", 5), ("GOOD", 2)]  # type: ignore[union-attr]
    assert [row.weight for row in found] == [4 / 6, 4 / 2, 4 / 6]  # three good steps, one bad
    rows = [row.mark(in_group=False) if row.group.endswith(" 2") else row for row in rows]
    found = [row for row in label_steps(rows, codec=CODEC, threshold=0.5) if row.in_loss]
    assert [(row.tag, int(row.keep.sum())) for row in found] == [("BAD", 7), ("GOOD", 2)]  # type: ignore[union-attr]
    assert [row.weight for row in found] == [3 / 4, 3 / 2]


def test_of_one_label_alone_every_step_weighs_one() -> None:
    rows = [Row(answered(question(i), "b.", right=True)) for i in range(3)]
    found = label_steps(rows, codec=CODEC, threshold=0.5)
    assert [(row.tag, row.weight, row.in_loss) for row in found] == [("GOOD", 1.0, True)] * 3


def test_the_push_by_hand() -> None:
    """- w / N on each token of its label, N = 4 + 5 + 2 that train."""
    recipe = recipe_of("rcrl", max_new=MAX_NEW, num_minibatches=1)
    found = [row for row in label_steps(by_hand(), codec=CODEC, threshold=0.4) if row.in_loss]
    renamed = [
        row.mark(
            episode=dataclasses.replace(
                row.episode, request=dataclasses.replace(row.episode.request, sample=10 + place)
            )
        )
        for place, row in enumerate(found)
    ]
    batch = batch_of(recipe, renamed)
    table = Table({name: [-1.0] * n for name, n in zip(batch.request, batch.lengths, strict=True)})
    update(table, batch, recipe.mechanism.objective, recipe.scale)
    good, bad, single = (table.coefficients[row.episode.request.id] for row in renamed)
    np.testing.assert_allclose(good, np.array([1.0] * 4 + [0.0] * 5) * -(4 / 6) / 11, rtol=1e-6)
    np.testing.assert_allclose(bad, np.array([0.0] * 4 + [1.0] * 5) * -2 / 11, rtol=1e-6)
    np.testing.assert_allclose(single, np.full(2, -(4 / 6) / 11), rtol=1e-6)


@settings(max_examples=40)
@given(
    answers=st.lists(st.tuples(st.text("ab,", min_size=1, max_size=8), st.booleans()), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
def test_every_step_is_learnt_once_and_labels_weigh_the_same(answers: list[tuple[str, bool]], seed: int) -> None:
    random = np.random.default_rng(seed)
    base = [answered(question(i), text + ".", right=right) for i, (text, right) in enumerate(answers)]
    rows, steps = [Row(e) for e in base], {e.request.id: step_ends(e, CODEC) for e in base}
    for episode in base:
        for at in steps[episode.request.id][:-1]:
            rows += completions(episode, at, [bool(x) for x in random.integers(0, 2, 3)])
    learnt = [row for row in label_steps(rows, codec=CODEC, threshold=0.5) if row.in_loss]
    mass: dict[str, float] = {}
    for episode in base:
        mine = [row for row in learnt if row.episode.request.id == episode.request.id]
        keeps = [row.keep for row in mine if row.keep is not None]
        assert (sum(keep.astype(int) for keep in keeps) == 1).all() and len({row.tag for row in mine}) == len(keeps)  # type: ignore[union-attr]
        for row in mine:
            spans = zip([0, *steps[episode.request.id]], steps[episode.request.id], strict=False)
            count = sum(bool(row.keep[a]) for a, _ in spans)  # type: ignore[index]
            mass[row.tag] = mass.get(row.tag, 0.0) + row.weight * count
    total = sum(map(len, steps.values()))
    assert sum(mass.values()) == pytest.approx(total)
    assert len(mass) == 1 or mass["GOOD"] == pytest.approx(mass["BAD"])


# Asking


def test_a_label_stands_at_the_end_of_a_prompt() -> None:
    (asked,) = conditioned([question()], codec=CODEC, label="GOOD")
    assert CODEC.decode(asked.context.tolist()) == "ab [GOOD] " and asked.train_context is None
    told = Problem("worked", "ab", {}, "ab", wording="natural")
    assert labelled(Prompt.of(told), "BAD").told == "ab\n\n[BAD]"
    chat = dataclasses.replace(told, prompt=({"role": "user", "content": "ab"},))
    assert labelled(Prompt.of(chat), "BAD").told == ({"role": "user", "content": "ab\n\n[BAD]"},)


def test_held_out_problems_areasked_with_it() -> None:
    """And with no other part of the recipe."""
    parts = (*RECIPES["luffy"].mechanism.ask, Conditioned(label="GOOD"))
    asked = as_examined(parts, CODEC)
    (request,) = asked([question()])
    assert CODEC.decode(request.context.tolist()) == "ab [GOOD] " and not request.prefix
    (bare,) = as_examined(RECIPES["luffy"].mechanism.ask, CODEC)([question()])
    assert bare.context.tolist() == question().context.tolist()
    asking = {name: part for name, part in SLOTS["ask"].items() if issubclass(part, Asking)}
    examined = {name for name, part in asking.items() if part.examined}
    assert examined == {"templated", "conditioned", "limit-calls", "forget-replies"}


def test_an_examination_asks_for_good_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    engine, seen = policy("fp32", vocab=Marks.vocab, context=64), []
    generate = engine.generate

    def listening(requests: Sequence[Request], key: Key, **more: Any) -> list[Any]:
        seen.extend(requests)
        return generate(requests, key, **more)

    engine.generate = listening  # type: ignore[method-assign]
    problems = [POOL.problem(Key(i)) for i in range(3)]
    problems = list({p.id: p for p in problems}.values())
    settings_ = {"samples": 2, "key": Key(0), "sampling": Sampling(4), "codec": CODEC, "verify": verify}
    asked = as_examined(RECIPES["rcrl"].mechanism.ask, CODEC)
    bank.evaluate(engine, problems, asked=asked, **settings_)
    assert all(CODEC.decode(r.context.tolist()).endswith("[GOOD] ") for r in seen) and len(seen) == 2 * len(problems)
    bank.evaluate(engine, problems, **settings_)
    assert not any("GOOD" in CODEC.decode(r.context.tolist()) for r in seen[2 * len(problems) :])


def test_prompts_are_measured_with_their_label() -> None:
    problem = question().problem
    assert added(RECIPES["rcrl"], problem, CODEC) == len(" [GOOD]")
    assert added(RECIPES["grpo"], problem, CODEC) == 0


# Runs


def small(**scale: object) -> Recipe:
    values = {"num_prompts": 2, "group_size": 4, "warmup_steps": 0, "num_steps": 3, **scale}
    return recipe_of("rcrl", max_new=MAX_NEW, **values)


def beginner() -> LocalEngine:
    return policy("fp32", vocab=Marks.vocab, hidden=16, ffn=16, context=64, init_std=0.3)


@pytest.mark.slow
def test_the_first_round_asks_bare_and_the_others_for_good_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """All answers of a round are of one policy, and completions are of steps of theirs."""
    register(monkeypatch)
    notes, memory = run(small(num_steps=6, num_prompts=4), beginner(), pool=POOL, codec=CODEC)
    texts = [{CODEC.decode(e.request.context.tolist())[-7:] for e in step} for step in notes.episodes]
    assert not any("GOOD" in text for step in texts[:2] for text in step)
    assert all(text == "[GOOD] " for step in texts[2:] for text in step)
    completed = [e for step in notes.episodes for e in step if e.request.tag == COMPLETION]
    assert completed and memory.stage == 2
    for step in notes.episodes:
        known = {e.request.id: e for e in step}
        for one in [e for e in step if e.request.tag == COMPLETION]:
            source = known[one.request.parent]
            assert one.request.given in step_ends(source, CODEC)[:-1]
            assert len(one) <= MAX_NEW
    assert all({row.tag for row in step if row.in_loss} <= {"GOOD", "BAD"} for step in notes.rows)
    versions = [{s.version for e in step for s in e.segments} for step in notes.episodes]
    assert versions == [{0}, {0}, {2}, {2}, {4}, {4}]


class Told(Letters):
    """A label is a letter behind the question."""

    def render(self, prompt: str) -> np.ndarray:
        for label, letter in (("GOOD", "b"), ("BAD", "c")):
            prompt = prompt.replace(f" [{label}]", letter)
        return super().render(prompt)


def letters() -> TorchEngine:
    return policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1)  # type: ignore[return-value]


def likelihood(engine: LocalEngine, label: str) -> float:
    """Of the letter asked for and the end, under this label."""
    from assay.engine.interface import Span

    problem = LETTERS_POOL.problem(Key("any"))
    span = Span(Told().render(str(labelled(Prompt.of(problem), label).told)), np.array([1, END], np.int32))
    return float(engine.score([span])[0].logp.sum())


@pytest.mark.slow
@pytest.mark.learning
def test_good_answers_are_learnt_under_their_label_and_unlearnt_with_the_sign_turned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three rounds of eight steps: right answers are what GOOD gives and BAD does not. Then the other way."""
    register_letters(monkeypatch, ALONE)
    engine = letters()
    values = {"num_prompts": 8, "group_size": 8, "num_steps": 24, "warmup_steps": 2}
    recipe = recipe_of("rcrl", max_new=4, learning_rate=0.014, **values)
    before = likelihood(engine, "GOOD")
    notes, _ = run(recipe, engine, codec=Told())
    rounds = notes.accuracy().reshape(3, 8).mean(-1)
    good, bad = likelihood(engine, "GOOD"), likelihood(engine, "BAD")
    shown("rise", rounds[2] - rounds[0], above=0.3)
    shown("rise of the log-probability under GOOD", good - before, above=0.5)
    shown("log-probability under GOOD, less that under BAD", good - bad, above=1.0)
    again = letters()
    again.load({**engine.state(), "version": 0})
    asking = dataclasses.replace(recipe, stages=recipe.stages[1:])
    asking = dataclasses.replace(asking, scale=dataclasses.replace(asking.scale, learning_rate=0.01))
    notes, _ = run(asking, again, flipped=True, codec=Told())
    rounds = notes.accuracy().reshape(2, 12).mean(-1)
    shown("rise with the sign turned", rounds[1] - rounds[0], below=-0.3)
    shown("rise of the log-probability with the sign turned", likelihood(again, "GOOD") - good, below=-2.0)


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_to_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the second round."""
    register(monkeypatch)
    require_resumable(small(num_steps=9), beginner, after=4, pool=POOL, codec=CODEC)


def test_the_policy_of_a_run_is_examined_as_it_was_in_the_run(path: Path) -> None:
    def asked(name: str) -> str:
        return CODEC.decode(asked_with(name, CODEC)([question()])[0].context.tolist())

    assert asked("countdown") == "ab "
    for recipe in ("rcrl", "grpo"):
        experiment = Experiment(RECIPES[recipe], "countdown", POOL)
        folder = RunFolder.create(path / recipe, identity=IDENTITY, document={"experiment": to_data(experiment)})
        folder.close()
        assert asked(str(path / recipe)) == ("ab [GOOD] " if recipe == "rcrl" else "ab ")
