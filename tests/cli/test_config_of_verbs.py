"""One file for every verb: what scores, plans or continues a run reads the description that trains it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small_runs import SIZES, Shell, make_model

import assay
from assay.errors import ConfigError

STEPS = 2
Answers = Callable[..., tuple[int, str, str]]
RIGHT = "def right(prompts, completions, **columns): return [float('1' in text) for text in completions]\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, rows of which six are held out, a file that describes a run, and the run."""
    folder = tmp_path_factory.mktemp("described")
    model = make_model(folder / "model")
    rows = [{"question": f"{n} + {n + 1} =", "answer": str(2 * n + 1)} for n in range(40)]
    for name, own in (("rows.jsonl", rows[6:]), ("held.jsonl", rows[:6])):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in own))
    scale = "".join(f"{name.removeprefix('scale.')} = {value}\n" for name, value in SIZES.items() if "scale" in name)
    (folder / "run.toml").write_text(
        f'recipe = "grpo"\nmodel = "{model}"\ndata = ["{folder}/rows.jsonl"]\neval-data = ["{folder}/held.jsonl"]\n'
        f"steps = {STEPS}\n[scale]\n{scale}[evaluation]\nfinal-samples = 2\ntemperature = 0.5\n"
    )
    assay.train(config=folder / "run.toml", run=folder / "run", quiet=True)
    return folder


@pytest.fixture
def shell(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answers:
    """`assay ARGUMENTS` in that folder: (code, out, err)."""
    monkeypatch.chdir(place)
    run = Shell(capsys)

    def told(*arguments: object) -> tuple[int, str, str]:
        reply = run(*arguments)
        return reply.code, reply.out, reply.err

    return told


def test_eval_asks_the_held_out_rows_of_the_file_and_samples_as_its_run_does(place: Path, shell: Answers) -> None:
    """With nothing but the file, the score is that of the model before training, on the problems of the run's exam."""
    before = json.loads((place / "run" / "evals.jsonl").read_text().splitlines()[0])
    code, out, _ = shell("eval", "--config", "run.toml", "--n", 2, "--json")
    report = json.loads(out)
    assert (code, report["problems"], report["max_new"]) == (0, before["problems"], int(SIZES["scale.max-new"]))
    assert report["model"] == str(place / "model")
    assert before["problems"] in (4, 5), "of six held-out rows one or two choose the checkpoint"
    again = assay.evaluate(config=place / "run.toml", n=2, temperature=0.5)
    assert again["pass"] == report["pass"], "0.5 is what the file says"


def test_a_model_or_data_on_the_command_line_override_the_file(place: Path, shell: Answers) -> None:
    assert json.loads(shell("eval", "run", "--config", "run.toml", "--n", 1, "--json")[1])["model"] == "run"
    code, out, _ = shell("eval", "--config", "run.toml", "--data", "rows.jsonl", "--n", 1, "--json")
    assert (code, json.loads(out)["problems"]) == (0, 34), "of --data all rows are asked"


def test_a_bank_is_sampled_as_the_file_says(place: Path, shell: Answers, tmp_path: Path) -> None:
    into = tmp_path / "bank.parquet"
    code, *_ = shell("bank", "sample", "--config", "run.toml", "--n", 2, "--into", into, "--quiet")
    asked = assay.bank(into).read().asked
    assert (code, len(asked.problems) in (4, 5), asked.temperature) == (0, True, 0.5)
    other = assay.bank(config=place / "run.toml", n=2, into=tmp_path / "other.parquet", quiet=True).read()
    assert other.asked == asked
    code, _, err = shell("bank", "show", "--config", "run.toml", into)
    assert (code, "--config is an option of `assay bank sample`" in err) == (2, True)


def test_a_plan_is_that_of_the_file(place: Path, shell: Answers) -> None:
    plan = json.loads(shell("plan", "--config", "run.toml", "--json")[1])
    assert (plan["recipe"], plan["model"]) == ("grpo", str(place / "model"))
    assert plan["answers"] == int(SIZES["scale.num-prompts"]) * int(SIZES["scale.group-size"])
    assert assay.plan(config=place / "run.toml")["answers"] == plan["answers"]
    code, _, err = shell("plan", "grpo")
    assert code == 2 and "--model is missing" in err


def test_code_of_a_file_judges_only_if_it_may(place: Path, shell: Answers) -> None:
    (place / "my.py").write_text(RIGHT)
    (place / "judged.toml").write_text(f'model = "{place}/model"\ndata = ["rows.jsonl"]\nreward = ["my.py:right"]\n')
    code, _, err = shell("eval", "--config", "judged.toml", "--n", 1)
    assert code == 78 and "add --trust-code" in err
    with pytest.raises(ConfigError, match="trust-code"):
        assay.evaluate(config=place / "judged.toml", n=1)
    code, out, _ = shell("eval", "--config", "judged.toml", "--n", 1, "--trust-code")
    assert code == 0 and "your reward right" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed = 3", "seed is 3, and run began with 0"),
        ("[scale]\nlearning-rate = 0.5", "scale.learning-rate is 0.5"),
        ('data = ["rows.jsonl"]', "data is {"),
        ('recipe = "dapo"', "recipe is 'dapo', and run began with 'grpo'"),
        ('[machine]\nsampler-pythn = "x"', "sampler"),
    ],
)
def test_a_run_goes_on_only_as_it_began(text: str, words: str, place: Path, shell: Answers) -> None:
    (place / "more.toml").write_text(text)
    code, _, err = shell("resume", "run", "--config", "more.toml", "--quiet")
    assert code in (2, 78) and words in err


def test_a_file_extends_a_run_and_options_override_it(place: Path, shell: Answers) -> None:
    (place / "more.toml").write_text((place / "run.toml").read_text().replace(f"steps = {STEPS}", "steps = 9"))
    code, *_ = shell("resume", "run", "--config", "more.toml", "--steps", STEPS + 1, "--quiet")
    assert (code, len(assay.Run(place / "run").metrics())) == (0, STEPS + 1)
    (place / "more.toml").write_text(f"steps = {STEPS + 2}\nreward-timeout = 11.0\n")
    assay.resume(place / "run", config=place / "more.toml", quiet=True)
    assert len(assay.Run(place / "run").metrics()) == STEPS + 2
    experiment = json.loads((place / "run" / "run.json").read_text())["experiment"]
    assert experiment["reward_timeout"] == 11.0


def test_files_of_python_that_a_study_uses_run_only_if_they_may(shell: Answers, tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    study = tmp_path / "study.toml"
    study.write_text('recipes = ["grpo", "dapo"]\ntasks = ["countdown:3"]\nseeds = 2\nuses = ["more.py"]\n')
    code, _, err = shell("compare", "--study", study, "--plan")
    assert code == 78 and f"uses runs the code {tmp_path / 'more.py'}" in err and "--trust-code" in err
    assert not (tmp_path / "ran").exists()
    assert shell("compare", "--study", study, "--plan", "--trust-code")[0] == 0
    assert (tmp_path / "ran").exists()
    assert shell("compare", "--study", study, "--plan")[0] == 0, "what was allowed is not asked again"
    with (tmp_path / "more.py").open("a") as file:
        file.write("# changed\n")
    assert shell("compare", "--study", study, "--plan")[0] == 78
