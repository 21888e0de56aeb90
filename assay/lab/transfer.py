"""`assay transfer`: a large model answers with its logits shifted by what training changed in a small one (RAST
2506.15710), and is examined beside itself and beside the large model that was trained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assay.ask import Sampling
from assay.collect import Verify
from assay.errors import ConfigError, UsageError
from assay.lab.sample import asked_with, check_sampling, exam, how_many
from assay.policy.kinds import kind_of, tokenizer_of
from assay.rng import Key
from assay.run.base_training import ready
from assay.scoring import bank
from assay.source import Pool
from assay.tasks.verifying import verify_twice
from assay.view.text import bounds, columns

if TYPE_CHECKING:
    from assay.engine.torch.engine import TorchEngine
    from assay.policy import Policy


def recovered(shifted: float, plain: float, oracle: float) -> float | None:
    """(a - a_large) / (a_trained - a_large): the share of the gain of training the large model that needs no training
    of it. None if its training gained nothing.
    """
    return (shifted - plain) / (oracle - plain) if oracle > plain else None


def opened(model: str) -> tuple[Policy, TorchEngine]:
    """A model, and an engine in torch that samples from it."""
    from assay.engine.choose import settings_of
    from assay.engine.torch.engine import TorchEngine
    from assay.host.space import device_of
    from assay.policy import load_policy

    policy = load_policy(ready(model))
    if not kind_of(policy).can("shifts"):
        raise ConfigError(
            f"{model} is of the family {policy.config.family}, and Assay's own engine computes no logits of it that "
            "could be shifted. Logits are shifted for the families llama, qwen2 and qwen3."
        )
    return policy, TorchEngine(policy.network, device=device_of("auto"), optimiser=None, **settings_of(policy))


def require_one_vocabulary(models: Sequence[tuple[str, Policy]]) -> None:
    """Refuses models whose tokens, end tokens or chat templates differ: their logits cannot be added."""
    (first, large), *others = models
    words = tokenizer_of(large, "assay transfer")
    vocabulary = words.backend.get_vocab()
    for name, policy in others:
        other = tokenizer_of(policy, "assay transfer")
        own = other.backend.get_vocab()
        unlike = sorted(token for token in vocabulary.keys() | own.keys() if vocabulary.get(token) != own.get(token))
        if unlike:
            token, ids = unlike[0], (vocabulary.get(unlike[0], "missing"), own.get(unlike[0], "missing"))
            told = f"the token {token!r} is {ids[0]} in the one and {ids[1]} in the other"
        elif large.end_ids != policy.end_ids:
            told = f"their end tokens are {sorted(large.end_ids)} and {sorted(policy.end_ids)}"
        elif words.template != other.template:
            told = "their chat templates differ"
        else:
            continue
        raise ConfigError(f"{first} and {name} do not read the same tokens: {told}. Give models of one family.")


def transfer(
    large: str,
    tuned: str,
    untuned: str,
    pool: Pool,
    *,
    times: Sequence[float] = (1.0,),
    oracle: str | None = None,
    problems: int | None = None,
    samples: int = 16,
    temperature: float = 1.0,
    max_new: int | None = None,
    seed: int = 0,
    verify: Verify = verify_twice,
) -> dict[str, Any]:
    """Pass rates on the split `test` of the large model, with z + times (z_tuned - z_untuned) for each of `times`, and
    of the trained large model, the oracle, if there is one. All answer the same problems by the same random numbers.
    """
    from assay.engine.torch.shifted import ShiftedSampler

    if bad := [factor for factor in times if not math.isfinite(factor)]:
        raise UsageError(f"--by takes finite numbers, not {bad[0]}.")
    check_sampling(max_new=max_new, temperature=temperature)
    count, names = how_many(pool, problems, samples), [large, tuned, untuned, *([oracle] if oracle else [])]
    models = {name: opened(name) for name in dict.fromkeys(names)}
    require_one_vocabulary([(name, models[name][0]) for name in names])
    policy, engines = models[large][0], [models[name][1] for name in names[:3]]
    asked, max_new = exam(tuned, pool, policy, count=count, split="test", max_new=max_new)
    ks = bank.powers(samples)

    def scores(sampler: Any) -> dict[str, Any]:
        answered = bank.evaluate(
            sampler,
            asked,
            samples=samples,
            key=Key(seed)("eval"),
            sampling=Sampling(max_new, temperature, stop=policy.codec.stops),
            codec=policy.codec,
            verify=verify,
            asked=asked_with(tuned, policy.codec),
        )
        return bank.examined(answered, ks)

    arms = [{"times": by, **scores(ShiftedSampler(*engines, times=by))} for by in dict.fromkeys((0.0, *times))]
    best = scores(models[oracle][1]) if oracle else None
    if best is not None:
        plain, goal = mean(arms[0]), mean(best)
        arms = [{**arm, "recovered": recovered(mean(arm), plain, goal)} for arm in arms]
    about = {"large": large, "tuned": tuned, "untuned": untuned, "oracle": oracle, "max_new": max_new}
    return {**about, "arms": arms, "of_oracle": best}


def mean(found: dict[str, Any]) -> float:
    """pass@1 of a summary."""
    return found["pass"]["1"]["mean"]


def table(found: dict[str, Any]) -> str:
    """The pass rates of each arm, as plain text."""
    rows = [("logits", "pass@1", "95 % interval", f"pass@{_last(found)}", "recovered")]
    arms = [(f"large + {arm['times']:g} (tuned - untuned)", arm) for arm in found["arms"]]
    arms[0] = ("large", arms[0][1])
    for name, arm in [*arms, *([("trained large", found["of_oracle"])] if found["of_oracle"] else [])]:
        share = arm.get("recovered")
        first, last = arm["pass"]["1"], arm["pass"][_last(found)]
        told = "" if share is None else f"{share:.0%}"
        rows.append((name, f"{first['mean']:.3f}", bounds(first), f"{last['mean']:.3f}", told))
    return "\n".join(columns(rows))


def _last(found: dict[str, Any]) -> str:
    return list(found["arms"][0]["pass"])[-1]
