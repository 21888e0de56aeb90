"""A whole run of TRL's GRPO trainer, its model saved. Runs in `.venv-trl`.

usage: python -m bench.trl_train JOB.json        started by `bench.trl_learning` and `bench.trl_seconds`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.trl_setup import arguments, versions  # isort: split

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from bench.countdown_reward import score


def configuration(job: dict[str, Any], folder: str) -> GRPOConfig:
    values = job["settings"]
    return GRPOConfig(
        **arguments(
            folder,
            lr_scheduler_type=values["schedule"],
            weight_decay=values["weight_decay"],
            model_init_kwargs={"dtype": "float32", "attn_implementation": "sdpa"},
        ),
        seed=job["seed"],
        per_device_train_batch_size=values["prompts"] * values["group"],
        gradient_accumulation_steps=1,
        num_generations=values["group"],
        max_completion_length=values["max_new"],
        max_steps=values["steps"],
        num_iterations=1,
        loss_type="dr_grpo",
        scale_rewards="none",
        mask_truncated_completions=False,
        beta=0.0,
        epsilon=values["clip"],
        temperature=values["temperature"],
        top_p=1.0,
        top_k=0,
        learning_rate=values["learning_rate"],
        warmup_steps=0,
        adam_beta1=values["beta1"],
        adam_beta2=values["beta2"],
        max_grad_norm=values["clip_norm"],
        shuffle_dataset=True,
    )


class Saves(TrainerCallback):
    """Saves the model after every so many steps, as `step-10` and so on."""

    def __init__(self, every: int, folder: Path) -> None:
        self.every, self.folder = every, folder

    def on_step_end(
        self, args: Any, state: Any, control: Any, *, model: Any, processing_class: Any, **more: Any
    ) -> None:
        if state.global_step % self.every == 0:
            place = self.folder / f"step-{state.global_step}"
            model.save_pretrained(place)
            processing_class.save_pretrained(place)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    if job["threads"]:
        torch.set_num_threads(job["threads"])
    rewards: list[float] = []

    def told(completions: Sequence[Any], **columns: Any) -> list[float]:
        values = score(completions, **columns)
        rewards.append(sum(values) / len(values))
        return values

    rows = [json.loads(line) for line in Path(job["data"]).read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=job["model"],
            args=configuration(job, folder),
            reward_funcs=told,
            train_dataset=Dataset.from_list(rows),
            callbacks=[Saves(job["every"], Path(job["save"]))] if "every" in job else None,
        )
        trainer.train()
    trainer.save_model(job["save"])
    (Path(job["save"]) / "run.jsonl").write_text(json.dumps({"rewards": rewards, "versions": versions()}))


if __name__ == "__main__":
    main()
