"""Three steps of training in a second: an untrained model of one layer, a few short answers. For tests of methods,
tasks and rewards. It shows that something runs; nothing is learnt in three steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.recipe import USUAL_TASK, Recipe
from assay.run import session
from assay.run.grader import reward_names_of
from assay.run.setup import composed

CONTEXT = 128
SIZES = {
    "scale.num_prompts": 2,
    "scale.group_size": 4,
    "scale.max_new": 8,
    "scale.num_minibatches": 2,
    "scale.warmup_steps": 0,
    "evaluation.every": 0,
    "evaluation.final_problems": 2,
    "evaluation.final_samples": 2,
    "machine.threads": 1,
}


@dataclass(frozen=True)
class Trial:
    """A small run that is done: `Trial(Path("runs/trial")).metrics()`."""

    path: Path

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of each step, name -> value."""
        from assay.record.folder import RunFolder

        return RunFolder.read_only(self.path).read("metrics")


def small_model(folder: Path) -> Path:
    """Writes an untrained model that knows the characters of `assay.tasks.ALPHABET`, and gives its folder."""
    from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, save_policy
    from assay.rng import Key
    from assay.tasks import ALPHABET

    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, CONTEXT, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("trial")), folder)
    return folder


def small_run(
    recipe: str | Recipe,
    folder: Path,
    *,
    task: str = "countdown",
    levels: Sequence[int] | None = None,
    steps: int = 3,
    reward: str | Callable[..., Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Trial:
    """Trains in `folder` and returns the run; `settings` are those of `assay.train`, beside `SIZES`."""
    from assay.known import others

    others()
    method = recipe if isinstance(recipe, Recipe) else None
    rewards, functions = reward_names_of(reward, None)
    usual = USUAL_TASK if task == "countdown" else task
    asked = {
        "recipe": recipe if isinstance(recipe, str) else recipe.name,
        "task": (usual if levels is None else f"{task}:{','.join(map(str, levels))}",),
        "model": str(small_model(folder / "model")),
        "profile": "laptop",
        "steps": steps,
        "settings": {**SIZES, **(settings or {})},
    }
    setup = composed(asked | ({"reward": rewards} if rewards else {}))
    experiment, _ = session.planned(setup, method)
    return Trial(session.start(experiment, folder / "run", quiet=True, functions=functions, setup=setup))


def variety(completions: Sequence[Any], **_: Any) -> list[float]:
    """A reward that answers of an untrained model differ in: the share of its characters that are different ones."""
    return [len(set(text)) / max(1, len(text)) for text in completions]
