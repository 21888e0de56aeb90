"""A whole run of TRL's GRPO trainer, its model saved. Runs in `.venv-trl`.

usage: python -m bench.trl_train JOB.json        started by `python -m bench.trl_learning`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

from bench.countdown_reward import score  # noqa: E402


def configuration(job: dict[str, Any], folder: str) -> GRPOConfig:
    values = job["settings"]
    return GRPOConfig(
        output_dir=folder,
        seed=job["seed"],
        use_cpu=True,
        bf16=False,
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
        lr_scheduler_type=values["schedule"],
        warmup_steps=0,
        adam_beta1=values["beta1"],
        adam_beta2=values["beta2"],
        weight_decay=values["weight_decay"],
        max_grad_norm=values["clip_norm"],
        optim="adamw_torch_fused",
        gradient_checkpointing=False,
        shuffle_dataset=True,
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        model_init_kwargs={"dtype": "float32", "attn_implementation": "sdpa"},
    )


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
        )
        trainer.train()
    trainer.save_model(job["save"])
    facts = {name: version(name) for name in ("trl", "transformers", "torch")}
    (Path(job["save"]) / "run.jsonl").write_text(json.dumps({"rewards": rewards, "versions": facts}))


if __name__ == "__main__":
    main()
