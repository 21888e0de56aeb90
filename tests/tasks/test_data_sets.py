"""Several files as one set, rows that do not fit, and exams of a run: asked as it asked, on rows it does not know."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from data_files import jsonl, sums, table_of
from small_runs import ROOT, Shell, came_to, program

import assay
from assay.errors import ConfigError, DataError, UsageError
from assay.lab.data_check import check_data, text
from assay.memory import Memory
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.record.folder import Numbered, RunFolder
from assay.rng import Key
from assay.run import base_training, bases, data_needs
from assay.run.ancestry import lineage, origin, unknown_to
from assay.run.setup import composed
from assay.source import Pool, Share, uniform
from assay.tasks import ALPHABET, short
from assay.tasks.data.task import all_located, data, rows_of, where

SMALL = {
    "scale.num-prompts": "4",
    "scale.group-size": "2",
    "scale.max-new": "6",
    "evaluation.every": "0",
    "evaluation.final-samples": "1",
    "evaluation.temperature": "0.5",
    "machine.threads": "1",
    "machine.probe": "0",
}


def line(model: Path, *more: object, steps: int = 1) -> list[str]:
    small = [part for name, value in SMALL.items() for part in (f"--{name}", value)]
    return ["train", "grpo", "--model", str(model), "--steps", str(steps), *small, "--quiet", *map(str, more)]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "small"
    tokenizer = character_tokenizer(ALPHABET + "\n")
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 96, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("sets")), folder)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Sixty sums and forty, ten of which stand in both."""
    folder = tmp_path_factory.mktemp("files")
    return jsonl(folder / "a.jsonl", sums(60)), jsonl(folder / "b.jsonl", sums(40, first=50))


@pytest.fixture(scope="module")
def run(model: Path, files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on both, with a system message."""
    from assay.cli.main import main

    path = tmp_path_factory.mktemp("runs") / "both"
    both = [part for file in files for part in ("--data", file)]
    assert main(line(model, *both, "--system", "Be brief.", "--run", path)) == 0
    return path


def prompts(pool: Pool, split: Any) -> set[str]:
    return {str(problem.prompt) for problem in pool.rows(split)}


SPLITS = ("train", "valid", "test")

# --- several files ------------------------------------------------------------------------------------------


def test_two_files_on_the_command_line_are_both_read(shell: Shell, model: Path, files: tuple[Path, Path]) -> None:
    reply = shell(*line(model, "--data", files[0], "--data", files[1]), "--dry-run", "--json")
    (share,) = reply.document["pool"]["shares"]
    pool = Pool((Share(share["task"]),), wording="natural")
    found = [prompts(pool, split) for split in SPLITS]
    assert set().union(*found) == {row["question"] for row in sums(90)}
    assert sum(map(len, found)) == 90, "a row of both files is one problem, and in one split"
    assert (short(share["task"]), share["weight"]) == ("a+b", 1.0), "one set, with the weight of one source"


def test_the_same_from_python(files: tuple[Path, Path]) -> None:
    pool = composed({"data": all_located([str(files[0]), files[1]])}).pool()
    assert [share.task for share in pool.shares] == [data(files).name]


def test_what_stands_in_both_files_is_kept_once_and_told(files: tuple[Path, Path]) -> None:
    table = table_of(files)  # type: ignore[arg-type]
    assert (table.num_rows, len(table.problems)) == (100, 90)
    assert table.repeats == tuple(f"b.jsonl:{number}" for number in range(1, 11))
    assert any(
        note.startswith("10 rows left out, because an earlier file has the same row: lines b") for note in table.notes
    )
    assert where(table.problems[59]) == "line 60 of a.jsonl"
    assert where(table.problems[60]) == "line 11 of b.jsonl"


def test_every_row_of_a_set_is_asked_once_an_epoch(files: tuple[Path, Path]) -> None:
    """So each file has the weight of its rows."""
    pool = Pool((Share(data(files).name),), wording="natural")
    rows = pool.rows("train")
    asked = [problem.id for problem in uniform(Memory(0), 0, len(rows), pool=pool)]
    assert sorted(asked) == sorted(row.id for row in rows)


def test_several_held_out_files_are_one_exam(tmp_path: Path) -> None:
    train = jsonl(tmp_path / "train.jsonl", sums(60))
    held = [jsonl(tmp_path / f"{first}.jsonl", sums(30, first=first)) for first in (50, 70)]
    name = data(train, held_out=held).name
    pool = Pool((Share(name),), wording="natural")
    assert prompts(pool, "train") == {row["question"] for row in sums(50)}
    assert prompts(pool, "valid") | prompts(pool, "test") == {row["question"] for row in sums(50, first=50)}


def test_titles_name_three_files_and_count_more(tmp_path: Path) -> None:
    names = [jsonl(tmp_path / f"{letter}.jsonl", sums(1)) for letter in "abcd"]
    assert short(data(names[:3]).name) == "a+b+c"
    assert short(data(names).name) == "a+3-more"


def test_files_of_one_name_are_told_by_their_folders(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    places = [jsonl(tmp_path / "one" / "a.jsonl", sums(2)), jsonl(tmp_path / "two" / "a.jsonl", sums(2, first=5))]
    assert where(table_of(places).problems[2]) == f"line 1 of {places[1]}"  # type: ignore[arg-type]


def test_what_is_wrong_with_each_file_is_told_at_once(tmp_path: Path) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"prompt": "a", "ans')
    with pytest.raises(DataError) as caught:
        table_of([jsonl(tmp_path / "good.jsonl", sums(3)), torn, tmp_path / "gone.jsonl"])  # type: ignore[arg-type]
    assert "torn.jsonl cannot be used" in str(caught.value) and "gone.jsonl: no such file" in str(caught.value)


def test_a_set_asks_in_one_way(tmp_path: Path) -> None:
    talk = jsonl(tmp_path / "talk.jsonl", [{"prompt": [{"role": "user", "content": "Q"}], "answer": "1"}])
    with pytest.raises(DataError, match=r"sums\.jsonl are texts, and those of .*talk\.jsonl are lists of messages"):
        table_of([jsonl(tmp_path / "sums.jsonl", sums(3)), talk])  # type: ignore[arg-type]


def test_a_run_knows_each_file_of_its_set(files: tuple[Path, Path], tmp_path: Path) -> None:
    places = [shutil.copy(file, tmp_path) for file in files]
    pool = Pool((Share(data(places).name),), wording="natural")
    begun = data_needs.identity(pool)
    data_needs.require_unchanged(pool, begun)
    jsonl(Path(places[1]), sums(39, first=50))
    data(places)  # reads again
    with pytest.raises(ConfigError, match=r"rows of a\+b have changed since the run began \([^,]*b\.jsonl\)"):
        data_needs.require_unchanged(pool, begun)


def test_data_check_reads_a_set(files: tuple[Path, Path], shell: Shell) -> None:
    found = check_data([str(file) for file in files])
    assert (found["rows"], found["problems"], found["files"]) == (100, 90, [str(file) for file in files])
    assert found["repeats"]["exact"]["rows"][0] == "b.jsonl:1"
    assert "100 rows, 90 problems" in text(found)
    reply = shell("data", "check", *files, "--eval-data", files[0], "--eval-data", files[1], "--json")
    assert reply.document["overlap"]["alike"]["count"] == 90
    reply = shell("data", "check", *files, "--eval-data", files[0], "--eval-data", files[1])
    assert reply.code == 0 and "! none falls into 'train'" in reply.out


def test_sinks_that_are_named_apart_are_all_told(shell: Shell) -> None:
    reply = shell("train", "grpo", "--track", "tensorboard", "--track", "wandb", "--dry-run", "--json")
    assert reply.document["tracking"]["sinks"] == ["tensorboard", "wandb"]


# --- rows that do not fit -----------------------------------------------------------------------------------

LONG = {"question": "What is " + "1 + " * 30 + "1?", "answer": "31"}  # 130 characters of 96 positions
STRANGE = {"question": "Größe?", "answer": "1"}


def test_a_row_that_is_too_long_is_refused_with_both_ways_out(shell: Shell, model: Path, tmp_path: Path) -> None:
    """Of 96 positions an answer of 6 wants two at least, a fourth of it: a prompt has 94 tokens at most."""
    path = jsonl(tmp_path / "rows.jsonl", [*sums(60), LONG])
    reply = shell(*line(model, "--data", path, "--run", tmp_path / "run"))
    length = len(LONG["question"]) + 2
    assert reply.code == 64 and f"line 61 of rows ({length} tokens)" in reply.err
    for said in ("96 positions", "at most 94 tokens", "--skip-bad-rows", "--scale.max-new"):
        assert said in reply.err


@pytest.mark.slow
@pytest.mark.parametrize("bad", [LONG, STRANGE], ids=["too long", "not in the alphabet"])
def test_a_row_that_does_not_fit_is_skipped_with_the_bad_ones(
    bad: dict[str, str], shell: Shell, model: Path, tmp_path: Path
) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [*sums(40), *[{**bad, "answer": str(i)} for i in range(30)]])
    reply = shell(*line(model, "--data", path, "--skip-bad-rows", "--run", tmp_path / "run"))
    assert reply.code == 0, reply.err
    assert "left out" in reply.err and "line 41 of rows" in reply.err
    experiment = json.loads((tmp_path / "run" / "run.json").read_text())["experiment"]
    assert len(experiment["pool"]["left_out"]) == 30
    assert shell("resume", tmp_path / "run", "--steps", "2", "--quiet").code == 0
    asked = [
        row for step in (1, 2) for row in RunFolder.read_only(tmp_path / "run").rollouts(step, ["prompt"])["prompt"]
    ]
    assert asked and not any(bad["question"] in prompt for prompt in asked)
    exam = shell("eval", model, "--data", path, "--skip-bad-rows", "--n", "1", "--max-new", "6", "--json")
    assert exam.document["problems"] == 40


def test_where_no_row_fits_that_is_said(shell: Shell, model: Path, tmp_path: Path) -> None:
    rows = [{"question": f"{LONG['question']} And {i}?", "answer": "31"} for i in range(40)]
    path = jsonl(tmp_path / "rows.jsonl", rows)
    reply = shell(*line(model, "--data", path, "--skip-bad-rows", "--run", tmp_path / "run"))
    assert reply.code == 64 and "none of 40 prompts can be asked" in reply.err


# --- an exam asks as the run did ----------------------------------------------------------------------------


def exam(shell: Shell, *arguments: object) -> Any:
    reply = shell("eval", *arguments, "--n", "1", "--json")
    assert reply.code == 0, reply.err
    return reply.document


@pytest.mark.slow
def test_a_run_is_examined_as_it_asked(shell: Shell, run: Path, files: tuple[Path, Path]) -> None:
    policy = next((run / "ckpt").glob("step-*")) / "policy"
    for model in (run, policy):
        found = exam(shell, model)
        assert (found["system"], found["max_new"], found["temperature"]) == ("Be brief.", 6, 0.5)
        assert list(found["tasks"]) == [data(files).name], "its own test rows, where no others are named"
    other = exam(shell, run, "--system", "Think.", "--max-new", "4", "--temperature", "1")
    assert (other["system"], other["max_new"], other["temperature"]) == ("Think.", 4, 1.0)


@pytest.mark.slow
def test_a_prompt_is_answered_as_the_run_would(shell: Shell, run: Path, model: Path) -> None:
    (own,) = shell("sample", run, "1 + 1", "--json").document["answers"]
    assert own["tokens"] <= 6
    (plain,) = shell("sample", run, "1 + 1", "--system", "Think.", "--json").document["answers"]
    assert plain["logp"] != own["logp"]


@pytest.mark.slow
def test_the_system_message_of_rows_of_an_older_run_is_remembered(
    shell: Shell, run: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """Before it was a setting of the chat, it stood with the rows."""
    older = shutil.copytree(run, tmp_path / "older")
    document = json.loads((older / "run.json").read_text())
    document["experiment"]["chat"]["system"] = ""
    document["experiment"]["pool"]["shares"][0]["task"] = data(files, system="Be kind.").name
    (older / "run.json").write_text(json.dumps(document))
    for place in (older / "ckpt").glob("*/policy/assay_chat.json"):
        place.unlink()
    known = origin(str(older))
    assert known is not None and known.system == "Be kind."


def test_system_is_one_setting_under_two_names(shell: Shell, model: Path, files: tuple[Path, Path]) -> None:
    given = (*line(model, "--data", files[0]), "--dry-run", "--json")
    for flag in ("--system", "--chat.system"):
        assert shell(*given, flag, "Think.").document["chat"]["system"] == "Think."
    twice = shell(*given, "--system", "Think.", "--chat.system", "Guess.")
    assert twice.code == 2 and "one setting" in twice.document["message"]
    with pytest.raises(UsageError, match="one setting"):
        assay.train("grpo", model=str(model), levels=(3,), system="Think.", settings={"chat.system": "Guess."})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--steps", "3", "--scale.num-steps", "4"), "scale.num_steps"),
        (("--lora", "4", "--lora.rank", "8"), "lora.rank"),
        (("--track", "wandb", "--tracking.sinks", "trackio"), "tracking.sinks"),
    ],
)
def test_other_settings_with_two_names_are_said_alike(shell: Shell, given: tuple[str, ...], says: str) -> None:
    reply = shell("train", "grpo", *given, "--dry-run", "--json")
    assert reply.code == 2 and says in reply.document["message"]


def test_rows_without_an_answer_are_no_exam(shell: Shell, run: Path, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "rows.jsonl", [{"question": "What?"}])
    reply = shell("eval", run, "--data", path)
    assert reply.code == 64 and "--reward" in reply.err


# --- and never what it was trained on -----------------------------------------------------------------------


def as_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def known_rows(files: tuple[Path, Path]) -> set[str]:
    name = data(files).name
    return {str(row.prompt) for split in ("train", "valid") for row in rows_of(name, split)}  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["copy", "subset", "csv", "spaces", "messages", "more rows"])
def test_rows_that_a_run_knows_are_not_asked_wherever_they_stand(
    kind: str, shell: Shell, run: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    rows = sums(60)
    written = {
        "copy": lambda: Path(shutil.copy(files[0], tmp_path / "copy.jsonl")),
        "subset": lambda: jsonl(tmp_path / "subset.jsonl", rows[20:]),
        "csv": lambda: as_csv(tmp_path / "rows.csv", rows),
        "spaces": lambda: jsonl(tmp_path / "s.jsonl", [{**r, "question": f" {r['question'].upper()}\n"} for r in rows]),
        "messages": lambda: jsonl(
            tmp_path / "m.jsonl",
            [{"prompt": [{"role": "user", "content": r["question"]}], "answer": r["answer"]} for r in rows],
        ),
        "more rows": lambda: jsonl(tmp_path / "more.jsonl", sums(80, first=40)),
    }
    path = written[kind]()
    known = known_rows(files)
    count = {"subset": range(20, 60), "more rows": range(40, 120)}.get(kind, range(60))
    unseen = [i for i in count if f"What is {i} + {i * i}?" not in known]
    found = exam(shell, run, "--data", path)
    assert (found["problems"], found["left_out"]) == (len(unseen), len(count) - len(unseen))


@pytest.mark.slow
def test_an_exam_of_known_rows_alone_is_refused(
    shell: Shell, run: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    known = [row for row in sums(90) if row["question"] in known_rows(files)]
    reply = shell("eval", run, "--data", jsonl(tmp_path / "known.jsonl", known), "--n", "1")
    assert reply.code == 64 and f"all {len(known)} rows were used by" in reply.err


@pytest.mark.slow
def test_rows_are_remembered_where_the_files_are_gone(
    shell: Shell, model: Path, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    """And of a run that is older than this memory they are read again, or it is said that they cannot be."""
    place, again = tmp_path / "rows.jsonl", tmp_path / "again.jsonl"
    shutil.copy(files[0], place)
    shutil.copy(files[0], again)
    assert shell(*line(model, "--data", place, "--run", tmp_path / "run")).code == 0
    place.rename(tmp_path / "elsewhere.jsonl")
    here = exam(shell, tmp_path / "run", "--data", again)
    assert 0 < here["problems"] < 20
    (tmp_path / "run" / "learnt.txt").unlink()
    reply = shell("eval", tmp_path / "run", "--data", again, "--n", "1", "--json")
    assert reply.document["problems"] == 60
    assert "warning: the rows that run was trained on are not known" in reply.err
    (tmp_path / "elsewhere.jsonl").rename(place)
    assert exam(shell, tmp_path / "run", "--data", again)["problems"] == here["problems"]
    assert shell("resume", tmp_path / "run", "--steps", "2", "--quiet").code == 0
    assert (tmp_path / "run" / "learnt.txt").is_file()


@pytest.mark.slow
def test_rows_of_the_run_that_a_model_came_from_are_known_too(
    shell: Shell, run: Path, tmp_path: Path, files: tuple[Path, Path]
) -> None:
    other = jsonl(tmp_path / "other.jsonl", sums(40, first=200))
    second = tmp_path / "second"
    assert shell(*line(run, "--data", other, "--run", second)).code == 0
    assert [known.path.name for known in lineage(str(second))] == ["second", "both"]
    pool = Pool((Share(data(files[0], rows="test").name),), wording="natural")
    assert set(unknown_to(str(second), pool).left_out) == set(unknown_to(str(run), pool).left_out) != set()


def test_a_base_is_no_run(model: Path, monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    monkeypatch.chdir(run)
    assert origin("countdown") is None, "a name that is no folder here"
    assert origin(str(model)) is None


# --- runs that begin at once --------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.slow
def test_runs_that_begin_at_once_have_a_folder_each(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    words = [
        "-c",
        f"import os; os.chdir({str(tmp_path)!r}); import assay.cli.main; raise SystemExit(assay.cli.main.main("
        f"{line(model, '--data', files[0])!r}))",
    ]
    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(lambda _: program(words), range(3)))
    assert [reply.returncode for reply in done] == [0, 0, 0], [reply.stderr[-300:] for reply in done]
    runs = sorted((tmp_path / "runs").iterdir())
    assert [path.name for path in runs] == ["grpo-a-1", "grpo-a-2", "grpo-a-3"]
    assert came_to(runs[0]) == came_to(runs[1]) == came_to(runs[2])


@pytest.mark.slow
def test_a_number_is_given_once(tmp_path: Path) -> None:
    """By as many processes at once as there may be: each tries until a folder is its own."""
    code = (
        "import json, sys, time; from pathlib import Path; from assay.record.folder import Numbered\n"
        "while time.time() < float(sys.argv[2]): pass\n"
        "print(json.dumps([Numbered(Path(sys.argv[1]), 'run').take().name for _ in range(20)]))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    begin = str(time.time() + 1.5)
    words = [sys.executable, "-c", code, str(tmp_path / "runs"), begin]
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(3)]
    names = [name for child in children for name in json.loads(child.communicate()[0])]
    assert sorted(names) == sorted(f"run-{number}" for number in range(1, 61))
    assert Numbered(tmp_path / "runs", "run").take().name == "run-61"


@pytest.mark.slow
def test_a_base_that_two_runs_need_at_once_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second waits for the first, and takes what it made."""
    made: list[Path] = []

    def train(base: bases.Base, scratch: Path, *, quiet: bool) -> None:
        made.append(scratch)
        time.sleep(0.2)
        (scratch / "model").mkdir()

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    monkeypatch.setattr(base_training, "_train", train)
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: base_training.build("countdown", quiet=True), range(3)))
    assert len(made) == 1 and len(set(found)) == 1 and (found[0] / "assay_base.json").is_file()


def test_a_run_that_is_refused_leaves_no_folder(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = jsonl(tmp_path / "rows.jsonl", [*sums(60), LONG])
    assert shell(*line(model, "--data", path)).code == 64
    assert not (tmp_path / "runs").exists()
