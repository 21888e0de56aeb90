"""Checks before the first step for mistakes that would waste a long run.

The checks look at the settings, at the model's files and at a probe: a few answers that the model writes to training
problems. Warnings are printed and written to run.json. Neither a warning nor the probe changes or stops the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask import Codec, Sampling, first_requests
from assay.assemble import worth_by_role
from assay.collect import Ahead, AtEnd, Collector, Verify
from assay.curate.grouping import spread
from assay.errors import AssayError, DataError, Stopped
from assay.host.files import read_json
from assay.known import RECIPES
from assay.memory import Memory
from assay.models import Models
from assay.part import bind, name_of
from assay.policy.kinds import words_of
from assay.recipe import LORA_FACTOR, at_profile
from assay.rng import Key
from assay.run.experiment import Experiment
from assay.run.forecast import forecast
from assay.run.memory_plan import SMALL, has_gpu, profile_for
from assay.run.pretrained_needs import LARGE
from assay.types import Episode, Row, by_group

if TYPE_CHECKING:
    from assay.policy import Policy
    from assay.record.folder import RunFolder
    from assay.record.panel import Panel

GROUP = 4  # answers to each prompt of the probe, or fewer if the recipe's groups are smaller
CUT = 0.25  # warn if at least this share of the answers was cut at the length limit
FULL = 0.9  # warn if prompt and answer fill at least this share of the context
FAR = 10.0  # warn if the learning rate differs from the recipe's by at least this factor
PUNISHED = 0.9  # warn if a reward part lowers the reward of at least this share of the answers
LEAST_ROWS = 8  # warn if an optimiser step sees fewer answers


@dataclass(frozen=True)
class Facts:
    """Facts of the model and of the probe, which the checks read beside the experiment.

    facts = Facts(parameters=494_000_000, context=32768, longest=310)
    print(*warnings(experiment, facts), sep="\\n")
    """

    parameters: int
    context: int  # the largest number of tokens of prompt and answer together
    longest: int  # tokens of the longest prompt seen
    template: str | None = None  # the chat template
    ends: Mapping[str, frozenset[int]] = field(default_factory=dict)  # file or codec -> ids of the end tokens it names
    speaks: bool = True  # it writes words, and must know where to end
    lora: int = 0  # rank of the adapter; 0: none
    episodes: Sequence[Episode] = ()  # the answers of the probe, with verdicts and rewards
    codec: Codec | None = None


def facts_of(experiment: Experiment, policy: Policy, *, longest: int, episodes: Sequence[Episode] = ()) -> Facts:
    words = words_of(policy.codec)
    ends = policy.end_ids if words is None else frozenset(_some(words.id_of("eos_token")))
    return Facts(
        parameters=policy.size(),
        context=policy.config.context,
        longest=longest,
        template=words.template if words is not None and words.alphabet is None else None,
        ends=named_ends(Path(experiment.model)) | {"tokenizer": ends},
        speaks=words is not None or bool(policy.end_ids),
        lora=0 if policy.adapter is None else policy.adapter.rank,
        episodes=episodes,
        codec=policy.codec,
    )


def named_ends(folder: Path) -> dict[str, frozenset[int]]:
    """File -> ids of the end tokens that it names, for config.json and generation_config.json if they exist."""
    ends = {}
    for name in ("config.json", "generation_config.json"):
        if (folder / name).is_file():
            ids = read_json(folder / name).get("eos_token_id")
            ends[name] = frozenset(ids if isinstance(ids, list) else _some(ids))
    return ends


def _some(value: Any) -> list[Any]:
    return [] if value is None else [value]


# The probe


def probe(experiment: Experiment, models: Models, codec: Codec, *, verify: Verify) -> list[Episode]:
    """At most `machine.probe` rewarded answers of the policy.

    There are none for a recipe that imitates given solutions, or in which no role is named `policy`.
    """
    recipe, scale = experiment.recipe, experiment.recipe.scale
    mechanism = recipe.stages[0].mechanism or recipe.mechanism
    imitates = any(part.imitates for part in mechanism.ask)
    samples = min(GROUP, scale.group_size, experiment.machine.probe)
    if not samples or imitates or "policy" not in recipe.roles:
        return []
    key = Key(experiment.seed)("preflight")
    memory = Memory(key.bits & (2**63 - 1))
    count = min(max(1, experiment.machine.probe // samples), scale.num_prompts)
    problems = [experiment.pool.problem(key("problem", i)) for i in range(count)]
    sampling = Sampling.at(scale, codec.stops)
    requests = first_requests(problems, memory, first=0, samples=samples, sampling=sampling, codec=codec)
    worth = worth_by_role(recipe, pool=experiment.pool, codec=codec, micro_tokens=experiment.machine.micro_tokens)
    collect = Collector(AtEnd(verify), worth, (), lambda *_: [], codec)
    return collect(models, requests, memory)[0]


def look(experiment: Experiment, policy: Policy, models: Models, *, longest: int, verify: Verify) -> list[str]:
    """All warnings about a run that is about to begin; if the probe itself fails, that is a warning too."""
    failed, episodes = [], []
    began = time.monotonic()
    try:
        episodes = probe(experiment, models, policy.codec, verify=verify)
    except (Stopped, DataError):  # a reward function that fails here would fail in the first step as well
        raise
    except AssayError as error:
        failed = [f"the probe before the first step failed, and the run may fail in the same way: {error}"]
    ahead = forecast(experiment, len(episodes), time.monotonic() - began, place=models["policy"].place)
    facts = facts_of(experiment, policy, longest=longest, episodes=episodes)
    return failed + warnings(experiment, facts) + ([ahead] if ahead and facts.parameters > LARGE else [])


def warn(
    folder: RunFolder,
    shown: Panel,
    experiment: Experiment,
    policy: Policy,
    models: Models,
    *,
    longest: int,
    verify: Verify,
) -> None:
    """Prints all warnings about the run, and writes them to run.json."""
    shown.phase("look")
    sentences = look(experiment, policy, models, longest=longest, verify=verify)
    folder.amend(warnings=sentences)
    for sentence in sentences:
        shown.note(f"warning: {sentence}")


# The checks. Each returns a warning, or None if it finds nothing wrong.


def warnings(experiment: Experiment, facts: Facts) -> list[str]:
    """The warnings of all checks, the most serious first."""
    return [sentence for check in CHECKS if (sentence := check(experiment, facts))]


def unverified(_: Experiment, facts: Facts) -> str | None:
    """The verifier failed on answers of the probe."""
    failures = [e.verdict for e in facts.episodes if e.verdict is not None and e.verdict.status == "invalid"]
    if not failures:
        return None
    return (
        f"the verifier failed on {len(failures)} of {len(facts.episodes)} probe answers ({failures[0].kind}: "
        f"{failures[0].detail}); such answers have no reward and are not trained on"
    )


def uniform(experiment: Experiment, facts: Facts) -> str | None:
    """The rewards do not differ within any group, so that no answer has an advantage."""
    mechanism = experiment.recipe.mechanism
    rows = [Row(e) for e in facts.episodes if e.reward is not None]
    whole = [group.rewards for group in by_group(rows).values() if len(group.members) > 1]
    if not whole or not mechanism.credit.compares:
        return None
    if any(spread([reward for reward in rewards if reward is not None]) for rewards in whole):
        return None
    values = sorted({float(row.reward) for row in rows if row.reward is not None})
    earned = f"all {len(rows)} answers earned {values[0]:g}"
    if len(values) > 1:
        earned = "within each group all answers earned the same"
    return (
        f"the reward does not vary within any of {len(whole)} groups of the probe: {earned}, and a group without "
        "differences teaches nothing. Check the reward on a right answer, take easier problems, or larger groups"
    )


def cut(experiment: Experiment, facts: Facts) -> str | None:
    """Many answers are cut at the length limit."""
    answers = [e for e in facts.episodes if e.finish in ("stop", "length")]
    share = float(np.mean([e.finish == "length" for e in answers])) if answers else 0.0
    if share < CUT:
        return None
    limit = experiment.recipe.scale.max_new
    reason = "; none ended with an end token, which is typical of a model not trained on this template"
    reason = reason if share == 1 else ""
    return (
        f"{share:.0%} of {len(answers)} probe answers were cut at {limit} tokens{reason}. A cut answer counts as "
        f"wrong; --scale.max-new may be up to {facts.context - facts.longest} in this context"
    )


def punished(experiment: Experiment, facts: Facts) -> str | None:
    """A penalty meets nearly all answers."""
    recipe = experiment.recipe
    mechanism = recipe.stages[0].mechanism or recipe.mechanism
    paid = [e for e in facts.episodes if e.reward is not None]
    for part in mechanism.rule("policy").reward if paid else ():
        if "penalty" not in part.writes:
            continue
        rewards = bind(part, max_new=recipe.scale.max_new, codec=facts.codec)(paid)
        costs = [reward.value for reward in rewards if reward is not None and reward.value < 0]
        if len(costs) >= PUNISHED * len(paid):
            numbers = ", ".join(f"{name} {value:g}" for name, value in vars(part).items())
            return (
                f"{name_of(part)} ({numbers}) lowers the reward of {len(costs)} of {len(paid)} probe answers, by "
                f"{-float(np.mean(costs)):.2g} on average: a penalty on all answers does not favour any of them. "
                f"Answers may have {recipe.scale.max_new} tokens; change the part's numbers or --scale.max-new so that "
                "they fit each other"
            )
    return None


def no_opening(_: Experiment, facts: Facts) -> str | None:
    """The chat template does not open the assistant's message."""
    if facts.template is None or "add_generation_prompt" in facts.template:
        return None
    return (
        "the chat template does not use add_generation_prompt: a prompt ends with the user's message, so that the "
        "model may continue in the user's name. Give the tokenizer a template that uses add_generation_prompt"
    )


def ends_disagree(_: Experiment, facts: Facts) -> str | None:
    """The model's files name different end tokens, or none."""
    known = {name: ids for name, ids in facts.ends.items() if ids}
    if not known and facts.speaks:
        return "no file of the model names an end token: every answer will be as long as the limit"
    named = known.get("generation_config.json", known.get("config.json")) if known else None
    if named is None or known.get("tokenizer", named) <= named:
        return None
    listing = ", ".join(f"{name} {sorted(ids)}" for name, ids in known.items())
    return (
        f"the model's files name different end tokens: {listing}. Here each of these tokens ends an answer and is "
        "trained on as its last token; other programs may stop at fewer of them. Padding is never trained on, even if "
        "its token is one of these"
    )


def far_rate(experiment: Experiment, facts: Facts) -> str | None:
    """The learning rate is far from the recipe's at this profile."""
    published, rate = RECIPES.get(experiment.recipe.name), experiment.recipe.scale.learning_rate
    if published is None:
        return None
    expected = at_profile(published, experiment.profile, adapted=bool(facts.lora))[0].scale.learning_rate
    if facts.lora and rate < 0.3 * expected:
        return (
            f"a learning rate of {rate:g} suits training of all weights; adapters of rank {facts.lora} need about "
            f"{LORA_FACTOR:g} times that: --scale.learning-rate {expected:g}"
        )
    ratio = rate / expected
    if 1 / FAR < ratio < FAR:
        return None
    return (
        f"a learning rate of {rate:g} is {max(ratio, 1 / ratio):.0f} times {'above' if ratio > 1 else 'below'} "
        f"{expected:g}, the learning rate of {experiment.recipe.name} at profile {experiment.profile}"
    )


def wrong_profile(experiment: Experiment, facts: Facts) -> str | None:
    """The profile was made for models of another size."""
    size = f"{facts.parameters / 1e6:,.0f} million parameters"
    if experiment.profile == "laptop" and facts.parameters > SMALL:
        return (
            f"profile laptop has learning rates for models of 1 to 10 million parameters, not of {size}: take "
            f"--profile {profile_for(facts.parameters, gpu=has_gpu())[0]}"
        )
    if (
        experiment.profile != "laptop"
        and facts.parameters < SMALL / 10
        and experiment.recipe.scale.learning_rate < 1e-5
    ):
        rate = experiment.recipe.scale.learning_rate
        return f"a model of {size} hardly learns at a learning rate of {rate:g}: take --profile laptop"
    return None


def full_context(experiment: Experiment, facts: Facts) -> str | None:
    """Prompt and answer nearly fill the context."""
    needed = facts.longest + experiment.recipe.scale.longest
    if needed < FULL * facts.context:
        return None
    return (
        f"prompts of {facts.longest} tokens and answers of {experiment.recipe.scale.max_new} fill {needed} of the "
        f"{facts.context} positions of the context: a prompt longer than the probed ones would stop the run"
    )


def few_rows(experiment: Experiment, _: Facts) -> str | None:
    """An optimiser step sees few answers, or mini-batches split groups."""
    scale = experiment.recipe.scale
    rows = scale.num_prompts * scale.group_size / scale.num_minibatches
    if scale.num_prompts < scale.num_minibatches:
        return (
            f"{scale.num_prompts} groups are split into {scale.num_minibatches} mini-batches, so that answers of one "
            "group train in different updates: lower --scale.num-minibatches"
        )
    if rows >= LEAST_ROWS:
        return None
    return (
        f"an update sees {rows:g} answers, so that its gradient is mostly noise: raise --scale.num-prompts or "
        "--scale.group-size"
    )


def old_answers(experiment: Experiment, _: Facts) -> str | None:
    """Answers of older weights are learnt from as if they were the policy's own."""
    for mechanism in experiment.recipe.mechanisms:
        lags = [part.lag for part in mechanism.collect if isinstance(part, Ahead)]
        if lags and not mechanism.objective.correct and mechanism.objective.anchor != "sampler":
            return (
                f"answers are {lags[0]} steps old, and the objective does not correct for that: "
                "--mechanism.objective.correct truncate weighs each token by how likely the policy still is to write it"
            )
    return None


def nothing_won(experiment: Experiment, _: Facts) -> str | None:
    """Answers are asked for ahead where nobody could write them meanwhile."""
    ahead = any(isinstance(part, Ahead) for mechanism in experiment.recipe.mechanisms for part in mechanism.collect)
    if not ahead or experiment.machine.samplers:
        return None
    return (
        "answers are asked for ahead, and this process writes and learns in turn: the lag wins no time without servers "
        "(--machine.samplers)"
    )


CHECKS: tuple[Callable[[Experiment, Facts], str | None], ...] = (
    unverified,
    uniform,
    cut,
    punished,
    no_opening,
    ends_disagree,
    far_rate,
    wrong_profile,
    full_context,
    old_answers,
    nothing_won,
    few_rows,
)
