"""What is asked of a recipe from Python: what it computes, and what it takes on many GPUs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from assay.api import keywords
from assay.api.given import Place, places
from assay.api.results import Result


@keywords.suggesting
def explain(recipe: str) -> Result:
    """The formula of a recipe, how it differs from GRPO, and where other implementations deviate: `assay explain`.

    print(assay.explain("dapo"))
    """
    from assay.known import others
    from assay.lab import papers
    from assay.lab.explain import explain as explained
    from assay.lab.explain import text

    others()
    found = explained(papers.recipes_of(recipe)[0])
    return Result(found, text(found))


def plan(
    recipe: str | None = None,
    *,
    model: Place | None = None,
    gpus: int = 16,
    gpu: str = "h100",
    prompt_tokens: int = 512,
    answer_tokens: int | None = None,
    reply_tokens: int | None = None,
    task: str | Sequence[str] | None = None,
    config: Place | Sequence[Place] = (),
    settings: Mapping[str, Any] | None = None,
    **more_settings: Any,
) -> Result:
    """What a recipe would need and take on many GPUs, and where to put learners and servers: `assay plan`.

    print(assay.plan("grpo", model="Qwen/Qwen2.5-7B", gpus=8, scale={"group_size": 16}))

    `config` names files that describe a run: recipe, model, tasks and settings are those of the files, unless they are
    given. With a task whose world replies the plan counts replies and seats.
    """
    from assay.errors import UsageError
    from assay.known import others
    from assay.known import recipe as of_name
    from assay.planner.show import outlook_of
    from assay.run import file_trust
    from assay.run.trust import Trust

    others()
    beside = ["model", *(name for name in plan.__kwdefaults__ or () if name != "settings")]
    method = None if recipe is None else of_name(recipe)
    given = keywords.settings_of(method, more_settings, settings, beside=beside, of="assay.plan")
    if fields := [name for name in given if name != "settings"]:
        raise UsageError(f"assay.plan has no {fields[0]}: it plans one step of a recipe.")
    tasks = (task,) if isinstance(task, str) else tuple(task or ())
    named = {"recipe": recipe, "model": None if model is None else os.fspath(model), "task": tasks or None}
    given |= {name: value for name, value in named.items() if value is not None}
    setup, _ = file_trust.composed_with(places(config), given, Trust())  # numbers alone: nothing is run or reached
    how = {"gpus": gpus, "gpu_name": gpu, "prompt": prompt_tokens, "answer": answer_tokens}
    how |= {"replies": reply_tokens, "tasks": setup.task}
    return Result(*outlook_of(setup.recipe, setup.model, **how, settings=setup.settings))
