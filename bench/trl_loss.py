"""TRL's loss and gradient on answers that it is given: its own trainer, its own inputs. Runs in `.venv-trl`.

usage: python -m bench.trl_loss JOB.json FOLDER        started by `python -m bench.trl_gradient`
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
from datasets import Dataset  # noqa: E402
from transformers import TrainerCallback  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402
from trl.experimental.gmpo import GMPOConfig, GMPOTrainer  # noqa: E402

KINDS = {"GRPO": (GRPOConfig, GRPOTrainer), "GMPO": (GMPOConfig, GMPOTrainer)}


def configuration(job: dict[str, Any], case: dict[str, Any], folder: str) -> GRPOConfig:
    return KINDS[case["trainer"]][0](
        output_dir=folder,
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=len(job["completion_ids"]) // case["parts"],
        gradient_accumulation_steps=case["parts"],
        num_generations=job["group"],
        max_completion_length=job["max_new"],
        num_iterations=case["iterations"],
        max_steps=case["iterations"],
        loss_type=case["loss_type"],
        scale_rewards=case["scale_rewards"],
        mask_truncated_completions=case["mask_truncated"],
        beta=0.0,
        epsilon=job["clip"],
        epsilon_high=case["high"],
        importance_sampling_level=case["level"],
        temperature=1.0,
        learning_rate=job["learning_rate"],
        lr_scheduler_type="constant",
        weight_decay=0.0,
        max_grad_norm=0.0,
        optim="adamw_torch",
        gradient_checkpointing=False,
        shuffle_dataset=False,
        logging_strategy="no",
        save_strategy="no",
        eval_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        model_init_kwargs={"dtype": "float32", "attn_implementation": "eager"},
    )


class Gradient(TrainerCallback):
    """The gradient that the last optimiser step is about to use, not clipped."""

    def __init__(self) -> None:
        self.found: dict[str, np.ndarray] = {}

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        named = kwargs["model"].named_parameters()
        self.found = {name: p.grad.detach().numpy().copy() for name, p in named if p.grad is not None}


def given_reward(given: list[float], **_: Any) -> list[float]:
    return given


def run(job: dict[str, Any], case: dict[str, Any], folder: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The gradient of the last step, and what was seen: losses and the rows of each micro-batch."""
    gradient = Gradient()

    def rollouts(prompts: list[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        asked = [text for text in job["prompts"] for _ in range(job["group"])]
        if [prompt[0]["content"] for prompt in prompts] != asked:
            raise ValueError("TRL asks for other prompts than were answered, or in another order")
        names = ("prompt_ids", "completion_ids")
        return {name: job[name] for name in names} | {"logprobs": None, "given": job["rewards"]}

    trainer = KINDS[case["trainer"]][1](
        model=job["model"],
        args=configuration(job, case, folder),
        reward_funcs=given_reward,
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": text}]} for text in job["prompts"]]),
        rollout_func=rollouts,
        callbacks=[gradient],
    )
    compute = trainer.compute_loss
    seen: list[dict[str, Any]] = []

    def watched(model: Any, inputs: dict[str, Any], **options: Any) -> Any:
        loss = compute(model, inputs, **options)
        seen.append({"loss": float(loss.detach()), "rows": rows_of(inputs)})
        return loss

    trainer.compute_loss = watched
    trainer.train()
    return gradient.found, {"parts": seen[-case["parts"] :]}


def rows_of(inputs: dict[str, Any]) -> list[list[int]]:
    """The tokens of each row without padding; masked answers are there too."""
    pad = 0
    pairs = zip(inputs["prompt_ids"].tolist(), inputs["completion_ids"].tolist(), strict=True)
    return [[token for token in (*prompt, *answer) if token != pad] for prompt, answer in pairs]


def main() -> None:
    job, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    for case in job["cases"]:
        with tempfile.TemporaryDirectory() as scratch:
            gradient, seen = run(job, case, scratch)
        np.savez(folder / f"{case['name']}.npz", **gradient)  # pyright: ignore[reportArgumentType]
        facts = {name: version(name) for name in ("trl", "transformers", "torch")}
        (folder / f"{case['name']}.json").write_text(json.dumps(seen | facts))


if __name__ == "__main__":
    main()
