"""Studies before they run: what is refused, how runs are keyed, and what a command line or a file means."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from of_methods import named
from posing import POSING
from small_runs import Shell
from studies import SMALL, TASK, study_of

from assay.cli.parser import parse
from assay.cli.studies import sweep_of
from assay.errors import AssayError, DataError, UnknownName, UsageError
from assay.known import RECIPES
from assay.lab.study import files, plan
from assay.lab.study.declared import check
from assay.lab.study.files import read
from assay.lab.study.plan import TRIAL_SEED, Arm, Budget, Expected, Study, StudyRun
from assay.lab.study.queue import outlook
from assay.reward import SoftOverlong
from assay.rng import Key
from assay.run.bases import BASES
from assay.run.configure import differing, to_data
from assay.run.external_needs import judged_by
from assay.run.trust import Trust
from assay.scoring.inference import effect_of_seeds
from assay.scoring.intervals import Needed


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("scale.max-new", "9", "scale.max_new"),
        ("scale.temperature", "0.7", "scale.temperature"),
        ("scale.top-p", "0.9", "scale.top_p"),
        ("model", "mod-chain-7", "model"),
        ("pool.wording", "natural", "pool.wording"),
        ("evaluation.temperature", "0.5", "evaluation.temperature"),
        ("evaluation.final-samples", "4", "evaluation.final_samples"),
        ("profile", "paper", "profile"),
        ("lora.rank", "4", "lora.rank"),
        ("machine.precision", "fp32", "machine.precision"),
        ("chat.system", "Think.", "chat.system"),
        ("right-from", "0.5", "right_from"),
    ],
)
def test_a_difference_beside_the_methods_is_refused_by_its_name_unless_it_is_declared(
    setting: str, value: str, named: str
) -> None:
    arms = {"grpo": Arm("grpo"), "other": Arm("grpo", {setting: value})}
    with pytest.raises(UsageError, match=rf"the arms differ in {named}: grpo .*, other ") as error:
        check(study_of(arms=arms))
    assert f"--differ {named}" in str(error.value) and value.rstrip(".") in str(error.value)
    check(study_of(arms=arms, differ=(named,)))


def test_what_belongs_to_a_method_may_differ() -> None:
    arms = {"grpo": Arm("grpo"), "dapo": Arm("dapo"), "wide": Arm("grpo", {"scale.group-size": "4"})}
    check(study_of(arms=arms))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arms": {"grpo": Arm("grpo")}}, "at least two arms"),
        ({"arms": {"grpo": Arm("grpo"), "x": Arm("gropo")}}, "gropo"),
        ({"tasks": {}}, "needs a task"),
        ({"seeds": (0,)}, "nothing can be said of methods by 1 seeds"),
        ({"seeds": (0, 0, 1)}, "different ones"),
        ({"seeds": (0, TRIAL_SEED)}, "that of the trials"),
        ({"trials": (1.0, 0.0)}, "positive factors"),
        ({"expected": (Expected("policy/entropy", "rloo", "gropo", "up"),)}, "gropo"),
    ],
)
def test_plans_that_can_say_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AssayError, match=message):
        check(study_of(**changes))


@pytest.mark.parametrize("text", ["2e6", "tokens", "tokens=", "tokens=none", "tokens=0", "tokens=inf", "hours=3"])
def test_a_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="budget"):
        Budget.parse(text)


def test_budgets_are_read() -> None:
    assert Budget.parse("tokens=2e6") == Budget("tokens", 2e6) and str(Budget.parse("steps=1_00")) == "steps=100"


def test_the_key_of_a_run_says_what_was_asked_of_it() -> None:
    """Its seed, its steps, the settings of its method and the base that it began from, but not where it computes."""
    study, run = study_of(), StudyRun("grpo", TASK, 0)
    key = study.key(run, 2)
    assert key == study_of().key(run, 2) == study.key(dataclasses.replace(run), 2)
    assert (
        len({key, study.key(run, 3), study.key(StudyRun("grpo", TASK, 1), 2), study.key(StudyRun("rloo", TASK, 0), 2)})
        == 4
    )
    assert study_of(settings={**SMALL, "machine.threads": "1"}).key(run, 2) == key
    assert study_of(settings={**SMALL, "scale.learning-rate": "1e-5"}).key(run, 2) != key
    assert study.key(dataclasses.replace(run, rate=2.0), 2) != key


def test_the_key_of_a_run_depends_on_the_base_that_it_begins_from(monkeypatch: pytest.MonkeyPatch) -> None:
    key, other = (
        study_of().key(StudyRun("grpo", TASK, 0), 2),
        dataclasses.replace(BASES["countdown"], summary="another"),
    )
    monkeypatch.setitem(BASES, "countdown", other)
    assert study_of().key(StudyRun("grpo", TASK, 0), 2) != key


def test_a_field_that_is_added_with_a_default_changes_no_key() -> None:
    """What differs from the defaults of its record is written, and nothing else."""

    @dataclasses.dataclass(frozen=True)
    class Before:
        steps: int = 3
        rate: float = 0.1
        names: tuple[str, ...] = dataclasses.field(default_factory=lambda: ("a",))

    @dataclasses.dataclass(frozen=True)
    class After(Before):
        added: int = 7

    assert differing(Before(steps=5)) == differing(After(steps=5)) == {"steps": 5}
    assert differing(After(added=8, names=("b",))) == {"names": ["b"], "added": 8}
    assert differing(SoftOverlong()) == {"part": to_data(SoftOverlong())["part"]}, "a part always says its name"


@pytest.mark.slow
def test_an_outlook_turns_the_rule_for_seeds_around(tmp_path: Path) -> None:
    """Differences whose standard deviation is 0.02 need as many seeds as show the smallest effect of these seeds, each
    as one of the study's family.
    """
    arms = {name: Arm("grpo") for name in ("grpo", "a", "b")}
    for seeds in (5, 9, 20):
        plan = outlook(study_of(arms=arms, seeds=tuple(range(seeds))), tmp_path)
        spread = np.array([-0.02, 0.02, 0.0])
        needed = effect_of_seeds(spread.tolist()).needed(plan.smallest * (1 + 1e-9), 1 - 0.05 / 2)
        assert needed == Needed(seeds)
        assert plan.document()["smallest_effect"] == plan.smallest and plan.document()["family"] == 2
        assert "one family of 2 hypotheses, 2 differences from grpo" in plan.lines()[-1]
    few = outlook(study_of(arms=arms, seeds=(0, 1, 2, 3)), tmp_path)
    assert few.lines()[-1] == "warning: 4 seeds are not enough for a word about methods: take 5 at least"
    assert few.document()["smallest_effect"] is None


def test_a_study_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "first.toml"
    path.write_text(
        'tasks = ["countdown:3,4"]\nseeds = 4\nbudget = "tokens=5e5"\ntrials = [0.5, 1]\nexpects = "more entropy"\n'
        '[settings]\n"evaluation.every" = 5\n[arms.grpo]\n'
        '[arms.gentle]\nrecipe = "grpo"\nsettings = {"scale.learning-rate" = 1e-5}\n'
    )
    study = read(path)
    assert list(study.arms) == ["grpo", "gentle"] and study.arms["gentle"].settings == {"scale.learning_rate": "1e-05"}
    assert study.seeds == (0, 1, 2, 3) and study.trials == (0.5, 1.0) and study.expects == "more entropy"
    made = study.experiment(StudyRun("gentle", "countdown:3,4", 2), steps=7)
    assert (made.seed, made.recipe.scale.num_steps, made.recipe.scale.learning_rate) == (2, 7, 1e-5)
    assert made.evaluation.every == 5
    path.write_text(path.read_text().replace("seeds = 4", "seed = 4"))
    with pytest.raises(AssayError, match="seed"):
        read(path)
    path.write_text("arms = 3\n")
    with pytest.raises(DataError, match=r"needs a table \[arms\], or a list recipes"):
        read(path)
    with pytest.raises(DataError, match=r"there is no file .*none\.toml"):
        read(tmp_path / "none.toml")


def test_each_seed_begins_from_a_base_of_its_own(tmp_path: Path) -> None:
    made, plain = with_bases(tmp_path, 3), with_bases(tmp_path, 1)
    models = {run.seed: made.experiment(run, 2).model for run in made.runs()}
    names = ["countdown", "countdown@1", "countdown@2"]
    assert models == dict(enumerate(names * 2))
    assert all(made.experiment(run, 2).seed == run.seed for run in made.runs())
    alike = {run.seed for run in made.runs() if plain.key(run, 2) == made.key(run, 2)}
    assert alike == {0, 3}, "a base is part of the question"
    assert made.experiment(StudyRun("grpo", "countdown:3", TRIAL_SEED, kind="pilot"), 2).model == "countdown"


@pytest.mark.parametrize(
    ("bases", "model", "says"),
    [
        (7, "", "the 6 seeds begin from as many bases at most"),
        (2, "smollm2", "there is one smollm2"),
        (2, "countdown@1", "there is one countdown@1"),
        (0, "", "a number from 1 on, and not 0"),
        ('"all"', "", "a number from 1 on, and not 'all'"),
    ],
)
def test_bases_that_cannot_be_are_refused(bases: object, model: str, says: str, tmp_path: Path) -> None:
    with pytest.raises((UsageError, DataError), match=says):
        with_bases(tmp_path, bases, model)


def with_bases(folder: Path, bases: object, model: str = "") -> Study:
    lines = ['recipes = ["grpo", "dapo"]', 'tasks = ["countdown:3"]', "seeds = 6", 'budget = "steps=2"']
    lines += [f"bases = {bases}", *[f'model = "{model}"'] * bool(model)]
    file = folder / "study.toml"
    file.write_text("\n".join(lines) + "\n")
    return read(file)


def test_a_study_of_a_pretrained_model_is_asked_in_its_words_with_the_exams_of_its_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exam of a base has 65,536 answers in ten seconds; of a model with a hundred million parameters, in an hour."""
    monkeypatch.setattr(plan, "reads_text", lambda model: model == "read")
    monkeypatch.setattr(plan, "wording_for", lambda model: "natural" if model == "read" else "compact")
    monkeypatch.setattr(plan, "choose_profile", lambda model: ("processor", "of this size"))
    file = tmp_path / "small.toml"
    file.write_text('recipes = ["grpo", "rloo"]\ntasks = ["words:1"]\nmodel = "read"\n')
    monkeypatch.setattr(files, "check", lambda study: None)  # there is no such model
    study = read(file)
    assert (study.profile, study.tasks["words:1"].wording) == ("processor", "natural")
    file.write_text('recipes = ["grpo", "rloo"]\ntasks = ["countdown:3"]\n')
    assert (read(file).profile, read(file).tasks["countdown:3"].wording) == ("laptop", "compact")
    arms = {"grpo": Arm("grpo"), "rloo": Arm("rloo")}
    exams = {
        profile: study_of(arms=arms, profile=profile, settings={}).experiment(StudyRun("grpo", TASK, 0), 2).evaluation
        for profile in ("laptop", "processor")
    }
    assert [(of.final_problems, of.final_samples) for of in exams.values()] == [(256, 256), (48, 16)]


CONTROLLED = 'tasks = ["lookup-strict:3"]\nseeds = 2\n[arms.grpo]\n[arms.mute]\nrecipe = "grpo"\ncontrol = "{}"\n'


def test_an_arm_may_be_trained_in_a_control_of_the_task(tmp_path: Path) -> None:
    """Its problems are those of the other arms, so differences are paired by problem; its base is that of the task."""
    path = tmp_path / "controlled.toml"
    path.write_text(CONTROLLED.format("silent"))
    with pytest.raises(UsageError, match="the arms differ in pool"):
        read(path)
    path.write_text('differ = ["pool"]\n' + CONTROLLED.format("silent"))
    study = read(path)
    told, mute = (study.experiment(StudyRun(arm, "lookup-strict:3", 0), steps=2) for arm in study.arms)
    assert [share.task for share in mute.pool.shares] == ["silent:lookup-strict"] and mute.model == told.model
    pairs = [(made.pool.problem(Key(seed)), made.pool) for seed in range(3) for made in (told, mute)]
    assert [one.id for one, _ in pairs[::2]] == [one.id for one, _ in pairs[1::2]]
    path.write_text(CONTROLLED.format("quiet"))
    with pytest.raises(UnknownName, match="no control named 'quiet'"):
        read(path)


@pytest.mark.parametrize("seeds", ["0", '"2"', "true", "1.5"])
def test_the_seeds_of_an_arm_are_a_number(seeds: str, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(f'tasks = ["countdown:3"]\n[arms.grpo]\n[arms.rloo]\nseeds = {seeds}\n')
    with pytest.raises(DataError, match="the arm rloo is run with the first N seeds, seeds = N, and not with"):
        read(file)
    file.write_text('tasks = ["countdown:3"]\nseeds = 4\n[arms.grpo]\n[arms.rloo]\nseeds = 2\n')
    assert read(file).arms["rloo"].seeds == 2
    assert "2 methods x 1 tasks x 4 seeds, rloo with 2 of them = 6 runs" in outlook(read(file), tmp_path).lines()[0]


def test_a_study_in_a_file_says_what_it_expects_and_may_use_files_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "bases.py").write_text(
        "import dataclasses\nfrom assay.run.bases import BASES\n"
        "BASES['of-a-study'] = dataclasses.replace(BASES['countdown'], name='of-a-study')\n"
    )
    path = tmp_path / "own.toml"
    path.write_text(
        'tasks = ["countdown:3+mod-chain-7:2"]\nmodel = "of-a-study"\nuses = ["bases.py"]\nscores = "equal-tokens"\n'
        'notes = ["one"]\n[[expected]]\nmetric = "length/mean"\narm = "grpo"\nagainst = "short"\nmoves = "up"\n'
        '[arms.grpo]\nnote = "as it is"\n[arms.short]\nrecipe = "grpo"\nbudget = "steps=7"\n'
    )
    try:
        study = read(path, Trust.of(code=True))
        assert study.expected == (Expected("length/mean", "grpo", "short", "up"),) and study.scores == "equal-tokens"
        assert str(study.budget_of("short")) == "steps=7" and str(study.budget_of("grpo")) == "steps=100"
        (pool,) = study.tasks.values()
        assert [share.task for share in pool.shares] == ["countdown", "mod-chain-7"]
        assert study.notes == ("one",) and study.arms["grpo"].note == "as it is"
    finally:
        BASES.pop("of-a-study", None)
    path.write_text(path.read_text().replace('moves = "up"', 'moves = "sideways"'))
    with pytest.raises(DataError, match='moves = "up" or "down"'):
        read(path)
    path.write_text(path.read_text().replace('"bases.py"', '"none.py"'))
    with pytest.raises(DataError, match=r"none\.py is no Python file"):
        read(path)


@pytest.mark.slow
def test_all_recipes_that_a_task_can_serve_and_the_reasons_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "all.toml"
    path.write_text(
        'recipes = "all"\ntasks = ["countdown:3,4"]\n'
        'differ = ["scale.temperature", "scale.max_new", "lora", "scale.top_p", "scale.top_k", "scale.min_p"]\n'
    )
    study = read(path)
    assert {"grpo", "dapo", "sft"} <= set(study.arms)
    assert set(study.arms) | set(study.left_out) == set(RECIPES) and not set(study.arms) & set(study.left_out)
    assert all(len(reason) > 20 for reason in study.left_out.values()) and study.left_out
    served = [name for name, recipe in RECIPES.items() if judged_by(recipe)]
    assert all("judge outside of the run" in study.left_out[name] for name in served)
    assert all("posed" in study.left_out[name] for name in POSING)
    assert named("OWN_JUDGE") <= set(study.arms), "the judge is a role of the run"


# The command


@pytest.mark.slow
def test_a_plan_is_shown_before_anything_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shell = Shell(capsys)
    reply = shell("compare", "grpo", "dapo", "--task", TASK, "--seeds", 5, "--into", tmp_path / "s", "--plan", "--json")
    assert reply.code == 0 and reply.document["runs"] == 10 and not (tmp_path / "s").exists()
    reply = shell("compare", "grpo", "dapo", "--seeds", 9, "--budget", "tokens=2e6", "--plan", "--trials", "0.5,1")
    assert "2 methods x 1 tasks x 9 seeds = 18 runs of 2,000,000 tokens each, and 6 more" in reply.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("runs/none", "--seeds", 3), "--seeds is for comparing recipes"),
        (("runs/none", "--scale.temperature", 0.5), "--scale.temperature is for comparing recipes"),
        (("grpo", "grpo"), "grpo is named twice"),
        (("grpo", "dapo", "--trials", "a"), "write factors"),
        (("grpo", "dapo", "--seeds", 1), "nothing can be said of methods"),
        (("grpo", "runs/none"), "runs/none"),
        (("--study", "none.toml", "--seeds", 3), "leave --seeds out"),
        (("--study", "none.toml", "--scale.temperature", 0.5), "leave --scale.temperature out"),
        (("--study", "none.toml", "grpo"), "leave grpo out"),
        (("grpo", "dapo", "--plot", "x.png"), "--plot draws the curves of runs"),
    ],
)
def test_lines_that_cannot_be_meant_are_refused(
    line: tuple[object, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = Shell(capsys)("compare", *line)
    assert reply.code == UsageError.exit_code and message in reply.err


def test_a_sweep_has_an_arm_for_each_point_of_its_grid(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    over = ("--over", "scale.learning-rate=1e-4,2e-4", "--over", "scale.temperature=0.8,1.2,1.4")
    reply = Shell(capsys)("sweep", "grpo", *over, "--task", TASK, "--seeds", 3, "--plan", "--json")
    assert reply.code == 0 and reply.document["runs"] == 7 * 3
    line = parse(["sweep", "grpo", *over, "--task", TASK, "--scale.group-size", "4"])
    study, folder = sweep_of(line)
    assert folder == Path("studies/grpo-learning-rate-temperature") and len(study.arms) == 7
    first, second, *_ = study.arms
    assert first == "grpo" and second == "learning-rate 1e-4, temperature 0.8"
    made = study.experiment(StudyRun(second, TASK, 0), 2).recipe.scale
    assert (made.learning_rate, made.temperature, made.group_size) == (1e-4, 0.8, 4)


@pytest.mark.parametrize("over", [(), ("a",), ("a=",), ("=1",), ("a=1,1",), ("a=1", "a=2")])
def test_a_sweep_over_nothing_is_refused(over: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("sweep", "grpo", *(part for one in over for part in ("--over", one)))
    assert reply.code == UsageError.exit_code and "--over" in reply.err


def test_recipes_and_runs_share_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("compare")
    assert reply.code == UsageError.exit_code and "name" in reply.err
