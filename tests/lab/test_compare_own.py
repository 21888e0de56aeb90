"""Methods are compared on own rows and by an own reward: by options, by a file of settings, by a study in a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from small_runs import GRADED, SIZES, Shell, make_model

from assay.errors import ConfigError
from assay.known import RECIPES
from assay.lab.study import Arm, Budget, Study, read
from assay.lab.study.asked import of_recipes
from assay.lab.study.plan import StudyRun, tasks_asked
from assay.run import setup_file
from assay.run.setup import Setup, composed
from assay.run.trust import Trust
from assay.source import Pool, Share

FEW = {name: value for name, value in SIZES.items() if not name.startswith("evaluation")}
EXAMS = {"evaluation.every": 0, "evaluation.final-problems": 2, "evaluation.final-samples": 2}
OPTIONS = [word for name, value in (FEW | EXAMS).items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    rows = [{"question": f"What is {a}+{b}?", "answer": str(a + b)} for a in range(1, 7) for b in range(1, 7)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "my.py").write_text(GRADED)
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.mark.slow
def test_own_rows_and_an_own_reward_are_compared_over_seeds(shell: Shell, model: Path, tmp_path: Path) -> None:
    asked = ["--data", "rows.jsonl", "--reward", "my.py:graded", "--model", str(model), "--seeds", "2", "--steps", "1"]
    reply = shell("compare", "grpo", "dr-grpo", *asked, *OPTIONS, "--quiet", "--json", "--into", "s")
    assert reply.code == 0, reply.err
    assert {(row["arm"], row["task"]) for row in reply.document["cells"]} == {("grpo", "rows"), ("dr-grpo", "rows")}
    assert all(
        (row["judge"], list(row["others"])) == ("verifier", ["your reward graded"]) for row in reply.document["cells"]
    )
    assert "by your reward graded is grpo" in (tmp_path / "s" / "report.md").read_text()
    runs = sorted((tmp_path / "s" / "runs").rglob("run.json"))
    assert len(runs) == 4
    for run in runs:
        experiment = json.loads(run.read_text())["experiment"]
        assert experiment["rewards"] == [f"{tmp_path}/my.py:graded"] and "rows.jsonl" in str(experiment["pool"])
    repeated = shell("train", "--config", str(runs[0].parent / "run.toml"), "--trust-code", "--dry-run", "--json")
    first = json.loads(runs[0].read_text())["experiment"]
    assert {name: repeated.document[name] for name in first} == first, "the file in its folder repeats a run of a study"


def planned(folder: Path, *words: str) -> list[str]:
    return ["compare", *words, "--model", "x/y", "--seeds", "3", "--plan", "--json", "--into", str(folder / "s")]


def test_a_file_of_settings_describes_the_runs_of_a_comparison(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("data = 'rows.jsonl'\nreward = 'my.py:graded'\nsteps = 3\n[scale]\ntop-p = 0.9\n")
    refused = shell(*planned(tmp_path, "grpo", "dapo", "--config", "a.toml"))
    assert refused.code == ConfigError.exit_code and "--trust-code" in refused.err
    reply = shell(*planned(tmp_path, "grpo", "dapo", "--config", "a.toml", "--trust-code"))
    assert reply.code == 0 and reply.document["runs"] == 6
    swept = ["sweep", "grpo", "--over", "scale.top-k=0,5", "--config", "a.toml", "--model", "x/y", "--plan", "--json"]
    reply = shell(*swept, "--into", "t")
    assert reply.code == 0, reply.err
    assert reply.document["runs"] == 15


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--prompt-column", "q"], "--prompt-column needs a data file"),
        (["--data", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--steps", "3", "--budget", "steps=4"], "leave one of the two out"),
        (["--reward", "my.py:graded", "--only-reward", "my.py:graded"], "leave one out"),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], told: str, shell: Shell, tmp_path: Path) -> None:
    reply = shell(*planned(tmp_path, "grpo", "dapo", *words))
    assert reply.code != 0 and told in reply.err, reply.err


def test_options_of_recipes_are_refused_beside_runs(shell: Shell) -> None:
    reply = shell("compare", "some-run", "--data", "rows.jsonl")
    assert reply.code == 2 and "--data is for comparing recipes" in reply.err


def test_a_study_in_a_file_takes_rows_and_rewards_too(shell: Shell, tmp_path: Path) -> None:
    study = "recipes = ['grpo', 'dapo']\nseeds = 2\nmodel = 'x/y'\nsystem = 'Think.'\n"
    path = tmp_path / "own.toml"
    path.write_text(study + "data = ['rows.jsonl']\nreward = ['my.py:graded']\nright-from = 0.5\n")
    with pytest.raises(ConfigError, match="trust-code"):
        read(path)
    made = read(path, Trust.of(code=True))
    experiment = made.experiment(StudyRun("grpo", "rows", 0), 2)
    assert (experiment.right_from, experiment.chat.system) == (0.5, "Think.")
    assert experiment.rewards == (f"{tmp_path}/my.py:graded",)
    assert read(path).tasks == made.tasks, "what was allowed is not asked again"


def own(folder: Path, **more: str) -> Study:
    asked = Setup(data=(str(folder / "rows.jsonl"),), reward=(str(folder / "my.py:graded"),), model="x/y")
    return Study({"grpo": Arm("grpo")}, tasks_asked(asked), budget=Budget("steps", 2), model="x/y", asked=asked)


def test_the_key_of_a_run_knows_files_by_what_they_hold(shell: Shell, tmp_path: Path) -> None:
    del shell
    run = StudyRun("grpo", "rows", 0)
    here = own(tmp_path).key(run, 2)
    there = tmp_path / "there"
    there.mkdir()
    for name in ("rows.jsonl", "my.py"):
        (there / name).write_text((tmp_path / name).read_text())
    assert own(there).key(run, 2) == here
    (there / "my.py").write_text(GRADED.replace("% 7", "% 5"))
    assert own(there).key(run, 2) != here, "another reward"
    (there / "my.py").write_text(GRADED)
    (there / "rows.jsonl").write_text((tmp_path / "rows.jsonl").read_text().replace("12", "13"))
    assert own(there).key(run, 2) != here, "other rows"


@pytest.mark.parametrize(
    "pool",
    [
        Pool((Share("countdown", (3, 4)),)),
        Pool((Share("countdown", (3,), 2.0), Share("mod-chain", (2,), 0.1)), wording="natural"),
        Pool((Share("gym:chain_sum", (1,)),)),
    ],
)
def test_a_setup_on_a_pool_asks_the_problems_of_this_pool(pool: Pool) -> None:
    assert Setup().on(pool).pool() == pool


def test_a_setup_on_rows_asks_these_rows(shell: Shell, tmp_path: Path) -> None:
    del shell
    asked: Mapping[str, object] = {
        "data": str(tmp_path / "rows.jsonl"),
        "skip_bad_rows": True,
        "task": "countdown:3=0.5",
    }
    setup = composed(asked)
    assert Setup().on(setup.pool()).pool() == setup.pool()
    written = tmp_path / "setup.toml"
    written.write_text(setup_file.text(dataclasses.replace(setup, seed=3)))
    assert composed(setup_file.read(written)).pool() == setup.pool()


def test_recipes_on_own_rows_have_one_limit_of_answers(shell: Shell, tmp_path: Path) -> None:
    """Each paper has its own, and length would be compared with method. What a person says is left alone."""
    words = planned(tmp_path, "grpo", "dr-grpo", "--data", "rows.jsonl")
    words[words.index("x/y")] = "countdown"
    reply = shell(*words)
    assert reply.code == 0, reply.err
    limits = RECIPES["grpo"].scale.max_new, RECIPES["dr-grpo"].scale.max_new
    assert limits[0] != limits[1]
    assert f"scale.max_new {limits[0]} for all, which is that of grpo" in reply.err
    reply = shell(*words, "--scale.max-new", 40)
    assert reply.code == 0 and "for all, which" not in reply.err
    setup = composed({"data": ["rows.jsonl"], "model": "countdown"})
    study, _ = of_recipes(["dr-grpo", "grpo"], setup, seeds=2)
    made = [study.experiment(StudyRun(arm, next(iter(study.tasks)), 0), steps=2) for arm in study.arms]
    assert [experiment.recipe.scale.max_new for experiment in made] == [limits[1]] * 2
