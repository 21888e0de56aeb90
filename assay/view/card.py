"""The model card of a run: what was trained, how, on what, and what it came to, in the form that the Hub reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.record import RunFolder, disk
from assay.tasks.data.several import names_of
from assay.tasks.data.task import Data, is_data
from assay.view.results import outcome

NAME = "README.md"
SCALE = {  # what a reader asks for first, in these words
    "num_steps": "steps",
    "num_prompts": "prompts a step",
    "group_size": "answers to each prompt",
    "max_new": "tokens of an answer, at most",
    "learning_rate": "learning rate",
    "schedule": "schedule",
    "warmup_steps": "warm-up, optimiser steps",
    "num_minibatches": "mini-batches a step",
    "num_epochs": "passes over a batch",
    "temperature": "sampling temperature",
    "weight_decay": "weight decay",
    "clip_norm": "gradient norm, clipped at",
}


def write_card(
    run: Path | str, target: Path | str | None = None, *, step: int | None = None, merged: bool = False
) -> Path:
    """Writes the card as README.md into a folder, by default the run's own; its path."""
    path = Path(run if target is None else target) / NAME
    with disk.storage_errors(f"writing the model card {path}"):
        disk.replace(path, model_card(run, step=step, merged=merged).encode(), point="card")
    return path


def model_card(run: Path | str, *, step: int | None = None, merged: bool = False) -> str:
    """Front matter and text, from what the run folder holds; the license is left to whoever publishes. Of the weights
    after `step`, by default the last ones; `merged`: with the adapter in them.
    """
    folder = RunFolder.read_only(run)
    document, result = folder.document, outcome(run, step=step)
    _require_written(folder)
    adapter = bool(_rank(document["experiment"])) and not merged
    parts = [_front(document, adapter=adapter), _heading(document, result), _results(result), _training(document)]
    parts += [*_asking(document["experiment"]), _loading(document, adapter=adapter)]
    if document.get("warnings"):
        told = "\n".join(f"- {sentence}" for sentence in document["warnings"])
        parts.append(f"## Warnings at the start of the run\n\n{told}")
    parts.append(_versions(document))
    return "\n\n".join(parts) + "\n"


def _require_written(folder: RunFolder) -> None:
    """StorageError where run.json lacks what the card says of the run."""
    experiment = folder.experiment
    recipe = _object(experiment.get("recipe"))
    shares = _objects(_object(experiment.get("pool")).get("shares"))
    parts = _objects(_object(recipe.get("mechanism")).get("reward"))
    texts = [folder.document.get("recipe"), *(experiment.get(name) for name in ("model", "profile"))]
    texts += [recipe.get(name) for name in ("title", "paper", "claim")]
    texts += [share.get("task") for share in shares] + [part.get("part") for part in parts]
    lists = [share.get("levels") for share in shares]
    written = all(isinstance(text, str) for text in texts) and all(isinstance(levels, list) for levels in lists)
    if not (written and shares and isinstance(recipe.get("scale"), dict)):
        raise StorageError(f"{folder.path / 'run.json'} does not say what was trained: put the file back.")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [_object(item) for item in value] if isinstance(value, list) else []


def _front(document: Mapping[str, Any], *, adapter: bool) -> str:
    """YAML; a string of JSON is one of YAML too."""
    experiment = document["experiment"]
    lines = ["---", "# license: that of the base model may bind you; name one before you publish"]
    if is_hub_id(experiment["model"]):
        lines.append(f"base_model: {json.dumps(experiment['model'])}")
    lines += [
        f"library_name: {'peft' if adapter else 'transformers'}",
        "pipeline_tag: text-generation",
        f"tags: {json.dumps(['reinforcement-learning', 'verifiable-rewards', 'assay', document['recipe']])}",
        "---",
    ]
    return "\n".join(lines)


def is_hub_id(model: str) -> bool:
    """`owner/name`, and no folder of this machine."""
    return model.count("/") == 1 and not model.startswith((".", "/", "~")) and not Path(model).exists()


def _rank(experiment: Mapping[str, Any]) -> int:
    return int((experiment.get("lora") or {}).get("rank") or 0)


def _base(experiment: Mapping[str, Any]) -> str:
    """The model as a reader elsewhere may know it: of a folder, its name alone."""
    model = experiment["model"]
    return model if is_hub_id(model) else Path(model).name


def _heading(document: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    experiment, recipe = document["experiment"], document["experiment"]["recipe"]
    how = f", low-rank adapters of rank {_rank(experiment)}" if _rank(experiment) else ""
    return (
        f"# {_base(experiment)}, {document['recipe']} on {_tasks(experiment)}\n\n"
        f"`{_base(experiment)}` after {result['steps']} steps of reinforcement learning with verifiable rewards{how}. "
        f"Method: {recipe['title']} ([arXiv {recipe['paper']}](https://arxiv.org/abs/{recipe['paper']})). "
        f"What the paper claims of it: {recipe['claim'].rstrip('.')}."
    )


def _tasks(experiment: Mapping[str, Any]) -> str:
    """Tasks with their levels; of a file its name alone."""
    told = []
    for share in experiment["pool"]["shares"]:
        if is_data(share["task"]):
            told += names_of(Data.of(share["task"]).places, whole=False)
        else:
            told.append(f"{share['task']} {','.join(map(str, share['levels']))}")
    return ", ".join(told)


def _results(result: Mapping[str, Any]) -> str:
    before, after = result["before"], result["after"]
    if before is None:
        return "## Results\n\nNo held-out evaluation was made."
    rows = ["| | before | after | difference |", "|-|-|-|-|"]
    for k, first in before["pass"].items():
        last = after["pass"].get(k) if after else None
        change = result["difference"]["pass"].get(k) if result["difference"] else None
        rows.append(f"| pass@{k} | {_interval(first)} | {_interval(last)} | {_interval(change, signed=True)} |")
    told = (
        f"Held-out problems: {before['problems']}, answers to each: {before['samples']}, before and after training. "
        "Unbiased pass@k with 95 % intervals over problems; differences are paired."
    )
    return "\n".join(["## Results", "", told, "", *rows])


def _interval(value: Mapping[str, float] | None, *, signed: bool = False) -> str:
    if value is None:
        return "-"
    form = "+.3f" if signed else ".3f"
    if value["low"] is None:
        return f"{value['mean']:{form}}"
    return f"{value['mean']:{form}} [{value['low']:{form}}, {value['high']:{form}}]"


def _training(document: Mapping[str, Any]) -> str:
    experiment = document["experiment"]
    scale = experiment["recipe"]["scale"]
    rows = [("data", _tasks(experiment)), ("rewards", _rewards(experiment))]
    rows += [("profile", experiment["profile"]), ("seed", experiment["seed"])]
    rows += [(words, scale[name]) for name, words in SCALE.items() if scale.get(name) is not None]
    table = "\n".join(f"| {name} | {_cell(value)} |" for name, value in rows)
    return f"## Training\n\n| | |\n|-|-|\n{table}\n\nEverything else is in `run.json` of the run."


def _rewards(experiment: Mapping[str, Any]) -> str:
    """The functions of `--reward` by file name, or the parts of the recipe."""
    if given := experiment.get("rewards"):
        return ", ".join(text.rpartition("/")[2] for text in given)
    return ", ".join(part["part"] for part in experiment["recipe"]["mechanism"]["reward"])


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _asking(experiment: Mapping[str, Any]) -> list[str]:
    """What stood before every prompt, without which the model is another one."""
    chat = experiment.get("chat") or {}
    told = [f"```text\n{chat['system']}\n```"] if chat.get("system") else []
    told += [f"`enable_thinking` was {chat['thinking']}."] if chat.get("thinking", "template") != "template" else []
    told += ["Its prompts named tools."] if chat.get("tools") else []
    told += [f"Of the chat template: `{variable}`." for variable in chat.get("variables") or ()]
    return (
        ["\n\n".join(["## Prompts", "Before each prompt of training and of the examination:", *told])] if told else []
    )


def _loading(document: Mapping[str, Any], *, adapter: bool) -> str:
    experiment = document["experiment"]
    if adapter:
        python = (
            "from peft import AutoPeftModelForCausalLM\nfrom transformers import AutoTokenizer\n\n"
            'model = AutoPeftModelForCausalLM.from_pretrained("THIS_MODEL")'
        )
        shell = f"vllm serve {_base(experiment)} --enable-lora --lora-modules trained=THIS_MODEL"
    else:
        python = (
            "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
            'model = AutoModelForCausalLM.from_pretrained("THIS_MODEL")'
        )
        shell = "vllm serve THIS_MODEL"
    python += '\ntokenizer = AutoTokenizer.from_pretrained("THIS_MODEL")'
    return f"## Loading\n\n```python\n{python}\n```\n\n```bash\n{shell}\n```"


def _versions(document: Mapping[str, Any]) -> str:
    versions: Mapping[str, str] = document.get("versions") or {}
    told: Sequence[str] = [f"{name} {version}" for name, version in versions.items() if version != "none"]
    return f"## Made with\n\n{', '.join(told)}"
