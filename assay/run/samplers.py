"""The servers of a run's sampler: started here or given by address, checked, and ended with the run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from assay.collect import Ahead
from assay.errors import ConfigError, EndpointError, ProcessLost
from assay.host.space import cores, device_of
from assay.host.terminal import say
from assay.recipe import Recipe
from assay.run.experiment import Experiment, Machine

if TYPE_CHECKING:
    from assay.engine.cluster.launcher import Launcher
    from assay.engine.local import LocalEngine
    from assay.engine.paired import Paired, Trainer
    from assay.engine.remote.servers.start import Server
    from assay.engine.remote.transport.site import Site
    from assay.engine.remote.weights.publish import Published
    from assay.policy import Policy

TOLERANCE = {"fp32": 1e-3, "fp64": 1e-3, "bf16": 0.1}  # by how much log-probs of probes may differ, by the precision


def serve(
    experiment: Experiment,
    policy: Policy,
    engine: LocalEngine | Paired,
    folder: Path,
    stack: ExitStack,
    digest: str,
    launcher: Launcher | None,
) -> Paired:
    """The engine with servers as its sampler. Its learner stays as it is.

    `digest` is that of the weights with which servers are started, by `launcher` or on this machine: those of the base,
    if an adapter is trained.
    """
    from assay.engine.paired import Paired

    learner: Trainer = engine.learner if isinstance(engine, Paired) else engine
    fleet = _Fleet(experiment, policy, learner, folder, stack, digest, launcher)
    lag, in_flight = lag_of(experiment.recipe)
    pools = 1 if in_flight else max(1, min(lag, len(fleet)))
    samplers = [fleet.sampler(range(pool, len(fleet), pools)) for pool in range(pools)]
    about = {"context": engine.context, "vocab": engine.vocab, "end_ids": engine.end_ids}
    return Paired(learner, lambda: samplers, **about, has_threads=engine.has_threads, in_flight=in_flight)


def require_samplers(experiment: Experiment, policy: Policy) -> None:
    """Refuses servers at addresses that do not answer, or not for this model, and a vLLM that is not there to start. A
    cluster starts its own on nodes which may have what this machine has not.
    """
    machine = experiment.machine
    if machine.samplers.isdecimal() and machine.sampler == "vllm" and not machine.cluster:
        from assay.engine.remote.servers.vllm import installed

        installed(machine.sampler_python)
    if not machine.samplers or machine.samplers.isdecimal():
        return
    from assay.engine.remote.transport.secret import secret_of
    from assay.engine.remote.transport.site import Expected

    tokenizer = policy.codec
    about = {"vocab": tokenizer.vocab, "context": policy.config.context, "decode": tokenizer.decode}
    secret = secret_of(os.environ, whose=f"the samplers at {machine.samplers}")
    for address in machine.samplers.split(","):
        site_of(machine, address, secret).examine(Expected(end_ids=policy.end_ids, **about))


def site_of(machine: Machine, address: str, secret: str) -> Site:
    """A server of the kind that the run asks."""
    from assay.engine.remote.servers.own import AssaySite
    from assay.engine.remote.servers.vllm import VllmSite

    return (VllmSite if machine.sampler == "vllm" else AssaySite)(address, secret)


def lag_of(recipe: Recipe) -> tuple[int, bool]:
    """How many steps ahead a recipe asks for answers, and whether weights may change while they are written."""
    parts = [part for mechanism in recipe.mechanisms for part in mechanism.collect if isinstance(part, Ahead)]
    return max((part.lag for part in parts), default=0), any(part.order == "window" for part in parts)


class _Fleet:
    """All servers of a run, by their numbers."""

    def __init__(
        self,
        experiment: Experiment,
        policy: Policy,
        learner: Trainer,
        folder: Path,
        stack: ExitStack,
        digest: str,
        launcher: Launcher | None,
    ) -> None:
        from assay.engine.remote.transport.secret import fresh_secret, secret_of

        own_secret = launcher.secret if launcher is not None else fresh_secret()

        self.experiment, self.policy, self.learner = experiment, policy, learner
        self.folder, self.stack, self.digest, self.launcher = folder, stack, digest, launcher
        asked = experiment.machine.samplers
        self.secret = own_secret if asked.isdecimal() else secret_of(os.environ, whose=f"the samplers at {asked}")
        self.started: dict[int, Server] = {}
        if asked.isdecimal():
            say(f"{asked} samplers are started")
            self.sites = [self._start(number) for number in range(int(asked))]
        else:
            self.sites = [site_of(self.experiment.machine, address, self.secret) for address in asked.split(",")]
            if len(set(asked.split(","))) < len(self.sites):
                raise ConfigError(f"machine.samplers names a server twice: {asked}.")

    def __len__(self) -> int:
        return len(self.sites)

    def sampler(self, numbers: Sequence[int]) -> Published:
        """A sampler over these servers, to which the learner publishes its weights."""
        from assay.engine.remote.sampler import RemoteSampler
        from assay.engine.remote.transport.couriers import Patience
        from assay.engine.remote.transport.site import Expected
        from assay.engine.remote.transport.wire import Gone
        from assay.engine.remote.weights.publish import Published
        from assay.engine.remote.weights.send import Files, Network

        learner, policy, seconds = self.learner, self.policy, float(self.experiment.machine.deadline)
        sites = [self.sites[number] for number in numbers]
        expected = Expected(
            vocab=policy.codec.vocab,
            context=learner.context,
            end_ids=policy.end_ids,
            decode=policy.codec.decode,
            digest=self.digest,
        )
        try:
            remote = RemoteSampler(
                sites,
                expected,
                run=str(self.folder),
                patience=Patience(answer=seconds, silence=min(60.0, seconds)),
                ours=bool(self.started),
                place=learner.place if learner.exact else "",
            )
        except Gone as gone:
            if self.started:
                raise ProcessLost(str(gone)) from gone
            raise
        except EndpointError as error:
            if self.started and (blamed := self._blamed(str(error))):
                raise EndpointError(f"{error} {blamed}") from error
            raise
        by = self.experiment.machine.publish
        carrier = Files(self.folder / "weights" / str(numbers[0])) if by == "files" else Network(by)
        self.stack.callback(shutil.rmtree, self.folder / "weights", ignore_errors=True)
        self.stack.callback(remote.close)
        return Published(
            remote,
            learner,
            carrier,
            tolerance=TOLERANCE[learner.precision],
            revive=(lambda place: self._start(numbers[place])) if self.started else None,
        )

    def _blamed(self, said: str) -> str:
        """The complaint in the log of the server that an error names; "" if the error names none of ours."""
        from assay.engine.remote.servers.start import complaint, last_words

        for server in self.started.values():
            if server.address in said:
                return f"Its log {server.log} says: {complaint(server) or last_words(server)}"
        return ""

    def _start(self, number: int) -> Site:
        """A server with this number, in place of the one that had it."""
        if number in self.started:
            self.started[number].close()
        start = self._start_vllm if self.experiment.machine.sampler == "vllm" else self._start_own
        server = start(self.folder / "samplers" / f"{number}.log")
        self.stack.callback(server.close)
        self.started[number] = server
        return site_of(self.experiment.machine, server.address, self.secret)

    @property
    def _threads(self) -> int:
        """The threads of one server."""
        machine = self.experiment.machine
        return max(1, (machine.threads or cores()) // int(machine.samplers))

    def _start_own(self, log: Path) -> Server:
        from assay.engine.remote.servers.own import start_own
        from assay.run.named_model import locate

        machine = self.experiment.machine
        options: dict[str, str | int] = {
            "precision": machine.precision,
            "device": device_of(machine.device),
            "engine": machine.engine,
            "kernels": machine.kernels,
            "cache-mb": machine.cache_mb,
            "threads": self._threads,
            "end-ids": ",".join(map(str, sorted(self.policy.end_ids))),
        }
        base = self.policy.base
        model = str(locate(self.experiment.model)) if base is None else base.place
        how = {"options": options, "launcher": self.launcher}
        return start_own(model, secret=self.secret, log=log, seconds=machine.starting, **how)

    def _start_vllm(self, log: Path) -> Server:
        """Starts vLLM with a model folder that is written for it: it could not read those of bases and runs."""
        from assay.engine.cluster.launcher import Needs
        from assay.engine.remote.servers.vllm import Vllm, start_vllm
        from assay.policy import save_policy

        machine, model = self.experiment.machine, self.folder / "weights" / "start"
        if not model.exists():
            save_policy(self.policy, model, merge=True)
        how = Vllm(
            machine.sampler_python,
            model,
            context=self.policy.config.context,
            secret=self.secret,
            precision=self.learner.precision,
            cache_mb=machine.cache_mb,
            tensor=machine.sampler_tensor,
            environment={"OMP_NUM_THREADS": str(self._threads)},
        )
        cuda = device_of(machine.device) != "cpu"
        needs = Needs(cpus=self._threads, gpus=machine.sampler_tensor if cuda else 0)
        return start_vllm(how, log=log, seconds=machine.starting, launcher=self.launcher, needs=needs)
