"""The needs of a pretrained model, unlike those of a small model of characters: problems in words, an adapter, few
answers a step. This module does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from assay.engine.footprint import parameters
from assay.errors import AssayError
from assay.host.files import read_json
from assay.policy.chat import OURS
from assay.run.bases import BASES
from assay.run.configure import override
from assay.run.context_fit import PROBE
from assay.run.experiment import Experiment
from assay.run.fresh_models import is_fresh
from assay.run.named_model import folder_below, is_adapter, resolved, shape_of
from assay.run.probing import probed
from assay.run.worked_examples import answers_known
from assay.source import Pool
from assay.verifiers.answers import Wording

LARGE = 10_000_000  # parameters: no model of so many was made here
BESIDE: dict[str, dict[str, tuple[Any, str]]] = {
    "processor": {
        "lora.rank": (16, "an adapter: it learns as fast as all weights in half of the memory"),
        "evaluation.every": (0, "an exam costs as much as several steps: before and after training alone"),
        "evaluation.final_problems": (48, "48 problems in each of these"),
        "evaluation.shots": (4, "the untrained model with four examples: what training must beat to teach anything"),
        "evaluation.temperature": (0.7, "the temperature of training"),
        "machine.micro_tokens": (1024, "1,024 tokens in a pass"),
    }
}
"""Profile -> its settings beside the scale."""


def reads_text(model: str) -> bool:
    """Whether a model was trained on text by somebody else: it has a chat template of its own, or is larger than any
    that is made here, or is on the Hub.
    """
    if is_fresh(model):
        return False
    model = resolved(model)
    if not Path(model).exists():
        return model not in BASES
    shape = shape_of(model)
    return (shape is not None and parameters(shape) > LARGE) or _template(model) not in (None, *OURS)


def _template(model: str) -> Any:
    try:
        folder = folder_below(model)
        if (jinja := folder / "chat_template.jinja").is_file():
            return jinja.read_text(errors="replace")
        return read_json(folder / "tokenizer_config.json").get("chat_template")
    except (OSError, AssayError):
        return None  # loading the model will report the same problem, with advice


def wording_for(model: str | None) -> Wording:
    """How problems are worded for a model; None: one of the bases, which the task chooses."""
    return "natural" if model is not None and reads_text(model) else "compact"


def at_its_profile(experiment: Experiment, asked: Mapping[str, Any]) -> tuple[Experiment, list[str]]:
    """The experiment with its profile's settings beside the scale, but for those `asked`; and a line for each."""
    rules = BESIDE.get(experiment.profile, {})
    lines = []
    for path, (value, reason) in rules.items():
        if path in asked or _without(path, experiment):
            continue
        lines.append(f"{path}: {attrgetter(path)(experiment)} -> {value} ({reason})")
        experiment = override(experiment, path, value)
    return experiment, lines


def _without(path: str, experiment: Experiment) -> bool:
    """Whether a run cannot have this: an adapter on an adapter, or examples of problems without known answers."""
    if path == "evaluation.shots":
        return not answers_known(experiment.pool)
    return path == "lora.rank" and is_adapter(experiment.model)


ROOM, SHARE, UNKNOWN = 24, 3, 256  # tokens to say it in a sentence; characters a token; a solution that is not known


def answer_tokens(pool: Pool) -> int:
    """The most tokens of an answer to these problems by a model with tokens of some letters each: room for the longest
    of the probed solutions at three characters a token, and for a sentence around it.
    """
    known = [problem.solution for problem in probed(pool, PROBE)]
    if not all(known):
        return UNKNOWN
    needed = ROOM + max(len(text or "") for text in known) / SHARE
    return 8 * -(-round(needed) // 8)
