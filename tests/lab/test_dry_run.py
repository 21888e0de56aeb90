"""`--dry-run`: one screen that says what the run will use, all of it as data, and what the run would refuse."""

from __future__ import annotations

from pathlib import Path

import open_runs
import pytest
from data_files import jsonl, sums
from hub_cache import pretend_hub
from of_methods import named
from posing import pool_of
from small_runs import ROOT, Shell, make_model, train_line

from assay.lab.dry_run import MOST, WIDTH
from assay.source import Pool, Share

EXAMPLE = ROOT / "examples" / "word_problems.jsonl"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache of the Hub in which the model `a/b` lies."""
    pretend_hub(monkeypatch, tmp_path_factory.mktemp("hub"), "a/b")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


def lines_of(shell: Shell, *arguments: object) -> list[str]:
    reply = shell("train", *arguments, "--dry-run")
    assert reply.code == 0, reply.err
    shown = reply.out.splitlines() + reply.err.splitlines()
    assert len(shown) <= MOST and max(map(len, shown)) <= WIDTH, "what a person sees is one screen"
    return reply.out.splitlines()


COUNTDOWN = Pool((Share("countdown", (3,)),))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["auto", "paper", pytest.param("one-gpu", marks=pytest.mark.slow)])
def test_a_recipe_fits_a_screen(profile: str, shell: Shell, drawn_recipes: tuple[str, ...]) -> None:
    for name in drawn_recipes:
        lines_of(
            shell, name, "--task", pool_of(name, COUNTDOWN).shares[0].written, "--model", "a/b", "--profile", profile
        )


def test_so_do_many_notes_long_names_and_many_tasks(shell: Shell, tmp_path: Path) -> None:
    files = []
    for number in range(9):
        rows = [{**row, "solution": row["answer"], "extra": [1, "x", None][i % 3]} for i, row in enumerate(sums(40))]
        files += ["--data", jsonl(tmp_path / f"{'long-' * 30}{number}.jsonl", rows)]
    tasks = [part for level in range(3, 7) for part in ("--task", f"countdown:{level}")]
    system = ["--system", "Think step by step. " * 40]
    found = lines_of(shell, "dapo", *files, *tasks, *system, "--model", "a/b", "--scale.max-new", "64")
    assert any("--json shows all of it" in line for line in found)


def test_it_says_what_the_run_will_use(shell: Shell, model: Path, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "rows.jsonl", sums(60))
    (tmp_path / "my.py").write_text("def score(completions):\n    return [0.0 for _ in completions]\n")
    reward = f"{tmp_path / 'my.py'}:score"
    given = ["grpo", "--model", model, "--data", path, "--reward", reward, "--system", "Be brief.", "--steps", "7"]
    settings = ["--scale.num-prompts", "6", "--scale.group-size", "3", "--scale.learning-rate", "3e-4", "--seed", "5"]
    shown = "\n".join(lines_of(shell, *given, *settings, "--scale.max-new", "30", "--track", "trackio"))
    for said in (
        "grpo: DeepSeekMath",
        f"{model}: ",
        "rows.jsonl: 60 rows; questions in 'question', answers in 'answer'",
        "system: 'Be brief.'",
        reward,
        "6 prompts x 3 answers of up to",
        "rate 0.0003",
        "7 steps, seed 5",
        "runs/grpo-rows-N",
        "tracked by trackio",
        "GiB at the peak",
        "gate clip(low=0.2, high=0.2",
    ):
        assert said in shown, said


def test_answers_are_as_long_as_the_run_will_have_them(shell: Shell, model: Path, tmp_path: Path) -> None:
    """A character is a token here; a prompt has two marks beside; 64 positions are there."""
    rows = sums(60)
    longest = max(len(row["question"]) for row in rows) + 2
    path = jsonl(tmp_path / "rows.jsonl", rows)
    given = ("train", "grpo", "--model", model, "--data", path, "--scale.max-new", "60", "--dry-run")
    found = shell(*given, "--json")
    assert found.document["recipe"]["scale"]["max_new"] == 64 - longest
    assert f"answers of up to {64 - longest} tokens" in shell(*given).out


def test_what_the_run_would_refuse_is_refused(shell: Shell, model: Path, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [*sums(60), {"question": "x" * 80, "answer": "1"}])
    reply = shell("train", "grpo", "--model", model, "--data", path, "--scale.max-new", "20", "--dry-run")
    assert reply.code == 64 and "line 61 of rows" in reply.err
    skipped = shell(
        *("train", "grpo", "--model", model, "--data", path, "--scale.max-new", "20", "--skip-bad-rows"),
        *("--dry-run", "--json"),
    )
    assert len(skipped.document["pool"]["left_out"]) == 1
    assert any("1 of 61 rows are left out" in note for note in skipped.document["notes"])


@pytest.mark.slow
def test_the_dry_run_is_the_run(shell: Shell, model: Path, tmp_path: Path) -> None:
    """Whatever it says as data is what a run folder holds."""
    import json

    line = train_line(model, tmp_path / "run", "--quiet")
    planned = shell(*line, "--dry-run", "--json").document
    assert not (tmp_path / "run").exists()
    assert shell(*line).code == 0
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert {name: planned[name] for name in kept["experiment"]} == kept["experiment"]


# --- solutions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sft", *sorted(named("TAUGHT"))])
def test_rows_without_solutions_are_refused_before_a_model_is_loaded(
    name: str, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loads(*_: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("assay.run.session.load_model", loads)
    path = jsonl(tmp_path / "rows.jsonl", sums(60))
    reply = shell("train", name, "--model", "a/b", "--data", path, "--run", tmp_path / "run")
    assert reply.code == 64
    assert f"{name} learns from worked solutions, and 60 of 60 rows of rows have none" in reply.err
    assert "no column 'solution' or 'completion'" in reply.err and "'answer' holds bare answers" in reply.err
    solved = jsonl(tmp_path / "solved.jsonl", [{**row, "solution": f"It is\n#### {row['answer']}"} for row in sums(60)])
    assert shell("train", name, "--model", "a/b", "--data", solved, "--dry-run").code == 0


def test_some_rows_without_a_solution(shell: Shell, tmp_path: Path) -> None:
    """Whoever imitates needs each, and is told the lines; a hint is given where there is one."""
    rows = [{**row, "solution": "" if i == 4 else f"So: {row['answer']}"} for i, row in enumerate(sums(60))]
    path = jsonl(tmp_path / "rows.jsonl", rows)
    reply = shell("train", "sft", "--model", "a/b", "--data", path, "--dry-run")
    assert (
        reply.code == 64
        and "1 of 60 rows of rows have none: the column 'solution' is empty there (line 5)" in reply.err
    )
    for name in named("HINTED"):
        assert shell("train", name, "--model", "a/b", "--data", path, "--dry-run").code == 0, name
    assert shell("train", "grpo", "--model", "a/b", "--data", path, "--dry-run").code == 0


def test_marked_answers_are_solutions(shell: Shell) -> None:
    assert shell("train", "sft", "--model", "a/b", "--data", EXAMPLE, "--dry-run").code == 0


def test_a_judge_that_the_run_will_ask_is_named_with_where_it_answers(
    shell: Shell, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ASSAY_JUDGE_URL", "ASSAY_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    asked = ("grpo", "--mechanism.reward", "judge-pairs", "--task", "countdown:3", "--model", model)
    unknown = shell("train", *asked, "--dry-run")
    assert unknown.code == 78 and "Set the environment variable ASSAY_JUDGE_URL" in unknown.err
    with open_runs.serving() as server:
        monkeypatch.setenv("ASSAY_JUDGE_URL", server.url)
        monkeypatch.setenv("ASSAY_JUDGE_MODEL", "small")
        named = f"and a judge (judge-pairs), small at {server.url}"
        assert any(named in line for line in lines_of(shell, *asked))


def test_worlds_are_told_and_kinds_whose_memory_nobody_plans(shell: Shell, model: Path, tmp_path: Path) -> None:
    line = ("grpo", "--task", "calculator", "--model", model, "--scale.max-new", 20, "--run", tmp_path / "run")
    said = " ".join(lines_of(shell, *line))
    assert (
        "worlds      calculator: it replies to one seat, tools calculate; plays run in the process that samples" in said
    )
    assert "replies count towards the 20 tokens of an answer" in said
    assert not any(
        text.startswith("worlds") for text in lines_of(shell, "grpo", "--task", "countdown", "--model", model)
    )
    route = " ".join(lines_of(shell, "grpo", "--task", "tsp:8", "--model", "pointer"))
    assert "memory      not planned for a policy of the kind pointer" in route
