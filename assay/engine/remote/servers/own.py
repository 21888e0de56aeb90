"""Our own server, from outside: how it is started, and how it is spoken to, a whole call in one exchange, with streams
that keep their bits. `assay/engine/remote/server.py` is the server itself.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.engine.cluster.launcher import Launcher, Needs
from assay.engine.interface import Span
from assay.engine.remote.servers.http_server import LEASE, VERSION
from assay.engine.remote.servers.start import PlacedServer, Server, in_time, printed, start
from assay.engine.remote.transport.messages import asking, unpacked
from assay.engine.remote.transport.secret import handed
from assay.engine.remote.transport.site import Expected, Parcel, differences, require_same
from assay.engine.remote.transport.wire import Garbled, Gone, Refused, Wire
from assay.errors import AssayError, ConfigError
from assay.host.child import Parent

SECONDS = 30.0  # for an exchange that computes nothing
SCORE = 600.0  # for one that waits for the call under way
PROGRAM = "assay.engine.remote.servers.own:serve"  # of a process that a launcher starts
ALREADY = 409  # the status with which a server says that another run uses it


class AssaySite:
    """A server of `assay.engine.remote.server`.

    Example:
        site = AssaySite("http://10.0.0.5:8000", secret)
        site.examine(expected), site.claim("run-7", seconds=30.0)
    """

    at_once = 4
    parcel = 0
    streams = True

    def __init__(self, address: str, secret: str = "", *, lease: float = LEASE) -> None:
        """After `lease` seconds without a sign of life of this run the server is free again."""
        self.wire = Wire(address, secret)
        self.lease = lease
        self.prefilled = 0  # prompt tokens that it has run for us
        self.place = ""

    def examine(self, expected: Expected) -> str:
        version = self.wire.json("GET", "/version", seconds=SECONDS)
        reported = version.get("version") if isinstance(version, dict) else None
        if reported != VERSION:
            raise ConfigError(
                f"{self.wire.name} is no server of this Assay ({VERSION}): it says version {reported!r}. Start it with "
                "`python -m assay.engine.remote.server`, or set machine.sampler to vllm for a vLLM server."
            )
        facts = self.facts()
        self.place = str(facts.get("place", ""))
        advice = "Start the server with the model of this run."
        for what, here in (
            ("a vocabulary of", expected.vocab),
            ("a context of", expected.context),
            ("the end tokens", sorted(expected.end_ids)),
        ):
            there = facts.get({"a vocabulary of": "vocab", "a context of": "context"}.get(what, "end_ids"))
            require_same(self.wire, what, here=here, there=there, advice=advice)
        if expected.digest and facts.get("version") == 0:
            there = facts.get("digest")
            require_same(self.wire, "a model of digest", here=expected.digest, there=there, advice=advice)
        if unlike := differences(self, expected):
            raise ConfigError(f"{self.wire.name} serves another model than that of this run: {unlike}")
        return self.label()

    def facts(self) -> dict[str, Any]:
        """The server's own description: model, digest, context, vocabulary, precision, place, threads, version."""
        try:
            return dict(self.wire.json("GET", "/v1/models", seconds=SECONDS)["data"][0]["assay"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise Garbled(f"{self.wire.name} does not say which model it serves.") from None

    def label(self) -> str:
        found = self.wire.json("GET", "/weight_info", seconds=SECONDS)
        return str(found.get("weight_version")) if isinstance(found, dict) else ""

    def claim(self, run: str, *, seconds: float) -> None:
        take_lease(self.wire, run, self.lease, seconds=seconds)

    def release(self, run: str, *, seconds: float) -> None:
        self.wire.json("POST", "/release", {"run": run}, seconds=seconds)

    def score(self, spans: Sequence[Span]) -> list[np.ndarray]:
        body = {"spans": [{"context": s.context.tolist(), "ids": s.ids.tolist()} for s in spans]}
        said = self.wire.json("POST", "/score", body, seconds=SCORE, cuttable=True)
        try:
            found = [unpacked(logp, len(s.ids)) for logp, s in zip(said["logp"], spans, strict=True)]
        except (KeyError, TypeError, ValueError):
            found = [None]
        if any(one is None for one in found):
            raise Garbled(f"{self.wire.name} does not score what it was given.")
        return [one for one in found if one is not None]

    def answers(self, parcel: Parcel, run: str, *, seconds: float, silence: float) -> Iterator[tuple[int, Any]]:
        body = {
            "requests": [asking(request, parcel.key) for request in parcel.requests],
            "assay": {"run": run, "keeping": parcel.keeping},
        }
        try:
            for line in self.wire.lines("/inference/v1/generate", body, seconds=seconds, silence=silence):
                if not isinstance(line, dict):
                    raise Garbled(f"{self.wire.name} sent a line that is no answer.")
                if "error" in line:
                    raise _raised(self.wire, line)
                if line.get("end"):
                    self.prefilled += int(line.get("prefilled", 0))
                    return
                index = line.get("place")
                if type(index) is not int or not 0 <= index < len(parcel.requests):
                    raise Garbled(f"{self.wire.name} answers a request that was not asked.")
                yield index, line
        except Refused as refused:
            raise taken(self.wire, refused) from None
        raise Gone(f"{self.wire.name} ended its reply before all answers had come.")

    # Weights

    def begin(self, run: str, *, seconds: float) -> None:
        self.wire.json("POST", "/start_weight_update", {"assay": {"run": run}}, seconds=seconds, cuttable=True)

    def processes(self, *, seconds: float) -> int:
        return 1

    def join(self, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
        body = {"assay": {"run": run}, "init_info": dict(told)}
        self.wire.json("POST", "/init_weight_transfer_engine", body, seconds=seconds, cuttable=True)

    def take(self, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
        body = {"assay": {"run": run}, "update_info": dict(told)}
        self.wire.json("POST", "/update_weights", body, seconds=seconds, cuttable=True)

    def commit(self, label: str, run: str, *, seconds: float) -> None:
        body = {"assay": {"run": run}, "weight_version": label}
        self.wire.json("POST", "/finish_weight_update", body, seconds=seconds, cuttable=True)

    def abandon(self, run: str, *, seconds: float) -> None:
        """Nothing has to be said: with weights of two versions our server answers nobody."""

    def checksums(self, run: str, *, seconds: float) -> dict[str, str]:
        body = {"action": "checksum", "assay": {"run": run}}
        found = self.wire.json("POST", "/weight_checker", body, seconds=seconds, cuttable=True)
        return found.get("checksums", {}) if isinstance(found, dict) else {}

    def held(self, *, seconds: float) -> str:
        return ""


def take_lease(wire: Wire, run: str, held: float, *, seconds: float) -> None:
    """Takes a server for a run, for `held` seconds, or longer if the run already has it."""
    try:
        wire.json("POST", "/lease", {"run": run, "seconds": held}, seconds=seconds)
    except Refused as refused:
        raise taken(wire, refused) from None


def taken(wire: Wire, refused: Refused) -> AssayError:
    """The error of a refusal: it names the run that uses the server, or the error that the engine raised there."""
    if refused.status == ALREADY:
        return ConfigError(f"{wire.name} cannot be used: {refused}")
    body = refused.body
    return _raised(wire, body) if isinstance(body, dict) and refused.status == 500 and "error" in body else refused


def _raised(wire: Wire, body: dict[str, Any]) -> AssayError:
    """An error of the server's engine, as the error that it would have been in this process."""
    said = body["error"]
    kind, message = (said.get("type"), said.get("message")) if isinstance(said, dict) else (None, said)
    text = f"{wire.name} raised {kind}: {message}"
    return AssayError(text) if kind == "AssayError" else Refused(text, 500, body)


# Starting it


def _command() -> list[str]:
    """A command that runs our server, with the import path of this process."""
    begin = f"import sys; sys.path[:] = {sys.path!r}; from assay.engine.remote.server import main; "
    return [sys.executable, "-c", begin + "sys.exit(main(sys.argv[1:]))"]


def start_own(
    model: str,
    *,
    secret: str,
    log: Path,
    seconds: float = 300.0,
    options: Mapping[str, str | int] | None = None,
    launcher: Launcher | None = None,
) -> Server:
    """Starts our own server: `start_own("models/tiny", secret=fresh_secret(), log=log, options={"threads": 1})`.

    It runs on this machine, or where `launcher` finds room for it.
    """
    settings = {"model": model, "port": 0, **(options or {})}
    given = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    name = "a sampler of Assay's engine"
    if launcher is None:
        command = [*_command(), *given]
        return start(command, name=name, log=log, ready=printed, seconds=seconds, environment=handed(secret))
    cuda = str(settings.get("device", "cpu")).startswith("cuda")
    needs = Needs(cpus=max(1, int(settings.get("threads", 1))), gpus=int(cuda))
    placed = PlacedServer(PROGRAM, (given, handed(secret)), launcher, needs, name=name, log=log)
    return in_time(placed, printed, seconds)


def serve(channel: int, words: int, parent: int) -> None:
    """Runs our own server on the node, by its arguments, until the process that launched it has closed the channel."""
    starter = Parent(channel, words, parent)
    if (frame := starter.read()) is None:
        return
    (arguments, environment), host, log = pickle.loads(frame)
    os.environ.update(environment)
    _print_to(log)
    threading.Thread(target=_end_with, args=(starter,), daemon=True).start()
    from assay.engine.remote.server import main

    main([*arguments, "--host", host])


def _print_to(log: Path) -> None:
    with log.open("ab") as printed:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(printed.fileno(), stream.fileno())


def _end_with(starter: Parent) -> None:
    while starter.read() is not None:
        pass
    os._exit(0)
