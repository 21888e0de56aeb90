"""The verbs from Python: each gives what its command line prints as JSON, on objects too; and a run in a program."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from small_runs import SIZES, STEPS, Shell, make_model

import assay
from assay.api import notebook, rows
from assay.api.pictures import Picture
from assay.errors import ConfigError, DataError, UnknownName, UsageError

SETTINGS: dict[str, Any] = {name.replace("-", "_"): value for name, value in SIZES.items()}
ROWS = [{"question": f"What is {a}+{b}?", "answer": str(a + b)} for a in range(1, 7) for b in range(1, 7)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> assay.Run:
    place = tmp_path_factory.mktemp("runs") / "run"
    how: dict[str, Any] = {"steps": STEPS, "settings": SETTINGS, "quiet": True, "run": place}
    return assay.train("grpo", task="countdown", levels=(3,), model=model, **how)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def graded(completions: list[str], **columns: Any) -> list[float]:
    return [sum(map(ord, text)) % 7 / 6 for text in completions]


# Models


@pytest.mark.slow
def test_a_score_is_that_of_the_command_line(run: assay.Run, shell: Shell, tmp_path: Path) -> None:
    size = ("--n", "2", "--seed", "3")
    assert (
        assay.evaluate(run, problems=3, n=2, seed=3)
        == shell("eval", run.path, "--problems", "3", *size, "--json").document
    )
    assert run.eval(problems=3, n=2, seed=3) == assay.evaluate(str(run.path), problems=3, n=2, seed=3)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    said = shell("eval", run.path, "--data", "rows.jsonl", *size, "--json").document
    scores = assay.evaluate(run, data=ROWS, n=2, seed=3)
    assert scores["pass"] == said["pass"] and scores["problems"] == len(ROWS)
    assert str(scores).splitlines()[1].split()[0] == "judge" and repr(scores) == str(scores)
    judged = assay.evaluate(run, data=ROWS, n=2, reward=lambda completions, **_: [1.0 for _ in completions])
    assert judged["scores"]["lambda"]["mean"] == 1.0 or judged["pass"]["1"]["mean"] == 1.0


@pytest.mark.slow
def test_answers_are_those_of_the_command_line(run: assay.Run, shell: Shell) -> None:
    said = shell("sample", run.path, "3 4 5 = 12", "--n", "2", "--max-new", "5", "--json").document
    found = assay.sample(run, "3 4 5 = 12", n=2, max_new=5)
    assert found == {**said, "model": str(run.path)} and run.sample("3 4 5 = 12", n=2, max_new=5) == found
    assert str(found).split("\n")[0] == found["answers"][0]["text"].split("\n")[0]


@pytest.mark.slow
def test_a_model_is_exported_with_its_card(run: assay.Run, tmp_path: Path) -> None:
    assert run.export(tmp_path / "out") == tmp_path / "out"
    assert {"config.json", "model.safetensors", "README.md"} <= {path.name for path in (tmp_path / "out").iterdir()}
    with pytest.raises(UsageError, match="exists already"):
        assay.export(run, tmp_path / "out")
    with pytest.raises(UsageError, match="no adapter to merge"):
        assay.export(run, tmp_path / "other", merge=True)


@pytest.mark.slow
def test_a_bank_is_that_of_the_command_line(run: assay.Run, model: Path, shell: Shell, tmp_path: Path) -> None:
    how: dict[str, Any] = {"problems": 3, "n": 4, "quiet": True}
    bank = assay.bank(run, into=tmp_path / "run.parquet", **how)
    line = ("--task", "countdown:3", "--problems", "3", "--n", "4", "--quiet", "--json")
    assert shell("bank", "sample", run.path, *line[2:], "--into", "run.parquet").document["file"] == "run.parquet"
    assert bank.show([1, 4]) == shell("bank", "show", "run.parquet", "--k", "1,4", "--json").document
    base = assay.bank(model, into="base.parquet", task="countdown:3", max_new=6, **how)
    told = shell("bank", "compare", "base.parquet", "run.parquet", "--json").document
    assert json.loads(json.dumps(bank.compare(base))) == json.loads(json.dumps(told))
    assert assay.bank("run.parquet").answers()[0].keys() == bank.answers()[0].keys() and len(bank.answers()) == 12
    assert Path(bank.score(run)["file"]) == tmp_path / "run.scores.parquet"
    with pytest.raises(UsageError, match="name it with into="):
        assay.bank(run)
    with pytest.raises(DataError):
        assay.bank("nowhere.parquet")


@pytest.mark.slow
def test_a_run_that_functions_rewarded_is_judged_by_the_verifier_where_rows_have_answers(
    model: Path, shell: Shell, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"data": ROWS, "model": model, "reward": graded, "steps": 1, "settings": SETTINGS}
    run = assay.train("grpo", run=tmp_path / "run", quiet=True, **how)
    assert run.eval(n=2)["pass"].keys() == {"1", "2"}
    reply = shell("eval", run.path, "--n", "2", "--json")
    assert reply.document == run.eval(n=2) and "here the tasks' verifiers judge alone" in reply.err


# Recipes, answers, plans


def test_what_needs_no_model_is_what_the_command_line_says(shell: Shell) -> None:
    assert assay.explain("dapo") == shell("explain", "dapo", "--json").document
    assert str(assay.explain("dapo")) == shell("explain", "dapo").out.rstrip("\n")
    assert assay.verify("1/2", "so 0.5") == shell("verify", "explain", "1/2", "so 0.5", "--json").document
    assert (assay.verify("1/2", "0.5")["verdict"], assay.verify("1/2", "0.6")["verdict"]) == ("ok", "fail")
    line = ("plan", "grpo", "--model", "Qwen/Qwen2.5-0.5B", "--gpus", "2", "--scale.num-prompts", "4")
    made = assay.plan("grpo", model="Qwen/Qwen2.5-0.5B", gpus=2, scale={"num_prompts": 4})
    assert made == shell(*line, "--json").document and str(made) == shell(*line).out.rstrip("\n")
    with pytest.raises(UnknownName, match="'dapo'"):
        assay.explain("dapoo")
    with pytest.raises(UsageError, match="plan has no steps"):
        assay.plan("grpo", model="Qwen/Qwen2.5-0.5B", max_steps=3)


# Comparisons


FEW = {name: value for name, value in SETTINGS.items() if not name.startswith("evaluation")}
EXAMS = {"evaluation.every": 0, "evaluation.final_problems": 2, "evaluation.final_samples": 2}


@pytest.mark.slow
def test_runs_are_compared_as_on_the_command_line(run: assay.Run, shell: Shell) -> None:
    assert assay.compare(run) == shell("compare", run.path, "--json").document
    assert str(assay.compare(run)) == shell("compare", run.path).out.rstrip("\n")
    with pytest.raises(UsageError, match="seeds is for comparing recipes"):
        assay.compare(run, seeds=3)


@pytest.mark.slow
def test_recipes_are_compared_on_objects_and_go_on(model: Path, shell: Shell, tmp_path: Path) -> None:
    how: dict[str, Any] = {"data": ROWS, "reward": graded, "model": model, "seeds": 2, "steps": 1, "into": "s"}
    how |= {"settings": {**FEW, **EXAMS}, "quiet": True}
    done = assay.compare("grpo", "dr-grpo", **how)
    named = rows.places(ROWS)[0].rpartition("/")[2].removesuffix(".jsonl")
    assert {(cell["arm"], cell["task"]) for cell in done["cells"]} == {("grpo", named), ("dr-grpo", named)}
    assert Path(done["report"]).is_file() and done["report"] in str(done)
    plan = assay.compare("grpo", "dr-grpo", **how, plan=True)
    assert (plan["runs"], plan["done"]) == (4, 4)
    options = [word for name, value in {**FEW, **EXAMS}.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    place = f"{Path(__file__).resolve()}:graded"
    line = ["compare", "grpo", "dr-grpo", "--data", rows.places(ROWS)[0], "--reward", place, "--model", model, *options]
    told = shell(*line, "--seeds", "2", "--steps", "1", "--into", "s", "--plan", "--json")
    assert told.document["done"] == 4, "the command line finds these results as its own"
    swept = assay.sweep("grpo", {"scale": {"top_k": [0, 5]}, "scale.top_p": [0.9]}, **{**how, "into": "t"}, plan=True)
    assert swept["runs"] == 6
    arms = {"recipes": ["grpo", "rloo"], "data": ROWS, "seeds": 3, "budget": "steps=2", "model": str(model)}
    assert assay.study(arms, into="u", plan=True)["runs"] == 6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: assay.compare("grpo", "dapo", reward=lambda completions: []), "exists in this program alone"),
        (lambda: assay.compare("grpo", "dapo", steps=3, budget="steps=4"), "leave one of the two out"),
        (lambda: assay.sweep("grpo", {}), "over gives the values of each setting"),
        (lambda: assay.sweep("grpo", {"scale.top_k": 3}), "over gives the values of each setting"),
        (
            lambda: assay.study({"recipes": ["grpo", "rloo"], "tasks": ["countdown:3"]}),
            "give the folder that it is kept in",
        ),
        (lambda: assay.compare("grpo", "dapo", data=[{"a": {1}}]), "column 'a' is a set"),
    ],
)
def test_comparisons_that_cannot_be_meant_are_refused(call: Any, says: str) -> None:
    with pytest.raises((UsageError, assay.AssayError)) as caught:
        call()
    assert says in str(caught.value)


def test_the_command_line_and_python_have_the_same_defaults() -> None:
    from assay.cli import studies
    from assay.lab.study import asked

    assert (studies.DEFAULT_SEEDS, studies.DEFAULT_BUDGET) == (asked.DEFAULT_SEEDS, asked.DEFAULT_BUDGET)


# Runs


@pytest.mark.slow
def test_a_run_tells_its_records_as_lists_and_as_frames(run: assay.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = run.metrics()
    assert isinstance(metrics, list) and metrics.column("step") == [1, 2, 3, 4]
    exams = run.evaluations()
    assert [(exam["step"], exam["set"]) for exam in exams][:2] == [(0, "test"), (0, "valid")]
    before = run.scores()["before"]["pass"]["1"]
    assert (exams[0]["pass@1"], exams[0]["pass@1/low"]) == (before["mean"], before["low"])
    kept = run.rollouts()
    assert len(kept) == 4 and {row["step"] for row in kept} == {4} == {*run.rollouts(4, ["step"]).column("step")}
    with pytest.raises(UsageError, match="keeps no answers of step 3; those of steps 1, 4 are"):
        run.rollouts(3)
    made: list[Any] = []
    for name in ("pandas", "polars"):
        frames: Any = types.ModuleType(name)
        frames.DataFrame = lambda data, **how: made.append(data)
        monkeypatch.setitem(sys.modules, name, frames)
        metrics.frame(name)
    assert made == [list(metrics), list(metrics)]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="needs pandas: `pip install pandas`"):
        metrics.frame()
    with pytest.raises(ConfigError, match="pandas or of polars"):
        metrics.frame("arrow")


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_real_frames_hold_the_records(library: str, run: assay.Run) -> None:
    pytest.importorskip(library)
    frame = run.metrics().frame(library)
    assert list(frame["step"]) == [1, 2, 3, 4]
    assert list(frame["reward/mean"]) == run.metrics().column("reward/mean")
    assert len(run.rollouts().frame(library)) == 4 and len(run.evaluations().frame(library)) == 5


@pytest.mark.slow
def test_a_run_is_a_path_and_knows_whether_it_is_done(run: assay.Run) -> None:
    assert (run / "run.toml").read_text() == (Path(run) / "run.toml").read_text()
    assert assay.Run(Path(str(run.path))) == run and run.finished and run.steps == STEPS


@pytest.mark.slow
def test_curves_are_a_picture_of_the_metrics(run: assay.Run, tmp_path: Path) -> None:
    picture = run.plot("reward/mean", "eval/valid/pass@1")
    root = ElementTree.fromstring(picture.svg)
    lines = [node for node in root.iter() if node.tag.endswith("polyline")]
    assert len(lines) == 2 and len(lines[0].attrib["points"].split()) == STEPS
    assert [node.text for node in root.iter() if node.attrib.get("class") == "key"] == [
        "reward/mean",
        "eval/valid/pass@1",
    ]
    steps = sorted({exam["step"] for exam in run.evaluations() if exam["set"] == "valid"})
    assert len(lines[1].attrib["points"].split()) == len(steps)
    assert picture.save(tmp_path / "a.svg").read_text() == picture.svg
    with pytest.raises(UsageError, match=r"name it .*a\.svg"):
        picture.save(tmp_path / "a.png")
    with pytest.raises(UnknownName, match="'reward/mean'"):
        run.plot("reward/maen")
    assert isinstance(run.plot(), Picture)


def test_a_picture_of_nothing_says_so() -> None:
    from assay.api.pictures import curves

    assert "nothing was recorded yet" in curves((), [], {}).svg


# Notebooks


class Shown:
    """IPython as far as a run sees it: what was displayed, in its order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, kernel: object) -> None:
        self.pages: list[str] = []
        module: Any = types.ModuleType("IPython")
        shell = types.SimpleNamespace(kernel=kernel)
        handle = types.SimpleNamespace(update=self.pages.append)
        module.get_ipython = lambda: shell
        module.display = types.SimpleNamespace(HTML=str, display=self._first(handle))
        monkeypatch.setitem(sys.modules, "IPython", module)

    def _first(self, handle: Any) -> Any:
        def display(page: str, *, display_id: bool) -> Any:
            assert display_id
            self.pages.append(page)
            return handle

        return display


@pytest.mark.slow
def test_a_run_in_a_notebook_is_shown_in_one_place(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Shown(monkeypatch, kernel=object())
    run = assay.train(
        "grpo", task="countdown", levels=(3,), model=model, steps=2, run=tmp_path / "run", settings=SETTINGS
    )
    assert "step 0 of 2" in shown.pages[0] and "grpo on countdown" in shown.pages[0]
    assert 'value="2" max="2"' in shown.pages[-1] and "<td>reward</td>" in shown.pages[-1]
    assert "eval/valid/pass@1" in shown.pages[-1] and "step 1/2" not in capsys.readouterr().err
    count = len(shown.pages)
    run.resume(steps=3)
    assert 'value="3" max="3"' in shown.pages[-1] and len(shown.pages) > count
    count = len(shown.pages)
    run.resume(steps=4, quiet=True)
    assert len(shown.pages) == count


def test_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notebook.kernel() is None
    Shown(monkeypatch, kernel=None)
    assert notebook.kernel() is None


def test_a_page_is_drawn_a_few_times_a_second_and_shows_text_as_text() -> None:
    pages: list[str] = []
    now = [0.0]

    def show(page: str) -> Any:
        pages.append(page)
        return pages.append

    panel = notebook.NotebookPanel(show, 100, "<b>&", lambda: now[0])
    for step in range(1, 11):
        now[0] += 0.1
        panel.update(step, {"reward/mean": step / 10, "time/step": 2.0})
    assert len(pages) == 3, "the first, one at once, and one after half a second"
    assert "&lt;b&gt;&amp;" in pages[-1] and "<td>0.100</td>" in pages[-1]
    panel.note("warning: <script>")
    assert "warning: &lt;script&gt;" in pages[-1] and "step 10 of 100, 3:00 left" in pages[-1]


@pytest.mark.slow
def test_runs_records_and_results_show_themselves(run: assay.Run) -> None:
    card = run._repr_html_()
    assert "<td>pass@1</td><td>verifier</td>" in card and "<th>judge</th>" in card
    assert "grpo, 4 steps" in card and "data:image/svg+xml;base64," in card
    page = run.metrics()._repr_html_()
    assert "4 records" in page and page.count("<tr>") == 5
    assert (
        assay.verify("1", "<b>")._repr_html_().startswith("<pre>")
        and "&lt;b&gt;" in assay.verify("1", "<b>")._repr_html_()
    )
