"""A whole run whose answers come from servers is the run in one process, bit for bit; and no wait lacks a deadline."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from serving import QUICK, serving, site_of
from tiny import Letters, policy, recipe_of, register, run, with_forks

import assay.engine
import assay.host
from assay.engine.local import LocalEngine
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.http_server import Server
from assay.engine.remote.transport.site import Expected
from assay.recipe import Recipe


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def engine() -> LocalEngine:
    return policy("native", decode=Letters().decode)


def through(learner: LocalEngine, sampler: RemoteSampler, servers: list[Server]) -> LocalEngine:
    """The engine with its answers from servers, which get its weights after each step."""
    sound = learner.step

    def step(**how: object) -> object:
        stats = sound(**how)  # type: ignore[arg-type]
        weights = {n.removeprefix("parameter/"): v for n, v in learner.view().items() if n.startswith("parameter/")}
        for server in servers:
            server.served.load_weights(learner.version, weights)
        sampler.published(learner.version)
        return stats

    for name in ("submit", "generate", "keeping"):
        setattr(learner, name, getattr(sampler, name))
    learner.step = step  # type: ignore[method-assign,assignment]
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("made", [recipe_of, with_forks], ids=lambda made: made.__name__)
def test_a_run_over_two_servers_has_the_bits_of_the_run_in_one_process(made: Callable[..., Recipe]) -> None:
    recipe = made("grpo", num_steps=3, num_prompts=4, group_size=4)
    local, learner = engine(), engine()
    wanted, _ = run(recipe, local)
    expected = Expected(5, local.context, local.end_ids, decode=Letters().decode)
    with serving(engine()) as first, serving(engine()) as second:
        sites = [site_of(first.address), site_of(second.address)]
        with RemoteSampler(sites, expected, run="a run", patience=QUICK) as sampler:
            found, _ = run(recipe, through(learner, sampler, [first, second]))
    np.testing.assert_equal(found.stats, wanted.stats)
    for there, here in zip(found.episodes, wanted.episodes, strict=True):
        for one, other in zip(there, here, strict=True):
            for stream in ("ids", "old", "mu", "entropy"):
                assert one.stream(stream).tobytes() == other.stream(stream).tobytes()
            assert [s.version for s in one.segments] == [s.version for s in other.segments]
    assert all(torch.equal(value, local.view()[key]) for key, value in learner.view().items() if key != "version")
    assert learner.version == local.version == 3


# Deadlines

BARE = {"wait", "join", "get", "acquire", "communicate", "result", "wait_for"}
"""Methods that wait for ever if they are called without arguments."""
OURS = {
    "self.submit(requests, key, done=done).wait()",  # tickets, with their own deadlines
    "self.open.pop(0).wait()",
    "self.process.wait()",  # what an actor of Ray is for: to say when its process ends, and it ends with its node
    "ray.get(self.seats[number].ended.remote())",  # where that is heard, in a thread
    "self._writing.wait()",  # a rank's own thread that writes to a disk; whoever asked the rank waits with a deadline
}
TIMED = {"run", "check_output", "create_connection", "urlopen", "HTTPConnection", "wait_for"}
"""Functions that wait for ever without `timeout`."""


ENGINE, HOST = Path(assay.engine.__path__[0]), Path(assay.host.__path__[0])
WAITING = [
    *sorted((ENGINE / "remote").glob("*.py")),
    *sorted((ENGINE / "sharded").glob("*.py")),
    *sorted((ENGINE / "cluster").glob("*.py")),
    *(ENGINE / "paired.py", HOST / "child.py"),
]


@pytest.mark.parametrize("path", WAITING, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_wait_is_without_a_deadline(path: Path) -> None:
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            text, given = ast.unparse(node), {word.arg for word in node.keywords}
            bare = node.func.attr in BARE and not node.args and not given & {"timeout", "blocking"}
            assert not bare or text in OURS, text
            timed = (node.func.attr in TIMED and "self._run" not in text) or ast.unparse(node.func) == "ray.get"
            assert not timed or text in OURS or "timeout" in given, text
