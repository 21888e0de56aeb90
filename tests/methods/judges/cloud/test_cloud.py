"""CLoud: the loss by a network without packing, scores over critiques, and a run whose reward model learns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import judged
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, POOL, Signs, answer, asked, beginner, judgement
from learning_draws import shown
from tiny import models_for, policy, recipe_of, require_resumable, run, take_gradient
from torch import Tensor
from torch.nn import functional as F

from assay.ask import Sampling
from assay.errors import ConfigError
from assay.forwards import RewardModel
from assay.forwards.reward_model import critiqued, labelled, learn, lessons, pair_loss
from assay.known import RECIPES
from assay.memory import Memory
from assay.models import Models
from assay.part import bind
from assay.recipe import Recipe, check
from assay.reward import LearntScore
from assay.reward.learnt import read, scores_after
from assay.rng import Key
from assay.scale import Model, Scale
from assay.types import Episode, Reward

SCALE = Scale(num_prompts=2, group_size=2, max_new=8, learning_rate=0.5, num_steps=10)
WEIGHT = 1.25  # of the likelihood of critiques, for 8B
SHOW, PREFER, LAST = (stage.mechanism or RECIPES["cloud"].mechanism for stage in RECIPES["cloud"].stages)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def models() -> Models:
    """A reward model that was not trained, but has a value head away from zero."""
    found = models_for(recipe_of("cloud"), policy("fp64", vocab=Signs.vocab, context=64))
    head = found["reward-model"].value_head  # type: ignore[attr-defined]
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1, 1, head.weight.numel()).reshape(head.weight.shape))
    return found


def worth(text: str, sample: int, *, group: str = "0:0") -> Episode:
    one = answer(text, sample=sample, group=group)
    return dataclasses.replace(one, rewards=(Reward("outcome", float(one.right)),))


ANSWERS = [("a,b#b", 0), ("a,b#a", 1), ("b#b", 2), ("b,b#a", 3)]
SAID = ["++#1", "+#0", "#1", "-+#0"]


def plain(model: Any, critique: Episode) -> tuple[Tensor, Tensor]:
    """The score after the last token and the log-probs of the critique's tokens, by a dense network over one row."""
    context, ids = critique.training_context.tolist(), critique.stream("ids").tolist()
    tokens = torch.tensor(context + ids)
    causal = torch.full((len(tokens), len(tokens)), -torch.inf, dtype=torch.float64).triu(1)

    def attend(_: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))  # heads first; as many keys as queries here
        return (torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + causal, -1) @ v).transpose(0, 1)

    hidden = model(tokens, torch.arange(len(tokens)), attend)
    logp = F.log_softmax(model.logits(hidden), -1)[len(context) - 1 : -1]
    return model.value_head(hidden[-1])[0], logp[range(len(ids)), ids]


def test_the_loss_of_scores_and_critiques_by_a_network_without_packing() -> None:
    """L = mean over pairs of -log sigmoid(s+ - s-), plus 1.25 times the mean of -log p over all critiques' tokens."""
    engine, (part,) = models()["reward-model"], PREFER.forwards
    assert isinstance(part, RewardModel) and part.loss == "pairs"
    answers = [worth(text, sample) for text, sample in ANSWERS]
    critiques = [judgement(one, text, role="critic") for one, text in zip(answers, SAID, strict=True)]
    found = [plain(engine.model, critique) for critique in critiques]  # type: ignore[attr-defined]
    (s0, s1, s2, s3), words = [score for score, _ in found], torch.cat([logp for _, logp in found])
    pairs = [s0 - s1, s0 - s3, s2 - s1, s2 - s3]  # answers 0 and 2 are right
    scored = torch.stack([F.softplus(-margin) for margin in pairs]).mean()
    engine.model.requires_grad_(True)  # type: ignore[attr-defined]
    (scored - WEIGHT * words.mean()).backward()
    wanted = take_gradient(engine)  # type: ignore[arg-type]

    taken: list[Tensor] = []

    def step(*, lr: float, clip: float | None, moments: str = "") -> dict[str, float]:
        taken.append(take_gradient(engine))  # type: ignore[arg-type]
        return {"grad_norm": 1.0, "skipped": 0.0}

    engine.step = step  # type: ignore[method-assign]
    spans = [read(critique, "response", Signs()) for critique in critiques]
    labels = [(np.array([len(span.ids)]), np.array([float(one.right)])) for span, one in zip(spans, answers)]
    batch = lessons(spans, labels, ["0:0"] * 4)
    for tokens in (9999, 20):  # whole, and in micro-batches of an answer or two
        about = {"key": Key(0), "scale": SCALE, "micro_tokens": tokens}
        told, said = learn(engine, batch, labelled(pair_loss), critiqued(part.critiques), **about)  # type: ignore[arg-type]
        assert told[0][0] == pytest.approx(float(scored.detach()), rel=1e-9)
        assert said == [pytest.approx(-WEIGHT * float(words.mean().detach()), rel=1e-9)]
        assert (taken.pop() - wanted).norm() <= 1e-9 * wanted.norm() and wanted.norm() > 1e-2


def test_a_score_is_the_mean_over_the_critiques_of_an_answer() -> None:
    found, (one, other, bare) = models(), [worth(text, sample) for text, sample in ANSWERS[:3]]
    said = [judgement(one, "++#1", role="critic"), judgement(one, "-", role="critic", sample=1)]
    cut = judgement(other, "+", role="critic", finish="length")
    strange = judgement(bare, "+#1", role="judge")
    lost = dataclasses.replace(judgement(bare, "", role="critic"), finish="error")
    everyone = [one, other, bare, *said, cut, strange, lost]
    (score,) = LAST.reward
    part = bind(score, codec=Signs(), micro_tokens=99, models=found)
    rewards = part([one, other, bare], everyone=everyone)
    engine = found["reward-model"]
    after = scores_after(engine, [read(e, "response", Signs()) for e in (*said, cut)], tokens=99)
    assert rewards[0].value == pytest.approx((after[0][-1] + after[1][-1]) / 2, rel=1e-12)
    assert rewards[1].value == after[2][-1] and rewards[2] is None


@given(st.permutations(range(4)))
def test_scores_do_not_depend_on_the_order_of_critiques(order: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        judged.register(patch)
        one = worth("a,b#b", 0)
        said = [judgement(one, text, role="critic", sample=i) for i, text in enumerate(SAID)]
        part = bind(LearntScore(critic="critic"), codec=Signs(), micro_tokens=99, models=models())
        values = [part([one], everyone=[one, *some])[0].value for some in (said, [said[i] for i in order])]
        assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_what_is_shown_is_what_the_verifier_says() -> None:
    """The letters are ab: of the answer a,a#a the first step is right, the second and the answer are not."""
    (ask,) = SHOW.expand
    shown = bind(ask, codec=Signs(), sampling=Sampling(8))
    made = answer("a,a#a", asked("ab"))
    (request,) = shown([made], memory=Memory(0))
    assert Signs().decode(request.prefix[0].ids.tolist()) == "+-#0." and request.max_new == 0
    assert request.parent == made.request.id and request.role == "critic"


def test_what_cannot_be_read_or_written_is_refused_before_anything_is_loaded() -> None:
    recipe = RECIPES["cloud"]
    deaf = dataclasses.replace(recipe, models={"policy": Model(), "reward-model": Model(output="value")})
    with pytest.raises(ConfigError, match="trains tokens of the model 'reward-model', which has values alone"):
        check(deaf)
    silent = dataclasses.replace(deaf, stages=recipe.stages[2:])
    with pytest.raises(ConfigError, match="plays the role 'critic' and has values alone"):
        check(silent)
    assert "whole response" in str(LearntScore(critic="critic", sees="answer").refusal())
    assert "whole response" in str(RewardModel(critic="critic", sees="answer").refusal())
    assert "Name the critic's role" in str(RewardModel(critiques=1.0).refusal())


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 6, "warmup_steps": 0, "learning_rate": 0.006, **changes}
    return recipe_of("cloud", max_new=8, **values)


def test_the_policy_trains_in_the_last_stage_alone() -> None:
    notes, _ = run(small(), beginner(), pool=POOL, codec=Signs())
    trained = [{batch.role for batch in step} for step in notes.batches]
    assert trained[0] == trained[1] == {"critic"} and trained[-1] == {"policy"}
    learnt = ["reward-model/loss" in stats for stats in notes.stats]
    assert learnt == [False, False, True, True, False, False]
    assert notes.stats[2]["reward-model/loss"] == pytest.approx(math.log(2))


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_steps=6, num_prompts=2), beginner, after=3, pool=POOL, codec=Signs())


def agreed(step: Sequence[Episode]) -> list[bool]:
    """Whether the critiques that the critic itself wrote say what the verifier says."""
    return [e.right for e in step if e.request.role == "critic" and not e.request.prefix]


def mixed(step: Sequence[Episode]) -> int:
    """How many groups of answers have right ones and wrong ones."""
    groups: dict[str, set[bool]] = {}
    for one in step:
        if one.request.role == "policy":
            groups.setdefault(one.request.group, set()).add(one.right)
    return sum(len(rights) == 2 for rights in groups.values())


@pytest.mark.slow
@pytest.mark.learning
def test_it_learns_to_tell_right_answers_from_wrong_ones_by_its_own_critiques() -> None:
    """Pairs of a step are ordered before it learns from them; in some steps only a group or two has any."""
    start = judged.taught(f"judge:{NAME}", f"{NAME}=0.06", num_steps=60)  # knows the form of answers and judgements
    recipe = small(num_prompts=8, group_size=8, num_steps=36, learning_rate=0.002)
    notes, _ = run(recipe, start, pool=POOL, codec=Signs())
    known = [step for step, stats in enumerate(notes.stats) if "reward-model/accuracy" in stats]
    found = [notes.stats[step]["reward-model/accuracy"] for step in known]
    assert found[0] == 0.5
    weights = [mixed(notes.episodes[step]) for step in known]
    shown("pairs in order", float(np.average(found[4:], weights=weights[4:])), above=0.55)
    critic = [np.mean(agreed(step)) for step in notes.episodes if agreed(step)]
    # of what was shown to it; with the sign turned fewer than a fifth are
    shown("right critiques", float(np.mean(critic[:5])), above=0.45)
