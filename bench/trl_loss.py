"""TRL's loss and gradient on answers that it is given: its own trainers, its own inputs. Runs in `.venv-trl`.

usage: python -m bench.trl_loss JOB.json FOLDER        started by `python -m bench.trl_gradient`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.trl_setup import arguments, versions  # isort: split

import numpy as np
from datasets import Dataset
from transformers import AutoModelForCausalLM, TrainerCallback
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    RLOOConfig,
    RLOOTrainer,
)
from trl.experimental.gmpo import GMPOConfig, GMPOTrainer
from trl.trainer import dpo_trainer, kto_trainer

Record = dict[str, Any]


def configuration(job: Record, case: Record, folder: str) -> Record:
    """What the case tells the trainer; the plain optimiser, because the moments of a second update are compared."""
    return arguments(
        folder,
        per_device_train_batch_size=len(case["data"] or job["completion_ids"]) // case["parts"],
        gradient_accumulation_steps=case["parts"],
        max_steps=case["iterations"],
        learning_rate=job["learning_rate"],
        max_grad_norm=0.0,
        optim="adamw_torch",
        model_init_kwargs={"dtype": "float32", "attn_implementation": "eager"},
        **case["options"],
    )


class Gradient(TrainerCallback):
    """The gradient that the last optimiser step is about to use, not clipped."""

    def __init__(self) -> None:
        self.found: dict[str, np.ndarray] = {}

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        named = kwargs["model"].named_parameters()
        self.found = {name: p.grad.detach().numpy().copy() for name, p in named if p.grad is not None}


def grouped(trainer: type, job: Record, case: Record, **common: Any) -> Any:
    """A trainer that asks a function for answers."""

    def rollouts(prompts: list[Any], trainer: Any) -> Record:
        asked = [text for text in job["prompts"] for _ in range(job["group"])]
        if [prompt[0]["content"] for prompt in prompts] != asked:
            raise ValueError("TRL asks for other prompts than were answered, or in another order")
        names = ("prompt_ids", "completion_ids")
        return {name: job[name] for name in names} | {"logprobs": None, "given": job["rewards"]}

    def given_reward(given: list[float], **_: Any) -> list[float]:
        return given

    return trainer(reward_funcs=given_reward, train_dataset=asking(job), rollout_func=rollouts, **common)


def asking(job: Record) -> Dataset:
    return Dataset.from_list([{"prompt": [{"role": "user", "content": text}]} for text in job["prompts"]])


def answered(trainer: type, job: Record, case: Record, **common: Any) -> Any:
    """A trainer that takes no function for answers: its one call of the generator is answered instead."""

    def given_reward(**_: Any) -> list[float]:
        return job["rewards"]

    def generated(prompt_ids: list[list[int]], *_: Any) -> list[list[int]]:
        if prompt_ids != job["prompt_ids"]:
            raise ValueError("TRL asks for other prompts than were answered, or in another order")
        return job["completion_ids"]

    made = trainer(reward_funcs=given_reward, train_dataset=asking(job), **common)
    made._generate_single_turn = generated
    return made


def preferring(trainer: type, job: Record, case: Record, **common: Any) -> Any:
    """A trainer of a data set of answers, whose messages are written as ids."""
    dpo_trainer._tokenize = kto_trainer._tokenize = spelt
    return trainer(train_dataset=Dataset.from_list(case["data"]), **common)


def spelt(tokenizer: Any, messages: list[dict[str, str]], **_: Any) -> dict[str, list[int]]:
    """In place of a tokenizer: the ids that are written in the messages."""
    return {"input_ids": [int(word) for message in messages for word in message["content"].split()]}


KINDS = {
    "GRPO": (GRPOConfig, GRPOTrainer, grouped),
    "GMPO": (GMPOConfig, GMPOTrainer, grouped),
    "RLOO": (RLOOConfig, RLOOTrainer, answered),
    "DPO": (DPOConfig, DPOTrainer, preferring),
    "KTO": (KTOConfig, KTOTrainer, preferring),
}


def run(job: Record, case: Record, folder: str) -> tuple[dict[str, np.ndarray], Record]:
    """The gradient of the last step, and of each micro-batch its loss, its rows and what TRL calls the KL: RLOO's is a
    mean over tokens, KTO's the level z.
    """
    gradient = Gradient()
    config, kind, make = KINDS[case["trainer"]]
    args = config(**configuration(job, case, folder))
    trainer = make(kind, job, case, model=job["model"], args=args, callbacks=[gradient])
    if getattr(trainer, "ref_model", None) is not None:
        reference = AutoModelForCausalLM.from_pretrained(job["reference"], dtype="float32")
        trainer.ref_model.load_state_dict(reference.state_dict())
    compute = trainer.compute_loss
    seen: list[Record] = []

    def watched(model: Any, inputs: Record, **options: Any) -> Any:
        loss = compute(model, inputs, **options)
        kl = trainer._metrics["train"].get("kl", [])[-1:]
        seen.append({"loss": float(loss.detach()), "rows": rows_of(inputs), "kl": kl})
        return loss

    trainer.compute_loss = watched
    trainer.train()
    return gradient.found, {"parts": seen[-case["parts"] :]}


def rows_of(inputs: Record) -> list[list[int]]:
    """The tokens of each row without padding; masked answers are there too."""
    pad = 0
    pieces = [inputs[name].tolist() for name in ("prompt_ids", "completion_ids", "input_ids") if name in inputs]
    return [[token for piece in row for token in piece if token != pad] for row in zip(*pieces, strict=True)]


def main() -> None:
    job, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    for case in job["cases"]:
        with tempfile.TemporaryDirectory() as scratch:
            gradient, seen = run(job, case, scratch)
        np.savez(folder / f"{case['file']}.npz", **gradient)  # pyright: ignore[reportArgumentType]
        (folder / f"{case['file']}.json").write_text(json.dumps(seen | versions()))


if __name__ == "__main__":
    main()
