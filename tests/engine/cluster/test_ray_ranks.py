"""Ranks on the nodes of a Ray cluster: where they lie, what becomes of them when something dies, what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_cases import batch_of, model_of, rows_of
from processes import below, gone, parent_of
from ray_clusters import all_gone, cluster_of, kill_node

from assay.engine.cluster.nodes import Cluster
from assay.engine.interface import Want
from assay.engine.sharded.engine import ShardedLearner
from assay.engine.sharded.ranks import RankLayout, RankLost, Ranks
from assay.errors import EndpointError

pytestmark = pytest.mark.scale
BATCH = batch_of(*rows_of([5, 1, 9, 3, 7]))
PATIENCE = 30.0


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Any]:
    """Three nodes with one CPU each."""
    with cluster_of(1, 1, 1) as cluster:
        yield cluster


def pids(ranks: Ranks) -> list[int]:
    return [facts["pid"] for facts in ranks.facts]


def learn(learner: ShardedLearner) -> None:
    for wave in learner.chunks(BATCH, tokens=20):
        learner.forward(wave, Want())


def learn_until_lost(learner: ShardedLearner) -> None:
    """A rank lives a moment longer than its node."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        learn(learner)


def node_of(cluster: Any, ranks: Ranks, rank: int) -> Any:
    """The node of the cluster on which a rank lies, by the id that the rank's name tells."""
    (found,) = [node for node in cluster.list_all_nodes() if f"({node.node_id[:8]})" in ranks.children[rank].where]
    return found


def test_ranks_on_two_nodes_work_and_one_whose_process_dies_is_named(three: Any, tmp_path: Path) -> None:
    with Cluster(three.address, folder=tmp_path) as cluster, Ranks(RankLayout(size=2, deadline=60), cluster) as ranks:
        learner = ShardedLearner(ranks, "policy", model_of("qwen2"), precision="fp32")
        learn(learner)
        assert len({child.where for child in ranks.children}) == 2
        os.kill(pids(ranks)[1], signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(RankLost, match=r"rank 1 of 2 on node [\d.]+ \(\w{8}\) was ended by SIGKILL"):
            learn(learner)
        assert time.monotonic() - began < PATIENCE
        assert not all_gone(pids(ranks), within=5)


def test_a_rank_whose_ray_worker_dies_is_lost(three: Any, tmp_path: Path) -> None:
    with Cluster(three.address, folder=tmp_path) as cluster, Ranks(RankLayout(size=2, deadline=60), cluster) as ranks:
        learner = ShardedLearner(ranks, "policy", model_of("qwen2"), precision="fp32")
        os.kill(parent_of(pids(ranks)[0]), signal.SIGKILL)
        with pytest.raises(RankLost, match=r"rank 0 of 2 on node .* is gone with its Ray worker"):
            learn_until_lost(learner)
        assert not all_gone(pids(ranks), within=5)


def test_ranks_of_a_node_that_is_lost_move_to_another(three: Any, tmp_path: Path) -> None:
    with Cluster(three.address, folder=tmp_path) as cluster:
        with Ranks(RankLayout(size=2, deadline=60), cluster) as ranks:
            learner = ShardedLearner(ranks, "policy", model_of("qwen2"), precision="fp32")
            rank = 1 if node_of(three, ranks, 0) is three.head_node else 0
            lost, where = node_of(three, ranks, rank), ranks.children[rank].where
            kill_node(lost)
            with pytest.raises(RankLost, match=rf"rank {rank} of 2 on node .* is gone with its (node|Ray worker)"):
                learn_until_lost(learner)
            before = pids(ranks)
        with Ranks(RankLayout(size=2, deadline=60), cluster) as ranks:
            learn(ShardedLearner(ranks, "policy", model_of("qwen2"), precision="fp32"))
            assert where not in {child.where for child in ranks.children}
        assert not all_gone(before + pids(ranks), within=5)


def test_nothing_of_a_node_that_died_lives_on_while_the_run_looks_away(three: Any, tmp_path: Path) -> None:
    """Nobody closes a channel here: the actor itself sees that its raylet is gone, and its rank ends with it."""
    with Cluster(three.address, folder=tmp_path) as cluster, Ranks(RankLayout(size=1, deadline=60), cluster) as ranks:
        found = [*pids(ranks), parent_of(pids(ranks)[0])]
        kill_node(node_of(three, ranks, 0))
        assert not all_gone(found, within=15)


def test_a_rank_is_lost_with_the_process_that_speaks_with_ray(three: Any, tmp_path: Path) -> None:
    with Cluster(three.address, folder=tmp_path) as cluster, Ranks(RankLayout(size=1, deadline=60), cluster) as ranks:
        learner, found = ShardedLearner(ranks, "policy", model_of("qwen2"), precision="fp32"), pids(ranks)
        os.kill(cluster.broker.process.pid, signal.SIGKILL)
        with pytest.raises(RankLost, match=r"rank 0 of 1 on node .* is gone with the process that speaks with Ray"):
            learn_until_lost(learner)
        assert not all_gone(found, within=15)


def test_a_rank_that_is_stopped_is_named_within_its_deadline(three: Any, tmp_path: Path) -> None:
    with Cluster(three.address, folder=tmp_path) as cluster, Ranks(RankLayout(size=2, deadline=4), cluster) as ranks:
        learner = ShardedLearner(ranks, "policy", model_of("qwen2"), precision="fp32")
        os.kill(pids(ranks)[0], signal.SIGSTOP)
        with pytest.raises(
            RankLost, match=r"rank 0 on node \S+ \(\w{8}\) of 2 has not answered for 4 s \(machine.deadline\)"
        ):
            list(learner.tensors())
        assert not all_gone(pids(ranks), within=5)


def test_more_than_the_cluster_has_is_refused_with_what_it_has(three: Any, tmp_path: Path) -> None:
    began = time.monotonic()
    with Cluster(three.address, folder=tmp_path, room=5) as cluster:
        with pytest.raises(EndpointError, match=r"4 x \(1 CPU\) were asked for.*no room within 5 s.*free now: 3 CPU"):
            Ranks(RankLayout(size=4, deadline=60), cluster)
        with Ranks(RankLayout(size=2, deadline=60), cluster):  # what was refused holds no places
            pass
    assert time.monotonic() - began < 60


def test_an_address_at_which_nobody_answers_is_refused(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(EndpointError, match=r"no Ray cluster answers at 127.0.0.1:9: .*ray start --head"):
        Cluster("127.0.0.1:9", folder=tmp_path)
    assert time.monotonic() - began < PATIENCE


def test_nothing_outlives_a_driver_that_is_killed(tmp_path: Path) -> None:
    """With a cluster of its own: neither ranks nor any process of Ray."""
    program = (
        "import time; from pathlib import Path; from assay.engine.cluster.nodes import Cluster; "
        "from assay.engine.sharded.ranks import RankLayout, Ranks; "
        f"cluster = Cluster('auto', folder=Path({str(tmp_path)!r})); "
        "ranks = Ranks(RankLayout(size=2, deadline=60), cluster); "
        "print(*[facts['pid'] for facts in ranks.facts], flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        found = [int(pid) for pid in driver.stdout.readline().split()]
        started = below(driver.pid)
        assert len(found) == 2 and set(found) < set(started)
        driver.kill()
        assert not all_gone(started, within=15)


def test_nothing_outlives_a_cluster_of_its_own_that_is_closed(tmp_path: Path) -> None:
    with Cluster("auto", folder=tmp_path) as cluster, Ranks(RankLayout(size=2, deadline=60), cluster) as ranks:
        started = below(os.getpid())
        assert set(pids(ranks)) < set(started)
    assert not all_gone(started, within=15)
    assert gone(cluster.broker.process.pid)
