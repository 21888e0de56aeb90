"""What is sampled, examined and kept of a task whose world replies: turns, errors, limits and refusals."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_runs import Shell, make_model
from solving import LOGP, SLIP, Solving

import assay
from assay.errors import DataError, UsageError
from assay.lab import bank_sampling, playing
from assay.lab import sample as sampling
from assay.lab.bank_scores import reader, score
from assay.lab.judged_banks import show
from assay.policy import load_policy
from assay.rng import Key
from assay.scoring.samples import SampleBank
from assay.source import FEWEST, Pool, Share
from assay.tasks import TASKS, task

TASK = "calculator"
ERROR = "!"  # what the calculator replies to a call that makes no sense


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture
def solving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are read as they are, and write worked solutions; every second answer with a slip."""

    def opened(model: str, *, system: str | None = None, **_: Any) -> tuple[Any, Solving]:
        policy = load_policy(Path(model))
        return policy, Solving(policy.codec)

    for module in (playing, sampling, bank_sampling):
        monkeypatch.setattr(module, "open_engine", opened)


def test_a_problem_is_answered_in_turns(model: Path, solving: None) -> None:
    found = assay.sample(model, task=TASK, n=2, max_new=64)
    first, second = found["answers"]
    turns = [(turn["author"], turn["text"], turn["failed"]) for turn in first["turns"]]
    assert "".join(text for _, text, _ in turns) == first["text"] and first["verdict"]["status"] == "ok"
    assert [author for author, *_ in turns] == ["policy", "world"] * (len(turns) // 2) + ["policy"]
    slip = [(turn["author"], turn["text"], turn["failed"]) for turn in second["turns"]]
    assert slip[:2] == [("policy", SLIP, False), ("world", ERROR, True)] and slip[2:] == turns
    own = sum(turn["tokens"] for turn in first["turns"] if turn["author"] == "policy")
    assert first["logp"] == pytest.approx(LOGP * own), "of what the model wrote, and not of replies"
    assert found["task"] == TASK and str(found).count("an error of the policy") == 1


def test_another_problem_of_the_exam_is_asked_by_its_number(model: Path, solving: None) -> None:
    first, third = (assay.sample(model, task=TASK, problem=number, max_new=64) for number in (1, 3))
    assert first["problem"] != third["problem"]
    bank = assay.bank(model, task=TASK, problems=3, n=1, max_new=64, into=model.parent / "three.parquet", quiet=True)
    assert [row["problem"] for row in bank.answers()][::2] == [first["problem"], third["problem"]]


def test_the_command_line_shows_and_gives_the_same(model: Path, solving: None, capsys: Any) -> None:
    shell = Shell(capsys)
    line = ("sample", model, "--task", TASK, "--n", 2, "--max-new", 64)
    shown, given = shell(*line), json.loads(shell(*line, "--json").out)
    assert shown.code == 0 and f"reply       {ERROR}   [an error of the policy]" in shown.out
    assert given == dict(assay.sample(model, task=TASK, n=2, max_new=64))


def test_a_task_without_a_world_is_sampled_with_its_verdict(model: Path) -> None:
    (one,) = assay.sample(model, task="countdown:3", max_new=8)["answers"]
    assert "turns" not in one and one["verdict"]["status"] in ("ok", "fail") and one["tokens"] <= 8


def test_a_walk_is_told_step_by_step(tmp_path: Path) -> None:
    run = assay.train("reinforce", task="chain:5", steps=1, run=tmp_path / "run", quiet=True, scale={"num_prompts": 2})
    (one,) = assay.sample(run, task="chain:5")["answers"]
    assert len(one["steps"]) == one["tokens"] and all(len(step["seen"]) == 5 for step in one["steps"])
    assert set(one["steps"][0]) == {"seen", "action", "earned"} and "turns" not in one
    with pytest.raises(UsageError, match="nobody replies to a typed text, and the world of chain-5"):
        run.sample("chain 5 from 3")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda model: assay.sample("calculator", "E 1+2"), "--task calculator` plays one of them"),
        (lambda model: assay.sample(model), "either a prompt is asked, or with task="),
        (lambda model: assay.sample(model, "E 1+2", task=TASK), "either a prompt is asked, or with task="),
        (lambda model: assay.sample(model, task=TASK, problem=0), "--problem must be at least 1, not 1 and 0"),
    ],
)
def test_what_cannot_be_asked_is_refused(model: Path, call: Callable[[Path], Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        call(model)
    assert says in str(caught.value)


def test_a_prompt_and_a_number_of_a_problem_are_refused(model: Path, capsys: Any) -> None:
    shell = Shell(capsys)
    for line, says in (
        ((), "what is asked is missing: PROMPT, or --task NAME"),
        (("1+1", "--problem", 2), "--problem counts the problems of a --task"),
        (("1+1", "--task", TASK), "a PROMPT and --task were given"),
    ):
        reply = shell("sample", model, *line)
        assert reply.code == 2 and says in reply.err


def test_an_exam_says_how_many_turns_and_errors_there_were(model: Path, solving: None) -> None:
    """Of two answers to each problem one has a slip: a call and a reply more than the solution."""
    found = assay.evaluate(model, task=TASK, problems=4, n=2, max_new=64)
    calls = [problem.solution.count("[") for problem in problems(4)]
    plain, replies = sum(calls) / 4, sum(calls) / 4 + 0.5
    assert found["plays"] == {
        "answers": 8,
        "faults": 0,
        "turns": pytest.approx(plain + 1.5),
        "replies": pytest.approx(replies),
        "failed": pytest.approx(0.5 / replies),
    }
    line = f"an answer has {plain + 1.5:.2f} turns and {replies:.2f} replies; {0.5 / replies:.1%} of the replies tell"
    assert line in str(found) and found["pass"]["1"]["mean"] == 1.0
    assert "plays" not in assay.evaluate(model, task="countdown:3", problems=2, n=1, max_new=4)


def problems(count: int) -> list[Any]:
    return Pool((Share.parse(TASK),)).held_out(Key("exam", "test"), count, "test", least=FEWEST)


def broken(act: Any) -> Any:
    raise RuntimeError("the page is gone")


def test_a_world_that_always_fails_is_named_and_no_verifier(
    model: Path, solving: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calculator = task(TASK)
    assert calculator.world is not None
    start = calculator.world.start

    def breaking(spec: Any, key: Any) -> Any:
        play = start(spec, key)
        play.step = broken
        return play

    world = dataclasses.replace(calculator.world, start=breaking)
    monkeypatch.setitem(TASKS, TASK, dataclasses.replace(calculator, world=world))
    with pytest.raises(assay.AssayError, match="the world of 'calculator' failed in all 4 answers") as caught:
        assay.evaluate(model, task=TASK, problems=2, n=2, max_new=64)
    assert "the page is gone" in str(caught.value)


def test_a_bank_keeps_turns_and_tells_of_them(model: Path, solving: None, tmp_path: Path) -> None:
    bank = assay.bank(model, task=TASK, problems=4, n=2, max_new=64, into=tmp_path / "turns.parquet", quiet=True)
    exam = assay.evaluate(model, task=TASK, problems=4, n=2, max_new=64)
    shown = bank.show()
    assert shown["plays"] == exam["plays"] and "an answer has" in str(shown)
    for row in bank.answers():
        assert "".join(turn["text"] for turn in row["turns"]) == row["text"]
        assert sum(turn["tokens"] for turn in row["turns"]) == row["tokens"]
    again = SampleBank.read(tmp_path / "turns.parquet")
    again.write(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "turns.parquet").read_bytes()


def test_a_bank_without_turns_is_a_file_that_earlier_versions_read(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "plain.parquet"
    bank = assay.bank(model, task="countdown:3", problems=2, n=2, max_new=4, into=path, quiet=True)
    file = pq.read_table(path)
    assert "turns" not in file.column_names and json.loads(file.schema.metadata[b"assay.bank"])["format"] == 1
    assert "plays" not in bank.show() and SampleBank.read(path).table["turns"].null_count == 4


def test_own_words_are_scored_and_replies_are_not(model: Path, solving: None, tmp_path: Path) -> None:
    path = tmp_path / "bank.parquet"
    assay.bank(model, task=TASK, problems=2, n=2, max_new=64, into=path, quiet=True)
    bank = SampleBank.read(path)
    found = score(bank, reader(str(model), ""), tmp_path / "scores.parquet")
    rows = pq.read_table(tmp_path / "scores.parquet").to_pylist()
    for row, scored in zip(bank.table.to_pylist(), rows, strict=True):
        own = [turn["author"] == "policy" for turn in row["turns"] for _ in range(turn["tokens"])]
        assert len(scored["nll"]) == len(own) and not all(own)
        mine = sum(value for value, chosen in zip(scored["nll"], own, strict=True) if chosen)
        assert scored["nll_sum"] == pytest.approx(mine, rel=2e-3), "single values are kept in half precision"
    assert found["all"]["tokens"] == sum(
        turn["tokens"] for row in bank.table.to_pylist() for turn in row["turns"] if turn["author"] == "policy"
    )


def test_answers_under_several_contexts_are_not_scored_as_one(model: Path, solving: None, tmp_path: Path) -> None:
    path = tmp_path / "bank.parquet"
    assay.bank(model, task=TASK, problems=1, n=1, max_new=64, into=path, quiet=True)
    bank = SampleBank.read(path)
    rows = bank.table.to_pylist()
    rows[0]["turns"][-1]["reads"] = "something else"
    replaced = SampleBank(bank.asked, pa.Table.from_pylist(rows, schema=bank.table.schema))
    with pytest.raises(DataError, match="the world replaced what was read"):
        score(replaced, reader(str(model), ""), tmp_path / "scores.parquet")
    assert show(replaced, [])[0]["plays"]["faults"] == 0


def test_the_model_of_a_run_is_replied_to_as_in_the_run(tmp_path: Path, model: Path) -> None:
    scale = {"max_replies": 9, "longest_reply": 3, "max_new": 12, "num_prompts": 2, "group_size": 2}
    small: dict[str, Any] = {"scale": scale, "evaluation": {"final_problems": 2, "final_samples": 1, "every": 0}}
    heard: list[Any] = []
    watch = {"callbacks": [Watching(heard)], "quiet": True}
    run = assay.train("grpo", task=TASK, model=model, steps=1, run=tmp_path / "run", **watch, **small)
    made = sampling.sampling_of(str(run.path), load_policy(run.model).codec, 12, 1.0)
    assert (made.max_replies, made.longest_reply) == (9, 3)
    plain = sampling.sampling_of(str(model), load_policy(model).codec, 12, 1.0)
    assert (plain.max_replies, plain.longest_reply) == (0, 0)
    told = run.rollouts()
    assert told[0]["turns"][0]["author"] == "policy" and told[0]["play"].endswith("#0")
    assert "plays/turns" in run.evaluations()[0]
    assert [dict(turn) for turn in heard[0].turns] == told[0]["turns"] and heard[0].seat == "policy"


@dataclasses.dataclass
class Watching:
    """A callback that keeps the answers of a step."""

    heard: list[Any]

    def on_episodes(self, event: assay.EpisodesEvent) -> None:
        self.heard += event.answers
