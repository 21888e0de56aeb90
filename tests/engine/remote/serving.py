"""Servers of engines in this process and in others, for tests of samplers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from engine_cases import engine_of, problem_of

from assay.engine.interface import Generation
from assay.engine.local import LocalEngine
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.server import facts_of
from assay.engine.remote.servers.http_server import Server
from assay.engine.remote.servers.own import AssaySite
from assay.engine.remote.servers.served_engine import ServedEngine
from assay.engine.remote.transport.couriers import Patience
from assay.engine.remote.transport.secret import handed
from assay.engine.remote.transport.site import Expected, Site
from assay.engine.remote.transport.wire import Wire
from assay.engine.sampling_call import Decode
from assay.types import Origin, Request, Segment

QUICK = Patience(answer=30.0, silence=5.0, retries=2)
SECRET = "a-secret-of-tests-0123456789"
LETTERS = ".abcdefghijkl"


def decode(ids: Any) -> str:
    return "".join(LETTERS[i] for i in ids)


def served_engine(precision: str = "native", **changes: Any) -> LocalEngine:
    return engine_of("qwen3", precision=precision, decode=decode, **changes)


@contextlib.contextmanager
def serving(engine: LocalEngine) -> Iterator[Server]:
    """An engine behind a server of this process."""
    served = ServedEngine(engine)
    server = Server(served, facts_of(engine, model="tiny", digest="0"), secret=SECRET)
    served.start()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        served.stop()
        server.server_close()


def expected_of(engine: LocalEngine, read: Decode | None = decode) -> Expected:
    return Expected(vocab=engine.vocab, context=engine.context, end_ids=engine.end_ids, decode=read)


@contextlib.contextmanager
def sampling(engine: LocalEngine, *sites: Site, patience: Patience = QUICK, **more: Any) -> Iterator[RemoteSampler]:
    with RemoteSampler(sites, expected_of(engine), run="a run", patience=patience, **more) as sampler:
        yield sampler


def own(*servers: Server) -> list[AssaySite]:
    return [site_of(server.address) for server in servers]


def site_of(address: str, **more: Any) -> AssaySite:
    return AssaySite(address, SECRET, **more)


def wire_to(address: str) -> Wire:
    return Wire(address, SECRET)


def varied(count: int = 40, **changes: Any) -> list[Request]:
    """Requests that differ in every setting: filters, prefixes of policy and environment, stop strings, greedy ones,
    lengths, groups.
    """
    random, requests = np.random.default_rng(4), []
    for i in range(count):
        context = np.random.default_rng(50 + i % 5).integers(1, 13, 2 + i % 5).astype(np.int32)
        before = np.random.default_rng(20 + i % 3).integers(1, 13, 20).astype(np.int32)[: int(random.integers(0, 20))]
        cut = len(before) // 2
        pieces = [(before[:cut], Origin.POLICY), (before[cut:], Origin.ENV)]
        prefix = tuple(Segment(ids, np.full(len(ids), by, np.int8)) for ids, by in pieces if len(ids))
        how = [
            {},
            {"temperature": 0.0},
            {"temperature": 0.7, "top_p": 0.8},
            {"top_k": 4},
            {"temperature": 1.3, "min_p": 0.1},
            {"stop": ("ab", "c"), "temperature": 1.7},
            {"top_k": 13, "stop": ("d",)},
        ][i % 7]
        settings = {"sample": i, "prefix": prefix if i % 2 else (), **how, **changes}
        requests.append(Request(problem_of(i % 6), context, f"group {i % 6}", 1 + i % 11, **settings))
    return requests


def bits(generations: list[Generation]) -> list[tuple[Any, ...]]:
    """All that is said of answers, as bytes."""
    streams = ("ids", "origin", "old", "mu", "entropy")
    return [
        (one.finish, one.segment.version, *(getattr(one.segment, name).tobytes() for name in streams))
        for one in generations
    ]


@contextlib.contextmanager
def started(folder: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server in a process of its own: (address, process)."""
    command = [sys.executable, "-m", "assay.engine.remote.server", "--model", str(folder), "--threads", "1", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **handed(SECRET)})
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"], process
    finally:
        process.kill()
        process.wait(timeout=20)
        if process.stdout is not None:
            process.stdout.close()
