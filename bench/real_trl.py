"""TRL in `bench.real_turns`: a step of its GRPO trainer, PEFT's adapter and the loss of Dr. GRPO. Runs in `.venv-trl`.

Options: dtype fp32 | autocast | bf16 (the weights themselves), parts (micro-batches of an update), attention, cache.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from typing import Any

from bench.trl_setup import of_a_step  # isort: split

import torch
from datasets import Dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

from bench.channel import Channel, Closed
from bench.real_work import ALPHA, CLIP_NORM, CLIP_RATIO, LEARNING_RATE, RANK, Work, job, reward
from bench.trl_step import Gate


def configuration(work: Work, options: dict[str, Any], folder: str) -> GRPOConfig:
    return GRPOConfig(
        **of_a_step(
            folder,
            options,
            parts=4,
            rows=work.rows,
            samples=work.samples,
            answer=work.answer,
            steps=work.steps,
            loss_type="dr_grpo",
            scale_rewards="none",
            epsilon=CLIP_RATIO,
            temperature=work.temperature,
            learning_rate=LEARNING_RATE,
            max_grad_norm=CLIP_NORM,
        )
    )


def main() -> None:
    channel, (work, options) = Channel(), job()
    torch.set_num_threads(work.threads)
    rewards: list[float] = []
    lengths: list[int] = []
    generating: list[float] = []
    ends: set[int] = set()

    def paid(
        completions: Sequence[Any], completion_ids: Sequence[Sequence[int]], number: Sequence[int], **_: Any
    ) -> list[float]:
        said = [messages[-1]["content"] for messages in completions]
        values = [
            reward(work, work.questions[place], ids, text, ended=int(ids[-1]) in ends)
            for place, ids, text in zip(number, completion_ids, said, strict=True)
        ]
        rewards.extend(values)
        lengths.extend(map(len, completion_ids))
        return values

    rows = [
        {"prompt": [{"role": "user", "content": question.text}], "number": number}
        for number, question in enumerate(work.questions)
    ]
    adapter = LoraConfig(
        r=RANK, lora_alpha=int(ALPHA), lora_dropout=0.0, target_modules="all-linear", bias="none", task_type="CAUSAL_LM"
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=work.folder,
            args=configuration(work, options, folder),
            reward_funcs=paid,
            train_dataset=Dataset.from_list(rows),
            peft_config=adapter,
            callbacks=[Gate(channel, rewards, lengths, generating)],
        )
        ends.add(int(trainer.processing_class.eos_token_id))
        generate = trainer._generate

        def timed(*given: Any, **more: Any) -> Any:
            start = time.perf_counter()
            result = generate(*given, **more)
            generating.append(time.perf_counter() - start)
            require_prompts(work, result[0])
            return result

        trainer._generate = timed
        try:
            trainer.train()
        except Closed:
            return


def require_prompts(work: Work, read: Sequence[Sequence[int]]) -> None:
    """That the model reads the ids that the other systems are given."""
    expected = [list(question.ids) for question in work.questions for _ in range(work.samples)]
    if [list(map(int, ids)) for ids in read] != expected:
        raise SystemExit(f"TRL reads other prompts: {list(read[0])}, expected {expected[0]}")


if __name__ == "__main__":
    main()
