"""The model card of a run: what was trained, how, on what, and what it came to, in the form that the Hub reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.lab.results import outcome
from assay.record import RunFolder, disk

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


def write_card(run: Path | str, target: Path | str | None = None) -> Path:
    """Writes the card as README.md into a folder, by default the run's own; its path."""
    path = Path(run if target is None else target) / NAME
    with disk.storage_errors(f"writing the model card {path}"):
        disk.replace(path, model_card(run).encode(), point="card")
    return path


def model_card(run: Path | str) -> str:
    """Front matter and text, from what the run folder holds; the license is left to whoever publishes."""
    folder = RunFolder.read_only(run)
    document, result = folder.document, outcome(run)
    parts = [_front(document), _heading(document, result), _results(result), _training(document), _loading(document)]
    if document.get("warnings"):
        told = "\n".join(f"- {sentence}" for sentence in document["warnings"])
        parts.append(f"## Warnings at the start of the run\n\n{told}")
    parts.append(_versions(document))
    return "\n\n".join(parts) + "\n"


def _front(document: Mapping[str, Any]) -> str:
    """YAML; a string of JSON is one of YAML too."""
    experiment = document["experiment"]
    lines = ["---", "# license: that of the base model may bind you; name one before you publish"]
    if is_hub_id(experiment["model"]):
        lines.append(f"base_model: {json.dumps(experiment['model'])}")
    lines += [
        f"library_name: {'peft' if _rank(experiment) else 'transformers'}",
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
        kind, _, path = share["task"].partition(":")
        if kind == "data":
            told.append(Path(path).name)
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
        f"Held-out problems: {before['problems']}, {before['samples']} answers to each, before and after training. "
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


def _loading(document: Mapping[str, Any]) -> str:
    experiment = document["experiment"]
    if _rank(experiment):
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
