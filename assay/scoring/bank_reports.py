"""Reports on sample banks: of one model, of two on the same problems, and of two at several temperatures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from assay.errors import DataError
from assay.scoring.bank import RESAMPLING, Bank, as_json, common, paired_passes, powers, summary
from assay.scoring.bayes import better, fit_beta, pass_posterior, posterior
from assay.scoring.conclusion import WORTH, Conclusion, Family, Stated, conclude
from assay.scoring.intervals import interval
from assay.scoring.passk import all_at_k, area, pass_at_k, pass_errors, unsolved_bound
from assay.scoring.power import Spread, problems_needed, samples_needed
from assay.scoring.samples import SampleBank

UNJUDGED = 0.005  # share of samples without a verdict above which a bank is incomplete
TEMPERATURES = (0.4, 0.6, 0.8, 1.0)  # the choices for a model's best temperature
DEPENDS = "temperature-dependent"

Json = dict[str, Any]


def verified(bank: Bank) -> Bank:
    """The problems that have a valid sample; DataError if none has."""
    rows = np.flatnonzero(bank.n > 0)
    if not len(rows):
        raise DataError(f"none of the {int(bank.invalid.sum())} samples has a verdict, so nothing can be estimated.")
    return bank.select(rows)


def shown(bank: SampleBank, ks: Sequence[int] = ()) -> Json:
    """All estimates of one bank. `ks` are by default the powers of two up to the fewest valid samples of a problem."""
    whole = bank.counts()
    counts = verified(whole)
    n, c, fewest = counts.n, counts.correct, int(counts.n.min())
    ks = sorted(set(ks)) or powers(fewest)
    estimates = summary(counts, ks)
    for k in ks:
        samples, problems = pass_errors(n, c, k=k)
        estimates["pass"][str(k)] |= {"error_samples": _known(samples), "error_problems": _known(problems)}
    believed, prior = posterior(np.stack([n - c, c], axis=1)), fit_beta(n, c)
    beyond = {k: float(pass_posterior(n, c, k=k, prior=prior).mean()) for k in (2 * fewest, 4 * fewest)}
    unsolved = np.flatnonzero(c == 0)
    samples = len(bank.table)
    invalid = int(whole.invalid.sum())
    return {
        **asked(bank),
        **estimates,
        "invalid": invalid,
        "invalid_share": invalid / samples,
        "incomplete": invalid / samples > UNJUDGED,
        "unjudged": len(whole) - len(counts),
        "avg": estimates["pass"]["1"] if "1" in estimates["pass"] else _avg(counts),
        "all": {str(k): as_json(interval(all_at_k(n, c, k=k), RESAMPLING)) for k in ks},
        "area": area({k: estimates["pass"][str(k)]["mean"] for k in ks}) if len(ks) > 1 else None,
        "posterior": dataclasses.asdict(believed),
        "fitted": {"a": prior[0], "b": prior[1], "beyond": {str(k): value for k, value in beyond.items()}},
        "unsolved": {
            "problems": [counts.problems[i] for i in unsolved],
            "bound": unsolved_bound(int(n[unsolved].min())) if len(unsolved) else None,
        },
    }


def _avg(counts: Bank) -> Json:
    samples, problems = pass_errors(counts.n, counts.correct, k=1)
    mean = as_json(interval(pass_at_k(counts.n, counts.correct, k=1), RESAMPLING))
    return mean | {"error_samples": _known(samples), "error_problems": _known(problems)}


def asked(bank: SampleBank) -> Json:
    """Whose bank it is, and how it was sampled."""
    names = ("model", "weights", "split", "temperature", "top_p", "max_new", "seed", "version")
    return {**{name: getattr(bank.asked, name) for name in names}, "verifiers": dict(bank.asked.verifiers)}


def compared(
    first: SampleBank, other: SampleBank, ks: Sequence[int] = (), *, worth: float = WORTH, differ: bool = False
) -> Json:
    """The other model against the first, on the problems of both banks.

    Problems gained and lost are also counted between halves of the two banks, beside the halves of one bank each: so
    many change by the luck of sampling alone.
    """
    unlike = first.unlike(other)
    if unlike and not differ:
        raise _refusal(first, other, unlike, "Sample one of them again, or compare them with --differ.")
    before, after = common(verified(first.counts()), verified(other.counts()))
    fewest = int(min(before.n.min(), after.n.min()))
    if fewest < 2 or len(before) < 2:
        raise DataError(
            f"a comparison needs two problems and two samples of each; the banks share {len(before)}, with {fewest}."
        )
    ks = sorted(set(ks)) or powers(fewest)
    family = Family("differences between the banks, one for each k", len(ks))
    conclusions = [conclude(difference, Stated(worth), family) for difference in paired_passes(before, after, ks)]
    pair = (before.n, before.correct), (after.n, after.correct)
    chosen = first.select(before.problems), other.select(before.problems)
    spread = _spread(*chosen)
    return {
        "first": asked(first),
        "other": asked(other),
        "unlike": {name: list(values) for name, values in unlike.items()},
        "judged_otherwise": first.verified_otherwise(other),
        "same_seed": first.asked.seed == other.asked.seed,
        "left_out": [len(first.asked.problems) - len(before), len(other.asked.problems) - len(before)],
        "samples": fewest,
        "pass": {
            str(k): [float(pass_at_k(*counts, k=k).mean()) for counts in pair]  # of the first, of the other
            for k in ks
        },
        "difference": {
            "problems": len(before),
            "family": str(family),
            "pass": {str(k): concluded_json(conclusion) for k, conclusion in zip(ks, conclusions, strict=True)},
        },
        "changed": _changed(*chosen),
        "better": dataclasses.asdict(better(*pair, RESAMPLING("better"))),
        "settle": {
            "worth": worth,
            "problems": problems_needed(spread, worth, samples=fewest, level=family.level),
            "samples": samples_needed(spread, worth, problems=len(before), level=family.level),
        },
    }


def _spread(first: SampleBank, other: SampleBank) -> Spread:
    """How answers spread over problems and samples.

    Samples of one number share random numbers if the banks have one seed, so the spread over problems is taken between
    the even samples of one bank and the odd ones of the other, where every half has two samples of every problem.
    """

    def between(one: SampleBank, two: SampleBank) -> Spread | None:
        pair = [(counts.n, counts.correct) for counts in (one.counts(), two.counts())]
        return Spread.of(*pair) if min(int(n.min()) for n, _ in pair) >= 2 else None

    (even, odd), (even_other, odd_other) = first.halves(), other.halves()
    crossed = [between(even, odd_other), between(odd, even_other)]
    counts, counts_other = first.counts(), other.counts()
    whole = Spread.of((counts.n, counts.correct), (counts_other.n, counts_other.correct))
    omegas = [one.omega for one in crossed if one is not None]
    return dataclasses.replace(whole, omega=sum(omegas) / 2) if len(omegas) == 2 else whole


def _refusal(first: SampleBank, other: SampleBank, unlike: Mapping[str, tuple[Any, Any]], advice: str) -> DataError:
    told = "; ".join(f"{name} is {_short(one)} and {_short(two)}" for name, (one, two) in unlike.items())
    return DataError(
        f"the banks of {first.asked.model} and {other.asked.model} were not asked alike: {told}. A difference between "
        f"them would be one of the asking too. {advice}"
    )


def _changed(first: SampleBank, other: SampleBank) -> Json:
    """How many problems only one side has solved: of all samples, between halves of the two, and within each."""
    (even, odd), (even_other, odd_other) = (
        [half.counts().correct > 0 for half in bank.halves()] for bank in (first, other)
    )
    whole, whole_other = first.counts().correct > 0, other.counts().correct > 0

    def only(one: np.ndarray, two: np.ndarray) -> int:
        return int((~one & two).sum())

    return {
        "gained": only(whole, whole_other),
        "lost": only(whole_other, whole),
        "halves": {  # the mean of both ways to put an even half against an odd one
            "gained": (only(even, odd_other) + only(odd, even_other)) / 2,
            "lost": (only(odd_other, even) + only(even_other, odd)) / 2,
            "by_luck": [
                (only(even, odd) + only(odd, even)) / 2,
                (only(even_other, odd_other) + only(odd_other, even_other)) / 2,
            ],
        },
    }


Sampled = Callable[[str, float, Literal["valid", "test"]], SampleBank]
"""(model, temperature, split) -> its bank."""


def parity(base: str, child: str, sampled: Sampled, ks: Sequence[int]) -> Json:
    """The child against the base at temperature 1, and each at its own best, chosen by pass@k on the split `valid`.

    Training lowers the entropy of answers, so that an equal temperature is no equal diversity. If the two comparisons
    do not say the same, the conclusion is that it depends on the temperature.
    """
    models = (base, child)
    valid = [{heat: sampled(model, heat, "valid") for heat in TEMPERATURES} for model in models]
    first, other = (banks[1.0] for banks in valid)
    if unlike := first.unlike(other):
        raise _refusal(
            first, other, unlike, "Say for both what they are asked, for example with --system or --max-new."
        )
    curves = [{heat: verified(bank.counts()) for heat, bank in banks.items()} for banks in valid]
    document: Json = {"base": base, "child": child, "temperatures": list(TEMPERATURES), "pass": {}}
    tests: dict[tuple[str, float], Bank] = {}

    def concluded_at(heats: Sequence[float], k: int) -> Json:
        for model, heat in zip(models, heats, strict=True):
            if (model, heat) not in tests:
                tests[model, heat] = sampled(model, heat, "test").counts()
        before, after = (tests[pair] for pair in zip(models, heats, strict=True))
        (difference,) = paired_passes(before, after, [k])
        return {"temperatures": list(heats), **concluded_json(conclude(difference, Stated(), family))}

    family = Family("differences at two temperatures, for each k", 2 * len(ks))
    for k in ks:
        passes = [{h: float(pass_at_k(b.n, b.correct, k=k).mean()) for h, b in curve.items()} for curve in curves]
        equal, own = (concluded_at(heats, k) for heats in ((1.0, 1.0), [best(scores) for scores in passes]))
        document["pass"][str(k)] = {
            "valid": [{f"{heat:g}": value for heat, value in scores.items()} for scores in passes],
            "equal": equal,
            "own": own,
            "conclusion": equal["word"] if equal["word"] == own["word"] else DEPENDS,
        }
    return document | {"family": str(family)}


def best(scores: Mapping[float, float]) -> float:
    """The temperature with the highest score; of equal ones the highest, which is nearest to 1."""
    return max(scores, key=lambda heat: (scores[heat], heat))


def concluded_json(conclusion: Conclusion) -> Json:
    """A difference as data: its interval, which holds together with its family's, its word, its full verdict, and p."""
    return as_json(conclusion.found) | {"word": conclusion.word, "said": str(conclusion), "p": conclusion.p}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
