"""No judgement is a value of its own, in every reward that reads what a role or a judge wrote about an answer.

Whatever it is that cannot be read, the answer has no judgement, which is no judgement of zero; the other answers are
judged as if it had none, and a metric counts it. The rewards come from the registry, so that a new one is tested too.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import fake_judge
import judged
import of_methods
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import RULED, Signs, answer, asked, comparison, judgement
from tiny import episode

from assay.known import PARTS
from assay.memory import Memory
from assay.part import Rewarding, bind
from assay.record.measure import step_stats
from assay.reward import Cascade, Gated, Misjudged, Outcome, Product, ScoredBy, Sum, Veto
from assay.reward.composed import combined
from assay.tasks.judging import written
from assay.types import Episode, Problem, Reward, Verdict


def of_rewards(table: str) -> dict[str, Any]:
    """What methods say of their rewards, by the name of the reward."""
    return {place.removeprefix("reward:"): value for place, value in of_methods.said(table).items()}


OF_ITS_OWN: dict[str, str] = {
    "collective-vote": "answers of other roles, of which those that name none have no vote",
    "learnt-score": "critiques, of which a network reads any text",
    **of_rewards("OF_ITS_OWN"),
}
"""Rewards that look at other episodes, and read there no judgement that a role wrote: what they read."""

ASKED = {
    name: part
    for name, part in PARTS[Rewarding].items()
    if {"everyone", "endpoint"} & inspect.signature(part.does).parameters.keys() and name not in OF_ITS_OWN
}

Judging = Callable[[str | None], tuple[list[Episode], list[Episode]]]
"""What the role wrote about the second answer, None for nothing -> (the answers, all episodes)."""


def alone(problem: Problem, said: Sequence[str]) -> Judging:
    """Three answers, of which a role judged each by itself."""
    answers = [answer(text, problem, sample=i) for i, text in enumerate(["a,a#b", "a,b#b", "b,b#a"])]

    def of(text: str | None) -> tuple[list[Episode], list[Episode]]:
        told = [said[0], text, said[1]]
        judgements = [judgement(one, what) for one, what in zip(answers, told, strict=True) if what is not None]
        return answers, [*answers, *judgements]

    return of


def in_pairs(answers: Sequence[Episode], role: str) -> Judging:
    """Three answers, which a role compared two by two; of those with the second one all have the same text."""
    fair = {(0, 2): "1", (2, 0): "1"}

    def of(text: str | None) -> tuple[list[Episode], list[Episode]]:
        places = [pair for pair in itertools.permutations(range(3), 2) if 1 not in pair or text is not None]
        told = [comparison(answers[i], answers[j], fair.get((i, j), text or ""), role=role) for i, j in places]
        return list(answers), [*answers, *told]

    return of


def judgements() -> list[Episode]:
    return [judgement(answer("b"), text, sample=i) for i, text in enumerate(["1", "0", "+#1"])]


def three_answers() -> list[Episode]:
    return [answer(text, sample=i) for i, text in enumerate(["b", "a", "ab"])]


COMPARED = {"answers": three_answers, "judgements": judgements}


def _compared(what: str, role: str, worst: str) -> tuple[Callable[[], Judging], str]:
    return lambda: in_pairs(COMPARED[what](), role), worst


MARKED = of_rewards("MARKED")
TASKS = {"steps": judged.STEPPED, "rules": RULED}  # by what of an answer is marked


def _marked(what: str, said: Sequence[str], worst: str) -> tuple[Callable[[], Judging], str]:
    return lambda: alone(asked("ab", TASKS[what]), said), worst


CASES: dict[str, tuple[Callable[[], Judging], str]] = {
    "scored-by": (lambda: alone(asked(), ["++#1", "+-#0"]), "--#0"),
    **{name: _marked(*told) for name, told in MARKED.items()},
    **{name: _compared(*told) for name, told in of_rewards("JUDGED").items()},
}
"""Reward -> (who judged what, the text of a judgement that is worth nothing, or of the worst one)."""

UNREADABLE = ["", "?", "+", "#", "+-#", "#9", "1 2", "the answer is good", "+#1#", '{"rating": 10}']


def register(patch: pytest.MonkeyPatch, name: str) -> None:
    judged.register(patch, TASKS[MARKED[name][0]] if name in MARKED else judged.STEPPED)


def rewarded(name: str, text: str | None) -> tuple[list[Episode], list[Episode]]:
    """The answers with this reward, and all episodes."""
    answers, everyone = CASES[name][0]()(text)
    found = bind(PARTS[Rewarding][name](), codec=Signs())(answers, everyone=everyone, memory=Memory(0))
    paid = [dataclasses.replace(a, rewards=() if r is None else (r,)) for a, r in zip(answers, found, strict=True)]
    return paid, [*paid, *everyone[len(answers) :]]


def plain(reward: Reward | None) -> Any:
    """A reward as plain values. NaN equals nothing, so that it is named."""
    if reward is None or reward.unread or reward.invalid:
        return reward and (reward.name, reward.unread, reward.invalid)
    values = None if reward.values is None else reward.values.tolist()
    return reward.name, reward.value, values, [plain(part) for part in reward.parts if not part.unread]


def of(episodes: Sequence[Episode]) -> list[Any]:
    return [plain(next(iter(e.rewards), None)) for e in episodes]


def require_apart(name: str, text: str) -> None:
    paid, everyone = rewarded(name, text)
    (second,) = paid[1].rewards
    assert second.unread and paid[1].reward is None
    zero, _ = rewarded(name, CASES[name][1])
    assert not zero[1].rewards[0].unread and zero[1].reward is not None
    assert of(paid) == of(rewarded(name, UNREADABLE[0])[0]), "what cannot be read makes no difference"
    nobody, _ = rewarded(name, None)
    assert [of(paid)[i] for i in (0, 2)] == [of(nobody)[i] for i in (0, 2)]
    assert all(paid[i].rewards and not paid[i].rewards[0].unread for i in (0, 2))
    stats = step_stats(everyone, [])
    assert stats[f"reward/unread/{name}"] == 1 and stats["judgements/unread"] > 0


def test_every_reward_that_reads_judgements_is_tested() -> None:
    """A new reward has an endpoint, or needs a case here, or a word on what else it reads."""
    endpoints = {name for name, part in ASKED.items() if "endpoint" in inspect.signature(part.does).parameters}
    assert endpoints == set(ENDPOINTS)
    assert ASKED.keys() - endpoints == set(CASES)
    assert OF_ITS_OWN.keys() <= PARTS[Rewarding].keys()


@pytest.mark.parametrize("text", UNREADABLE)
@pytest.mark.parametrize("name", CASES)
def test_what_a_role_wrote_and_nobody_can_read(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, name)
    require_apart(name, text)


@settings(max_examples=25)
@given(st.text(judged.SIGNS, max_size=8), st.sampled_from(sorted(CASES)))
def test_any_text_that_is_no_judgement(text: str, name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        register(patch, name)
        said = CASES[name][0]()(text)[1][3:]
        if not any(written(e) is not None for e in said if e.text == text):
            require_apart(name, text)


# Judges behind an endpoint: what they reply to any question about one of three answers cannot be read.

ENDPOINTS: dict[str, dict[str, Any]] = {
    "judge-single": {},
    "judge-pairs": {},
    "judge-reference": {},
    "judge-rubric": {"criteria": ("It is short.", "It is true.")},
    **of_rewards("ENDPOINTS"),
}
PROBLEM = Problem("data", "Name it.", {"gold": "a yew", "columns": of_methods.said("COLUMNS")}, "p", wording="natural")
TEXTS = ["An elm \\boxed{elm}", "A yew \\boxed{yew}", "An oak tree \\boxed{oak tree}"]
GARBAGE = ["", "Yes.", "{}", '{"rating": "many"}', "[1, 2]", '{"met": [']


def written_by_policy(text: str) -> Episode:
    made = episode([1], sample=TEXTS.index(text))
    request = dataclasses.replace(made.request, problem=PROBLEM)
    return dataclasses.replace(made, request=request, text=text, verdict=Verdict.fail("wrong"), finish="stop")


def answered(part: Rewarding, texts: Sequence[str], reply: str) -> list[Episode]:
    """Answers with the reward of a judge that writes this whenever it reads of a yew."""

    def script(count: int, body: dict[str, Any]) -> fake_judge.Act:
        shown = fake_judge.blocks(body)
        theirs = [text for label, text in shown.items() if label.startswith(("candidate", "response"))]
        return fake_judge.Act(text=reply) if any("yew" in one for one in theirs) else fake_judge.plain(count, body)

    with fake_judge.serving(script) as server:
        place = fake_judge.endpoint(server, attempts=1)
        answers = [written_by_policy(text) for text in texts]
        found = bind(dataclasses.replace(part, endpoint=place))(answers, everyone=answers, memory=Memory(0))
    return [dataclasses.replace(a, rewards=() if r is None else (r,)) for a, r in zip(answers, found, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDPOINTS)
def test_what_a_judge_wrote_and_nobody_can_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.verifiers.judges.client.PAUSE", 0.0)
    part = ASKED[name](**ENDPOINTS[name])
    assert isinstance(part, Rewarding)
    without = of(answered(part, TEXTS[::2], ""))
    for reply in GARBAGE:
        paid = answered(part, TEXTS, reply)
        assert paid[1].rewards[0].invalid == "judge_garbage" and paid[1].reward is None
        assert of(paid)[::2] == without
        assert step_stats(paid, [])["reward/invalid/judge_garbage"] == 1


# Rewards that are made of rewards


def of_unread(part: Rewarding) -> Reward | None:
    one = answer("a,b#b")
    (found,) = bind(part, codec=Signs(), max_new=12)([one], everyone=[one, judgement(one, "?")], memory=Memory(0))
    return found


@pytest.mark.parametrize(
    "part",
    [
        Product(of=(Outcome(), ScoredBy())),
        Veto(of=Outcome(), critical=(ScoredBy(),)),
        Gated(gate=ScoredBy(), of=Outcome(), closed=-1.0),
        Cascade(first=ScoredBy(), then=Outcome()),
        Cascade(first=Outcome(right=0.0), then=ScoredBy()),
        Misjudged(of=ScoredBy(), refuses=1.0),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_is_made_of_no_judgement_is_none(part: Rewarding, monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)
    found = of_unread(part)
    assert found is not None and found.unread and not found.invalid


def test_a_sum_goes_on_without_a_judgement_and_still_tells_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)
    found = of_unread(Sum(of=(Outcome(), ScoredBy()), weights=(2.0, 5.0)))
    assert (
        found is not None and found.value == 2.0 and [part.name for part in found.parts if part.unread] == ["scored-by"]
    )
    nothing = of_unread(Sum(of=(ScoredBy(),)))
    assert nothing is not None and nothing.unread
    wrong = combined("all", [Reward.no_judgement("a"), Reward.unknown("b", "bug")], max)
    assert wrong is not None and wrong.invalid == "bug", "an error of ours stays one"
