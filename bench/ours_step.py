"""A step of our own phases: generate, reward, advantages, packing, one update.

Options: engine, precision, micro_tokens.
"""

from __future__ import annotations

import dataclasses
import time
from importlib.metadata import version

import numpy as np

from assay.collect import generate
from assay.credit.pack import pack
from assay.engine.choose import processor_of
from assay.engine.local import LocalEngine
from assay.models import Models
from assay.objective import Clip, Objective, TokenMean
from assay.objective.improve import improve
from assay.policy.policy import Policy
from assay.rng import Key
from assay.scale import Scale
from assay.types import Episode, Reward, Row
from bench import ours, workload
from bench.channel import Channel, Closed, Job, job

OBJECTIVE = Objective(gate=Clip(low=workload.CLIP_RATIO, high=workload.CLIP_RATIO), aggregate=TokenMean())


def answer(episode: Episode) -> np.ndarray:
    return np.concatenate([segment.ids for segment in episode.segments])


def rewarded(episode: Episode) -> Episode:
    return dataclasses.replace(episode, rewards=(Reward("even", workload.reward(answer(episode))),))


def main() -> None:
    channel, work = Channel(), job()
    engine, policy = ours.load(work)
    with processor_of(engine):
        steps(channel, work, engine, policy)


def steps(channel: Channel, work: Job, engine: LocalEngine, policy: Policy) -> None:
    shape = work.shape
    models = Models({"policy": engine}, {"policy": "policy"})
    requests = ours.requests(work)
    scale = Scale(
        num_prompts=shape.prompts,
        group_size=shape.samples,
        max_new=shape.answer,
        learning_rate=workload.LEARNING_RATE,
        num_steps=work.steps,
        clip_norm=workload.CLIP_NORM,
    )
    micro_tokens = work.options.get("micro_tokens", 2048)
    channel.ready(system="Assay", compute=ours.compute(engine), threads=ours.threads(engine), torch=version("torch"))
    for step in range(work.steps):
        try:
            start = channel.wait()
        except Closed:
            return
        key = Key(0, step)
        episodes = [rewarded(episode) for episode in generate(models, requests, key, policy.codec)]
        generated = time.perf_counter()
        rewards = np.array([episode.reward for episode in episodes], dtype=np.float64)
        advantage = workload.advantages(rewards, samples=shape.samples)
        rows = [Row(e).mark(advantage=np.full(len(e), a)) for e, a in zip(episodes, advantage, strict=True)]
        stats = improve(engine, pack(rows), objective=OBJECTIVE, scale=scale, key=key, micro_tokens=micro_tokens)
        seconds = time.perf_counter() - start
        channel.step(
            seconds,
            generate_s=generated - start,
            rows=len(episodes),
            tokens=sum(map(len, episodes)),
            reward=float(rewards.mean()),
            gradient=stats["policy/grad_norm"],
        )


if __name__ == "__main__":
    main()
