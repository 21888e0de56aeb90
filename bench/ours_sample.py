"""Our sampler on the whole batch, with log-probabilities and entropies. Options: engine, precision."""

from __future__ import annotations

import time
from importlib.metadata import version

from assay.engine.choose import processor_of
from assay.engine.local import LocalEngine
from assay.policy.policy import Policy
from assay.rng import Key
from bench import ours
from bench.channel import Channel, Closed, Job, job


def main() -> None:
    channel, work = Channel(), job()
    engine, policy = ours.load(work)
    with processor_of(engine):
        steps(channel, work, engine, policy)


def steps(channel: Channel, work: Job, engine: LocalEngine, _: Policy) -> None:
    requests = ours.requests(work)
    channel.ready(system="Assay", compute=ours.compute(engine), threads=ours.threads(engine), torch=version("torch"))
    for step in range(work.steps):
        try:
            start = channel.wait()
        except Closed:
            return
        made = engine.generate(requests, Key(0, step))
        seconds = time.perf_counter() - start
        channel.step(seconds, rows=len(made), tokens=sum(len(one.segment) for one in made))


if __name__ == "__main__":
    main()
