"""A critic that is grounded on one task and rewards the answers to another."""

from __future__ import annotations

import dataclasses

import judged
import numpy as np
import pytest
import roled
from judged import NAME, Signs, beginner, taught
from learning_draws import shown
from tiny import recipe_of, require_resumable, run

from assay.curate import Untrained
from assay.known import RECIPES
from assay.methods.judges.k2_critic.preferred import PreferredBy
from assay.recipe import Recipe
from assay.reward import OfTasks, Outcome
from assay.source import Pool, Share

OPEN = "open-letters"  # the same problems, but nobody believes their verifier
BOTH = Pool((Share(NAME, (2,)), Share(OPEN, (2,))))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    import assay.tasks

    judged.register(monkeypatch)
    monkeypatch.setitem(assay.tasks.TASKS, OPEN, dataclasses.replace(judged.STEPPED, name=OPEN))


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.003, **changes}
    recipe = recipe_of("k2-critic", max_new=9, num_minibatches=1, **values)
    mechanism = dataclasses.replace(
        recipe.mechanism,
        reward=(
            OfTasks(of=Outcome(), tasks=(NAME,)),
            OfTasks(of=PreferredBy(role="critic"), tasks=(NAME,), others=True),
        ),
        curate=(Untrained(role="critic", but=(f"compare:{NAME}",)),),
    )
    return dataclasses.replace(recipe, mechanism=mechanism)


def test_the_critic_trains_on_what_can_be_verified_and_rewards_the_rest() -> None:
    notes, _ = run(small(num_steps=6), taught(NAME, f"compare:{NAME}", num_steps=20), pool=BOTH, codec=Signs())
    for step in notes.rows:
        for row in step:
            task, names = row.episode.request.problem.task, [r.name for r in row.episode.rewards]
            if row.role == "critic" and row.in_loss:
                assert task == f"compare:{NAME}"
            if row.role == "policy":
                assert names in ([["outcome"]] if task == NAME else [["preferred-by"], []])
    batches = {batch.role for step in notes.batches for batch in step}
    assert batches == {"policy", "critic"}


def test_a_comparison_of_judged_answers_never_trains_the_critic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe itself: `constraints` has a verifier too, but what that says of the answers must not reach the critic
    that rewards them.
    """
    watch = roled.watched("k2-critic", monkeypatch)
    compared = [row for step in watch.rows for row in step if row.role == "critic"]
    trained = {
        who for step, batches in zip(watch.rows, watch.batches, strict=True) for who in roled.taught(step, batches)
    }
    assert {roled.told(row) for row in compared} == {"critic compare:countdown", "critic compare:constraints"}
    assert {who for who in trained if who.startswith("critic")} == {"critic compare:countdown"}
    assert not any(row.in_group or row.in_denominator for row in compared if not row.in_loss)


def test_the_critic_trains_where_the_verifier_pays_the_policy() -> None:
    """Of no task one without the other, else the label of a judged answer leaks."""
    mechanism = RECIPES["k2-critic"].mechanism
    verified, judged_rest = mechanism.reward
    (kept,) = mechanism.curate
    assert isinstance(verified, OfTasks) and isinstance(judged_rest, OfTasks) and isinstance(kept, Untrained)
    assert (verified.others, judged_rest.others) == (False, True) and verified.tasks == judged_rest.tasks
    assert kept.but == tuple(f"compare:{name}" for name in verified.tasks)


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(
        small(num_prompts=2), lambda: taught(NAME, f"compare:{NAME}", num_steps=5), after=2, pool=BOTH, codec=Signs()
    )


@pytest.mark.slow
@pytest.mark.learning
def test_the_critic_learns_which_answer_is_better_where_that_can_be_verified() -> None:
    """It compares answers of a policy that does not train meanwhile, once with the sign of the advantages turned."""
    recipe = small(num_prompts=8, group_size=8, num_steps=30, learning_rate=0.001)
    curate = (*recipe.mechanism.curate, Untrained(role="policy"))
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, curate=curate))
    start, earned = taught(f"compare:{NAME}", f"{NAME}=0.06", num_steps=140), []
    for flipped in (False, True):
        engine = beginner()
        engine.load(start.state())
        notes, _ = run(recipe, engine, pool=Pool((Share(NAME, (2,)),)), codec=Signs(), flipped=flipped)
        told = [row.reward or 0.0 for step in notes.rows[20:] for row in step if row.role == "critic" and row.in_loss]
        earned.append(np.mean(told))
    shown("what the critic earns at last, less that with the sign turned", earned[0] - earned[1], above=0.15)
