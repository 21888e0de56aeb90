"""Reports on sample banks, as tables of plain text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.view.text import ABSENT, change, columns, score

Json = Mapping[str, Any]


def shown_table(found: Json) -> str:
    """The estimates of one bank: a row for each k, then the facts on the whole bank."""
    rows: list[Sequence[str]] = [("k", "pass@k", "s.e. samples", "s.e. problems", "maj@k", "all@k")]
    for k, value in found["pass"].items():
        majority = score(found["maj"].get(k)) if "maj" in found else ABSENT
        errors = (_error(value["error_samples"]), _error(value["error_problems"]))
        rows.append((k, score(value), *errors, majority, score(found["all"][k])))
    believed, avg, unsolved = found["posterior"], found["avg"], found["unsolved"]
    some = len(unsolved["problems"])
    lacking = ", the bank is incomplete" if found["incomplete"] else ""
    bound = f", each with a chance below {unsolved['bound']:.4f} (at 95 %)" if some else ""
    fitted = found["fitted"]
    beyond = ", ".join(f"pass@{k} {value:.3f}" for k, value in fitted["beyond"].items())
    facts: list[Sequence[str]] = [
        (f"avg@{found['samples']}", score(avg)),
        ("posterior mean", f"{score(believed)}, of these problems"),
        ("chances of problems", f"as from Beta({fitted['a']:.3g}, {fitted['b']:.3g})"),
        ("not measured", f"{beyond}, by the tail of this distribution"),
        *([("area of pass@k", f"{found['area']:.3f}")] if found["area"] is not None else []),
        ("unsolved", f"{some} of {found['problems']} problems{bound}"),
        ("cut at the limit", f"{found['truncated']:.1%}"),
        ("without verdict", f"{found['invalid_share']:.1%}{lacking}"),
    ]
    shape = f"{_named(found)}: {found['problems']} problems x {found['samples']} samples of split {found['split']}"
    return "\n".join([shape, _decoding(found), *columns(rows), *columns(facts), "intervals: 95 %, over problems"])


def voted_table(found: Json) -> str:
    """How often a choice among k answers by a verifier's verdicts is right, a row for each rule."""
    ks = list(found["chosen"]["majority"])
    rows: list[Sequence[str]] = [("chosen among", *ks)]
    rows += [(rule, *(f"{value:.3f}" for value in values.values())) for rule, values in found["chosen"].items()]
    apart = ABSENT if found["auroc"] is None else f"{found['auroc']:.3f}"
    shape = f"{found['bank']}: {found['problems']} problems x {found['samples']} samples, read by {found['verifier']}"
    return "\n".join([shape, *columns(rows), f"right before wrong, of pairs of one problem: {apart}"])


def compared_table(found: Json) -> str:
    """Two models on the same problems: pass@k of both, problems gained and lost, and what would settle a difference."""
    rows: list[Sequence[str]] = [("", "first", "other", "difference", "")]
    for k, (first, other) in found["pass"].items():
        difference = found["difference"]["pass"][k]
        rows.append((f"pass@{k}", f"{first:.3f}", f"{other:.3f}", change(difference), difference["said"]))
    changed, better, settle = found["changed"], found["better"], found["settle"]
    halves = changed["halves"]
    solved: list[Sequence[str]] = [
        ("problems solved by one alone", "gained", "lost"),
        ("of all samples", str(changed["gained"]), str(changed["lost"])),
        ("half against half", f"{halves['gained']:g}", f"{halves['lost']:g}"),
        *((f"by luck, within {side}", f"{n:g}", f"{n:g}") for side, n in zip(("first", "other"), halves["by_luck"])),
    ]
    enough = "no number is enough" if settle["samples"] is None else f"{settle['samples']} samples of each would do"
    facts = [
        f"the other is better with chance {_chance(better['chance'])}, on these problems",
        f"to settle a difference of {settle['worth']:g} in pass@1: {settle['problems']} problems at {found['samples']} "
        f"samples each; or, with these problems, {enough}",
    ]
    if found["same_seed"]:
        facts.append("both banks have one seed: models that are nearly the same give nearly the same samples")
    if found["unlike"]:
        facts.append(f"asked otherwise, in: {', '.join(found['unlike'])}")
    if found["judged_otherwise"]:
        named = ", ".join(found["judged_otherwise"])
        facts.append(f"verified by two versions of: {named}; verdicts may differ by that")
    if any(found["left_out"]):
        facts.append(f"problems of one bank alone, left out: {found['left_out'][0]} and {found['left_out'][1]}")
    heads = [f"{side}  {_named(found[side])}, {_decoding(found[side])}" for side in ("first", "other")]
    shape = f"{found['difference']['problems']} problems, {found['samples']} samples of each or more"
    notes = f"intervals: over problems, of these checkpoints alone; one family of {found['difference']['family']}"
    together = "which hold together at 95 %"
    return "\n".join([*heads, shape, *columns(rows), *columns(solved), *facts, f"{notes}, {together}"])


def scored_table(found: Json) -> str:
    """The statistics of a model on the answers of a bank: on all, on right and on wrong ones."""
    rows: list[Sequence[str]] = [
        ("answers", "number", "nll a token", "perplexity", "median", "entropy", "likeliest", "nucleus", "KL an answer")
    ]
    for kind in ("all", "right", "wrong"):
        if (scores := found[kind]) is not None:
            far = ABSENT if scores["kl"] is None else f"{scores['kl']:.3f}"
            numbers = (scores[name] for name in ("nll", "perplexity", "median_perplexity", "entropy"))
            shares = (f"{scores['first_rank']:.1%}", f"{scores['nucleus']:.2f}")
            rows.append((kind, str(scores["answers"]), *(f"{value:.3f}" for value in numbers), *shares, far))
    beside = f", and how far it is from {found['against']}" if found["against"] else ""
    notes = [
        "perplexity: of the mean cost of a token over answers; likeliest: tokens that were the likeliest ones",
        "nucleus: the fewest tokens with 95 % of the probability, mean over tokens; the end token counts",
    ]
    return "\n".join([f"{found['model']} reads the answers of {found['bank']}{beside}", *columns(rows), *notes])


def parity_table(found: Json) -> str:
    """The child against the base at one temperature, and each at its own best."""
    rows: list[Sequence[str]] = [("", "both at 1", "", "each at its best", "", "base, child", "conclusion")]
    for k, one in found["pass"].items():
        equal, own = one["equal"], one["own"]
        heats = ", ".join(f"{heat:g}" for heat in own["temperatures"])
        cells = (change(equal), equal["word"], change(own), own["word"])
        rows.append((f"pass@{k}", *cells, heats, one["conclusion"]))
    shape = f"{found['child']} against {found['base']}: difference, and the word that follows from its interval"
    notes = f"intervals: over problems; one family of {found['family']}, which hold together at 95 %"
    return "\n".join([shape, *columns(rows), f"{notes}; best temperatures chosen on split valid"])


def _named(found: Json) -> str:
    return f"{found['model']} (weights {found['weights']})"


def _decoding(found: Json) -> str:
    limits = f"top-p {found['top_p']:g}, at most {found['max_new']} tokens"
    return f"temperature {found['temperature']:g}, {limits}, seed {found['seed']}"


def _error(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"


def _chance(p: float) -> str:
    """A share of draws, which are too few to tell the last thousandth."""
    return ">0.999" if p > 0.999 else "<0.001" if p < 0.001 else f"{p:.3f}"
