"""`make gpu`: the script runs from end to end at toy size, refuses clearly, and its table says what was found."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import torch
from small_runs import ROOT, program

from assay.host.space import Room
from assay.known import RECIPES
from assay.run.external_needs import judged_by
from bench import gpu, gpu_checks, gpu_profile, gpu_recipes


@pytest.mark.slow
def test_the_whole_script_runs_at_toy_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--dry-run-on-cpu", "--out", str(tmp_path / "found")]) == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert len(found["checks"]) == 12 and all(check["passed"] for check in found["checks"])
    (row,) = found["rows"]
    assert row["tokens_per_s"] > 0 and row["step_s"] == row["sample_s"] + row["learn_s"]
    assert row["peak_gib"] == pytest.approx(row["planned_gib"], abs=1.5)  # of a process that has done much else
    text = (tmp_path / "found.md").read_text()
    assert "says nothing about speed" in text and text in capsys.readouterr().out
    assert 0 < row["sample_share"] < 1 and 0 < row["learn_share"] < 1
    assert row["trl_step_s"] or "not installed" in row["trl"]
    assert "| toy (0M) |" in text and "FAILED" not in text


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
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in {'pyarrow', 'rich', 'matplotlib', 'transformers', 'scipy', 'peft'}:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
        "import bench.gpu, bench.gpu_checks, assay.run.memory_plan\n"
    )
    reply = program(["-c", code])
    assert reply.returncode == 0, reply.stderr


def test_a_model_that_does_not_fit_or_comes_too_late_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ceiling = gpu.Ceiling(1e12, 1e11)
    late = gpu.bench("toy", gpu.TOY["toy"], "cpu", gpu.REHEARSAL, time.monotonic() - 1, ceiling)
    assert late.skipped == "the time was up" and late.step_s is None
    for place in ("assay.run.memory_plan.room_of", "assay.host.space.room_of"):
        monkeypatch.setattr(place, lambda device: Room(1 << 20, "here"))
    large = gpu.bench("1.5B", gpu.MODELS["1.5B"], "cpu", gpu.FULL, time.monotonic() + 60, ceiling)
    assert re.fullmatch(r"needs \d+\.\d\d GiB, 0\.00 GiB are free", large.skipped)


@pytest.mark.parametrize(("name", "least", "most"), [("0.1B", 0.08, 0.16), ("0.5B", 0.45, 0.55), ("1.5B", 1.4, 1.6)])
def test_models_are_as_large_as_they_are_called(name: str, least: float, most: float) -> None:
    from assay.policy.config import parameters

    assert least < parameters(gpu_checks.qwen(*gpu.MODELS[name])) / 1e9 < most


def test_the_table_says_what_failed_and_what_was_skipped() -> None:
    checks = [gpu_checks.at_most("gap", 0.5, 0.1), gpu_checks.at_least("gain", 0.5, 0.1)]
    found = {
        "machine": {"torch": "2"},
        "toy": False,
        "checks": [vars(check) for check in checks],
        "rows": [vars(gpu.Row("9B", 9_000_000_000, skipped="needs much")) | {"step_s": None}],
    }
    text = gpu.report(found)
    assert "| gap | 0.5 | <= 0.1 | **FAILED** |" in text and "| gain | 0.5 | >= 0.1 | ok |" in text
    assert "| 9B (9,000M) | needs much |" in text


def test_make_knows_the_word() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^gpu:.*## .*\n\t\$\(PYTHON\) -m bench\.gpu$", makefile, re.MULTILINE)


def test_shares_of_the_floors_are_those_of_the_paper_estimate() -> None:
    """1024 rows of the model of half a billion at a mean context of 1024, on 989 TFLOP/s and 4.8 TB/s: a step reads
    1 GB of weights and 12.3 kB of each token, 13.9 GB in all."""
    shape = gpu_checks.qwen(*gpu.MODELS["0.5B"])
    sizes = gpu.Sizes(groups=128, samples=8, prompt=512, answer=1024, micro_tokens=1)
    step = (494_032_768 * 2 + 1024 * 1024 * 12_288) / 4.8e12
    tokens = 128 * (512 + 8 * 1023)
    seconds = 6 * 494_032_768 * tokens / 989e12
    ceiling = gpu.Ceiling(989e12, 4.8e12)
    found = gpu.shares(shape, sizes, 1024, ceiling, (0.5 * 1024 / step, seconds / 0.4), 2)
    assert found == pytest.approx([0.5, 0.4])


def test_a_row_shows_goals_and_trl_beside_ours() -> None:
    row = gpu.Row("0.5B", 494_032_768, 1e5, 1.0, 1.0, 8.0, 9.0, 0.5, 0.3, trl_step_s=9.0, trl_peak_gib=20.0)
    line = gpu._line(vars(row) | {"step_s": row.step_s})
    assert line == "| 0.5B (494M) | 1e+05 | 2 | 1 | 1 | 8 | 9 | 0.50 / 0.65 | 0.30 / 0.40 | 9 | 20 | 4.5 |"
    alone = gpu.Row("toy", 1, 1e5, 1.0, 1.0, 8.0, 9.0, 0.5, 0.3, trl="trl not installed")
    assert gpu._line(vars(alone) | {"step_s": 2.0}).endswith("| 0.50 | 0.30 | trl not installed |  |  |")


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


def test_the_time_in_which_something_ran_counts_no_moment_twice() -> None:
    assert gpu_profile.covered([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (6.0, 6.5)]) == 5.0
    assert gpu_profile.covered([]) == 0.0


@pytest.mark.slow
def test_where_the_time_goes_is_told_by_phase(tmp_path: Path) -> None:
    assert gpu_profile.main(["--dry-run-on-cpu", "--out", str(tmp_path / "profile")]) == 0
    text = (tmp_path / "profile.md").read_text()
    assert text.index("### sampling") < text.index("### learning") and "| aten::mm |" in text
