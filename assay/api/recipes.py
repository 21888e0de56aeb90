"""What is asked of a recipe from Python: what it computes, and what it takes on many GPUs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from assay.api import keywords
from assay.api.given import Place
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
    recipe: str,
    *,
    model: Place,
    gpus: int = 16,
    gpu: str = "h100",
    prompt_tokens: int = 512,
    answer_tokens: int | None = None,
    settings: Mapping[str, Any] | None = None,
    **more_settings: Any,
) -> Result:
    """What a recipe would need and take on many GPUs, and where to put learners and servers: `assay plan`.

    print(assay.plan("grpo", model="Qwen/Qwen2.5-7B", gpus=8, scale={"group_size": 16}))
    """
    from assay.errors import UsageError
    from assay.known import others
    from assay.known import recipe as of_name
    from assay.planner.show import outlook_of

    others()
    beside = ["model", *(name for name in plan.__kwdefaults__ or () if name != "settings")]
    given = keywords.settings_of(of_name(recipe), more_settings, settings, beside=beside, of="assay.plan")
    if fields := [name for name in given if name != "settings"]:
        raise UsageError(f"assay.plan has no {fields[0]}: it plans one step of a recipe.")
    how = {"gpus": gpus, "gpu_name": gpu, "prompt": prompt_tokens, "answer": answer_tokens}
    return Result(*outlook_of(recipe, os.fspath(model), **how, settings=given["settings"]))
