"""A step of TRL's GRPO trainer: generate, reward, one update. Runs in `.venv-trl`.

Options: dtype fp32 | autocast | bf16 (the weights themselves), parts (micro-batches an update), attention, cache.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import tempfile
import time
from typing import Any

from bench.trl_setup import of_a_step, versions  # isort: split

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from bench import checkpoints, workload
from bench.channel import Channel, Closed, Job, job


def configuration(work: Job, folder: str) -> GRPOConfig:
    shape = work.shape
    return GRPOConfig(
        **of_a_step(
            folder,
            work.options,
            parts=1,
            rows=shape.rows,
            samples=shape.samples,
            answer=shape.answer,
            steps=work.steps,
            loss_type="dapo",
            epsilon=workload.CLIP_RATIO,
            temperature=1.0,
            learning_rate=workload.LEARNING_RATE,
            max_grad_norm=workload.CLIP_NORM,
        )
    )


def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
    return [workload.reward(ids) for ids in completion_ids]


class Gate(TrainerCallback):
    """Waits for the word before each step and says what the step took."""

    def __init__(self, channel: Channel, rewards: list[float], lengths: list[int], generating: list[float]) -> None:
        self.channel, self.rewards, self.lengths, self.generating = channel, rewards, lengths, generating
        self.start = 0.0
        self.gradient = 0.0

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self.channel.ready(system="TRL", threads=torch.get_num_threads(), **versions())

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        for record in (self.rewards, self.lengths, self.generating):
            record.clear()
        self.start = self.channel.wait()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 0:  # a check on the work, kept out of the measured steps
            gradients = [p.grad.float() for p in kwargs["model"].parameters() if p.grad is not None]
            self.gradient = float(torch.nn.utils.get_total_norm(gradients))

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        seconds = time.perf_counter() - self.start
        self.channel.step(
            seconds,
            generate_s=sum(self.generating),
            rows=len(self.lengths),
            tokens=sum(self.lengths),
            reward=sum(self.rewards) / len(self.rewards),
            gradient=self.gradient,
        )


def main() -> None:
    channel, work = Channel(), job()
    rewards: list[float] = []
    lengths: list[int] = []
    generating: list[float] = []

    def checked(completion_ids: list[list[int]], **_: Any) -> list[float]:
        values = reward(completion_ids)
        rewards.extend(values)
        lengths.extend(len(ids) for ids in completion_ids)
        return values

    prompts = [workload.text(ids) for ids in workload.prompt_ids(work.shape)]
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=str(checkpoints.build(work.shape, work.ending)),
            args=configuration(work, folder),
            reward_funcs=checked,
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            callbacks=[Gate(channel, rewards, lengths, generating)],
        )
        generate = trainer._generate

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            result = generate(*args, **kwargs)
            generating.append(time.perf_counter() - start)
            return result

        trainer._generate = timed
        try:
            trainer.train()
        except Closed:
            return


if __name__ == "__main__":
    main()
