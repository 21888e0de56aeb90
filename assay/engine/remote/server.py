"""Our own engine as a server: `python -m assay.engine.remote.server --model FOLDER`.

When it is ready, it prints one line of JSON with its address. It answers `/inference/v1/generate` as vLLM 0.32 does,
with token ids in and out, and the calls by which a run pauses a server and gives it weights. A body with `requests` in
place of `token_ids` asks for many answers. They come as lines of JSON, each when it is complete; a last line says that
they are all. Every request names the secret that the server's environment gives; `GET /health` is open to all.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from typing import Any

from assay.engine.remote.servers.http_server import Server
from assay.engine.remote.servers.served_engine import ServedEngine
from assay.engine.remote.transport.secret import secret_of
from assay.errors import ConfigError
from assay.host import terminal
from assay.host.stops import leave_to_parent


def facts_of(engine: Any, *, model: str, digest: str) -> dict[str, Any]:
    """The facts that a sampler must know of a served engine before it asks."""
    return {
        "model": model,
        "digest": digest,
        "context": engine.context,
        "vocab": engine.vocab,
        "rows": engine.model.config.vocab,
        "end_ids": sorted(engine.end_ids),
        "precision": engine.precision,
        "place": engine.place,
        "engine": engine.name,
        "exact": engine.exact,
        "threads": _threads(),
    }


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def main(arguments: list[str] | None = None) -> None:
    options = _options().parse_args(arguments)
    try:
        secret = secret_of(os.environ)
    except ConfigError as error:
        sys.exit(f"ConfigError: {error}")
    leave_to_parent(signal.SIGINT)  # the process that started the server decides when it ends
    import torch

    from assay.engine.choose import frozen_engine, processor_of
    from assay.policy import load_policy
    from assay.policy.policy import fingerprint

    if options.threads:
        torch.set_num_threads(options.threads)
    policy = load_policy(options.model)
    digest = fingerprint(policy)
    ends = frozenset(map(int, options.end_ids.split(","))) if options.end_ids else policy.end_ids
    engine = frozen_engine(
        policy,
        wish=options.engine,
        device=options.device,
        precision=options.precision,
        kernels=options.kernels,
        end_ids=ends,
        memory_bytes=options.cache_mb << 20,
        caches_stay=True,  # nobody learns beside it
    )
    served = ServedEngine(engine)
    facts = facts_of(engine, model=options.model, digest=digest)
    server = Server(served, facts, secret=secret, host=options.host, port=options.port)
    served.start()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
    terminal.show(json.dumps({"address": server.address, "pid": os.getpid(), **server.facts}))
    with processor_of(engine), contextlib.closing(server.socket):
        server.serve_forever(poll_interval=0.1)
    served.stop()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m assay.engine.remote.server", description=__doc__)
    parser.add_argument("--model", required=True, help="a folder or a Hub id, as `assay train --model` takes it")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen; who knows the secret can use it")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--engine", default="auto", choices=("auto", "native", "torch"))
    parser.add_argument("--precision", default="auto", help="as `--machine.precision`")
    parser.add_argument("--kernels", default="auto", choices=("auto", "torch"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as torch takes")
    parser.add_argument("--cache-mb", type=int, default=2048, help="for the keys and values of rows in flight")
    parser.add_argument(
        "--end-ids", default="", help="tokens that end an answer, such as 2,5; those of the model if empty"
    )
    return parser


if __name__ == "__main__":
    main()
