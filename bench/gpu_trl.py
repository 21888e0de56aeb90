"""TRL's GRPO trainer on the work of `bench.gpu`, in a process of its own: seconds a step and peak memory.

usage: python -m bench.gpu_trl JOB.json        started by `python -m bench.gpu` where TRL is installed

Random weights, bf16 autocast on a GPU, no reference model, no saving. Answers are written by transformers' `generate`
at full length, or `paged`, by its continuous batching: there an answer may end where its end is drawn, once in as many
tokens as there are words, and TRL casts the trained weights to bf16. What was measured is written after each step.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.trl_setup import arguments  # isort: split

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer


def words_of(vocab: int) -> PreTrainedTokenizerFast:
    """A word for each id, `w7`; the last two are the end and what fills up."""
    words = {f"w{i}": i for i in range(vocab)}
    inner = Tokenizer(models.WordLevel(words, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = {"eos_token": f"w{vocab - 1}", "pad_token": f"w{vocab - 2}", "unk_token": "w0"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, padding_side="left", **ends)


def configuration(job: dict[str, Any], folder: str) -> GRPOConfig:
    rows = job["groups"] * job["samples"]
    return GRPOConfig(
        **arguments(folder, use_cpu=job["device"] == "cpu", bf16=job["device"] != "cpu", dataloader_pin_memory=True),
        per_device_train_batch_size=rows // job["parts"],
        gradient_accumulation_steps=job["parts"],
        num_generations=job["samples"],
        max_completion_length=job["answer"],
        **generation(job),
        max_steps=job["steps"],
        num_iterations=1,
        beta=0.0,
        loss_type="dapo",
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        learning_rate=1e-6,
        max_grad_norm=1.0,
        shuffle_dataset=False,
    )


def generation(job: dict[str, Any]) -> dict[str, Any]:
    """The settings of a way to generate. TRL before 1.4 knows continuous batching by another name."""
    if job["generation"] == "generate":
        return {"generation_kwargs": {"min_new_tokens": job["answer"]}}
    names = {field.name for field in dataclasses.fields(GRPOConfig)}
    batching = ("use_transformers_continuous_batching", "use_transformers_paged")
    if not (switch := next((name for name in batching if name in names), None)):
        raise SystemExit("this TRL has no continuous batching")
    return {switch: True}


class Clock(TrainerCallback):
    """Seconds of each step, the lengths of answers, and the peak of memory; the end, once there is enough."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job, self.seconds, self.lengths = job, [], []
        self.started = time.perf_counter()

    def now(self) -> float:
        if self.job["device"] != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter()

    def reward(self, completion_ids: list[list[int]], **_: Any) -> list[float]:
        """The share of even ids: no group is uniform."""
        self.lengths += [len(ids) for ids in completion_ids]
        return [sum(i % 2 == 0 for i in ids) / max(1, len(ids)) for ids in completion_ids]

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        self.began = self.now()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.seconds.append(self.now() - self.began)
        peak = 0 if self.job["device"] == "cpu" else torch.cuda.max_memory_allocated()
        tokens = sum(self.lengths) / max(1, len(self.lengths))
        new = Path(self.job["out"] + ".new")
        new.write_text(json.dumps({"seconds": self.seconds, "peak": peak, "tokens": tokens}))
        new.replace(self.job["out"])
        if len(self.seconds) > 1 and time.perf_counter() - self.started > self.job["enough"]:
            control.should_training_stop = True


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    generator = torch.Generator().manual_seed(0)
    vocab = job["config"]["vocab_size"]
    ids = torch.randint(1, vocab - 2, (job["groups"], job["prompt"]), generator=generator).tolist()
    clock = Clock(job)
    with tempfile.TemporaryDirectory() as folder:
        with torch.device(job["device"]):  # a processor would draw these weights for a quarter of a minute
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**job["config"]), dtype=torch.float32)
        trainer = GRPOTrainer(
            model=model,
            processing_class=words_of(vocab),
            args=configuration(job, folder),
            reward_funcs=clock.reward,
            train_dataset=Dataset.from_dict({"prompt": [" ".join(f"w{i}" for i in row) for row in ids]}),
            callbacks=[clock],
        )
        trainer.train()


if __name__ == "__main__":
    main()
