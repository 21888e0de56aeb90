"""`make gpu`: every stage runs at toy size, a run that is cut short keeps what it measured, and failures are told."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import ROOT, program

from assay.host.space import Room
from assay.known import RECIPES
from assay.run.external_needs import judged_by
from bench import gpu, gpu_beside_trl, gpu_checks, gpu_device, gpu_models, gpu_recipes
from bench.gpu_record import Record

Stages = dict[str, tuple[Callable[[gpu.Bench, float], str], float]]


@pytest.mark.slow
def test_the_whole_script_runs_at_toy_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert gpu.main(["--dry-run-on-cpu", "--out", str(tmp_path / "toy.run")]) == 0
    data = json.loads((tmp_path / "toy.run.json").read_text())
    assert {name: stage["state"] for name, stage in data["stages"].items()} == dict.fromkeys(gpu.STAGES, "done")
    assert len(data["checks"]) == 13 and all(check["passed"] for check in data["checks"])
    (row,) = data["rows"]
    assert row["tokens_per_s"] > 0 and row["step_s"] == row["sample_s"] + row["learn_s"]
    assert row["peak_gib"] == pytest.approx(row["planned_gib"], abs=1.5)  # of a process that has done much else
    assert 0 < row["sample_share"] < 1 and 0 < row["learn_share"] < 1 and row["place"].startswith("cpu torch")
    assert [(row["model"], row["configuration"]) for row in data["trl"]] == [("toy", "generate"), ("toy", "paged")]
    assert all(row["step_s"] or "not installed" in row["why"] for row in data["trl"])
    (profile,) = data["profile"]
    assert [phase["name"] for phase in profile["phases"]] == ["sampling", "scoring", "learning", "optimiser"]
    assert all(row["why"] == "no GPU here, and no TRITON_INTERPRET=1" for row in data["kernels"])
    assert data["kernels"] and {goal["word"] for goal in data["goals"]} == {"not measured"}
    text = (tmp_path / "toy.run.md").read_text()
    assert "says nothing about speed" in text and text in capsys.readouterr().out
    assert "| toy (0M) |" in text and "FAILED" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.run.json", "toy.run.md"]


@pytest.mark.slow
def test_a_run_that_is_killed_keeps_what_it_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.gpu", "--dry-run-on-cpu", "--stage", "checks", "models"]
    run = subprocess.Popen([*command, "--out", str(tmp_path / "cut")], cwd=ROOT, stderr=subprocess.DEVNULL)
    page, limit = tmp_path / "cut.json", time.monotonic() + 120
    while not (page.exists() and json.loads(page.read_text())["checks"]):
        assert run.poll() is None and time.monotonic() < limit
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    data = json.loads(page.read_text())
    assert data["checks"][0]["name"] == "log-probs, fp32: greatest difference" and data["checks"][0]["passed"]
    states = {name: stage["state"] for name, stage in data["stages"].items()}
    assert states == {"checks": "running", "models": "not begun"}
    text = (tmp_path / "cut.md").read_text()
    assert "| checks | running |" in text and "| log-probs, fp32: greatest difference |" in text


@pytest.mark.slow
def test_kernels_run_in_the_interpreter_and_agree_with_torch(tmp_path: Path) -> None:
    """A case whose kernel the engine does not have says which module is missing, and no module that is there."""
    command = [sys.executable, "-m", "bench.gpu", "--dry-run-on-cpu", "--stage", "kernels", "--out", "kernels"]
    about = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    reply = subprocess.run(command, cwd=tmp_path, env=about, capture_output=True, text=True)
    assert reply.returncode == 0, reply.stderr
    rows = json.loads((tmp_path / "kernels.json").read_text())["kernels"]
    assert len(rows) == 12
    for row in rows:
        if lacks := re.fullmatch(
            r"(assay\.engine\.torch\.kernels[.\w]*|triton) is not there|no triton here", row["why"]
        ):
            assert lacks[1] is None or not list(ROOT.glob(lacks[1].replace(".", "/") + "*"))
        else:
            assert row["why"] == "" and row["difference"] < 1e-5 and row["ours_s"] > 0 and row["torch_s"] > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_refuses_and_names_the_rehearsal(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 78
    assert re.search(r"there is no GPU \(.*\)\. --dry-run-on-cpu", capsys.readouterr().err)


def test_missing_packages_are_named_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "NEEDED", ("torch", "nobody_has_this", "nor_this"))
    assert gpu.main(["--dry-run-on-cpu"]) == 78
    assert "missing: nobody_has_this, nor_this. pip install nobody_has_this nor_this" in capsys.readouterr().err


@pytest.mark.slow
def test_it_needs_nothing_beyond_what_it_names() -> None:
    code = (
        "import sys\n"
        "OTHERS = {'scipy', 'peft', 'trl', 'triton'}\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in {'pyarrow', 'rich', 'matplotlib', 'transformers', *OTHERS}:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
        "import bench.gpu, bench.gpu_checks, bench.gpu_profile, bench.gpu_kernel_cases, assay.run.memory_plan\n"
    )
    reply = program(["-c", code])
    assert reply.returncode == 0, reply.stderr


# Stages


def staged(monkeypatch: pytest.MonkeyPatch, out: Path, stages: Stages, *options: str) -> tuple[int, dict[str, Any]]:
    monkeypatch.setattr(gpu, "STAGES", stages)
    code = gpu.main(["--dry-run-on-cpu", "--out", str(out), *options])
    return code, json.loads(out.with_name(f"{out.name}.json").read_text())


def passing(bench: gpu.Bench, until: float) -> str:
    bench.record.add("checks", vars(gpu_checks.at_most("gap", 0.0, 1.0)))
    return "a half of it"


def raising(bench: gpu.Bench, until: float) -> str:
    raise MemoryError("the card | is full")


def test_a_stage_that_raises_is_told_and_the_next_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = {"models": (raising, 0.5), "checks": (passing, 0.5)}
    code, data = staged(monkeypatch, tmp_path / "a", stages)
    assert code == 1 and len(data["checks"]) == 1
    assert data["stages"]["models"]["state"] == "failed" and data["stages"]["checks"]["state"] == "done"
    text = (tmp_path / "a.md").read_text()
    assert "MemoryError: the card / is full" in text and "a half of it" in text


def test_stages_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = {"models": (raising, 0.5), "checks": (passing, 0.5)}
    code, data = staged(monkeypatch, tmp_path / "a", stages, "--stage", "checks")
    assert code == 0 and list(data["stages"]) == ["checks"]
    with pytest.raises(SystemExit):
        gpu.main(["--dry-run-on-cpu", "--stage", "check"])


def test_a_stage_has_its_share_and_what_those_before_it_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of ten minutes, then what is left of eight, then nothing: the last stage comes when all time is over."""
    clock, until = [1000.0], []

    def taking(seconds: float) -> Callable[[gpu.Bench, float], str]:
        def work(bench: gpu.Bench, end: float) -> str:
            until.append(end)
            clock[0] += seconds
            return ""

        return work

    monkeypatch.setattr(gpu.time, "monotonic", lambda: clock[0])
    stages = {"checks": (taking(60), 0.1), "models": (taking(560), 0.3), "trl": (taking(0), 0.1)}
    code, data = staged(monkeypatch, tmp_path / "a", stages, "--minutes", "10")
    assert until == [1000 + 120, 1000 + 480] and code == 0
    assert data["stages"]["trl"]["state"] == "not begun: the time was up"
    assert data["stages"]["models"]["seconds"] == 560


def test_a_run_that_hangs_is_ended_and_says_in_which_stage(tmp_path: Path) -> None:
    record, left = Record(tmp_path / "a", machine={}, toy=True, stages=("checks", "models")), []
    record.mark("checks", state="done")
    record.mark("models", state="running")
    gpu.cut_short(record, left.append)
    assert left == [1]
    assert "| models | failed |  | it was still running" in (tmp_path / "a.md").read_text()


def test_trl_alone_is_measured_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each configuration once, and our own step once, since stage `models` was left out."""

    def beside(model: str, shape: Any, configuration: Any, *rest: Any, **limits: Any) -> gpu_beside_trl.TrlRow:
        return gpu_beside_trl.TrlRow(model, configuration, step_s=3.0, steps=2, tokens=6.0)

    monkeypatch.setattr(gpu_beside_trl, "beside", beside)
    code, data = staged(monkeypatch, tmp_path / "a", {"trl": gpu.STAGES["trl"]})
    assert code == 0 and [row["configuration"] for row in data["trl"]] == ["generate", "paged"]
    (ours,) = data["rows"]
    assert f"| toy | paged | 3 | {ours['step_s']:,.3g} | {3 / ours['step_s']:,.3g} |" in (tmp_path / "a.md").read_text()


# Models


def test_a_model_that_does_not_fit_or_comes_too_late_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ceiling = gpu_device.Ceiling(1e12, 1e11)
    toy, sizes = gpu_device.TOY["toy"], gpu_device.REHEARSAL
    late = gpu_models.measured("toy", toy, "cpu", sizes, time.monotonic() - 1, ceiling)
    assert late.skipped == "the time was up" and late.step_s is None
    for place in ("assay.run.memory_plan.room_of", "assay.host.space.room_of"):
        monkeypatch.setattr(place, lambda device: Room(1 << 20, "here"))
    shape = gpu_device.MODELS["1.5B"]
    large = gpu_models.measured("1.5B", shape, "cpu", gpu_device.FULL, time.monotonic() + 60, ceiling)
    assert re.fullmatch(r"needs \d+\.\d\d GiB, 0\.00 GiB are free", large.skipped)


@pytest.mark.parametrize(("name", "least", "most"), [("0.1B", 0.08, 0.16), ("0.5B", 0.45, 0.55), ("1.5B", 1.4, 1.6)])
def test_models_are_as_large_as_they_are_called(name: str, least: float, most: float) -> None:
    from assay.policy.config import parameters

    assert least < parameters(gpu_checks.qwen(*gpu_device.MODELS[name])) / 1e9 < most


def test_shares_of_the_floors_are_those_of_the_paper_estimate() -> None:
    """1024 rows of the model of half a billion at a mean context of 1024, on 989 TFLOP/s and 4.8 TB/s: a step reads
    1 GB of weights and 12.3 kB of each token, 13.9 GB in all."""
    shape = gpu_checks.qwen(*gpu_device.MODELS["0.5B"])
    sizes = gpu_device.Sizes(groups=128, samples=8, prompt=512, answer=1024, micro_tokens=1)
    step = (494_032_768 * 2 + 1024 * 1024 * 12_288) / 4.8e12
    tokens = 128 * (512 + 8 * 1023)
    seconds = 6 * 494_032_768 * tokens / 989e12
    ceiling = gpu_device.Ceiling(989e12, 4.8e12)
    reached = gpu_models.shares(shape, sizes, 1024, ceiling, (0.5 * 1024 / step, seconds / 0.4), 2)
    assert reached == pytest.approx([0.5, 0.4])


# Recipes


@pytest.mark.turns(3)
@pytest.mark.slow
def test_recipes_are_tried_and_their_first_steps_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe that asks a judge is refused, one that trains is compared with the file, and a difference fails."""
    monkeypatch.delenv("ASSAY_JUDGE_URL", raising=False)
    asking = next(name for name, recipe in RECIPES.items() if judged_by(recipe))
    line = ["--dry-run-on-cpu", "--processes", "1", "--only", "grpo", asking, "--out", str(tmp_path / "found")]
    assert gpu_recipes.main(line) == 0
    trained, refused = json.loads((tmp_path / "found.json").read_text())
    assert trained["code"] == 0 and set(trained["first"]) == set(gpu_recipes.COMPARED)
    assert refused["code"] == 78 and "ASSAY_JUDGE_URL" in refused["said"]
    trained["first"]["policy/grad_norm"] *= 1.02
    (tmp_path / "other.json").write_text(json.dumps([trained, refused]))
    assert gpu_recipes.main([*line, "--against", str(tmp_path / "other.json")]) == 1
    assert "policy/grad_norm" in json.loads((tmp_path / "found.json").read_text())[0]["differs"]


def test_first_steps_differ_where_one_measured_what_the_other_did_not() -> None:
    step = {"reward/mean": 0.25, "length/mean": 8.0, "policy/grad_norm": 0.5}
    assert gpu_recipes.differences(step, dict(step)) == ""
    assert gpu_recipes.differences(step, step | {"policy/grad_norm": 0.5049}) == ""
    assert "length/mean 8.0 and None" in gpu_recipes.differences(step, {"reward/mean": 0.25, "policy/grad_norm": 0.5})
    assert "reward/mean" in gpu_recipes.differences(step, step | {"reward/mean": 0.251})
