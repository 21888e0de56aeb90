"""How a pretrained model is asked and judged: profile, wording, examples, plain text, stop texts, and answers that the
length limit cut off.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf_files import model as gguf_model
from hub_cache import any_text_model, pretend_hub
from hypothesis import given
from hypothesis import strategies as st
from small_runs import SIZES, Shell, make_model, train_line
from tiny import Letters, episode

from assay.ask import Sampling
from assay.collect.turns import generate
from assay.curate import WholeAnswers
from assay.engine.interface import Generation
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.lab import demo
from assay.models import Models
from assay.part import bind
from assay.policy.conversation import Chat, opened, plain, resolved, stored
from assay.policy.tokenizer import load_tokenizer
from assay.reward import Scored
from assay.rng import Key
from assay.run import pretrained, pretrained_needs, session
from assay.run.experiment import Experiment
from assay.run.forecast import forecast
from assay.run.grader import Grader
from assay.run.memory_plan import choose_profile
from assay.run.named_model import locate
from assay.run.pretrained_needs import answer_tokens, reads_text, wording_for
from assay.run.worked_examples import with_examples, worked
from assay.scoring.bank import questions
from assay.source import Pool, Share
from assay.types import Problem, Request, Segment, Verdict

POOL = Pool((Share("countdown", (3,)),), wording="natural")
EXAMPLES = json.dumps([["1+1", "2"], ["2+2", "4"]])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "cache_folder", lambda: tmp_path / "cache")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return gguf_model().having(llama__context_length=("u32", 2048)).write(tmp_path / "tiny.gguf")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def planned(model: str, **changes: Any) -> tuple[Experiment, list[str]]:
    return session.plan(RECIPES["dr-grpo"], model=model, pool=POOL, **changes)


# --- which models read text, and what that means -----------------------------------------------------------------


def test_models_of_others_read_text_and_ours_read_characters(file: Path, tmp_path: Path) -> None:
    ours = make_model(tmp_path / "ours")
    known = {"countdown": False, str(ours): False, str(file): True, "owner/model": True}
    assert {model: reads_text(model) for model in known} == known
    assert [wording_for(model) for model in (None, "countdown", str(file))] == ["compact", "compact", "natural"]


def test_the_profile_for_a_processor_sets_what_was_not_asked() -> None:
    experiment, lines = planned("owner/model", profile="processor", overrides={"evaluation.every": "5", "lora.rank": 4})
    scale, plan = experiment.recipe.scale, experiment.evaluation
    assert (scale.num_prompts, scale.group_size, scale.num_steps, scale.temperature) == (8, 8, 40, 0.7)
    assert scale.learning_rate == 3e-4 and scale.schedule == "constant"
    assert (plan.every, plan.final_problems, plan.final_samples, plan.temperature) == (5, 48, 16, 0.7)
    assert experiment.lora.rank == 4 and experiment.machine.micro_tokens == 1024
    said = "\n".join(lines)
    assert "evaluation.final_problems: 256 -> 48" in said and "evaluation.every" not in said and "lora.rank" not in said
    whole = planned("owner/model", profile="processor", overrides={"lora.rank": 0})[0]
    assert whole.lora.rank == 0 and whole.recipe.scale.learning_rate == 3e-5


def test_an_answer_has_room_for_a_sentence_around_the_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(solution: str | None) -> Any:
        return lambda pool, count: [Problem("countdown", "?", {}, "?", solution=solution)]

    # 24 + characters / 3, and up to the next multiple of eight
    for solution, tokens in (("a" * 9, 32), ("a" * 72, 48), ("a" * 75, 56), (None, 256)):
        monkeypatch.setattr(pretrained_needs, "probed", of(solution))
        assert answer_tokens(POOL) == tokens


# --- examples, plain text and the ends of answers ----------------------------------------------------------------


def test_examples_stand_between_the_system_message_and_the_question() -> None:
    chat = Chat(system="Be brief.", examples=EXAMPLES)
    roles = [(one["role"], one["content"]) for one in opened(chat, [{"role": "user", "content": "3+3"}])]
    shown = [("user", "1+1"), ("assistant", "2"), ("user", "2+2"), ("assistant", "4")]
    assert roles == [("system", "Be brief."), *shown, ("user", "3+3")]
    own = [{"role": "system", "content": "Be long."}, {"role": "user", "content": "3+3"}]
    assert [one["content"] for one in opened(chat, own)] == ["Be long.", "1+1", "2", "2+2", "4", "3+3"]


def test_a_prompt_as_plain_text() -> None:
    asked = [{"role": "user", "content": "3+3"}]
    assert plain(Chat(template="none"), asked) == "3+3"
    assert plain(Chat(template="none", system="Sums."), asked) == "Sums.\n\n3+3"
    marked = Chat(template="none", examples=json.dumps([["1+1", "Answer: 2"]]))
    assert plain(marked, asked) == "Question: 1+1\nAnswer: 2\n\nQuestion: 3+3\nAnswer:"
    shown = "Question: 1+1\nAnswer: 2\n\nQuestion: 2+2\nAnswer: 4\n\nQuestion: 3+3\nAnswer:"
    assert plain(Chat(template="none", examples=EXAMPLES), asked) == shown
    assert plain(Chat(template="none", system="Sums.", examples=EXAMPLES), asked) == f"Sums.\n\n{shown}"


def test_a_tokenizer_renders_them_and_keeps_them_with_the_model(file: Path, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(Path(locate(str(file))))
    chat = Chat(template="none", examples=EXAMPLES, stop=("\\n", "Q:"), shots=2)
    speaking = tokenizer.speaking(chat)
    text = "Question: 1+1\nAnswer: 2\n\nQuestion: 2+2\nAnswer: 4\n\nQuestion: 3+3\nAnswer:"
    assert tokenizer.decode(speaking.render("3+3")) == text and speaking.stops == ("\n", "Q:")
    for name, content in speaking.files.items():
        (tmp_path / name).write_bytes(content)
    again = load_tokenizer(tmp_path)
    assert again.chat == resolved(chat) and again.render("3+3").tolist() == speaking.render("3+3").tolist()
    in_turns = tokenizer.speaking(Chat(examples=EXAMPLES)).render("3+3")
    said = [{"role": r, "content": c} for r, c in (("user", "1+1"), ("assistant", "2"), ("user", "2+2"))]
    want = tokenizer.render([*said, {"role": "assistant", "content": "4"}, {"role": "user", "content": "3+3"}])
    assert in_turns.tolist() == want.tolist()


def test_shots_are_problems_of_training_with_their_solutions_alike_for_every_seed() -> None:
    chat = with_examples(Chat(shots=3), POOL)
    assert chat == with_examples(Chat(shots=3), POOL) and len(dict(chat.worked)) == 3 and chat.stop == ()
    training = {POOL.problem(Key("shots")(i)).prompt: POOL.problem(Key("shots")(i)).solution for i in range(50)}
    assert all(training[question] == answer for question, answer in chat.worked)
    assert with_examples(Chat(shots=3, template="none"), POOL).stop == ("\n",)  # each of these solutions is one line
    longer = Pool((Share("mod-chain", (2,)),), wording="natural")
    assert with_examples(Chat(shots=3, template="none"), longer).stop == ("\n\n",)
    assert with_examples(Chat(shots=3, template="none", stop=("#",)), POOL).stop == ("#",)
    assert with_examples(Chat(shots=3, examples=EXAMPLES), POOL).examples == EXAMPLES
    first, second = (planned("owner/model", seed=seed, overrides={"chat.shots": 2})[0].chat for seed in (0, 1))
    assert first == second and len(first.worked) == 2


def test_an_exam_with_examples_shows_those_of_the_question_s_own_kind(file: Path) -> None:
    tokenizer = load_tokenizer(Path(locate(str(file))))
    pool = Pool((Share("words", (1, 2)), Share("times", (1,))), wording="natural")
    problems = pool.held_out(Key("exam"), 12, "test", least=4)
    exam = worked(tokenizer, 2, pool, problems)
    assert exam.codec.stops == ("\n",)
    asked = questions(problems, samples=1, sampling=Sampling(8, stop=exam.codec.stops), codec=exam.codec)
    of = {("words", 1): "What is the capital of", ("words", 2): "What is the plural of", ("times", 1): "times"}
    for request in exam.ask(asked):
        problem, text = request.problem, tokenizer.decode(request.context)
        lines = [line for line in text.splitlines() if line.startswith("Question: ")]
        assert len(lines) == 3 and all(of[problem.task, problem.level] in line for line in lines)
        assert "Answer with" not in text and text.endswith("\nAnswer:") and len(request.context) <= exam.longest


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"shots": -1}, "chat.shots must be from 0 to 256, not -1"),
        ({"shots": 257}, "from 0 to 256, not 257"),
        ({"stop": ("",)}, "an empty text would end every answer"),
        ({"stop": ("a\udcff",)}, "chat.stop is no text in UTF-8"),
        ({"system": "\ud800"}, "chat.system is no text in UTF-8"),
        ({"examples": "[[1, 2]]"}, r"\[question, answer\]"),
        ({"examples": '{"a": 1}'}, "neither a JSON list nor a file"),
        ({"examples": "[1"}, "chat.examples is not JSON"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        resolved(Chat(**settings))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--stop", ""), None),  # nothing ends an answer beside the end tokens, as without the option
        (("--stop", "a,,b"), "chat.stop: an empty text would end every answer"),
        (("--stop", "\udcff"), "chat.stop is no text in UTF-8"),
        (("--stop",), "--stop wants a value"),
        (("--shots", "two"), "chat.shots: expected int, came 'two'"),
        (("--shots", "100000"), "chat.shots must be from 0 to 256, not 100000"),
        (("--shots", "70", "--task", "words:1"), "chat.shots is 70, and only 59 different problems with a known"),
        (("--evaluation.shots", "70", "--task", "words:1"), "evaluation.shots is 70, and only 59 .* take fewer, or 0"),
        (("--evaluation.shots", "-3"), "evaluation.shots must be at least 0, not -3"),
        (("--chat.template", "nonne"), "chat.template is one of model, none, not 'nonne'"),
        (("--cut", "wrongg"), "cut is one of auto, wrong, scored, masked, not 'wrongg'"),
        (("--cut", ""), "cut is one of auto, wrong, scored, masked, not ''"),
    ],
)
def test_options_that_cannot_be_meant(
    words: tuple[str, ...], told: str | None, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_hub(monkeypatch, tmp_path / "hub", "owner/model")
    task = () if "--task" in words else ("--task", "countdown:3")
    reply = shell("train", "dr-grpo", "--model", "owner/model", *task, "--dry-run", "--json", *words)
    if told is None:
        assert reply.code == 0 and reply.document["chat"]["stop"] == []
    else:
        assert reply.code in (2, 78) and re.search(told, reply.document["message"]), reply.out


def test_examples_of_rows_without_answers_are_refused_by_the_setting_that_asks_for_them(
    tmp_path: Path, shell: Shell
) -> None:
    (tmp_path / "own.py").write_text("def mine(completions, **_):\n    return [1.0 for _ in completions]\n")
    rows = [json.dumps({"prompt": f"Say {n}"}) + "\n" for n in range(40)]
    (tmp_path / "open.jsonl").write_text("".join(rows))
    line = ("train", "dr-grpo", "--model", "owner/model", "--data", tmp_path / "open.jsonl", "--dry-run")
    for setting in ("--shots", "--evaluation.shots"):
        reply = shell(*line, "--reward", f"{tmp_path / 'own.py'}:mine", setting, 2)
        name = "chat.shots" if setting == "--shots" else "evaluation.shots"
        assert reply.code == 78 and f"{name} is 2, and only 0 different problems" in reply.err, reply.err


def test_a_stored_conversation_names_no_files() -> None:
    for bad in ({"examples": "/etc/passwd"}, {"template": "other"}, {"shots": "2"}, {"stop": [3]}):
        with pytest.raises(ConfigError, match=r"assay_chat\.json"):
            stored(bad)


class Writing:
    """A model that writes what it is told to write."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def generate(self, requests: list[Request], key: Key, done: Any) -> list[Generation]:
        ids = np.array(self.ids, np.int32)
        segment = Segment(ids, np.zeros(len(ids), np.int8), old=np.zeros(len(ids), np.float32))
        made = [Generation(segment, "stop") for _ in requests]
        for place, one in enumerate(made):
            done(place, one)
        return made


class Stopping(Letters):
    """Letters, with a text that ends an answer."""

    stops = ("c",)


@pytest.mark.parametrize(
    ("ids", "text"), [([1, 2, 3], "ab"), ([1, 3, 2, 3], "acb"), ([1, 3, 3], "a"), ([1, 3, 0], "ac")]
)
def test_the_text_of_an_answer_ends_before_its_stop_text_and_its_tokens_stay(ids: list[int], text: str) -> None:
    """An answer that ended by its end token has said what it says, stop texts and all."""
    asked = episode([1, 1]).request
    problem = dataclasses.replace(asked.problem, task="countdown")
    request = dataclasses.replace(asked, problem=problem, stop=("c",), max_new=8)
    models = Models({"policy": Writing(ids)}, {"policy": "policy"})  # type: ignore[dict-item]
    (made,) = generate(models, [request], Key(0), Stopping())
    assert made.text == text and made.stream("ids").tolist() == ids and made.finish == "stop"


# --- answers that the length limit cut off -----------------------------------------------------------------------


@given(st.floats(-5, 5), st.floats(-2, 2), st.sampled_from(["stop", "length"]))
def test_a_cut_answer_earns_nothing_or_less_where_it_is_wrong(score: float, weight: float, finish: Any) -> None:
    made = dataclasses.replace(episode([1, 1]), finish=finish, verdict=Verdict("fail", scores={"mine": score}))
    (scored,) = bind(Scored("mine", weight, "scored"))([made])
    (wrong,) = bind(Scored("mine", weight, "wrong"))([made])
    assert scored.value == weight * score
    assert wrong.value == (min(0.0, weight * score) if finish == "length" else weight * score)


def test_a_verifier_reads_a_cut_answer_only_where_it_is_scored() -> None:
    problem = POOL.problem(Key("one"))
    made = episode([1, 1])
    request = dataclasses.replace(made.request, problem=problem)
    cut = dataclasses.replace(made, request=request, text=problem.solution or "", finish="length")
    for read_cut, status in ((False, "fail"), (True, "ok")):
        with Grader(read_cut=read_cut) as judge:
            (verdict,), (examined,) = judge([cut]), judge.exam([cut])
            assert verdict is not None and examined is not None
            assert (verdict.status, examined.status) == (status, status)


@pytest.mark.parametrize(
    ("cut", "model", "kept", "scored"),
    [
        ("auto", "owner/model", "wrong", "wrong"),
        ("auto", "countdown", "auto", "scored"),
        ("scored", "owner/model", "scored", "scored"),
        ("masked", "owner/model", "masked", "scored"),
        ("wrong", "countdown", "wrong", "wrong"),
    ],
)
def test_what_a_run_does_with_cut_answers(cut: str, model: str, kept: str, scored: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def mine(completions, **_):\n    return [1.0 for _ in completions]\n")
    pool = dataclasses.replace(POOL, wording="compact")
    experiment, _ = session.plan(
        RECIPES["dr-grpo"],
        model=model,
        pool=pool,
        profile="laptop",
        overrides={"cut": cut},
        rewards=[f"{tmp_path / 'own.py'}:mine"],
    )
    (reward,) = experiment.recipe.mechanism.reward
    assert isinstance(reward, Scored) and (experiment.cut, reward.cut) == (kept, scored)
    assert (WholeAnswers() in experiment.recipe.mechanism.curate) == (cut == "masked")


def test_a_recipe_that_masks_by_itself_masks_once() -> None:
    own = {name: {} for name, recipe in RECIPES.items() if WholeAnswers() in recipe.mechanism.curate}
    for name, settings in {"grpo": {"mechanism.curate": "whole-answers"}, **own}.items():
        overrides = {**settings, "cut": "masked"}
        experiment, _ = session.plan(RECIPES[name], model="countdown", pool=POOL, overrides=overrides)
        assert experiment.recipe.mechanism.curate.count(WholeAnswers()) == 1, name


# --- how long a run takes ----------------------------------------------------------------------------------------


def test_a_run_of_more_than_a_quarter_of_an_hour_says_so() -> None:
    experiment, _ = planned("owner/model", profile="processor")
    told = forecast(experiment, 16, 4.0, place="cpu native avx2")  # a quarter of a second an answer
    # 40 steps of 64 answers and of 2.5 times that learning: 56 s; two exams of 768 answers: 192 s
    assert told is not None and "up to 44 minutes: 40 steps of up to 56 s, exams of 192 s" in told
    assert forecast(experiment, 16, 1.0, place="cpu native avx2") is None  # a quarter of that: 11 minutes
    assert forecast(experiment, 16, 4.0, place="cuda") is None and forecast(experiment, 0, 4.0, place="cpu") is None


# --- end to end --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_is_trained_with_examples_as_plain_text_and_asked_so_ever_after(
    file: Path, tmp_path: Path, shell: Shell
) -> None:
    run = tmp_path / "run"
    more = ("--shots", "2", "--chat.template", "none", "--stop", "\\n", "--cut", "masked", "--lora", "2")
    line = [part for part in train_line(file, run, *more) if part != "grpo"]
    reply = shell(*line)
    assert reply.code == 0, reply.err
    document = json.loads((run / "run.json").read_text())
    assert document["recipe"] == "dr-grpo" and document["experiment"]["pool"]["wording"] == "natural"
    chat = document["experiment"]["chat"]
    assert chat["stop"] == ["\n"] and chat["shots"] == 2 and len(json.loads(chat["examples"])) == 2
    again = load_tokenizer(Path(locate(str(run))))
    assert again.stops == ("\n",) and again.decode(again.render("3+3")).endswith("Question: 3+3\nAnswer:")
    card = shell("card", run).out + (run / "README.md").read_text()
    assert "2 worked examples" in card and "plain text" in card
    assert shell("eval", run, "--problems", 2, "--n", 1, "--json").code == 0
    assert shell("resume", run, "--steps", 5).code == 0
    bare = shell("train")
    assert bare.code == 2 and "RECIPE" in bare.err


@pytest.mark.slow
def test_the_demonstration_shows_answers_side_by_side_and_the_base_with_examples(
    file: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {name.replace("-", "_"): str(value) for name, value in SIZES.items()}
    settings |= {"evaluation.shots": "2", "evaluation.final_problems": "12"}
    real = dataclasses.replace(demo.REAL, model=str(file), ready=lambda quiet: None, steps=2, settings=settings)
    monkeypatch.setattr(demo, "REAL", real)
    monkeypatch.chdir(tmp_path)
    reply = shell("demo", "--real", "--json")
    assert reply.code == 0, reply.err
    result = reply.document
    assert result["run"] == "runs/demo-real-1" and result["examples"]["verdict"].startswith("Elicitation")
    assert "assay chat runs/demo-real-1" in reply.err
    page = (tmp_path / "runs" / "demo-real-1" / "report.html").read_text()
    assert "10 held-out questions" in page and "before, with examples" in page and "What is the" in page


def test_without_the_model_the_demonstration_names_the_command(shell: Shell) -> None:
    reply = shell("demo", "--real")
    assert reply.code == 2 and "assay get smollm2" in reply.err


def test_the_profile_of_a_model_of_the_hub_follows_from_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its small files say how large it is, as those of a folder do; a model that cannot be had counts as large."""
    pretend_hub(monkeypatch, tmp_path / "hub", "owner/model")
    assert choose_profile("owner/model") == choose_profile(str(any_text_model(tmp_path / "folder")))
    assert choose_profile("owner/model")[0] == "laptop"
    assert choose_profile("owner/other")[0] == "one-gpu"
