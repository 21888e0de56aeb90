"""`assay search`: a trained policy answers by tree search, guided and valued by a model that was trained beside it.

No verdict is read before the answer is chosen (rStar-Math 2501.04519). The search is compared with single answers, and
with the best and the most frequent of as many plain answers as cost the same number of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask import FirstSteps, Sampling
from assay.ask.first_steps import first_steps
from assay.collect import AtEnd, Collector, StepSearch, Verify, Worth
from assay.errors import ConfigError, StorageError, UsageError
from assay.known import RECIPES
from assay.lab.sample import asked_with, check_sampling, exam, how_many
from assay.memory import Memory
from assay.part import bind
from assay.part_checks import check_parts
from assay.reward.learnt import read, scores_after
from assay.rng import Key
from assay.run.ancestry import ParentRun, origin
from assay.run.trust import Trust, require_trust
from assay.scoring import bank
from assay.scoring.intervals import interval
from assay.source import Pool
from assay.tasks.verifying import verify_twice
from assay.types import Episode, Origin, by_group
from assay.verifiers.elections import majority
from assay.view.text import bounds, columns

if TYPE_CHECKING:
    from assay.models import Models
    from assay.policy import Policy

MICRO_TOKENS = 2048
GUIDE = "preference-model"
Score = Callable[[Sequence[Episode]], Sequence[float]]


def opened(model: str, beside: str, *, trust_addresses: bool = False) -> tuple[Policy, Models]:
    """The models of a run as its last checkpoint has them."""
    run = origin(model)
    if run is None:
        raise UsageError(f"{model} is not a run, so that no model was trained beside its policy. Name a run.")
    require_trust(run.folder, run.experiment, Trust.of(addresses=trust_addresses), of=("model",))
    valued = [name for name, spec in run.experiment.recipe.models.items() if spec.valued]
    if beside not in valued:
        raise ConfigError(
            f"the run {model} has no model '{beside}' with a value head; it has {', '.join(valued) or 'none'}. Name "
            f"one with --guide, or train a recipe that has one: {', '.join(training(beside)) or 'there is none'}."
        )
    return _restored(run)


def training(beside: str) -> list[str]:
    """The recipes that train a model of this name with a value head."""
    return [name for name, recipe in RECIPES.items() if beside in recipe.models and recipe.models[beside].valued]


def _restored(run: ParentRun) -> tuple[Policy, Models]:
    from assay.record.folder import RunFolder
    from assay.run.base_training import ready
    from assay.run.loading import build_models, load_model, with_adapter
    from assay.run.recorder import counters_of

    checkpoint = RunFolder.read_only(run.path).load()
    if checkpoint is None:
        raise StorageError(f"the run {run.path} has no checkpoint yet.")
    ready(run.experiment.model)
    policy = with_adapter(run.experiment, load_model(run.experiment))
    models = build_models(run.experiment, policy)
    for name, counter in checkpoint.read("counters.json", counters_of).items():
        models[name].restore(checkpoint.path, name, counter["version"])
    return policy, models


def search(
    model: str,
    pool: Pool,
    *,
    guide: str = GUIDE,
    problems: int | None = None,
    width: int = 8,
    rollouts: int = 8,
    explore: float = 2.0,
    depth: int = 16,
    marks: str = "\n,|",
    temperature: float = 1.0,
    max_new: int | None = None,
    seed: int = 0,
    verify: Verify = verify_twice,
    trust_addresses: bool = False,
) -> dict[str, Any]:
    """How often answers to the split `test` are right, if they are chosen in four ways: the policy's single answer, the
    answer that a search finds, and the best by `guide` and the most frequent of as many plain answers as the tokens of
    the search pay for.
    """
    check_sampling(max_new=max_new, temperature=temperature)
    part = StepSearch(explore, rollouts, rollouts, depth, errors=0, model=guide, judge="model")
    check_parts(part, "search")
    check_parts(FirstSteps(width=width, marks=marks), "search")
    if problem := part.refusal():
        raise UsageError(problem)
    policy, models = opened(model, guide, trust_addresses=trust_addresses)
    codec, count = policy.codec, how_many(pool, problems, 1)
    asked, max_new = exam(model, pool, policy, count=count, split="test", max_new=max_new)
    sampling, changed, key = (
        Sampling(max_new, temperature, stop=codec.stops),
        asked_with(model, codec),
        Key(seed)("eval"),
    )

    def plain(number: int) -> list[Episode]:
        requests = changed(bank.questions(asked, samples=number, sampling=sampling, codec=codec))
        return bank.answer(models["policy"], requests, key=key, codec=codec, verify=verify)

    def score(answers: Sequence[Episode]) -> list[float]:
        spans = [read(answer, "response", codec) for answer in answers]
        return [float(values[-1]) for values in scores_after(models[guide], spans, tokens=MICRO_TOKENS)]

    first = changed(bank.questions(asked, samples=1, sampling=sampling, codec=codec))
    first = first_steps(first, Memory(seed), width=width, depth=1, least=1, marks=marks)
    walk = bind(part, codec=codec, micro_tokens=MICRO_TOKENS, max_new=max_new)
    collector = Collector(AtEnd(verify), lambda role: Worth(True, ()), (walk,), lambda *_: [], codec, continues=True)
    trees, _ = collector(models, first, Memory(seed))
    single = plain(1)
    number = max(1, round(written(trees) / max(1, written(single))))
    several = plain(number)
    arms = [
        arm("one answer", single, lambda members: members[:1]),
        arm("search", trees, lambda members: best(members, score)),
        arm(f"best of {number}", several, lambda members: best(members, score)),
        arm(f"most frequent of {number}", several, most_frequent),
    ]
    about = {"model": model, "guide": guide, "width": width, "rollouts": rollouts, "max_new": max_new}
    solved = np.mean([any(group.right) for group in by_group(trees).values()])
    return {**about, "problems": len(asked), "arms": arms, "found": float(solved)}


def written(episodes: Sequence[Episode]) -> int:
    """The tokens that the policy wrote, each once."""
    own = [segment for e in episodes for segment in e.segments[len(e.request.prefix) :]]
    return sum(int(np.count_nonzero(segment.origin == Origin.POLICY)) for segment in own)


def best(members: Sequence[Episode], score: Score) -> list[Episode]:
    """The finished answer with the highest score; none if no answer is finished."""
    ended = [episode for episode in members if episode.finish == "stop"]
    return [ended[int(np.argmax(score(ended)))]] if ended else []


def most_frequent(members: Sequence[Episode]) -> list[Episode]:
    """The answer that most members gave, the first of equally frequent ones; none if nobody answered."""
    answers = [episode.verdict.answer if episode.verdict is not None else None for episode in members]
    most = majority(answers)
    return [] if most is None else [members[answers.index(most)]]


def arm(
    name: str, episodes: Sequence[Episode], choose: Callable[[Sequence[Episode]], Sequence[Episode]]
) -> dict[str, Any]:
    """A way to choose among each problem's answers: how often the choice is right, and the tokens of a problem. A
    problem does not count if we failed to verify the chosen answer.
    """
    groups = by_group(episodes).values()
    chosen = [choose(group.members) for group in groups]
    lost = [not all(e.verified for e in few) for few in chosen]
    right = np.array([any(e.right for e in few) for few, gone in zip(chosen, lost, strict=True) if not gone], float)
    told = bank.as_json(interval(right, bank.RESAMPLING)) if len(right) else None
    return {"arm": name, "right": told, "tokens": written(episodes) / len(groups), "invalid": sum(lost)}


def table(found: dict[str, Any]) -> str:
    """Each arm, as plain text."""
    rows = [("answer", "right", "95 % interval", "tokens a problem")]
    for one in found["arms"]:
        right = one["right"]
        mean, interval_of = ("-", "-") if right is None else (f"{right['mean']:.3f}", bounds(right))
        rows.append((one["arm"], mean, interval_of, f"{one['tokens']:.0f}"))
    return "\n".join([*columns(rows), f"the search found a right answer to {found['found']:.3f} of the problems"])
