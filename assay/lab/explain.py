"""`assay explain RECIPE`: the loss of a method as eight factors with their formulas, what the loss does to a token on
policy, and how the method differs from GRPO.

Everything is read from the code: names and values from the recipe's parts, formulas from the docstrings of their
functions.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from assay.credit import pack
from assay.errors import ConfigError
from assay.host import terminal
from assay.known import RECIPES, recipe
from assay.lab.released import deviations
from assay.objective import Objective, Term
from assay.part import Part, name_of
from assay.recipe import Mechanism, Recipe, Stage
from assay.types import Batch, Episode, Problem, Request, Reward, Row, Segment, Verdict

FACTORS = ("advantage", "ratio", "gate", "keep mask", "correction", "aggregation", "regulariser", "extra")
BESIDE = ("source", "ask", "expand", "collect", "reward", "forwards", "remember")
"""The phases of the loop whose parts are not factors of the loss."""
POLICY = "- sum_t  a_t k_t c_t g(w_t; A_t) A_t log pi_t"
LIKELIHOOD, ENTROPY = "how likely the answers are", "how unsure the policy is"
AT = {LIKELIHOOD: "a probability of 1/e of every token", ENTROPY: "an entropy of 1"}
SPELT = "a: weight of the aggregation, k: keep mask, c: correction, g: gate (detached), A: advantage"


@dataclasses.dataclass(frozen=True)
class Factor:
    """A part as a factor of the loss.

    Factor("gate", "clip", {"low": 0.2, "high": 0.28}, "The clip of PPO ...", "g = w, but 0 if ...").title
    """

    name: str  # the slot
    part: str  # the name of the part
    values: Mapping[str, Any]
    says: str  # the first paragraph of the docstring of the part's class
    formula: str  # the first paragraph of the docstring of the part's function
    where: str = ""  # the tokens that it applies to; "": all

    @property
    def title(self) -> str:
        inner = ", ".join(f"{name}={_short(value)}" for name, value in self.values.items())
        return self.part + (f"({inner})" if inner else "") + (f" on {self.where}" if self.where else "")


def explain(name: str) -> dict[str, Any]:
    """Everything that `assay explain` says about a recipe, as data.

    explain("dapo")["against_grpo"]
    assay explain dapo --json
    """
    method, grpo = recipe(name), RECIPES["grpo"]
    shown, mechanism = shown_stage(method)
    factors = factors_of(mechanism)
    return {
        "name": method.name,
        "title": method.title,
        "paper": method.paper,
        "claim": method.claim,
        "formula": _formula(mechanism.objective),
        "factors": {name: [_row(factor) for factor in parts] for name, parts in factors.items()},
        "beside": {slot: [_row(factor) for factor in _parts(slot, getattr(mechanism, slot))] for slot in BESIDE},
        "on_policy": on_policy(mechanism.objective),
        "against_grpo": _against(mechanism, grpo.mechanism) if method is not grpo else [],
        "stages": [stage.name for stage in method.stages] if len(method.stages) > 1 else [],
        "stage": shown.name,
        "roles": {rule.role: _factors_as_data(method, rule.role) for rule in mechanism.rules},
        "missing": method.missing,
        "deviations": deviations(method),
        "notes": list(method.notes),
    }


def shown_stage(method: Recipe) -> tuple[Stage, Mechanism]:
    """The stage to explain: the first with the recipe's own mechanism, else the first of all. And its mechanism."""
    shown = next((stage for stage in method.stages if stage.mechanism is None), method.stages[0])
    return shown, shown.mechanism or method.mechanism


def factors_of(mechanism: Mechanism) -> dict[str, list[Factor]]:
    """The eight factors of the loss, each a list of parts. The list is empty if the mechanism has no such factor."""
    goal = mechanism.objective
    replaced = goal.whole is not None
    ratio = [] if replaced else [_factor("ratio", goal.ratio), *_cases(goal, "ratio")]
    gate = [] if replaced else [_factor("gate", goal.gate), *_cases(goal, "gate")]
    return {
        "advantage": [*_parts("credit", mechanism.credit), *_parts("shape", mechanism.shape)],
        "ratio": [_factor("whole", goal.whole)] if goal.whole is not None else ratio,
        "gate": gate,
        "keep mask": [*_parts("curate", mechanism.curate), *_parts("keep", goal.keep)],
        "correction": [*_parts("correct", goal.correct)],
        "aggregation": [_factor("aggregate", goal.aggregate)],
        "regulariser": [*_parts("regularise", goal.regularise)],
        "extra": [*_parts("extra", goal.extra), *_parts("forwards", mechanism.forwards)],
    }


def _factors_as_data(method: Recipe, role: str) -> dict[str, list[dict[str, Any]]]:
    rule = method.mechanism.rule(role)
    named = {"credit": rule.credit, "shape": rule.shape, "objective": rule.objective}
    found = factors_of(dataclasses.replace(Mechanism(), **named))
    return {name: [_row(factor) for factor in factors] for name, factors in found.items()}


def _cases(goal: Objective, kind: str) -> Iterator[Factor]:
    for case in goal.cases:
        yield dataclasses.replace(_factor(kind, getattr(case, kind)), where=_factor("over", case.over).title)


def _parts(slot: str, parts: Part | Sequence[Part]) -> Iterator[Factor]:
    for part in (parts,) if isinstance(parts, Part) else parts:
        yield _factor(slot, part)


def _factor(slot: str, part: Part) -> Factor:
    values = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    where = ""
    if isinstance(part, Term):
        over, mean = values.pop("over"), values.pop("mean")
        where = "" if over is None else _factor("over", over).title
        values |= {"mean": mean} if mean == "own" else {}
    record = type(part)
    return Factor(slot, name_of(part), values, _first_paragraph(record), _first_paragraph(record.does), where)


@functools.cache
def _first_paragraph(source: Any) -> str:
    return " ".join((source.__doc__ or "").strip().split("\n\n")[0].split())


def _formula(goal: Objective) -> str:
    policy = POLICY if goal.whole is None else f"- sum_t  c_t log pi_t, c the derivative of: {_loss(goal.whole)}"
    terms = [f"{_factor(kind, term).title}" for kind in ("regularise", "extra") for term in getattr(goal, kind)]
    return " + ".join([policy, *terms])


def _loss(whole: Part) -> str:
    factor = _factor("whole", whole)
    return factor.formula or factor.says


def _against(mechanism: Mechanism, other: Mechanism) -> list[str]:
    """A line for each factor and phase in which the mechanism differs from GRPO."""
    mine, theirs = factors_of(mechanism), factors_of(other)
    mine |= {slot: list(_parts(slot, getattr(mechanism, slot))) for slot in BESIDE}
    theirs |= {slot: list(_parts(slot, getattr(other, slot))) for slot in BESIDE}
    lines = []
    for name in mine:
        if mine[name] != theirs[name] and name != "forwards":
            lines.append(f"{name}: {_titles(mine[name])} (GRPO: {_titles(theirs[name])})")
    if mechanism.objective.anchor != other.objective.anchor:
        lines.append("the ratio's denominator is the sampler's own log-prob (GRPO: the learner's before the step)")
    return lines


def _titles(factors: Sequence[Factor]) -> str:
    return " + ".join(factor.title for factor in factors) or "none"


def _row(factor: Factor) -> dict[str, Any]:
    return {"part": factor.part, "title": factor.title, "says": factor.says, "formula": factor.formula}


def _short(value: Any) -> str:
    if isinstance(value, Part):
        return f"{type(value).__name__}({', '.join(str(getattr(value, f.name)) for f in dataclasses.fields(value))})"
    return f"{value:g}" if isinstance(value, float) else str(value)


# On policy


def on_policy(goal: Objective) -> dict[str, Any]:
    """The factor that multiplies the advantage on policy, before the first update: of a right and of a wrong answer.

    It is computed for a group of four equally likely answers of three tokens, one right with the advantage +1 and three
    wrong with -1. For a loss without a gate (`whole`) it is the coefficient of log pi, in units of a token's weight. It
    is None if the loss needs more than such a group. `depends` lists whether it changes with the probability of the
    answers or with the entropy of the policy.
    """
    goal = dataclasses.replace(goal, regularise=(), extra=())
    found = _push(goal)
    if found is None:
        return {"right": None, "wrong": None, "depends": []}
    others = {LIKELIHOOD: _push(goal, likely=(-0.5, -1.5)), ENTROPY: _push(goal, entropy=2.0)}
    depends = [name for name, other in others.items() if other is None or not np.allclose(other, found, atol=1e-5)]
    return {"right": round(found[0], 6), "wrong": round(found[1], 6), "depends": depends}


def _push(
    goal: Objective, *, likely: tuple[float, float] = (-1.0, -1.0), entropy: float = 1.0
) -> tuple[float, float] | None:
    """The factor for a right and for a wrong answer whose tokens have these log-probs, and this entropy."""
    import torch

    from assay.objective.loss import loss_of
    from assay.objective.survey import constants
    from assay.objective.view import view_of_batch
    from assay.rng import Key

    batch, weight = _four(likely, entropy), 1 / 12
    assert batch.old is not None
    sampled = torch.from_numpy(batch.old)
    view = view_of_batch(batch, logp=sampled, entropy=torch.full((12,), entropy), key=Key(0))
    weights = np.full(12, weight, np.float32)
    try:
        leaf = sampled.clone().requires_grad_()
        view = dataclasses.replace(view, logp=leaf, constants={**view.constants, **constants(view, weights, goal)})
        loss_of(goal)(view, torch.from_numpy(weights)).value.backward()
    except (KeyError, AssertionError, ConfigError):  # a part reads streams that only a run has
        return None
    assert leaf.grad is not None
    push = -leaf.grad / weight
    push = push * view.streams["advantage"] if goal.whole is None else push
    return float(push[0]), float(push[-1])


def _four(likely: tuple[float, float], entropy: float) -> Batch:
    """A batch of four answers to one question, generated by the current policy. Only the first is right."""
    right, wrong = likely
    return pack([_answer(sample, right if sample == 0 else wrong, entropy) for sample in range(4)])


def _answer(sample: int, logp: float, entropy: float) -> Row:
    problem, right = Problem("explain", "?", {}, "?"), sample == 0
    ids, known, unsure = np.ones(3, np.int32), np.full(3, logp, np.float32), np.full(3, entropy, np.float32)
    answer = Segment(ids, np.zeros(3, np.int8), old=known, mu=known, entropy=unsure)
    request = Request(problem, ids[:1], "group", 3, sample=sample)
    verdict, reward = (Verdict.ok(), 1.0) if right else (Verdict.fail("wrong"), 0.0)
    episode = Episode(request, (answer,), "stop", verdict=verdict, rewards=(Reward("outcome", reward),))
    advantage = np.full(3, 1.0 if right else -1.0, np.float32)
    return Row(episode, advantage=advantage, old=known, ref=known)


# As text for a terminal


def text(found: Mapping[str, Any]) -> str:
    """The explanation of a method as text."""
    lines = [f"{found['name']}: {found['title']} ({found['paper']})", f"claim: {found['claim']}", ""]
    lines += [f"minimise  {found['formula']}", f"          {SPELT}", ""]
    for name, factors in found["factors"].items():
        lines += _listed(name, factors)
    lines += ["", "beside the loss"]
    for name, factors in found["beside"].items():
        lines += _listed(f"  {name}", factors) if factors else []
    for role, factors in found["roles"].items():
        lines += ["", f"the role {role} learns by"]
        for name, rows in factors.items():
            lines += _listed(f"  {name}", rows) if rows else []
    lines += ["", f"on policy, one right of four: {_on_policy(found['on_policy'])}"]
    if found["stages"]:
        lines.append(f"stages: {', '.join(found['stages'])} (above: {found['stage']})")
    lines += ["", f"of the paper not here: {found['missing']}"] if found["missing"] else []
    for title, name in (
        ("what differs from grpo", "against_grpo"),
        ("where known implementations deviate", "deviations"),
        ("notes", "notes"),
    ):
        lines += ["", title, *(f"- {line}" for line in found[name])] if found[name] else []
    return "\n".join(lines)


def _listed(name: str, factors: Sequence[Mapping[str, Any]]) -> list[str]:
    if not factors:
        return [f"{name:<12}  none"]
    lines = []
    for place, factor in enumerate(factors):
        lines.append(f"{name if place == 0 else '':<12}  {factor['title']}")
        for said in dict.fromkeys([factor["says"], factor["formula"]]):
            lines += textwrap.wrap(said, 116, initial_indent=" " * 16, subsequent_indent=" " * 16)
    return lines


def _on_policy(push: Mapping[str, Any]) -> str:
    if push["right"] is None or push["wrong"] is None:
        return "depends on more than the policy (another model, a memory, other rows)"
    said = f"{push['right']:g} times the advantage of a right token, {push['wrong']:g} times that of a wrong one"
    if not push["depends"]:
        return said
    depends = push["depends"]
    return f"{said}, at {' and '.join(AT[name] for name in depends)}; it depends on {' and '.join(depends)}"


def run_explain(arguments: argparse.Namespace) -> dict[str, Any]:
    from assay.lab import papers

    first, *more = papers.recipes_of(arguments.recipe)
    if first != arguments.recipe:
        terminal.say(f"'{arguments.recipe}' runs here as {', '.join([first, *more])}. This is {first}.")
    found = explain(first)
    if not arguments.json:
        terminal.show(text(found))
    return found
