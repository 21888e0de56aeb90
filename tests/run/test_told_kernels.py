"""What a run says of the kernels that it computes with, at its start and in run.json."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from engine_cases import engine_of
from small_runs import make_model, train_line

from assay.cli.main import main
from assay.engine.paired import Paired
from assay.engine.torch.engine import TorchEngine
from assay.models import Models
from assay.record.folder import RunFolder
from assay.run.told_kernels import kernels_of, tell_kernels

ON_CPU = "torch: Triton's kernels are for NVIDIA's GPUs, and this device is cpu"


def models_of(**engines: Any) -> Models:
    return Models(engines, {name: name for name in engines})


def test_each_set_is_told_with_its_reason_also_one_whose_sampler_is_elsewhere() -> None:
    engine = engine_of()
    paired = Paired(cast(Any, engine), list, context=8, vocab=13, end_ids=frozenset())
    assert kernels_of(models_of(policy=engine, reference=paired)) == {"policy": ON_CPU, "reference": ON_CPU}


@pytest.mark.core("fp32")
def test_the_compiled_core_has_no_choice_of_kernels() -> None:
    assert kernels_of(models_of(policy=engine_of(precision="native"))) == {}


def test_a_run_on_a_gpu_says_each_sentence_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    amended: list[dict[str, Any]] = []
    folder = cast(RunFolder, SimpleNamespace(document={}, amend=lambda **changes: amended.append(changes)))
    models = models_of(policy=engine_of(), reference=engine_of())
    tell_kernels(folder, models)
    assert "kernels" not in capsys.readouterr().err
    monkeypatch.setattr(TorchEngine, "place", "cuda torch triton")
    monkeypatch.setattr(TorchEngine, "kernels", "triton 3.6.0: norms; torch for gates, because of a fault")
    tell_kernels(folder, models)
    assert capsys.readouterr().err == "  kernels: triton 3.6.0: norms; torch for gates, because of a fault\n"
    assert [set(change["kernels"].values()) for change in amended] == [{ON_CPU}, {models["policy"].kernels}]  # type: ignore[attr-defined]
    tell_kernels(cast(RunFolder, SimpleNamespace(document=amended[-1], amend=folder.amend)), models)
    assert len(amended) == 2, "what stands there already is not written again"


@pytest.mark.slow
def test_run_json_holds_them(tmp_path: Path) -> None:
    more = ("--machine.engine", "torch", "--machine.kernels", "torch", "--quiet")
    line = train_line(make_model(tmp_path / "model"), tmp_path / "run", *more, evaluation_every=0)
    assert main(line) == 0
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert set(document["kernels"].values()) == {"torch: it was asked for"} and "policy" in document["kernels"]
    assert document["experiment"]["machine"]["kernels"] == "torch"
