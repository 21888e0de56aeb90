"""Runs that show pictures, stopped and resumed, through the command line; and what is refused before they begin."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from of_methods import named
from seeing import asked, noise, seeing_policy
from small_runs import STEPS, Shell, came_to, copy_of, make_model, train_line
from typed import tokenizer_in

from assay.policy import load_policy, save_policy
from assay.record.folder import RunFolder
from assay.record.rollouts import read_rollouts
from assay.run.picture_needs import FILE
from assay.tasks import task
from assay.tasks.data.rows import plain_prompt


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeing") / "model"
    save_policy(seeing_policy(), folder)
    return folder


def line(model: Path, run: Path, *more: str, recipe: str = "grpo", name: str = "grids:1,4") -> list[str]:
    words = train_line(model, run, *more, recipe=recipe)
    words[words.index("countdown:3")] = name
    return words


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["grpo", "sft", *sorted(named("PICTURES"))])
def test_a_stopped_run_goes_on_as_if_it_had_not_stopped(recipe: str, model: Path, shell: Shell, tmp_path: Path) -> None:
    """Of these, `sft` imitates; others are in a later stage when they go on."""
    whole = tmp_path / "whole"
    assert shell(*line(model, whole, recipe=recipe)).code == 0
    half = copy_of(whole, tmp_path / "half")
    for step in (STEPS - 1, STEPS):
        shutil.rmtree(half / "ckpt" / f"step-{step:08d}", ignore_errors=True)
    assert shell("resume", half).code == 0
    assert came_to(half) == came_to(whole)
    lines = [json.loads(record) for record in (half / FILE).read_text().splitlines()]
    assert len({one["picture"] for one in lines}) == len(lines) > 0, "each picture once"


@pytest.mark.slow
def test_the_same_run_twice_has_the_same_bits(model: Path, shell: Shell, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert shell(*line(model, tmp_path / name)).code == 0
    assert came_to(tmp_path / "one") == came_to(tmp_path / "two")
    checkpoint = RunFolder.read_only(tmp_path / "one").load()
    assert checkpoint is not None
    assert tokenizer_in(load_policy(checkpoint.path / "policy")).pictures is not None


@pytest.mark.slow
def test_rollouts_hold_no_pixels(model: Path, shell: Shell, tmp_path: Path) -> None:
    assert shell(*line(model, tmp_path / "run")).code == 0
    first = sorted((tmp_path / "run" / "rollouts").glob("*.parquet"))[0]
    table = read_rollouts(first)
    known = {json.loads(record)["picture"] for record in (tmp_path / "run" / FILE).read_text().splitlines()}
    for context, prompt in zip(table["context"], table["prompt"], strict=True):
        shown = [token for token in context if token < 0]
        assert len(shown) == 9 and any(
            name.startswith(shown[0].to_bytes(4, "little", signed=True).hex()) for name in known
        )
        assert prompt.split()[0].rstrip(":") and "data:" not in prompt


@pytest.mark.slow
def test_rows_of_a_file_may_show_pictures(model: Path, shell: Shell, tmp_path: Path) -> None:
    from PIL import Image

    rows = []
    for i in range(120):  # so many that some fall into every split, wherever the file lies
        Image.fromarray(noise(i, side=30)).save(tmp_path / f"{i}.png")
        parts = [{"type": "image", "path": str(tmp_path / f"{i}.png")}, {"type": "text", "text": "what is seen"}]
        rows.append(json.dumps({"prompt": [{"role": "user", "content": parts}], "answer": "3"}))
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    words = [*line(model, tmp_path / "run"), "--data", str(tmp_path / "rows.jsonl")]
    at = words.index("--task")
    del words[at : at + 2]
    reply = shell(*words)
    assert reply.code == 0, reply.err
    sources = {json.loads(record)["source"] for record in (tmp_path / "run" / FILE).read_text().splitlines()}
    assert sources <= {str(tmp_path / f"{i}.png") for i in range(120)} and len(sources) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--machine.engine", "native"), "only the engine on transformers"),
        (("--machine.engine", "torch"), "only the engine on transformers"),
        (("--machine.samplers", "1"), "without pixels"),
        (("--machine.learners", "2"), "without pixels"),
    ],
)
def test_other_engines_are_refused(
    more: tuple[str, ...], reason: str, model: Path, shell: Shell, tmp_path: Path
) -> None:
    reply = shell(*line(model, tmp_path / "run", *more))
    assert reply.code != 0 and reason in reply.err and not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_model_that_reads_text_alone_is_refused(shell: Shell, tmp_path: Path) -> None:
    reply = shell(*line(make_model(tmp_path / "blind"), tmp_path / "run"))
    assert reply.code != 0 and "reads text alone" in reply.err and not (tmp_path / "run").exists()


@pytest.mark.slow
def test_what_a_picture_shows_decides_the_identity_of_a_problem() -> None:
    from assay.rng import Key

    one = task("grids").problem(Key(1), level=1)
    assert plain_prompt(one) and one.id == task("grids").problem(Key(1), level=1).id
    assert isinstance(one.prompt, tuple) and asked("x", noise(0))[0]["role"] == "user"
