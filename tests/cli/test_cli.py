"""The command line: names and numbers that are wrong, one JSON document for every verb, and what needs no torch."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_free
from of_methods import said
from posing import POSING
from small_runs import ROOT, SIZES, Reply, Shell, make_model, program, sizes, train_line

import assay.lab.demo
from assay.cli.parser import build_parser
from assay.cli.verbs import VERBS
from assay.errors import AssayError, ConfigError, DataError, EndpointError, Stopped, StorageError, UsageError
from assay.methods import METHODS
from assay.recipe import USUAL_TASK
from assay.run import bases


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def run(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from assay.cli.main import main

    path = tmp_path_factory.mktemp("runs") / "grpo"
    assert main([*train_line(model, path), "--quiet"]) == 0
    return path


# --- wrong usage --------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[int, str, str]] = {  # line: exit code, what the message says, what it offers
    "": (2, "say what to do", "train"),
    "trian dapo": (2, "no verb named 'trian'", "'train'"),  # codespell:ignore trian
    "train": (2, "RECIPE", "assay train --help"),
    "train dapoo": (2, "no recipe named 'dapoo'", "'dapo'"),
    "train dapo --stesp 3": (2, "unknown argument '--stesp'", "'--steps'"),
    "train dapo --step 3": (2, "unknown argument '--step'", "'--steps'"),
    "train dapo more": (2, "unknown argument 'more'", "--help"),
    "train dapo --steps many": (2, "--steps is a whole number, not 'many'", "--help"),
    "train dapo --steps": (2, "expected one argument", "--help"),
    "train dapo --scale.group-size": (2, "--scale.group-size wants a value", "VALUE"),
    "train dapo --scale.group-size --quiet": (2, "--scale.group-size wants a value", "VALUE"),
    "train dapo --task coutdown": (2, "no task named 'coutdown'", "'countdown'"),
    "train dapo --task gym:acree": (2, "no gym generator named 'acree'", "'acre'"),
    "train dapo --task countdown:x": (2, "countdown:x", "NAME:1,2"),
    "train dapo --task countdown:3=much": (2, "countdown:3=much", "NAME:1,2=0.5"),
    "train dapo --task bool --task path": (2, "no base was made for bool, path", "assay train sft"),
    "train dapo --task gym:acre": (2, "no base was made for gym-acre", "reads English"),
    "train dapo --wording natrual": (2, "no wording named 'natrual'", "'natural'"),  # codespell:ignore natrual
    "train dapo --profile labtop": (2, "no profile named 'labtop'", "'laptop'"),
    "train dapo --scal.group-size 3": (2, "no setting named 'scal'", "'scale'"),
    "train dapo --scale.group-sice 3": (2, "no setting in Scale named 'group_sice'", "'group_size'"),
    "train dapo --mechanism.credit group-relativ": (2, "named 'group-relativ'", "'group-relative'"),
    "train dapo --mechanism.credit.ddoff 1": (2, "no setting in GroupRelative named 'ddoff'", "'ddof'"),
    "train dapo --models.poliy.trained no": (2, "no entry of recipe.models named 'poliy'", "'policy'"),
    "list taks": (2, "no list named 'taks'", "'tasks'"),  # codespell:ignore taks
    "show countdwn": (2, "named 'countdwn'", "'countdown'"),
    "show gate:clap": (2, "named 'gate:clap'", "'gate:clip'"),
    "list tasks --scale.x 1": (2, "no settings such as --scale.x", "assay train"),
    "new methd soft": (2, "no kind named 'methd'", "'method'"),  # codespell:ignore methd
    "new method": (2, "NAME", "assay new --help"),
    "base bild countdown": (2, "no action named 'bild'", "'build'"),
    "base build countdwn": (2, "no base named 'countdwn'", "'countdown'"),
    "sample countdwn hello": (2, "no model folder, run or base named 'countdwn'", "'countdown'"),
    "sample m hello --n 0": (2, "--n must be at least 1", "not 0"),
    "sample m hello --max-new 0": (2, "--max-new must be at least 1", "not 0"),
    "sample m hello --temperature -1": (2, "--temperature must be 0 (greedy) or more", "not -1.0"),
    "sample m hello --temperature nan": (2, "--temperature must be 0 (greedy) or more", "not nan"),
    "sample m hello --top-p 0": (2, "--top-p must be in (0, 1]", "not 0.0"),
    "eval m --k 8 --n 4": (2, "pass@8 needs --n of at least 8", "not 4"),
    "eval m --k 0": (2, "--k must be at least 1", "not 0"),
    "eval m --problems 0": (2, "--problems and --n must be at least 1", "not 0 and 16"),
    "eval m --max-new 0": (2, "--max-new must be at least 1", "not 0"),
    "resume nowhere": (2, "nowhere holds no run", "assay train"),
    "report nowhere": (2, "nowhere holds no run", "assay train"),
    "compare nowhere elsewhere": (2, "nowhere holds no run", "assay train"),
    "train dapo --task countdown:99": (64, "levels 3 to", "not 99"),
    "train dapo --task countdown:-1": (64, "levels 3 to", "not -1"),
    "train dapo --task countdown:3=0": (64, "no problems", "assay list tasks"),
    "train dapo --task countdown:3=-1 --task countdown:4=2": (64, "weight -1.0", "0 or more"),
    "train dapo --task countdown:3=nan --task countdown:4=2": (64, "weight nan", "0 or more"),
    "train dapo --steps 0": (78, "scale.num_steps must be at least 1", "not 0"),
    "train dapo --steps -5": (78, "scale.num_steps must be at least 1", "not -5"),
    "train grpo --scale.group-size 1": (78, "a group of one", "reinforce"),
    "train gspo --mechanism.objective.aggregate token-mean": (78, "SequenceRatio is one ratio", "sequence-mean"),
    "train grpo --scale.group-size 2.5": (78, "expected int", "'2.5'"),
    "train grpo --scale.max-new 0": (78, "scale.max_new must be at least 1", "not 0"),
    "train grpo --scale.learning-rate -1": (78, "scale.learning_rate must be a positive number", "-1"),
    "train grpo --scale.learning-rate inf": (78, "scale.learning_rate must be a positive number", "inf"),
    "train grpo --scale.temperature nan": (78, "scale.temperature must be a positive number", "nan"),
    "train grpo --scale.min-p 1": (78, "scale.min_p must be in [0, 1)", "1.0"),
    "train grpo --scale.beta2 1": (78, "scale.beta2 must be in [0, 1)", "1.0"),
    "train grpo --scale.weight-decay -1": (78, "scale.weight_decay must be in [0, inf)", "-1.0"),
    "train grpo --scale.top-k -1": (78, "scale.top_k must be 0 or more", "-1"),
    "train grpo --scale.clip-norm 0": (78, "scale.clip_norm must be positive", "none"),
    "train grpo --scale.schedule cosin": (78, "constant, linear, cosine", "'cosin'"),
    "train grpo --machine.precision fp16": (78, "auto, fp32, bf16", "'fp16'"),
    "train grpo --machine.micro-tokens 0": (78, "machine.micro_tokens must be at least 1", "not 0"),
    "train grpo --saving.keep 1": (78, "saving.keep must be at least 2", "not 1"),
    "train grpo --evaluation.temperature nan": (78, "evaluation.temperature must be 0", "nan"),
    "train grpo --scale.group-size.x 3": (78, "'x' does not exist", "single value"),
    "train dapo --mechanism.expand.7 refill": (78, "no item '7'", "there are 1"),
    **said("REFUSED"),
}


@pytest.mark.thin(6)
@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_says_what_was_expected_what_came_and_what_to_do(
    shell: Shell, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, says, offers = WRONG[line]
    reply = shell(*line.split(), "--json")
    assert reply.code == code, reply.err
    document = reply.document
    assert set(document) == {"error", "message", "code"}
    assert document["code"] == code
    assert says in document["message"] and offers in document["message"]
    assert f"{document['error']}: {document['message']}" in reply.err
    assert "Traceback" not in reply.err
    assert not list(tmp_path.iterdir()), "nothing is written for a wrong command"


def test_without_json_a_wrong_command_leaves_standard_output_empty(shell: Shell) -> None:
    reply = shell("train", "dpao")
    assert (reply.code, reply.out) == (2, "")
    assert reply.err.startswith("UnknownName: no recipe named 'dpao'") and reply.err.count("\n") == 1


def test_the_tree_of_errors_and_its_exit_codes_are_stable() -> None:
    codes = {UsageError: 2, DataError: 64, EndpointError: 69, AssayError: 70, StorageError: 74, Stopped: 75}
    codes |= {ConfigError: 78}
    for kind, code in codes.items():
        assert kind.exit_code == code and issubclass(kind, AssayError)
        assert str(code) in build_parser().format_help()


def broken(error: BaseException) -> Any:
    def verb(arguments: argparse.Namespace) -> Any:
        raise error

    return verb


def with_verb(patch: pytest.MonkeyPatch, run: Any) -> None:
    summary, arguments, _ = VERBS["doctor"]
    patch.setitem(VERBS, "doctor", (summary, arguments, run))


def test_a_bug_of_ours_ends_as_70_with_a_short_message_and_the_traceback_behind_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_verb(monkeypatch, broken(KeyError("lost")))
    reply = shell("doctor", "--json")
    assert reply.code == 70
    assert reply.document["error"] == "Bug" and reply.document["code"] == 70
    assert "KeyError: 'lost'" in reply.document["message"] and "fault of Assay" in reply.document["message"]
    message, _, trace = reply.err.partition("\n")
    assert message == f"Bug: {reply.document['message']}"
    assert trace.startswith("Traceback") and trace.rstrip().endswith("KeyError: 'lost'")


def test_what_json_cannot_say_is_a_bug_of_ours_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with_verb(monkeypatch, lambda arguments: {"score": float("nan")})
    reply = shell("doctor", "--json")
    assert reply.code == 70 and reply.document["error"] == "Bug"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (PermissionError(13, "Permission denied", "x.html"), 74, "x.html"),
        (OSError(28, "No space left on device"), 74, "No space left"),
        (KeyboardInterrupt(), 130, "Ctrl-C"),
    ],
)
def test_what_the_system_refuses_has_a_code_of_its_own(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, says: str
) -> None:
    with_verb(monkeypatch, broken(error))
    reply = shell("doctor", "--json")
    assert reply.code == reply.document["code"] == code
    assert says in reply.document["message"] and "Traceback" not in reply.err


# --- every verb ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_help_names_every_default(shell: Shell, verb: str) -> None:
    reply = shell(verb, "--help")
    assert reply.code == 0
    for flags, options in VERBS[verb][1]():
        assert flags[0] in reply.out or options.get("metavar", flags[0]) in reply.out
        optional = flags[0].startswith("--") and options.get("action") != "store_true"
        if optional:
            assert "default" in options["help"], f"{verb} {flags[0]}"
            if options.get("default") is not None:
                assert str(options["default"]) in options["help"], f"{verb} {flags[0]}"
    assert "--json" in reply.out


@pytest.mark.parametrize("verb", ["train", "compare"])
def test_the_help_of_task_names_the_usual_one(verb: str) -> None:
    """As text, because the parser imports no recipe."""
    told = {flags[0]: options["help"] for flags, options in VERBS[verb][1]()}
    assert USUAL_TASK in told["--task"]


def test_the_help_of_train_lists_settings_with_types_and_defaults(shell: Shell) -> None:
    text = shell("train", "--help").out
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip().startswith("--") and "." in line}
    assert lines["--saving.keep"].endswith("int, default 2")
    assert lines["--machine.precision"].endswith("auto|fp32|bf16, default auto")
    assert lines["--evaluation.final-samples"].endswith("int, default 16")


def test_version(shell: Shell) -> None:
    from assay import __version__

    reply = shell("--version")
    assert (reply.code, reply.out) == (0, f"assay {__version__}\n")


def good(reply: Reply) -> Any:
    assert reply.code == 0, reply.err
    return reply.document


@pytest.mark.parametrize("what", ["recipes", "tasks", "bases", "parts", "gym"])
def test_list_is_one_json_document_and_a_table(shell: Shell, what: str) -> None:
    rows = good(shell("list", what, "--json"))
    names = [row["name"] for row in rows]
    assert names and len(set(names)) == len(names)
    assert all(row["summary"] for row in rows)
    lines = shell("list", what).out.splitlines()
    listed = [line for line in lines if line.startswith("  ")] if what == "recipes" else lines
    assert [line.split()[0] for line in listed] == names


def test_recipes_are_listed_in_the_groups_of_the_docs(shell: Shell) -> None:
    """A recipe is in the table of its group, and the groups come in one order."""
    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    rows = good(shell("list", "recipes", "--json"))
    for row in rows:
        table = text.partition(f"<!-- recipes: {row['group']} -->\n")[2].partition("<!-- end -->")[0]
        assert re.search(rf"^\|[^|]*`{re.escape(row['name'])}`[^|]*\|", table, re.MULTILINE), row["name"]
    headings = [line.split(":")[0] for line in shell("list", "recipes").out.splitlines() if line[:1].strip()]
    assert headings == list(dict.fromkeys(row["group"] for row in rows)) == list(METHODS)


@pytest.mark.parametrize(
    "name", ["dapo", "sft", "countdown", "bool", "gate:clip", pytest.param("gym:acre", marks=pytest.mark.slow)]
)
def test_show_is_one_json_document_and_a_card(shell: Shell, name: str) -> None:
    found = good(shell("show", name, "--json"))
    assert found["name"] == name
    assert f"name: {name}" in shell("show", name).out


def test_show_of_a_recipe_has_every_number_of_every_profile(shell: Shell) -> None:
    found = good(shell("show", "dapo", "--json"))
    paper, laptop = found["scales"]["paper"], found["scales"]["laptop"]
    assert paper["values"]["group_size"] == 16 and not paper["rules"]
    assert laptop["values"]["group_size"] == 8 and any("group_size: 16 -> 8" in rule for rule in laptop["rules"])
    assert found["settings"]["saving"]["keep"] == 2


def test_a_dry_run_prints_the_resolved_run_and_writes_nothing(shell: Shell, tmp_path: Path, model: Path) -> None:
    line = train_line(model, tmp_path / "run", "--dry-run", recipe="dapo")
    document = good(shell(*line, "--json"))
    assert document["recipe"]["scale"]["group_size"] == SIZES["scale.group-size"]
    assert document["saving"]["every"] == 1 and document["model"] == str(model)
    assert document["pool"]["shares"] == [{"task": "countdown", "levels": [3], "weight": 1.0}]
    assert document["memory"]["peak_bytes"] > 0 and any(
        "learning_rate: 1e-06 -> " in rule for rule in document["rules"]
    )
    assert not any("group_size" in rule for rule in document["rules"]), "the command line says another"
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_recipe_is_trained_on_the_first_of_its_tasks_where_none_is_named(shell: Shell) -> None:
    for name in POSING:
        document = good(shell("train", name, "--scale.max-new", "40", "--dry-run", "--json"))
        first, *_ = good(shell("show", name, "--json"))["tasks"]
        assert [share["task"] for share in document["pool"]["shares"]] == [first] != ["countdown"]
    assert good(shell("train", "grpo", "--dry-run", "--json"))["pool"]["shares"][0]["levels"] == [3, 4]


def test_settings_may_stand_anywhere_and_be_joined_by_a_sign(shell: Shell) -> None:
    line = ["train", "--scale.learning_rate", "1e-4", "grpo", "--scale.weight-decay=0.5", "--dry-run", "--json"]
    scale = good(shell(*line))["recipe"]["scale"]
    assert (scale["learning_rate"], scale["weight_decay"]) == (1e-4, 0.5)


def test_rules_of_a_profile_are_printed_for_people(shell: Shell) -> None:
    told = shell("train", "dapo", "--dry-run").out
    assert "profile     laptop: " in told and "group_size: 16 -> 8" in told and "max_new: 20480 -> " in told
    paper = shell("train", "dapo", "--dry-run", "--json", "--profile", "paper")
    assert good(paper)["recipe"]["scale"]["group_size"] == 16
    assert not any("group_size" in rule for rule in paper.document["rules"])


@pytest.mark.slow
def test_train_prints_one_json_document(shell: Shell, model: Path, tmp_path: Path) -> None:
    result = good(shell(*train_line(model, tmp_path / "run"), "--json"))
    assert result["steps"] == 4 and result["recipe"] == "grpo"
    assert result["before"]["problems"] == 2 and set(result["after"]["pass"]) == {"1", "2"}
    assert Path(result["report"]).is_file()
    again = good(shell("resume", tmp_path / "run", "--steps", 5, "--json"))
    assert again["steps"] == 5


@pytest.mark.slow
def test_verbs_on_a_run_print_one_json_document(shell: Shell, model: Path, run: Path, tmp_path: Path) -> None:
    assert good(shell("report", run, "--json"))["steps"] == 4
    answers = good(shell("sample", run, "C 3 4 5=12", "--n", 2, "--max-new", 8, "--json"))["answers"]
    assert len(answers) == 2 and all(answer["tokens"] <= 8 for answer in answers)
    exam = good(shell("eval", model, "--task", "countdown:3", "--problems", 3, "--n", 2, "--max-new", 6, "--json"))
    assert (exam["problems"], exam["samples"], set(exam["pass"])) == (3, 2, {"1", "2"})
    assert good(shell(*train_line(model, tmp_path / "rloo", recipe="rloo"), "--quiet", "--json"))
    plot = tmp_path / "curves.png"
    compared = shell("compare", run, tmp_path / "rloo", "--plot", plot, "--json")
    assert good(compared) and plot.is_file()
    assert good(shell("doctor", "--json"))["python"]["state"] in {"ok", "warning"}


@pytest.mark.slow
def test_verbs_on_a_run_speak_plainly_without_json(shell: Shell, run: Path) -> None:
    assert "pass@2" in shell("eval", run, "--task", "countdown:3", "--problems", 2, "--n", 2, "--max-new", 6).out
    assert len(shell("sample", run, "C 3 4 5=12", "--max-new", 4, "--n", 3).out.splitlines()) >= 3
    assert "python" in shell("doctor").out
    reply = shell("report", run)
    assert reply.code == 0 and "pass@1" in reply.err and "report.html" in reply.err


@pytest.mark.slow
def test_base_build_and_demo_print_one_json_document(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import dataclasses

    made = bases.BASES["countdown"]
    shape = dataclasses.replace(made.shape, hidden=16, layers=1, heads=2, kv_heads=2, head_dim=8, ffn=32)
    scale = dataclasses.replace(made.scale, num_prompts=4, num_steps=2, max_new=16)
    tiny = dataclasses.replace(made, shape=shape, scale=scale)
    monkeypatch.setitem(bases.BASES, "countdown", tiny)
    monkeypatch.setattr(bases, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    built = good(shell("base", "build", "countdown", "--json"))
    assert built["built"] and Path(built["path"]).is_dir() and built["hash"] == tiny.hash
    settings = {name.replace("-", "_"): str(value) for name, value in SIZES.items()}
    small = dataclasses.replace(assay.lab.demo.SMALL, settings=settings, steps=2)
    monkeypatch.setattr(assay.lab.demo, "SMALL", small)
    result = good(shell("demo", "--json"))
    assert result["steps"] == 2 and result["run"] == "runs/demo-1"
    assert set(result["seconds"]) == {"base", "training", "all"}
    assert result["speed"]["place"].startswith("cpu ") and result["speed"]["step"] > 0


# --- processes ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_configuration_and_lists_need_no_torch() -> None:
    """In one fresh interpreter that refuses to import torch and its kin."""
    assert set(torch_free.VERBS) == set(VERBS)
    done = subprocess.run(
        [sys.executable, "-c", torch_free.CHECK],
        input=json.dumps(torch_free.LINES),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_doctor_answers_where_torch_is_not_installed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    found = good(shell("doctor", "--json"))
    assert found["torch"]["state"] == "missing" and "pip install" in found["torch"]["advice"]


@pytest.mark.slow
def test_the_program_returns_the_code_and_a_closed_pipe_is_no_error() -> None:
    done = program(["-m", "assay", "list", "tasks", "--json"])
    assert done.returncode == 0 and json.loads(done.stdout)
    wrong = program(["-m", "assay", "lost"])
    assert wrong.returncode == 2 and wrong.stdout == "" and "no verb named 'lost'" in wrong.stderr
    closed = program(
        [
            "-c",
            "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1)\n"
            "from assay.cli.main import main; sys.exit(main(['list', 'gym']))",
        ]
    )
    assert (closed.returncode, closed.stderr) == (0, "")


def test_sizes_are_settings_that_train_knows(shell: Shell) -> None:
    assert shell("train", "grpo", *sizes(), "--dry-run").code == 0


@pytest.mark.slow
def test_a_run_does_not_import_torchs_compiler(tmp_path: Path) -> None:
    """It takes seconds of every start, and nothing here compiles."""
    line = train_line(make_model(tmp_path / "model"), tmp_path / "run", "--quiet")
    code = f"import sys; from assay.cli.main import main; main({line!r}); print('torch._dynamo' in sys.modules)"
    done = program(["-c", code])
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "False", done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_no_argument_has_a_name_that_the_parser_gives_to_something_else(verb: str) -> None:
    assert not {"typed", "overrides", "command", "run_verb", "json"} & build_parser(verb).defaults.keys()
