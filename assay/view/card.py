"""The model card of a run: what was trained, how, on what data, and with which results, in the format of the Hub."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.policy.provenance import Provenance, stored
from assay.record import RunFolder, disk
from assay.tasks.data import is_data
from assay.tasks.data.several import names_of
from assay.tasks.data.task import Data
from assay.view.judged import YOUR, spoken
from assay.view.results import caveats, outcome

NAME = "README.md"
ARXIV = re.compile(r"\d{4}\.\d{4,5}")
SCALE = {  # field of the scale -> its name in the card
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
    """Writes the card as README.md into a folder, by default the run folder, and returns its path.

    write_card("runs/first", "exported-model", merged=True)
    """
    path = Path(run if target is None else target) / NAME
    with disk.storage_errors(f"writing the model card {path}"):
        disk.replace(path, model_card(run, step=step, merged=merged).encode(), point="card")
    return path


def model_card(run: Path | str, *, step: int | None = None, merged: bool = False) -> str:
    """The text of the card with its front matter, for the weights after `step`, by default the last ones.

    `merged`: the adapter is merged into these weights. The license is left out: the person who publishes chooses it.
    """
    folder = RunFolder.read_only(run)
    document, result = folder.document, outcome(run, step=step)
    _require_written(folder)
    adapter = bool(_rank(document["experiment"])) and not merged
    parts = [_front(document, adapter=adapter), _heading(document, result), *_origin(document), _results(result)]
    parts += [_training(document), *_asking(document["experiment"]), _loading(document, adapter=adapter)]
    if document.get("warnings"):
        items = "\n".join(f"- {sentence}" for sentence in document["warnings"])
        parts.append(f"## Warnings at the start of the run\n\n{items}")
    parts.append(_versions(document))
    return "\n\n".join(parts) + "\n"


def _require_written(folder: RunFolder) -> None:
    """StorageError if run.json lacks a field that the card shows."""
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
    """The front matter in YAML. Strings are written as JSON, which YAML reads as well."""
    experiment = document["experiment"]
    provenance = _known(document)
    of_base = "" if provenance is None or not provenance.licence else f" ({_cell(provenance.licence)})"
    terms = f"# license: name one before you publish; the license of the base model{of_base} may restrict your choice"
    lines = ["---", terms]
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
    """Whether this is a Hub id `owner/name`, and not the path of a folder of this machine."""
    return model.count("/") == 1 and not model.startswith((".", "/", "~")) and not Path(model).exists()


def _rank(experiment: Mapping[str, Any]) -> int:
    return int((experiment.get("lora") or {}).get("rank") or 0)


def _base(experiment: Mapping[str, Any]) -> str:
    """The base model's name for readers elsewhere: its Hub id, or the last part of its path."""
    model = experiment["model"]
    return model if is_hub_id(model) else Path(model).name


def _heading(document: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    experiment, recipe = document["experiment"], document["experiment"]["recipe"]
    how = f", low-rank adapters of rank {_rank(experiment)}" if _rank(experiment) else ""
    return (
        f"# {_base(experiment)}, {document['recipe']} on {_tasks(experiment)}\n\n"
        f"`{_base(experiment)}` after {result['steps']} steps of reinforcement learning with verifiable rewards{how}. "
        f"Method: {recipe['title']}{_cited(recipe['paper'])}. The claim: {recipe['claim'].rstrip('.')}."
    )


def _origin(document: Mapping[str, Any]) -> list[str]:
    """The weights that training began with: whose they are, under which terms, and what they were restored from."""
    known, digest = _known(document), _object(document.get("identity")).get("weights", "")
    return [] if known is None else [origin_text(known, digest)]


def _known(document: Mapping[str, Any]) -> Provenance | None:
    found = document.get("provenance")
    return None if found is None else stored(found, "provenance in run.json")


def origin_text(known: Provenance, digest: str) -> str:
    """The section of a card on the weights that a model began with. `digest` is their fingerprint."""
    told = f", {known.restored}: they are not the weights that its authors published" if known.restored else ""
    rows = {"licence": known.licence or "not known", "cite": known.citation, "read from": known.source}
    rows |= {"sha256 of this file": known.sha256, "fingerprint": digest}
    table = "\n".join(f"| {name} | {_cell(value)} |" for name, value in rows.items() if value)
    first = f"The weights at the beginning were those of {_cell(known.name or known.source)}{told}."
    return f"## Base model\n\n{first}\n\n| | |\n|-|-|\n{table}"


def base_card(known: Provenance, digest: str) -> str:
    """The card of a model that was not trained here, from its provenance and its fingerprint."""
    lines = ["---", "library_name: transformers", "pipeline_tag: text-generation", "---"]
    return "\n\n".join(["\n".join(lines), f"# {_cell(known.sentence)}", origin_text(known, digest)]) + "\n"


def _cited(paper: str) -> str:
    """The citation behind a method's title: a link for an arXiv id, other citations as they are."""
    if ARXIV.fullmatch(paper):
        return f" ([arXiv {paper}](https://arxiv.org/abs/{paper}))"
    return "" if paper == "-" else f" ({paper})"


def _tasks(experiment: Mapping[str, Any]) -> str:
    """The tasks with their levels, and the names of data files without their folders."""
    names = []
    for share in experiment["pool"]["shares"]:
        if is_data(share["task"]):
            names += names_of(Data.of(share["task"]).places, whole=False)
        else:
            names.append(f"{share['task']} {','.join(map(str, share['levels']))}")
    return ", ".join(names)


def _results(result: Mapping[str, Any]) -> str:
    before, after = result["before"], result["after"]
    if before is None:
        return "## Results\n\nThe model was not evaluated on held-out problems."
    rows = ["| | judge | before | after | difference |", "|-|-|-|-|-|"]
    for beside in result["judges"]:
        first, last, moved = (beside[name] or {} for name in ("before", "after", "difference"))
        for k in dict.fromkeys([*first, *last]):
            cells = _interval(first.get(k)), _interval(last.get(k)), _interval(moved.get(k), signed=True)
            rows.append(f"| pass@{k} | {_cell(beside['judge'])} | {' | '.join(cells)} |")
    for name, first in before.get("scores", {}).items() if before.get("open") else ():
        last = after.get("scores", {}).get(name) if after else None
        change = (result["difference"] or {}).get("scores", {}).get(name)
        rows.append(f"| mean {name} | | {_interval(first)} | {_interval(last)} | {_interval(change, signed=True)} |")
    explanation = (
        f"{before['problems']} held-out problems, {before['samples']} answers to each, before and after training. "
        f"Unbiased pass@k with 95 % intervals over problems; differences are paired. {_judges(result)}"
    )
    lines = [f"- {line[0].upper()}{line[1:]}." for line in caveats(result)]
    return "\n".join(["## Results", "", explanation.strip(), "", *rows, *(["", *lines] if lines else [])])


def _judges(result: Mapping[str, Any]) -> str:
    """A sentence that says who judged the answers, and what the judgement of each is worth."""
    named = [spoken(beside["judge"]) for beside in result["judges"]]
    if not named:
        return ""
    own = [name for name in named if name.startswith(YOUR)]
    judged = "Right answers are those that the judge of the row found right"
    if not own:
        return f"{judged}."
    unchecked = ", and nothing else says whether answers are right" if named == own else ""
    return f"{judged}; {own[0]} also trained the model{unchecked}."


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
    return f"## Training\n\n| | |\n|-|-|\n{table}\n\nAll other settings are in `run.json` of the run folder."


def _rewards(experiment: Mapping[str, Any]) -> str:
    """The reward functions, without the folders of their files, or else the reward parts of the recipe."""
    if given := experiment.get("rewards"):
        return ", ".join(text.rpartition("/")[2] for text in given)
    return ", ".join(part["part"] for part in experiment["recipe"]["mechanism"]["reward"])


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _asking(experiment: Mapping[str, Any]) -> list[str]:
    """The system message and the settings of the chat template: without them the model answers differently."""
    chat = experiment.get("chat") or {}
    lines = [f"```text\n{chat['system']}\n```"] if chat.get("system") else []
    lines += [f"`enable_thinking` was {chat['thinking']}."] if chat.get("thinking", "template") != "template" else []
    lines += ["The prompts named tools."] if chat.get("tools") else []
    lines += ["The prompts were plain text, without the chat template."] if chat.get("template") == "none" else []
    if chat.get("examples"):
        lines.append(f"{len(json.loads(chat['examples']))} worked examples stood before each question.")
    lines += (
        [f"An answer also ended at {' or '.join(f'`{text!r}`' for text in chat['stop'])}."] if chat.get("stop") else []
    )
    lines += [f"Variable of the chat template: `{variable}`." for variable in chat.get("variables") or ()]
    opening = "Each prompt was asked with the following, in training and in the evaluation:"
    return ["\n\n".join(["## Prompts", opening, *lines])] if lines else []


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
    installed: Sequence[str] = [f"{name} {version}" for name, version in versions.items() if version != "none"]
    return f"## Made with\n\n{', '.join(installed)}"
