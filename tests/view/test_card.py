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
    from assay.cli.main import main

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


@pytest.mark.slow
def test_the_front_matter_parses_and_leaves_the_license_open(run: Path) -> None:
    card = model_card(run)
    assert front_of(card) == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["reinforcement-learning", "verifiable-rewards", "assay", "grpo"],
    }
    assert "# license:" in card.split("---")[1]


@pytest.mark.slow
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
    assert f"| pass@1 | verifier | {first['pass']['1']['mean']:.3f}" in card
    assert f"{last['pass']['1']['mean']:.3f}" in card and "pass@2" in card
    for warning in folder.document["warnings"]:
        assert warning in card


@pytest.mark.parametrize(
    ("paper", "words"),
    [
        ("2402.03300", "GRPO ([arXiv 2402.03300](https://arxiv.org/abs/2402.03300)). The claim"),
        ("Williams 1992", "GRPO (Williams 1992). The claim"),
        ("-", "GRPO. The claim"),
    ],
)
def test_the_card_links_a_paper_only_by_its_arxiv_id(paper: str, words: str, run: Path, tmp_path: Path) -> None:
    recipe = json.loads((run / "run.json").read_text())["experiment"]["recipe"]
    other = changed(run, tmp_path / "run", {"recipe": recipe | {"title": "GRPO", "paper": paper}})
    assert f"Method: {words}" in model_card(other)


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
    assert "The model was not evaluated on held-out problems." in model_card(other)


def test_the_card_is_written_beside_the_run_or_where_asked(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write_card(run, tmp_path).read_text() == model_card(run)
    assert assay.Run(run).card() == run / "README.md"
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


# --- export -------------------------------------------------------------------------------------------------


def test_an_exported_model_has_its_card(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("export", run, tmp_path / "out", "--json")
    assert reply.document["card"] == str(tmp_path / "out" / "README.md")
    assert (tmp_path / "out" / "README.md").read_text() == model_card(run)
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_the_card_of_an_earlier_checkpoint_is_of_its_own_step(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The weights before the last step were examined by nobody: the card claims nothing of them."""
    place = RunFolder.read_only(run).store.steps()[-2]
    assert Shell(capsys)("export", run / "ckpt" / f"step-{place:08d}" / "policy", tmp_path / "out").code == 0
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"after {place} steps" in card and place < STEPS
    assert re.search(r"\| pass@1 \| verifier \| \d\.\d+ \[.*\] \| - \| - \|", card)


@pytest.mark.slow
def test_a_merged_adapter_is_loaded_as_a_model_and_one_that_is_not_as_an_adapter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, model = Shell(capsys), make_model(tmp_path / "tiny")
    assert shell(*train_line(model, tmp_path / "run", "--lora", "2", "--quiet")).code == 0
    for flags, library in (((), "peft"), (("--merge",), "transformers")):
        target = tmp_path / library
        assert shell("export", tmp_path / "run", target, *flags).code == 0
        card = (target / "README.md").read_text()
        assert front_of(card)["library_name"] == library
        assert ("AutoPeftModel" in card) == (library == "peft") and "rank 2" in card


def test_a_card_of_its_own_goes_along_and_where_there_is_none_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, model = Shell(capsys), make_model(tmp_path / "tiny")
    bare = shell("export", model, tmp_path / "bare", "--json")
    assert bare.document["card"] is None and "no model card" in bare.err
    (model / "README.md").write_text("mine")
    assert shell("export", model, tmp_path / "out", "--json").document["card"] == str(tmp_path / "out" / "README.md")
    assert (tmp_path / "out" / "README.md").read_text() == "mine"


def test_what_stood_before_every_prompt_is_told(run: Path, tmp_path: Path) -> None:
    experiment = json.loads((run / "run.json").read_text())["experiment"]
    chat = {**experiment["chat"], "system": "Be brief.", "thinking": "off"}
    card = model_card(changed(run, tmp_path / "run", {"chat": chat}))
    assert "```text\nBe brief.\n```" in card and "`enable_thinking` was off." in card
    assert "## Prompts" not in model_card(run)


def test_files_of_a_set_are_named_and_nothing_else_of_them(run: Path, tmp_path: Path) -> None:
    pool = json.loads((run / "run.json").read_text())["experiment"]["pool"]
    task = f"data:{tmp_path}/a.jsonl?also={tmp_path}/b.csv&prompt_column=ask"
    shares = [{"task": task, "levels": [1], "weight": 1.0}]
    card = model_card(changed(run, tmp_path / "run", {"pool": {**pool, "shares": shares}}))
    assert "| data | a.jsonl, b.csv |" in card and str(tmp_path) not in card
