"""The servers of a run's sampler: started here or given by address, checked, and ended with the run."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.host.space import cores, device_of
from assay.host.terminal import say
from assay.run.experiment import Experiment

if TYPE_CHECKING:
    from assay.engine.local import LocalEngine
    from assay.engine.paired import Paired, Trainer
    from assay.engine.remote.own import AssaySite
    from assay.engine.remote.starting import Started
    from assay.policy import Policy

TOLERANCE = {"fp32": 1e-3, "fp64": 1e-3, "bf16": 0.1}  # by how much log-probs of probes may differ, by the precision
START = 600.0  # seconds until a server is ready


def serve(
    experiment: Experiment, policy: Policy, engine: LocalEngine | Paired, folder: Path, stack: ExitStack, digest: str
) -> Paired:
    """The engine with servers as its sampler. What it learns with stays as it is.

    `digest` is that of the weights with which servers are started.
    """
    from assay.engine.paired import Paired
    from assay.engine.remote.couriers import Patience
    from assay.engine.remote.own import AssaySite
    from assay.engine.remote.publish import Published
    from assay.engine.remote.sampler import RemoteSampler
    from assay.engine.remote.site import Expected

    machine = experiment.machine
    if policy.transformer.lora is not None:
        raise ConfigError(
            "machine.samplers is set, and the policy has an adapter: servers take whole weights. Leave "
            "machine.samplers out, or train all weights."
        )
    learner: Trainer = engine.learner if isinstance(engine, Paired) else engine
    given = [] if machine.samplers.isdecimal() else machine.samplers.split(",")
    if not given:
        say(f"{machine.samplers} samplers are started")
    ours = {} if given else {i: _start(experiment, policy, folder, i, stack) for i in range(int(machine.samplers))}
    sites = [AssaySite(address) for address in given] or [AssaySite(server.address) for server in ours.values()]
    expected = Expected(
        vocab=engine.vocab,
        context=engine.context,
        end_ids=engine.end_ids,
        decode=policy.tokenizer.decode,
        digest=digest,
    )
    exact = learner.exact and all(site.facts().get("place") == learner.place for site in sites)
    patience = Patience(answer=machine.deadline, silence=min(60.0, machine.deadline))
    remote = RemoteSampler(sites, expected, run=str(folder), patience=patience, exact=exact)
    weights = folder / "weights"
    stack.callback(shutil.rmtree, weights, ignore_errors=True)
    stack.callback(remote.close)

    def revive(number: int) -> AssaySite:
        ours[number].close()
        ours[number] = _start(experiment, policy, folder, number, stack)
        return AssaySite(ours[number].address)

    published = Published(
        remote, learner, folder=weights, tolerance=TOLERANCE[learner.precision], revive=None if given else revive
    )
    about = {"context": engine.context, "vocab": engine.vocab, "end_ids": engine.end_ids}
    return Paired(learner, lambda: published, **about, has_threads=engine.has_threads)


def _start(experiment: Experiment, policy: Policy, folder: Path, number: int, stack: ExitStack) -> Started:
    from assay.engine.remote.starting import start_own
    from assay.run.bases import locate

    machine = experiment.machine
    count = int(machine.samplers)
    options: dict[str, str | int] = {
        "precision": machine.precision,
        "device": device_of(machine.device),
        "engine": machine.engine,
        "cache-mb": machine.cache_mb,
        "threads": max(1, (machine.threads or cores()) // count),
        "end-ids": ",".join(map(str, sorted(policy.end_ids))),
    }
    log = folder / "samplers" / f"{number}.log"
    server = start_own(str(locate(experiment.model)), log=log, seconds=START, options=options)
    stack.callback(server.close)
    return server
