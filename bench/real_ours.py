"""Assay in `bench.real_turns`: a step of dr-grpo with an adapter, or the sampler alone.

Options: kind step | sample, engine, precision, micro_tokens.
"""

from __future__ import annotations

import dataclasses
import time
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from assay.collect import generate
from assay.credit.pack import pack
from assay.engine.choose import engine_of, processor_of
from assay.engine.local import LocalEngine
from assay.models import Models
from assay.objective import Clip, FixedLength, Objective
from assay.objective.improve import improve
from assay.policy import load_policy
from assay.policy.adapted import attach
from assay.policy.lora import Lora
from assay.policy.policy import Policy
from assay.rng import Key
from assay.scale import Scale
from assay.types import Episode, Problem, Request, Reward, Row
from bench import ours
from bench.channel import Channel, Closed
from bench.real_work import (
    ALPHA,
    CLIP_NORM,
    CLIP_RATIO,
    LEARNING_RATE,
    RANK,
    TASK,
    Question,
    Work,
    advantages,
    job,
    reward,
)

OBJECTIVE = Objective(gate=Clip(low=CLIP_RATIO, high=CLIP_RATIO), aggregate=FixedLength())


def load(options: dict[str, Any], *, learns: bool) -> tuple[LocalEngine, Policy]:
    policy, precision = load_policy(options["folder"]), options["precision"]
    settings: dict[str, Any] = {"end_ids": policy.end_ids, "vocab": policy.codec.vocab, "precision": precision}
    if learns:
        attach(policy.network, Lora(rank=RANK, alpha=ALPHA), key=Key(0))
    else:
        settings |= {"end_ids": frozenset(), "optimiser": None}  # no token ends an answer
    choice = engine_of(policy.network, options["engine"], "cpu", precision)
    return choice.engine(policy.network, **settings), policy


def requests(work: Work) -> list[Request]:
    asked = []
    for number, question in enumerate(work.questions):
        problem = Problem(TASK, question.text, question.spec, str(number))
        ids, how = np.array(question.ids, np.int32), {"max_new": work.answer, "temperature": work.temperature}
        asked += [Request(problem, ids, group=str(number), draw=number, sample=i, **how) for i in range(work.samples)]
    return asked


def main() -> None:
    channel, (work, options) = Channel(), job()
    torch.set_num_threads(work.threads)
    learns = options["kind"] == "step"
    engine, policy = load({**options, "folder": work.folder}, learns=learns)
    with processor_of(engine):
        facts = {"compute": ours.compute(engine), "threads": ours.threads(engine), "torch": version("torch")}
        channel.ready(system="Assay", **facts)
        for number in range(work.steps):
            try:
                began = channel.wait()
            except Closed:
                return
            if learns:
                step(channel, work, engine, policy, options, Key(0, number), began)
            else:
                made = engine.generate(requests(work), Key(0, number))
                channel.step(time.perf_counter() - began, rows=len(made), tokens=sum(len(one.segment) for one in made))


def step(
    channel: Channel, work: Work, engine: LocalEngine, policy: Policy, options: dict[str, Any], key: Key, began: float
) -> None:
    models = Models({"policy": engine}, {"policy": "policy"})
    episodes = [paid(work, episode) for episode in generate(models, requests(work), key, policy.codec)]
    generated = time.perf_counter()
    rewards = np.array([episode.reward for episode in episodes], dtype=np.float64)
    values = advantages(rewards, samples=work.samples)
    rows = [Row(e).mark(advantage=np.full(len(e), a)) for e, a in zip(episodes, values, strict=True)]
    scale = Scale(
        num_prompts=len(work.questions),
        group_size=work.samples,
        max_new=work.answer,
        learning_rate=LEARNING_RATE,
        num_steps=work.steps,
        clip_norm=CLIP_NORM,
    )
    told = improve(engine, pack(rows), objective=OBJECTIVE, scale=scale, key=key, micro_tokens=options["micro_tokens"])
    channel.step(
        time.perf_counter() - began,
        generate_s=generated - began,
        rows=len(episodes),
        tokens=sum(map(len, episodes)),
        reward=float(rewards.mean()),
        gradient=told.get("policy/grad_norm", 0.0),
    )


def paid(work: Work, episode: Episode) -> Episode:
    question: Question = work.questions[int(episode.request.group)]
    ids = np.concatenate([segment.ids for segment in episode.segments])
    value = reward(work, question, ids.tolist(), episode.text, ended=episode.finish == "stop")
    return dataclasses.replace(episode, rewards=(Reward("paid", value),))


if __name__ == "__main__":
    main()
