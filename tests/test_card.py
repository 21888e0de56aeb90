"""The model card: front matter that parses, and text that says what the run has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from small_runs import STEPS, Shell, make_model, train_line

import assay
from assay.errors import UsageError
from assay.record.folder import RunFolder
from assay.view.card import is_hub_id, model_card, write_card


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from assay.cli import main

    folder = tmp_path_factory.mktemp("card")
    assert main(train_line(make_model(folder / "tiny"), folder / "run")) == 0
    return folder / "run"


def front_of(card: str) -> dict[str, Any]:
    """What the Hub reads: YAML between two lines of dashes at the very start."""
    yaml = pytest.importorskip("yaml")
    match = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    assert match is not None
    return yaml.safe_load(match[1])


def changed(run: Path, target: Path, change: dict[str, Any]) -> Path:
    """A copy of a run whose experiment says something else."""
    import shutil

    shutil.copytree(run, target)
    document = json.loads((target / "run.json").read_text())
    document["experiment"] |= change
    (target / "run.json").write_text(json.dumps(document))
    return target


def test_the_front_matter_parses_and_leaves_the_license_open(run: Path) -> None:
    card = model_card(run)
    assert front_of(card) == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["reinforcement-learning", "verifiable-rewards", "assay", "grpo"],
    }
    assert "# license:" in card.split("---")[1]


def test_a_model_of_the_hub_is_named_as_the_base(run: Path, tmp_path: Path) -> None:
    other = changed(run, tmp_path / "run", {"model": "Qwen/Qwen3-0.6B"})
    assert front_of(model_card(other))["base_model"] == "Qwen/Qwen3-0.6B"


def test_the_card_says_what_the_run_has(run: Path) -> None:
    card, folder = model_card(run), RunFolder.read_only(run)
    scale = folder.document["experiment"]["recipe"]["scale"]
    assert f"after {STEPS} steps" in card
    assert f"| learning rate | {scale['learning_rate']} |" in card
    assert f"| answers to each prompt | {scale['group_size']} |" in card
    assert "arxiv.org/abs/2402.03300" in card and "| data | countdown 3 |" in card
    assert "| rewards | outcome |" in card
    assert f"torch {folder.document['versions']['torch']}" in card
    first, *_, last = [entry for entry in folder.read("evals") if entry["set"] == "test"]
    assert f"| pass@1 | {first['pass']['1']['mean']:.3f}" in card
    assert f"{last['pass']['1']['mean']:.3f}" in card and "pass@2" in card
    for warning in folder.document["warnings"]:
        assert warning in card


def test_the_card_betrays_no_folder_of_the_machine(run: Path, tmp_path: Path) -> None:
    pool = json.loads((run / "run.json").read_text())["experiment"]["pool"]
    shares = [{"task": f"data:{tmp_path}/mine.jsonl", "levels": [1], "weight": 1.0}]
    change = {"pool": {**pool, "shares": shares}, "rewards": [f"{tmp_path}/my.py:score=0.5"], "model": f"{tmp_path}/m"}
    card = model_card(changed(run, tmp_path / "run", change))
    assert str(tmp_path) not in card
    assert "mine.jsonl" in card and "my.py:score=0.5" in card


def test_adapters_are_loaded_as_adapters(run: Path, tmp_path: Path) -> None:
    card = model_card(changed(run, tmp_path / "run", {"lora": {"rank": 8}, "model": "a/b"}))
    assert front_of(card)["library_name"] == "peft"
    assert "AutoPeftModelForCausalLM" in card and "vllm serve a/b --enable-lora" in card and "rank 8" in card


def test_the_code_of_the_card_is_python(run: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", model_card(run), re.DOTALL)
    assert len(blocks) == 1
    compile(blocks[0], "card", "exec")


def test_a_run_without_examinations_has_a_card_too(run: Path, tmp_path: Path) -> None:
    other = changed(run, tmp_path / "run", {})
    (other / "evals.jsonl").write_text("")
    assert "No held-out evaluation was made." in model_card(other)


def test_the_card_is_written_beside_the_run_or_where_asked(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write_card(run, tmp_path).read_text() == model_card(run)
    assert assay.api.Run(run).card() == run / "README.md"
    assert Shell(capsys)("report", run).code == 0
    assert (run / "README.md").read_text() == model_card(run)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("Qwen/Qwen3-0.6B", True), ("/a/b", False), ("./b", False), ("base", False), ("a/b/c", False)],
)
def test_hub_ids_are_told_from_folders(model: str, expected: bool) -> None:
    assert is_hub_id(model) == expected


def test_a_folder_without_a_run_has_no_card(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        model_card(tmp_path)
