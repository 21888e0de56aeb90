"""Kills a small run of DAPO with refill and resumes it, in forked children of one process that never computes itself.

Run as a program: reads scenarios as JSON lines {"name", ...}, writes one result line for each. A scenario kills at a
failpoint ("failpoint"), after a share of the time that the uninterrupted run takes ("after"), or inside the nth stretch
of a phase ("inside", "nth"); then it resumes until the run is done. With "beside" its checkpoints are written beside
training.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from assay.host import failpoint
from assay.known import RECIPES
from assay.record.folder import RunFolder
from assay.run.experiment import Experiment
from assay.run.recorder import timeless
from assay.run.session import plan, resume, start
from assay.source import Pool, Share

PHASES = ("between", "collect", "verify", "update", "save")
STEPS = 4
PAUSE = 0.02  # seconds by which the calls of a phase are stretched, so that a kill at a random moment can hit them


def small_policy(folder: Path) -> None:
    from assay.policy import character_tokenizer, fresh_policy, save_policy
    from assay.policy.config import PolicyConfig
    from assay.rng import Key
    from assay.tasks import ALPHABET

    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 64, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("crash")), folder)


def experiment(model: Path) -> Experiment:
    """DAPO on a task whose random answers are never right, so that every step refills up to its cap."""
    settings = {
        "scale.num_prompts": "2",
        "scale.group_size": "2",
        "scale.max_new": "6",
        "scale.num_minibatches": "2",
        "mechanism.expand.0.max_rounds": "2",
        "mechanism.curate": "first-groups",
        "evaluation.every": "2",
        "evaluation.num_problems": "2",
        "evaluation.num_samples": "2",
        "evaluation.final_problems": "2",
        "evaluation.final_samples": "2",
        "saving.every": "1",
        "saving.rollouts_every": "2",
        "machine.threads": "1",
    }
    pool = Pool((Share("countdown", (3,)),))
    return plan(RECIPES["dapo"], model=str(model), pool=pool, steps=STEPS, overrides=settings)[0]


def watch(place: mmap.mmap, inside: str | None, nth: int) -> None:
    """Writes into shared memory what the run is doing, so that the parent knows where a kill hit."""
    import assay.run.grader
    from assay.engine.local import LocalEngine
    from assay.engine.native.engine import NativeEngine
    from assay.engine.torch.engine import TorchEngine

    visits: dict[str, int] = dict.fromkeys(PHASES, 0)

    def marked(name: str, function, pause: float = 0.0):
        def wrapped(*arguments, **keywords):
            before, place[0] = place[0], PHASES.index(name)
            visits[name] += 1
            place[1:3] = sum(visits.values()).to_bytes(2, "little")
            if name == inside and visits[name] == nth:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(pause)
            try:
                return function(*arguments, **keywords)
            finally:
                place[0] = before

        return wrapped

    assay.run.grader.verify = marked("verify", assay.run.grader.verify, PAUSE)
    for engine in (NativeEngine, TorchEngine):
        engine.generate = marked("collect", engine.generate, PAUSE)
        engine.forward = marked("update", engine.forward, PAUSE / 4)
        engine.backward = marked("update", engine.backward, PAUSE / 4)
    LocalEngine.step = marked("update", LocalEngine.step, PAUSE / 4)
    RunFolder.save = marked("save", RunFolder.save, PAUSE)


def write_beside(place: mmap.mmap) -> None:
    """Checkpoints of any size are written beside training, slowly; `place` says when one is under way."""
    from assay.record import checkpoint, disk, folder

    folder.BESIDE = 0
    commit, write_new = checkpoint.Store.commit, disk.write_new

    def slow(*arguments, **keywords):
        time.sleep(PAUSE / 2)
        return write_new(*arguments, **keywords)

    def marked(*arguments, **keywords):
        place[3] = 1
        try:
            return commit(*arguments, **keywords)
        finally:
            place[3] = 0

    checkpoint.Store.commit, disk.write_new = marked, slow


def child(work) -> int:
    """The pid of a forked child that does the work and exits 0, or 1 with a traceback."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        import torch

        torch.set_num_threads(1)
        work()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def visits_of(place: mmap.mmap) -> int:
    return int.from_bytes(place[1:3], "little")


def kill_at(share: float, pid: int, place: mmap.mmap, calm: int) -> None:
    """Kills a run after this share of the phases that a calm run enters, however fast the machine is just then, and a
    moment of up to a hundredth of a second later."""
    while visits_of(place) <= share * calm and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.0005)
    time.sleep(share * 1e4 % 1 * 0.01)
    os.kill(pid, signal.SIGKILL)


def run_scenario(scenario: dict, model: Path, root: Path, calm: int) -> dict:
    run = root / scenario["name"].replace(":", "-")
    shutil.rmtree(run, ignore_errors=True)
    place = mmap.mmap(-1, 4)  # the phase it is in, how many it has entered, and whether a checkpoint is being written
    armed = scenario.get("failpoint")

    def begin() -> None:
        watch(place, scenario.get("inside"), scenario.get("nth", 1))
        if scenario.get("beside"):
            write_beside(place)
        failpoint.arm(armed)
        start(experiment(model), run, quiet=True)

    def go_on() -> None:
        if (run / "run.json").exists():
            resume(run, quiet=True)
        else:
            start(experiment(model), run, quiet=True)

    pid = child(begin)
    if "after" in scenario:
        kill_at(scenario["after"], pid, place, calm)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    hit, writing = (PHASES[place[0]], bool(place[3])) if killed else (None, False)
    pid = child(go_on)
    _, again = os.waitpid(pid, 0)
    done = again == 0
    result = {"name": scenario["name"], "killed": killed, "hit": hit, "resumed": done, "visits": visits_of(place)}
    result["writing"] = writing
    result["digest"] = digest_of(run) if done else None
    shutil.rmtree(run, ignore_errors=True)
    return result


def compiled() -> None:
    """The core is made now: a calm run that waits for a compiler would be no measure for when to kill the others."""
    import torch

    from assay.engine.native.engine import refusal

    refusal(torch.device("cpu"), torch.float32)


def digest_of(run: Path) -> str:
    """Of everything that a run computed: weights, optimiser, memory, counters, metrics, scores and rollouts."""
    folder = RunFolder.read_only(run)
    checkpoint = folder.load()
    assert checkpoint is not None
    state = hashlib.sha256()
    for name in sorted(checkpoint.names):
        state.update(name.encode() + checkpoint.file(name).read_bytes())
    state.update(json.dumps([timeless(record) for record in folder.read("metrics")]).encode())
    state.update(json.dumps(folder.read("evals")).encode())
    for step in folder.rollout_steps():
        state.update(json.dumps([step, folder.rollouts(step)], default=str).encode())
    state.update(json.dumps([checkpoint.step, folder.store.steps()]).encode())
    return state.hexdigest()


def main() -> None:
    root = Path(sys.argv[1])
    model = root / "model"
    os.waitpid(child(lambda: small_policy(model)), 0)
    os.waitpid(child(compiled), 0)
    import assay.engine.native.engine
    import assay.loop
    import assay.policy
    import assay.run.recorder  # noqa: F401 - once here instead of in every child

    calm = run_scenario({"name": "calm"}, model, root, 0)
    print(json.dumps(calm), flush=True)
    for line in sys.stdin:
        print(json.dumps(run_scenario(json.loads(line), model, root, calm["visits"])), flush=True)


if __name__ == "__main__":
    main()
