"""Models, adapters and templates that cannot be used: each is refused with a message that says what to do.

The messages are recorded in `golden/wrong_models.json`; ASSAY_WRITE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_cases import model_of
from safetensors.torch import load_file, save_file
from small_runs import ROOT

from assay.errors import AssayError
from assay.known import RECIPES
from assay.policy import character_tokenizer, load_policy, save_policy
from assay.policy.adapter_folder import put_on
from assay.policy.conversation import Chat
from assay.policy.lora import Lora
from assay.policy.policy import Policy
from assay.rng import Key
from assay.run.loading import build_models, load_model, with_adapter
from assay.run.session import plan
from assay.source import Pool, Share
from assay.tasks import ALPHABET

GOLDEN = ROOT / "tests" / "golden" / "wrong_models.json"
WRITES = bool(os.environ.get("ASSAY_WRITE_GOLDEN"))
TOKENIZER = character_tokenizer(ALPHABET)
POOL = Pool((Share("countdown", (3,)),))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of ours, an adapter on it, and a model of another family."""
    from foreign_models import folder_of

    root = tmp_path_factory.mktemp("models")
    save_policy(Policy(model_of(vocab=TOKENIZER.vocab), TOKENIZER), root / "base")
    policy = put_on(load_policy(root / "base"), Lora(2, 4.0), place=str(root / "base"), key=Key(0))
    save_policy(policy, root / "adapter")
    folder_of("mistral", root / "other")
    return root


def edit(name: str, **changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        found = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({k: v for k, v in {**found, **changes}.items() if v != "-"}))

    return change


def tensors(name: str, change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        found = load_file(folder / name)
        change(found)
        save_file({key: value.clone() for key, value in found.items()}, folder / name, metadata={"format": "pt"})

    return harm


def adapter(**changes: Any) -> Callable[[Path], None]:
    return edit("adapter_config.json", **changes)


def other(**changes: Any) -> Callable[[Path], None]:
    return edit("config.json", **changes)


FIRST = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
Harm = Callable[[Path], Any]
FOLDERS: dict[str, tuple[str, Harm]] = {
    "adapter of another kind": ("adapter", adapter(peft_type="IA3")),
    "adapter for another use": ("adapter", adapter(task_type="SEQ_CLS")),
    "adapter with biases": ("adapter", adapter(bias="lora_only")),
    "adapter with magnitudes": ("adapter", adapter(use_dora=True)),
    "adapter with whole modules": ("adapter", adapter(modules_to_save=["lm_head"])),
    "adapter with ranks by layer": ("adapter", adapter(rank_pattern={"q_proj": 8})),
    "adapter without a base": ("adapter", adapter(base_model_name_or_path=None)),
    "adapter whose base is gone": ("adapter", adapter(base_model_name_or_path="ROOT/gone")),
    "adapter on an adapter": ("adapter", adapter(base_model_name_or_path="ROOT/adapter")),
    "adapter of rank 0": ("adapter", adapter(r=0)),
    "adapter of no scale": ("adapter", adapter(lora_alpha="-")),
    "adapter by a pattern": ("adapter", adapter(target_modules=".*proj")),
    "adapter of layers that are not there": ("adapter", adapter(target_modules=["c_attn"])),
    "adapter on another base": ("adapter", edit("assay_adapter.json", fingerprint="0123456789abcdef")),
    "adapter and a model": ("adapter", lambda f: shutil.copy(f.parent / "base/config.json", f)),
    "adapter without tensors": ("adapter", lambda f: (f / "adapter_model.safetensors").unlink()),
    "adapter cut short": ("adapter", lambda f: os.truncate(f / "adapter_model.safetensors", 100)),
    "adapter with a tensor missing": ("adapter", tensors("adapter_model.safetensors", lambda t: t.pop(FIRST))),
    "adapter of another rank": (
        "adapter",
        tensors("adapter_model.safetensors", lambda t: t.update({FIRST: torch.zeros(3, 16)})),
    ),
    "adapter that is not finite": (
        "adapter",
        tensors("adapter_model.safetensors", lambda t: t[FIRST].fill_(float("nan"))),
    ),
    "a family that nobody knows": ("other", other(model_type="mumble")),
    "a family without a vocabulary": ("other", other(model_type="vit")),
    "code in the checkpoint": ("other", other(auto_map={"AutoModelForCausalLM": "modeling.Mine"})),
    "code for a part of the model": ("other", other(text_config={"auto_map": {"AutoModel": "modeling.Mine"}})),
    "code of the Hub": ("other", other(attn_implementation="mallory/attention:evil")),
    "code of the Hub for a part": ("other", other(attn_implementation={"text_config": "mallory/attention"})),
    "quantised weights": ("other", other(quantization_config={"quant_method": "gptq", "bits": 4})),
    "an encoder with a decoder": ("other", other(model_type="t5", is_encoder_decoder=True)),
    "pickled weights": ("other", lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin")),
    "no weights": ("other", lambda f: (f / "model.safetensors").unlink()),
    "weights of another depth": ("other", other(num_hidden_layers=3)),
    "weights of another width": ("other", other(hidden_size=32)),
    "weights that are not finite": (
        "other",
        tensors("model.safetensors", lambda t: t["model.norm.weight"].fill_(float("inf"))),
    ),
    "a model smaller than its tokenizer": (
        "other",
        lambda f: [
            other(vocab_size=50)(f),
            tensors("model.safetensors", lambda t: t.update({k: v[:50] for k, v in t.items() if len(v) > 50}))(f),
        ],
    ),
}


def settle(made: Path, model: str, recipe: str = "grpo", **settings: str) -> None:
    """A run as far as its first step."""
    experiment, _ = plan(RECIPES[recipe], model=str(made / model), pool=POOL, overrides=settings)
    build_models(experiment, with_adapter(experiment, load_model(experiment)))


def speak(chat: Chat) -> None:
    TOKENIZER.speaking(chat)


WISHES: dict[str, Harm] = {
    "a rank below nothing": lambda made: settle(made, "base", **{"lora.rank": "-1"}),
    "a scale of nothing": lambda made: settle(made, "base", **{"lora.rank": "4", "lora.alpha": "0"}),
    "layers that are not there": lambda made: settle(made, "base", **{"lora.rank": "4", "lora.targets": "qproj"}),
    "an adapter on an adapter": lambda made: settle(made, "adapter", **{"lora.rank": "4"}),
    "another family on the core": lambda made: settle(made, "other", **{"machine.engine": "native"}),
    "another family on our torch": lambda made: settle(made, "other", **{"machine.engine": "torch"}),
    "layers of another family computed again": lambda made: settle(made, "other", **{"machine.checkpointing": "on"}),
    "a switch that the template has not": lambda made: speak(Chat(thinking="off")),
    "a variable that the template has not": lambda made: speak(Chat(variables=("date_string=today",))),
    "a variable without a value": lambda made: speak(Chat(variables=("date_string",))),
    "tools that the template does not write": lambda made: speak(Chat(tools='[{"type": "function"}]')),
    "tools that are no list": lambda made: settle(made, "base", **{"chat.tools": "[1, 2]"}),
    "tools that are nowhere": lambda made: settle(made, "base", **{"chat.tools": "gone.json"}),
    "a system prompt in other letters": lambda made: TOKENIZER.speaking(Chat(system="é")).render("1"),
}


def told(error: AssayError, *roots: Path) -> dict[str, str]:
    """What a person reads, without what differs from machine to machine: weights at random do, in their last bits."""
    import transformers

    text = str(error).replace(transformers.__version__, "VERSION")
    text = re.sub(r"its fingerprint is [0-9a-f]{16}", "its fingerprint is FINGERPRINT", text)
    for root in roots:
        text = text.replace(str(root), "ROOT")
    return {"error": type(error).__name__, "message": text}


def compare(case: str, found: dict[str, str]) -> None:
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if WRITES:
        GOLDEN.write_text(json.dumps({**known, case: found}, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    else:
        assert found == known[case]


@pytest.mark.slow
@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_that_cannot_be_used(case: str, made: Path, tmp_path: Path) -> None:
    which, harm = FOLDERS[case]
    for name in ("base", "adapter", "other"):
        shutil.copytree(made / name, tmp_path / name)
    harm(tmp_path / which)
    for file in (tmp_path / which).glob("*_config.json"):
        file.write_text(file.read_text().replace("ROOT", str(tmp_path)).replace(str(made), str(tmp_path)))
    with pytest.raises(AssayError) as refusal:
        load_policy(tmp_path / which)
    compare(case, told(refusal.value, tmp_path))


@pytest.mark.parametrize("case", WISHES)
def test_a_wish_that_cannot_be_met(case: str, made: Path) -> None:
    with pytest.raises(AssayError) as refusal:
        WISHES[case](made)
    compare(case, told(refusal.value, made))


def test_every_recorded_message_belongs_to_a_case() -> None:
    assert set(json.loads(GOLDEN.read_text())) == set(FOLDERS) | set(WISHES)
