"""Comparisons in halves, the reward that both share, and a judge that learns."""

from __future__ import annotations

import dataclasses

import judged
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, Signs, answer, asked, beginner
from learning_draws import shown
from tiny import recipe_of, require_resumable, run

from assay.ask import Sampling, first_requests
from assay.memory import Memory
from assay.methods.judges.j1.sides import InHalves, both, in_halves
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import task
from assay.types import Episode, Request, Verdict

PAIRS = Pool((Share(f"compare:{NAME}", (2,)),))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def requests(form: str = "both-orders", samples: int = 4) -> list[Request]:
    problem = task(f"compare:{NAME}").problem(Key(1), level=2)
    drawn = first_requests([problem], Memory(0), first=0, samples=samples, sampling=Sampling(8), codec=Signs())
    return in_halves(drawn, codec=Signs(), form=form)  # type: ignore[arg-type]


def said(request: Request, text: str) -> Episode:
    """An answer to this request."""
    made = answer(text, request.problem, group="0:0")
    return dataclasses.replace(made, request=request)


def test_samples_read_the_two_orders_in_turn_in_groups_of_their_own() -> None:
    made = requests()
    assert [r.group for r in made] == ["0:0/0", "0:0/1", "0:0/0", "0:0/1"]
    first, second = made[0].problem, made[1].problem
    assert second.spec["answers"]["compact"] == first.spec["answers"]["compact"][::-1]
    assert {first.spec["score"], second.spec["score"]} == {1, 2}
    assert [Signs().decode(r.context.tolist()) for r in made[:2]] == [f"{p.prompt} " for p in (first, second)]
    assert len({r.id for r in made}) == 4
    alone = requests("alone")
    assert {r.problem.task for r in alone} == {f"judge:{NAME}"}
    assert {alone[0].problem.spec["score"], alone[1].problem.spec["score"]} == {0, 1}


def test_only_comparisons_have_halves() -> None:
    drawn = first_requests([asked()], Memory(0), first=0, samples=4, sampling=Sampling(8), codec=Signs())
    assert in_halves(drawn, codec=Signs(), form="both-orders") == drawn
    plain = [answer("b"), answer("a", sample=1)]
    found = both(plain, by="verdict")
    assert [r.value for r in found] == [1.0, 0.0]  # type: ignore[union-attr]
    assert [[part.name for part in r.parts] for r in found] == [["alone"], ["alone"]]  # type: ignore[union-attr]
    few, odd, even = (recipe_of("j1", group_size=size).scale for size in (2, 5, 4))
    assert "two or more" in str(InHalves().refusal(scale=few, mechanism=None))
    assert "even number" in str(InHalves().refusal(scale=odd, mechanism=None))
    assert InHalves().refusal(scale=even, mechanism=None) is None


def test_a_half_is_a_judgement_of_a_group_that_was_divided() -> None:
    """No half are a comparison that was asked as it is, and an answer that is no judgement, whatever its group."""
    whole = task(f"compare:{NAME}").problem(Key(1), level=2)
    episodes = [answer(str(whole.spec["score"]), whole), answer("b", group="0:1/greedy")]
    assert [r.value for r in both(episodes, by="verdict")] == [1.0, 1.0]  # type: ignore[union-attr]


def test_both_must_be_right_by_hand() -> None:
    """Samples 0 and 1 are right of both orders; 2 and 3 say the same place, so that one of them is wrong."""
    made = requests()
    right = [str(r.problem.spec["score"]) for r in made]
    episodes = [said(made[0], right[0]), said(made[1], right[1]), said(made[2], right[2]), said(made[3], right[2])]
    found = both(episodes, by="verdict")
    assert [r.value for r in found] == [1.0, 1.0, 0.0, 0.0]  # type: ignore[union-attr]
    assert [r.parts[0].value for r in found] == [1.0, 1.0, 1.0, 0.0]  # type: ignore[union-attr]
    for by in ("verdict", "order"):
        assert both(episodes[:3], by=by)[2] is None, "its other half was lost"  # type: ignore[arg-type]
        for lost in (None, Verdict.invalid("bug")):
            unjudged = dataclasses.replace(episodes[1], verdict=lost)
            halves = both([episodes[0], unjudged, *episodes[2:]], by=by)  # type: ignore[arg-type]
            assert halves[:2] == [None, None] and halves[2] is not None, "one half was not judged"


def test_scores_must_be_in_order_by_hand() -> None:
    made = requests("alone", samples=6)
    good = 0 if made[0].problem.spec["score"] == 1 else 1
    scores = [["1", "0"], ["1", "1"], ["?", "0"]]  # of the better answer and of the worse one
    episodes = [said(r, scores[i // 2][(i % 2) ^ good]) for i, r in enumerate(made)]
    assert [r.value for r in both(episodes, by="order")] == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]  # type: ignore[union-attr]


def test_scores_can_be_in_order_though_neither_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The better answer keeps both rules, the worse one of them: 1 and 0 are in order, and both are too low."""
    judged.register(monkeypatch, judged.RULED)
    made = requests("alone", samples=2)
    wanted = [r.problem.spec["score"] for r in made]
    assert sorted(wanted) == [1, 2]
    episodes = [said(r, str(score - 1)) for r, score in zip(made, wanted, strict=True)]
    assert [r.value for r in both(episodes, by="order")] == [1.0, 1.0]  # type: ignore[union-attr]
    assert [r.value for r in both(episodes, by="verdict")] == [0.0, 0.0]  # type: ignore[union-attr]


@given(st.lists(st.sampled_from("12"), min_size=4, max_size=4))
def test_a_preference_for_a_place_never_pays(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        judged.register(patch)
        found = both([said(r, text) for r, text in zip(requests(), texts, strict=True)], by="verdict")
        values = [r.value for r in found]  # type: ignore[union-attr]
        assert values[0] == values[1] and values[2] == values[3]
        if texts[0] == texts[1]:
            assert values[0] == 0.0


def test_a_run_goes_on_with_the_same_bits() -> None:
    recipe = recipe_of("j1", max_new=3, num_prompts=2, group_size=4, num_steps=4, warmup_steps=0)
    require_resumable(recipe, beginner, after=2, pool=PAIRS, codec=Signs())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["j1", "j1-pointwise"])
@pytest.mark.learning
def test_the_judge_learns_to_be_right_about_both(name: str) -> None:
    """From a judge that is right now and then, once with the sign of the advantages turned: what it earns at last."""
    kind = "compare" if name == "j1" else "judge"
    start, earned = judged.taught(f"{kind}:{NAME}", num_steps=60 if name == "j1" else 40), []
    values = {"num_prompts": 32, "group_size": 8, "num_steps": 30, "warmup_steps": 2, "learning_rate": 0.002}
    for flipped in (False, True):
        judge = beginner()
        judge.load(start.state())
        notes, _ = run(recipe_of(name, max_new=8, **values), judge, pool=PAIRS, codec=Signs(), flipped=flipped)
        earned.append(np.mean([e.reward for step in notes.episodes[-8:] for e in step if e.reward is not None]))
    shown("what it earns at last", earned[0], above=0.3)
    shown("that, less what it earns with the sign turned", earned[0] - earned[1], above=0.2)
