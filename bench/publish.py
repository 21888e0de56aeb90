"""What publishing costs: seconds, bytes and memory of a publish to servers in processes of their own, by each way.

    python -m bench.publish [--mb 320] [--servers 2] [--rounds 5] [--json]

A model of so many MiB is published to servers of our own engine, by files and by gloo in turn, each round in another
order; each way has servers of its own, and every tensor changes before each publish. Seconds are those of the whole
publish: sending, loading, checksums, probes. `moved` is what goes to one server, as a share of the bytes of the model.
`peak` is by how much the resident memory of the publishing process, or of a server, rises during a publish, in buckets
of 256 MiB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.own import AssaySite, start_own
from assay.engine.remote.transport.secret import fresh_secret
from assay.engine.remote.transport.site import Expected
from assay.engine.remote.weights.publish import Published
from assay.engine.remote.weights.receive import BUCKET
from assay.engine.remote.weights.send import Carrier, Files, Network
from assay.engine.torch.engine import TorchEngine
from assay.policy import PolicyConfig, character_tokenizer, fresh_policy, save_policy
from assay.rng import Key

WIDTH, LOOK = 1024, 0.01


def resident(pid: int | str = "self") -> int:
    """Bytes of a process that lie in memory."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) << 10


@contextlib.contextmanager
def watched(pids: list[int | str]) -> Iterator[Callable[[], list[int]]]:
    """Inside the block: by how much each process has risen at most since the block began."""
    before, most = [resident(pid) for pid in pids], [0] * len(pids)
    over = threading.Event()

    def look() -> None:
        while not over.wait(LOOK):
            for i, pid in enumerate(pids):
                most[i] = max(most[i], resident(pid) - before[i])

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield lambda: list(most)
    finally:
        over.set()
        thread.join(timeout=5.0)


def measured(mb: int, servers: int, rounds: int) -> dict[str, Any]:
    tokenizer = character_tokenizer("0123456789+-*/=() ")
    layer = 4 * (4 * WIDTH * WIDTH + 3 * WIDTH * 4 * WIDTH)
    layers = max(1, (mb << 20) // layer)
    shape = PolicyConfig("llama", tokenizer.vocab, WIDTH, layers, 16, 16, 64, 4 * WIDTH, 64)
    policy = fresh_policy(shape, tokenizer, key=Key("publish"))
    found: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        save_policy(policy, folder / "model")
        options: dict[str, str | int] = {"precision": "fp32", "threads": 1, "engine": "torch", "cache-mb": 16}
        learner = TorchEngine(policy.network, end_ids=policy.end_ids, precision="fp32", optimiser=None)
        expected = Expected(vocab=learner.vocab, context=learner.context, end_ids=policy.end_ids)
        ways: dict[str, Carrier] = {"files": Files(folder / "weights"), "gloo": Network("gloo")}
        arms: dict[str, Published] = {}
        pids: dict[str, list[int | str]] = {}
        secret = fresh_secret()
        for name, carrier in ways.items():
            sites = []
            for i in range(servers):
                log = folder / f"{name}-{i}.log"
                server = stack.enter_context(start_own(str(folder / "model"), secret=secret, log=log, options=options))
                sites.append(AssaySite(server.address, secret))
            remote = RemoteSampler(sites, expected, run="bench")
            arms[name] = Published(remote, learner, carrier, tolerance=1e-2)
            stack.callback(arms[name].close)
            pids[name] = ["self", *(int(site.facts()["pid"]) for site in sites)]
        size = sum(tensor.nbytes for _, tensor in learner.tensors())
        version = 0
        seconds: dict[str, list[float]] = {name: [] for name in arms}
        peaks: dict[str, list[float]] = {name: [] for name in arms}
        for turn in range(rounds + 1):  # the first round shakes hands
            for name in random.Random(turn).sample(list(arms), len(arms)):
                version += 1
                with torch.no_grad():
                    for tensor in policy.network.parameters():
                        tensor.mul_(1 + 1e-3)
                learner.load({**learner.view(), "version": version})
                arms[name].measured()
                with watched(pids[name]) as most:
                    arms[name].receive(learner.tensors(), version)
                if turn:
                    seconds[name].append(float(arms[name].measured()["time/publish"]))
                    peaks[name].append(max(most()) / BUCKET)
        for name in arms:
            found[name] = {
                "seconds": statistics.median(seconds[name]),
                "spread": [min(seconds[name]), max(seconds[name])],
                "moved": arms[name].moved / size,
                "peak": max(peaks[name]),
            }
        found["bytes"] = size
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=320)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = measured(options.mb, options.servers, options.rounds)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
        return
    sys.stdout.write(f"{found.pop('bytes') >> 20} MiB to {options.servers} servers\n")
    for name, one in found.items():
        low, high = one["spread"]
        told = f"{one['seconds']:.2f} s ({low:.2f} to {high:.2f})  moved {one['moved']:.3f}"
        sys.stdout.write(f"{name:6} {told}  peak {one['peak']:.2f} buckets\n")


if __name__ == "__main__":
    main()
