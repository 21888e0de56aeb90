"""What vLLM is asked in tests, and what it has said: `python tests/engine/remote/vllm_cases.py PYTHON` asks it anew.

PYTHON is the interpreter of an environment with vLLM. Each server in `recorded/` is a file of exchanges, one a line.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.vllm import Vllm, VllmSite, start_vllm
from assay.engine.remote.transport.couriers import Patience
from assay.engine.remote.transport.site import Expected
from assay.engine.remote.transport.wire import Reply, Wire
from assay.engine.torch.engine import TorchEngine
from assay.errors import ConfigError
from assay.policy import Policy, PolicyConfig, character_tokenizer, fresh_policy, save_policy
from assay.rng import Key
from assay.types import Problem, Request

RECORDED = Path(__file__).parent / "recorded"
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 +-*/=()"
KEY = Key(5)
SECRET = "a-secret-of-tests-0123456789"
HOW: tuple[dict[str, Any], ...] = (
    {},
    {"temperature": 0.0},
    {"temperature": 0.7},
    {"top_p": 0.8},
    {"top_k": 5},
    {"min_p": 0.1},
    {"stop": ("e", "a b", "0")},
    {"temperature": 0.5, "top_p": 0.9},
)
SERVERS: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "sound": ((), {}),
    "raw": (("--logprobs-mode", "raw_logprobs"), {}),
    "closed": (("--no-enable-scale-out",), {}),
    "untrainable": ((), {"VLLM_SERVER_DEV_MODE": "0"}),
    "short": (("--max-model-len", "128"), {}),
    "rigid": ((), {}),
}
"""How each server is started beside what `start_vllm` says; `rigid` has nothing of `inside_vllm`."""


def policy_of(tied: bool = True, init_std: float = 0.3) -> Policy:
    tokenizer = character_tokenizer(ALPHABET)
    shape = {"hidden": 64, "layers": 2, "heads": 2, "kv_heads": 2, "head_dim": 32, "ffn": 128, "context": 256}
    family = {"family": "qwen2", "attention_bias": True} if tied else {"family": "llama", "tied": False}
    config = PolicyConfig(**{**shape, **family, "vocab": tokenizer.vocab, "init_std": init_std})  # type: ignore[arg-type]
    return fresh_policy(config, tokenizer, key=Key("qwen2" if tied else "llama"))


def engine_of(policy: Policy) -> LocalEngine:
    known = {"end_ids": policy.end_ids, "decode": policy.codec.decode, "vocab": policy.codec.vocab}
    return TorchEngine(policy.network, precision="fp32", optimiser=None, **known)


def contexts() -> list[np.ndarray]:
    return [np.array([3 + i, 9, 12 + i, 20], np.int32) for i in range(3)]


def expected_of(engine: LocalEngine, **changes: Any) -> Expected:
    spans = [Span(context, np.array([7, 8, 9, 30, 31], np.int32)) for context in contexts()]
    probes = tuple(zip(spans, (one.logp for one in engine.score(spans)), strict=True))
    known = {"vocab": engine.vocab, "context": engine.context, "end_ids": engine.end_ids, "decode": engine.decode}
    return Expected(**{**known, "probes": probes, **changes})


def requests() -> list[Request]:
    return [
        Request(Problem("vllm", str(i), {}, str(i)), contexts()[i % 3], f"group {i % 3}", 12, sample=i, **HOW[i % 8])
        for i in range(16)
    ]


@contextlib.contextmanager
def asking(address: str, engine: LocalEngine, **changes: Any) -> Iterator[RemoteSampler]:
    patience = Patience(answer=120.0, silence=60.0)
    site = VllmSite(address, SECRET, at_once=8)
    with RemoteSampler([site], expected_of(engine, **changes), run="a run", patience=patience) as sampler:
        yield sampler


# Recordings


def key_of(method: str, path: str, body: Any) -> str:
    return json.dumps([method, path, body], sort_keys=True)


@contextlib.contextmanager
def replaying(name: str) -> Iterator[str]:
    """The address of a server that says what a recorded one has said, and 404 to all else."""
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
    said = {key_of(one["method"], one["path"], one["body"]): one for one in map(json.loads, lines)}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: pytest shows what matters."""

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            one = said.get(key_of(self.command, self.path, body))
            one = one or {"status": 404, "reply": {"error": {"message": f"not recorded: {self.path} {body}"}}}
            data = b"" if one["reply"] is None else json.dumps(one["reply"]).encode()
            self.send_response(one["status"])
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Recording(Wire):
    """A wire that keeps what is said over it."""

    said: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def ask(self, method: str, path: str, body: Any = None, **how: Any) -> Reply:
        reply = super().ask(method, path, body, **how)
        content = json.loads(reply.data) if reply.data else None
        one = {"method": method, "path": path, "body": body, "status": reply.status, "reply": _small(content)}
        self.said[key_of(method, path, body)] = one
        return reply


def _small(content: Any) -> Any:
    """Without what says nothing, and without the place of the model's folder."""
    if isinstance(content, dict):
        return {name: _small(value) for name, value in content.items() if value is not None and name != "permission"}
    if isinstance(content, str) and content.startswith("/"):
        return "tiny"
    return [_small(one) for one in content] if isinstance(content, list) else content


def record(python: str, name: str, folder: Path, engine: LocalEngine) -> None:
    import assay.engine.remote.servers.vllm as module

    more, environment = SERVERS[name]
    how = Vllm(python, folder, 256, secret=SECRET, precision="fp32", rows=16, more=tuple(more), environment=environment)
    _Recording.said = {}
    if name == "rigid":
        module.EXTENSIONS = ()
    with start_vllm(how, log=folder / f"{name}.log") as server:
        module.Wire = _Recording  # type: ignore[misc]
        try:
            with asking(server.address, engine) as sampler:
                sampler.generate(requests(), KEY)
        except ConfigError as refused:
            print(name, refused)
        finally:
            module.Wire = Wire  # type: ignore[misc]
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in _Recording.said.values()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        whole = policy_of()
        save_policy(whole, place)
        for server in sys.argv[2:] or SERVERS:
            record(sys.argv[1], server, Path(place), engine_of(whole))
