# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
"""A program of a user's, which a type checker reads: what is right has its types, and what is marked is found wrong.

It is never run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import assay


def brief(completions: Sequence[str], **columns: Any) -> list[float]:
    return [1.0 / (1 + len(text)) for text in completions]


class Watcher:
    def __init__(self) -> None:
        self.rewards: list[float] = []

    def on_step(self, event: assay.StepEvent) -> assay.Stop | None:
        self.rewards.append(event.metrics["reward/mean"])
        return assay.Stop("good enough") if event.metrics["reward/mean"] > 0.9 else None

    def on_episodes(self, event: assay.EpisodesEvent) -> None:
        print(event.answers[0].text.upper(), event.answers[0].reward)


def said(event: assay.StepEvent) -> None:
    print(event.step / event.total)


rows = [{"question": "1 + 1 =", "answer": "2"}]
run: assay.Run = assay.train(
    "grpo",
    data=rows,
    model="Qwen/Qwen2.5-0.5B-Instruct",
    reward=[brief, "my.py:style"],
    steps=10,
    callbacks=[Watcher(), said],
    lora=16,
    scale={"group_size": 8},
)
run = assay.train("dapo", task=["countdown", "mod-chain"], levels=(3, 4), profile="laptop", track="tensorboard")
run = run.resume(steps=20, callbacks=said)
run = assay.resume(Path("runs/first"), steps=20)
steps: int = run.steps
rewards: list[Any] = run.metrics().column("reward/mean")
first: dict[str, Any] = run.metrics()[0]
picture: assay.Picture = run.plot("reward/mean")
saved: Path = picture.save("reward.svg")
scores: assay.Result = run.eval(n=4)
more: float = scores["pass"]["1"]["mean"]
folder: Path = run.export("out", merge=True)
assay.evaluate(run, data=rows, reward=brief, k=[1, 4])
assay.sample("smollm2", "Hello", n=2)
assay.compare(run, "runs/other")
assay.compare("grpo", "dapo", data=rows, seeds=3, steps=100)
assay.sweep("grpo", {"scale.learning_rate": [1e-4, 2e-4]}, task="countdown:3")
assay.study(Path("small.toml"), plan=True)
bank: assay.Bank = assay.bank(run, into="run.parquet", n=8)
bank.compare("base.parquet").text.splitlines()
assay.explain("dapo")
assay.verify("1/2", "0.5")
assay.plan("grpo", model="Qwen/Qwen2.5-7B", gpus=8)

assay.train("grpo", steps="10")  # pyright: ignore[reportArgumentType]
assay.train("grpo", data=3)  # pyright: ignore[reportArgumentType]
assay.train("grpo", model=3)  # pyright: ignore[reportArgumentType]
assay.train("grpo", profile="huge")  # pyright: ignore[reportArgumentType]
assay.train("grpo", reward=3)  # pyright: ignore[reportArgumentType]
assay.train("grpo", callbacks=[3])  # pyright: ignore[reportArgumentType]
assay.evaluate(run, sample=3)  # pyright: ignore[reportCallIssue]
run.evaluate()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
assay.evalu("grpo")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
