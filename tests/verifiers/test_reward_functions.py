"""Reward functions of users: what they are given, what they may give back, and what a run makes of it."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from answers import answered, data_row
from small_runs import SIZES, Shell, came_to, make_model, train_line
from sweeps import over

import assay.rng
from assay.cli.main import main
from assay.errors import ConfigError, DataError
from assay.known import RECIPES
from assay.record.folder import RunFolder
from assay.reward import Scored, SoftOverlong
from assay.rng import Key
from assay.run.configure import from_data, to_data
from assay.run.experiment import Experiment
from assay.run.grader import Grader, reward_names_of
from assay.run.own_rewards import scored_by
from assay.tasks import task
from assay.types import Episode, Verdict
from assay.verifiers.functions.calling import TrainerState
from assay.verifiers.functions.grading import Grading
from assay.verifiers.functions.loading import Function, load
from assay.verifiers.functions.naming import RewardName, named, names, parse
from assay.verifiers.functions.process import LONGEST, check_timeout

TALK = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1 + 1?"})


def scorer(*calls: Callable[..., Any], weights: Sequence[float] = (), **settings: Any) -> Grading:
    numbered = zip(calls, weights or [1.0] * len(calls), strict=True)
    functions = tuple(Function(call.__name__, call, weight) for call, weight in numbered)
    return Grading(functions, **settings)


def seen(prompt: Any = "What?", **columns: Any) -> dict[str, Any]:
    """All that a function with **kwargs is given."""
    kept: dict[str, Any] = {}

    def keep(**kwargs: Any) -> list[float]:
        kept.update(kwargs)
        return [1.0] * len(kwargs["prompts"])

    scorer(keep, max_steps=7, step=3)([answered(data_row(1, prompt, **columns), "ab"), answered(data_row(2), "c")])
    return kept


# --- what a function is given -------------------------------------------------------------------------------


def test_text_prompts_come_with_text_answers_and_columns_as_lists() -> None:
    kept = seen(answer="2", source={"page": 3})
    assert kept["prompts"] == ["What?", "What?"] and kept["completions"] == ["ab", "c"]
    assert kept["completion_ids"] == [[1, 2], [1]]
    assert kept["answer"] == ["2", None] and kept["source"] == [{"page": 3}, None]
    assert kept["trainer_state"] == TrainerState(global_step=3, max_steps=7)


def test_conversations_come_as_lists_of_messages() -> None:
    kept = seen(TALK)
    assert kept["prompts"] == [list(TALK), "What?"]
    assert kept["completions"] == [[{"role": "assistant", "content": "ab"}], "c"]


def test_columns_named_like_arguments_do_not_replace_them() -> None:
    columns = dict.fromkeys(("prompts", "completion", "prompt", "trainer_state", "other"), "mine")
    problem = dataclasses.replace(data_row(1), spec={"row": 1, "gold": "2", "columns": columns})
    kept: dict[str, Any] = {}

    def keep(**kwargs: Any) -> list[float]:
        kept.update(kwargs)
        return [1.0]

    scorer(keep)([answered(problem, "x")])
    assert kept["prompts"] == ["What?"] and isinstance(kept["trainer_state"], TrainerState)
    assert "completion" not in kept and "prompt" not in kept and kept["other"] == ["mine"] and kept["gold"] == ["2"]


def test_a_function_is_given_what_its_signature_names() -> None:
    def two(completions: list[str], answer: list[str]) -> list[float]:
        return [float(c == a) for c, a in zip(completions, answer)]

    def defaulted(completions: list[str], nothing: int = 5) -> list[float]:
        return [float(nothing)] * len(completions)

    def none() -> list[float]:
        return [0.25]

    verdict = scorer(two, defaulted, none)([answered(data_row(1, answer="2"), "2")])[0]
    assert verdict.scores == {"two": 1.0, "defaulted": 5.0, "none": 0.25}


def test_objects_partials_and_methods_are_functions() -> None:
    class Judge:
        def __call__(self, completions: list[str]) -> list[float]:
            return [float(len(c)) for c in completions]

        def halved(self, completions: list[str]) -> list[float]:
            return [len(c) / 2 for c in completions]

    def scaled(completions: list[str], factor: float) -> list[float]:
        return [len(c) * factor for c in completions]

    calls = {"object": Judge(), "method": Judge().halved, "partial": functools.partial(scaled, factor=3.0)}
    functions = tuple(Function(name, call) for name, call in calls.items())
    assert Grading(functions)([answered(data_row(1), "ab")])[0].scores == {"object": 2.0, "method": 1.0, "partial": 6.0}


def test_what_one_function_changes_no_other_sees_and_the_problem_keeps() -> None:
    problem = data_row(1, TALK, tests=["a"])

    def spoil(prompts: Any, tests: Any, **_: Any) -> list[float]:
        tests[0].append("b")
        prompts[0].clear()
        return [0.0]

    def count(tests: list[list[str]]) -> list[float]:
        return [float(len(tests[0]))]

    assert scorer(spoil, count)([answered(problem, "x")])[0].scores == {"spoil": 0.0, "count": 1.0}
    assert problem.spec["columns"]["tests"] == ["a"] and problem.prompt == TALK


def test_of_a_task_its_specification_and_a_right_answer_are_columns() -> None:
    from assay.tasks import task

    problem = task("countdown").problem(assay.rng.Key("columns"), level=3)
    kept: dict[str, Any] = {}

    def keep(**kwargs: Any) -> list[float]:
        kept.update(kwargs)
        return [0.0]

    scorer(keep)([answered(problem, "1")])
    assert {name: kept[name] for name in problem.spec} == {name: [value] for name, value in problem.spec.items()}
    assert kept["task"] == ["countdown"] and kept["level"] == [3] and kept["solution"] == [problem.solution]
    assert task("countdown").verify(problem, kept["answer"][0]).status == "ok"


# --- what it gives back -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (1, 1.0),
        (True, 1.0),
        (False, 0.0),
        (0.25, 0.25),
        (Fraction(1, 4), 0.25),
        (np.float32(0.5), 0.5),
        (np.int64(-3), -3.0),
        (np.bool_(True), 1.0),
        (np.array(0.5), 0.5),
        (torch.tensor(0.5), 0.5),
        (torch.tensor(2), 2.0),
        (None, None),
    ],
)
def test_numbers_of_any_library_are_numbers(value: Any, score: float | None) -> None:
    def give(completions: Any) -> list[Any]:
        return [value]

    def other(completions: Any) -> list[float]:
        return [0.0]

    assert scorer(give, other)([answered(data_row(1), "x")])[0].scores["give"] == score


@pytest.mark.parametrize(
    "kind",
    [list, tuple, np.array, torch.tensor, lambda v: torch.tensor(v, requires_grad=True) * 1],
)
def test_arrays_of_the_right_length_are_lists(kind: Callable[[list[float]], Any]) -> None:
    def give(completions: Any) -> Any:
        return kind([0.5, 2.0])

    episodes = [answered(data_row(1), "x"), answered(data_row(2), "y")]
    assert [v.scores["give"] for v in scorer(give)(episodes)] == [0.5, 2.0]


def right(completions: list[str], answer: list[str]) -> list[float]:
    return [float(c == a) for c, a in zip(completions, answer)]


def brief(completions: list[str]) -> list[float | None]:
    return [None if not c else 1 / len(c) for c in completions]


@pytest.mark.parametrize(
    ("text", "total", "status"), [("12", 1.25, "ok"), ("1234", 0.125, "fail"), ("", 0.0, "fail"), ("9", 0.5, "fail")]
)
def test_right_is_what_reaches_the_weighted_sum(text: str, total: float, status: str) -> None:
    """1.0 * [text = 12] + 0.5 / length, the second left out of an empty answer."""
    judge = scorer(right, brief, weights=[1.0, 0.5])
    (verdict,) = judge([answered(data_row(1, answer="12"), text)])
    assert verdict.status == status
    assert sum(w * (verdict.scores[n] or 0) for n, w in (("right", 1.0), ("brief", 0.5))) == total
    judge.right_from = total
    assert judge([answered(data_row(1, answer="12"), text)])[0].status == "ok"


def test_weights_that_sum_to_one_but_for_rounding_are_enough() -> None:
    calls = [lambda completions: [1.0] for _ in range(3)]
    functions = tuple(Function(f"f{i}", call, w) for i, (call, w) in enumerate(zip(calls, (0.7, 0.2, 0.1))))
    assert 0.7 + 0.2 + 0.1 < 1
    assert Grading(functions)([answered(data_row(1), "x")])[0].status == "ok"


def test_a_truncated_answer_keeps_its_scores_and_is_not_right() -> None:
    (verdict,) = scorer(right)([answered(data_row(1, answer="12"), "12", finish="length")])
    assert (verdict.status, verdict.kind, verdict.scores) == ("fail", "truncated", {"right": 1.0})


def test_an_answer_about_which_nobody_says_anything_has_no_reward_and_is_told_once() -> None:
    said: list[str] = []
    judge = scorer(brief, warn=said.append)
    for _ in range(2):
        silent, spoken = judge([answered(data_row(3), ""), answered(data_row(4), "x")])
        assert (silent.status, silent.kind) == ("invalid", "no_reward") and spoken.scores == {"brief": 1.0}
    assert len(said) == 1 and "None for 1 of 2 answers" in said[0] and "line 3 of rows.jsonl" in said[0]


def test_an_answer_that_the_sampler_failed_is_shown_to_nobody() -> None:
    lengths: list[int] = []

    def count(completions: list[str]) -> list[float]:
        lengths.append(len(completions))
        return [1.0] * len(completions)

    spoilt, whole = scorer(count)([answered(data_row(1), "", finish="error"), answered(data_row(2), "x")])
    assert (spoilt.status, spoilt.kind, whole.status, lengths) == ("invalid", "generation", "ok", [1])
    assert scorer(count)([]) == [] and lengths == [1]


# --- functions that wait ------------------------------------------------------------------------------------


def test_functions_that_wait_wait_together_in_one_loop_that_lasts() -> None:
    """Each waits until the other has begun: one after the other they would wait for ever."""
    loops: list[Any] = []
    here, there = asyncio.Event(), asyncio.Event()

    async def one(completions: list[str]) -> list[float]:
        here.set()
        await there.wait()
        loops.append(asyncio.get_running_loop())
        return [1.0] * len(completions)

    async def two(completions: list[str]) -> list[float]:
        there.set()
        await here.wait()
        loops.append(asyncio.get_running_loop())
        return [2.0] * len(completions)

    def three(completions: list[str]) -> list[float]:
        return [3.0] * len(completions)

    with scorer(one, three, two) as judge:
        for _ in range(2):
            found = judge([answered(data_row(1), "x")])[0].scores
            assert list(found.items()) == [("one", 1.0), ("three", 3.0), ("two", 2.0)]
    assert len(set(map(id, loops))) == 1 and loops[0].is_closed()


def test_functions_that_wait_work_inside_a_running_loop() -> None:
    """As in a notebook."""

    async def slow(completions: list[str]) -> list[float]:
        await asyncio.sleep(0)
        return [1.0] * len(completions)

    async def notebook() -> Verdict:
        with scorer(slow) as judge:
            return judge([answered(data_row(1), "x")])[0]

    assert asyncio.run(notebook()).status == "ok"


def test_a_function_that_waits_and_fails_is_named_and_the_others_are_dropped() -> None:
    async def fails(completions: list[str]) -> list[float]:
        raise LookupError("no judge")

    async def waits(completions: list[str]) -> list[float]:
        await asyncio.Event().wait()
        return []

    with scorer(waits, fails) as judge, pytest.raises(DataError, match=r"'fails' .*raised LookupError: no judge"):
        judge([answered(data_row(1), "x")])


def test_what_a_function_logs_and_how_long_it_took_are_measured() -> None:
    def logs(completions: list[str], log_metric: Any, log_extra: Any) -> list[float]:
        log_metric("share", len(completions))
        log_extra("notes", ["a"])
        return [1.0] * len(completions)

    said: list[str] = []
    judge = scorer(logs, warn=said.append)
    judge([answered(data_row(1), "x")])
    judge([answered(data_row(1), "x")] * 2)
    stats = judge.taken()
    assert stats["reward/logged/share"] == 1.5 and stats["time/reward/logs"] >= 0
    assert judge.taken() == {} and len(said) == 1 and "log_extra('notes'" in said[0]


# --- names --------------------------------------------------------------------------------------------------


def test_the_parts_of_a_name() -> None:
    assert parse("pkg.mod:f") == RewardName("pkg.mod", "f", 1.0)
    assert parse("/a=b/my.py:Judge.score=-0.5") == RewardName("/a=b/my.py", "Judge.score", -0.5)
    assert parse(str(RewardName("/a/my.py", "f", 0.1))) == RewardName("/a/my.py", "f", 0.1)
    assert Path(parse("my.py:f").place) == Path.cwd() / "my.py"


def test_functions_of_one_name_are_told_apart_and_metrics_are_not_hidden() -> None:
    wishes = [
        RewardName("/a/one.py", "f"),
        RewardName("/a/two.py", "f"),
        RewardName("/a/two.py", "g"),
        RewardName("/a/two.py", "mean"),
    ]
    assert names(wishes) == ("one.f", "two.f", "g", "two.mean")


FILE = """
from beside import FACTOR

class Judge:
    def __call__(self, completions):
        return [FACTOR * len(c) for c in completions]

    @staticmethod
    def still(completions):
        return [0.5] * len(completions)

ready = Judge()

def plain(completions):
    return [1.0] * len(completions)
"""


@pytest.mark.slow
def test_files_give_functions_classes_objects_and_what_is_inside_them(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("FACTOR = 2.0\n")
    path = tmp_path / "my rewards.py"
    path.write_text(FILE)
    functions = load([parse(f"{path}:{name}") for name in ("Judge", "ready", "plain", "Judge.still")])
    found = Grading(functions)([answered(data_row(1), "abc")])[0].scores
    assert found == {"Judge": 6.0, "ready": 6.0, "plain": 1.0, "still": 0.5}
    assert len({function.digest for function in functions}) == 1


@pytest.mark.slow
def test_modules_of_the_path_and_of_the_folder_give_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "house_rewards.py").write_text("def f(completions):\n    return [1.0] * len(completions)\n")
    functions = load([parse("house_rewards:f")])
    assert "house_rewards" not in sys.modules and functions[0].digest
    with Grading(functions) as judge:
        assert judge([answered(data_row(1), "x")])[0].scores == {"f": 1.0}


GUARDED = "import os\nLIMIT = 3\n\ndef f(completions):\n    return [1.0]\n\nif __name__ == '__main__':\n    boom()\n"
BARE = "def f(completions):\n    return [1.0]\n\nboom()\n"


@pytest.mark.parametrize(("text", "found"), [(GUARDED, True), (BARE, False)])
def test_a_program_is_loaded_again_only_if_that_does_not_run_it(
    text: str, found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    exec("def f(completions):\n    return [1.0]\n", main.__dict__)
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert named(main.f) == RewardName(str(path) if found else "<python>", "f")


def test_what_has_no_name_of_its_own_has_no_file() -> None:
    def inner(completions: list[str]) -> list[float]:
        return [1.0]

    assert named(right) == RewardName(str(Path(__file__)), "right")
    for call in (inner, lambda completions: [1.0], functools.partial(right, answer=["1"]), Verdict("ok").ok):
        assert named(call).place == "<python>" or "." in named(call).function
    rewards, given = reward_names_of([right, inner], [1.0, 0.5])
    assert rewards[0].endswith(":right") and rewards[1].startswith("<python>:") and rewards[1].endswith("=0.5")
    assert set(given.values()) == {right, inner}


# --- in a recipe --------------------------------------------------------------------------------------------


def outcomes(recipe: Any) -> Iterator[tuple[Any, ...]]:
    mechanisms = [recipe.mechanism, *(stage.mechanism for stage in recipe.stages if stage.mechanism)]
    for mechanism in mechanisms:
        yield mechanism.reward
        yield from (rule.reward for rule in mechanism.rules if rule.verified)


@pytest.mark.slow
@over(sorted(RECIPES))
def test_functions_take_the_place_of_the_outcome_in_every_recipe(name: str) -> None:
    recipe = scored_by(RECIPES[name], ["/a/my.py:f", "/a/my.py:g=0.5"])
    before, after = list(outcomes(RECIPES[name])), list(outcomes(recipe))
    for was, now in zip(before, after, strict=True):
        if any(part.outcome for part in was):
            assert now[:2] == (Scored("f", 1.0), Scored("g", 0.5))
            assert [p for p in now if isinstance(p, SoftOverlong)] == [p for p in was if isinstance(p, SoftOverlong)]
        assert not any(part.outcome for part in now)
    assert from_data(type(recipe), to_data(recipe)) == recipe


# --- in a run -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


CHECKER = """
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import task
from assay.types import Problem


def checker(prompts, completions, numbers, target, level, **kwargs):
    known = task("countdown")
    scores = []
    for prompt, completion, given, goal, depth in zip(prompts, completions, numbers, target, level):
        spec = {"numbers": given, "target": goal}
        verdict = known.verify(Problem("countdown", prompt, spec, known.generator.canonical(spec), depth), completion)
        scores.append(float(verdict.status == "ok"))
    return scores


async def length(completion_ids, log_metric):
    log_metric("longest", max(map(len, completion_ids)))
    return [len(ids) / 8 for ids in completion_ids]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rewards.py"
    path.write_text(CHECKER)
    return path


@pytest.mark.slow
def test_a_function_that_says_what_the_checker_says_trains_the_same_weights(
    model: Path, file: Path, tmp_path: Path
) -> None:
    assert main([*train_line(model, tmp_path / "plain"), "--quiet"]) == 0
    assert main([*train_line(model, tmp_path / "own"), "--quiet", "--reward", f"{file}:checker"]) == 0
    plain, own = came_to(tmp_path / "plain"), came_to(tmp_path / "own")
    assert {n: b for n, b in plain[1].items() if "safetensors" in n} == {
        n: b for n, b in own[1].items() if "safetensors" in n
    }
    for mine, theirs in zip(own[2], plain[2], strict=True):
        assert mine.pop("reward/checker/mean") == theirs["reward/mean"]
        assert mine == theirs


@pytest.mark.slow
def test_several_functions_with_weights_are_measured_scored_and_resumed(
    model: Path, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """reward = 2 * checker + 0.5 * length; a changed file is run only if it is trusted."""
    run, shell = tmp_path / "run", Shell(capsys)
    arguments = ["--reward", f"{file}:checker=2", "--reward", f"{file}:length=0.5", "--right-from", "0.1", "--quiet"]
    assert shell(*train_line(model, run), *arguments).code == 0
    folder = RunFolder.read_only(run)
    for record in folder.read("metrics"):
        total = 2 * record["reward/checker/mean"] + 0.5 * record["reward/length/mean"]
        assert record["reward/mean"] == pytest.approx(total)
        assert record["reward/length"] == pytest.approx(0.5 * record["reward/length/mean"])
        assert record["reward/logged/longest"] >= 1 and record["time/reward"] >= record["time/reward/length"]
    scores = folder.read("evals")[0]["scores"]
    assert scores["length"]["mean"] > 0 and scores["checker"]["mean"] >= 0
    assert set(folder.document["rewards"]) == {"checker", "length"}
    experiment = from_data(Experiment, folder.document["experiment"])
    assert experiment.rewards == (f"{file}:checker=2.0", f"{file}:length=0.5") and experiment.right_from == 0.1
    assert "has changed" not in shell("resume", run, "--steps", 5, "--quiet").err
    file.write_text(CHECKER + "\n# another version\n")
    assert shell("resume", run, "--steps", 6, "--quiet").code == 78
    reply = shell("resume", run, "--steps", 6, "--quiet", "--trust-code")
    assert reply.code == 0 and "the source of the reward function 'length' has changed" in reply.err
    found = shell("eval", run, "--task", "countdown:3", "--reward", f"{file}:length", "--n", 2, "--problems", 2)
    assert found.code == 0 and "mean length" in found.out


def test_an_exam_asks_the_checker_of_the_task_whatever_reward_trains() -> None:
    """A reward that pays for every answer makes none of them right; rows of files have no other judge than it."""
    task_problem = task("countdown").problem(Key(0), level=3)
    right = task("countdown").wordings.solve(task_problem.spec).answer
    asked = [answered(task_problem, right), answered(task_problem, "1"), answered(data_row(1), "1")]
    paid = Function("paid", lambda prompts, completions: [1.0] * len(completions))
    with Grader(Grading((paid,))) as judge:
        assert [verdict and verdict.status for verdict in judge(asked)] == ["ok", "ok", "ok"]
        examined = judge.exam(asked)
    assert [verdict and verdict.status for verdict in examined] == ["ok", "fail", "ok"]
    assert [verdict and verdict.scores for verdict in examined] == [{"paid": 1.0}] * 3


@pytest.mark.slow
def test_a_function_of_a_program_trains_and_is_asked_for_again(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run stopped after two steps and resumed with the same function comes to what it comes to without a stop."""

    def short(completions: list[str], **_: Any) -> list[float]:
        return [1 / (1 + len(c)) for c in completions]

    sizes = SIZES | {"evaluation.every": 0, "scale.schedule": "constant", "scale.warmup_steps": 0}
    settings = {name.replace("-", "_"): value for name, value in sizes.items()}
    common = {"task": "countdown", "levels": (3,), "model": str(model), "quiet": True, "settings": settings}
    assay.train("grpo", run=tmp_path / "whole", steps=4, reward=short, **common)
    assay.train("grpo", run=tmp_path / "parts", steps=2, reward=short, **common)
    refused = Shell(capsys)("resume", tmp_path / "parts", "--steps", 4, "--json")
    assert refused.code == 78 and "assay.resume(RUN, reward=FUNCTION)" in refused.document["message"]
    assay.resume(tmp_path / "parts", steps=4, quiet=True, reward=short)
    whole, parts = came_to(tmp_path / "whole"), came_to(tmp_path / "parts")
    assert whole[1] == parts[1] and whole[2] == parts[2]
    assert json.loads((tmp_path / "whole" / "run.json").read_text())["experiment"]["rewards"][0].startswith("<python>")


def test_a_run_says_which_function_it_waits_for() -> None:
    from assay.run.grader import Grader

    judge = Grader(scorer(right))
    assert judge.slow({"time/step": 10.0, "time/reward/right": 5.0}) is None
    said = judge.slow({"time/step": 10.0, "time/reward/right": 5.5})
    assert said is not None and "'right'" in said and "55%" in said
    assert judge.slow({"time/step": 10.0, "time/reward/right": 9.0}) is None  # told once


def test_an_episode_without_a_verdict_has_no_score() -> None:
    from assay.reward.scored import scored

    episode: Episode = answered(data_row(1), "x")
    assert scored([episode], name="f", weight=1.0, cut="wrong") == [None]


@pytest.mark.parametrize("seconds", [0.001, 1.0, LONGEST])
def test_a_time_limit_that_can_be_kept_is_taken(seconds: float) -> None:
    check_timeout(seconds)
    for wrong in (0.0, -1.0, LONGEST * 1.01, float("nan")):
        with pytest.raises(ConfigError, match="--reward-timeout"):
            check_timeout(wrong)
