"""The components of the blueprint of reasoning models (2501.11223) that each recipe has, read off its parts.

The blueprint takes a method apart into a reasoning structure, operators on it, what evaluates its nodes, the models
beside the policy, and the phases of training. A recipe is such a decomposition already, so nothing is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.ask import AsRole
from assay.curate import NoTraining, Untrained
from assay.part import Rewarding, parts_of
from assay.recipe import Mechanism, Recipe

HEADS = ("recipe", "structure", "operators", "evaluates", "models beside the policy", "phases")


@dataclass(frozen=True)
class Components:
    """The components of a recipe in each dimension of the blueprint."""

    structure: str  # `chain`, or `tree` where answers go on from within other answers
    operators: tuple[str, ...]  # the ways to make nodes, and the other roles that are asked
    evaluates: tuple[str, ...]  # the things that have a value, and the models that say it
    models: tuple[str, ...]  # beside the policy, each with what it is
    phases: tuple[str, ...]  # the learners of each stage, in the order of stages

    @property
    def every(self) -> frozenset[tuple[str, str]]:
        """All components, each with its dimension."""
        many = {"operators": self.operators, "evaluates": self.evaluates, "models": self.models, "phases": self.phases}
        told = {(dimension, one) for dimension, several in many.items() for one in several}
        return frozenset(told | {("structure", self.structure)})


def components(recipe: Recipe) -> Components:
    """The components of a recipe, over all of its stages that have steps."""
    stages = [stage for stage in recipe.stages if stage.share > 0]
    mechanisms = list(dict.fromkeys(stage.mechanism or recipe.mechanism for stage in stages))
    operators = tuple(_operators(recipe, mechanisms))
    return Components(
        structure="tree" if "branch" in operators else "chain",
        operators=operators,
        evaluates=tuple(dict.fromkeys(_evaluates(mechanisms))),
        models=tuple(f"{name} ({_kind(recipe, name)})" for name in recipe.models if name != "policy"),
        phases=tuple(_phase(recipe, stage.mechanism or recipe.mechanism) for stage in stages),
    )


def _operators(recipe: Recipe, mechanisms: Sequence[Mechanism]) -> Iterator[str]:
    """Ways to make answers: sampling, texts of others, answers that go on from others, other roles, new problems."""
    imitating = [mechanism for mechanism in mechanisms if any(part.imitates for part in mechanism.ask)]
    if len(imitating) < len(mechanisms):
        yield "generate"
    if imitating:
        yield "imitate"
    if any(part.continues for mechanism in mechanisms for part in mechanism.expand):
        yield "branch"
    if any(mechanism.source.posed for mechanism in mechanisms):
        yield "pose"
    yield from (f"ask {role}" for role in recipe.roles if role != "policy")


def _evaluates(mechanisms: Sequence[Mechanism]) -> Iterator[str]:
    """Outcomes, or parts of answers; and the models with a value head that say what these are worth."""
    parts = [part for mechanism in mechanisms for part in parts_of(mechanism)]
    rewards = [part for part in parts if isinstance(part, Rewarding)]
    if any(part.gives == "episode" and "penalty" not in part.writes for part in rewards):
        yield "outcomes"
    yield from (f"{scope}s" for scope in ("turn", "span", "token") if any(part.gives == scope for part in rewards))
    yield from (f"by {name}" for part in parts for name in part.outputs)


def _kind(recipe: Recipe, name: str) -> str:
    model = recipe.models[name]
    said = {"tokens": "policy", "value": "values", "both": "policy with values"}[model.output]
    return said if model.trained else f"follows {model.follows}" if model.follows else "frozen"


def _phase(recipe: Recipe, mechanism: Mechanism) -> str:
    """The models that learn in a stage, and how the policy does."""
    if any(isinstance(part, NoTraining) for part in mechanism.curate):
        return "nothing"
    still = {part.role for part in mechanism.curate if isinstance(part, Untrained) and not part.but}
    if not mechanism.expand and any(isinstance(part, AsRole) for part in mechanism.ask):
        still.add("policy")  # every problem is asked of another role, and nothing is asked of the policy after it
    learns = sorted({name for part in mechanism.forwards for name in part.outputs})
    if "policy" not in still and recipe.models[recipe.roles["policy"]].trained:
        imitates = any(part.imitates for part in mechanism.ask)
        own = "a loss of its own" if mechanism.objective.whole is not None else "policy gradient"
        learns = [f"policy by {'imitation' if imitates else own}", *learns]
    others = {rule.role for rule in mechanism.rules if recipe.models[recipe.roles[rule.role]].trained}
    return " and ".join([*learns, *sorted(others - still - {"policy"})]) or "nothing"


def rows(recipes: Sequence[Recipe]) -> Iterator[Sequence[str]]:
    """The table, as rows of text."""
    yield HEADS
    yield ["---"] * len(HEADS)
    for recipe in recipes:
        found = components(recipe)
        lists = [", ".join(one) for one in (found.operators, found.evaluates, found.models)]
        yield f"`{recipe.name}`", found.structure, *lists, "; ".join(dict.fromkeys(found.phases))
