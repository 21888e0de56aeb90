"""Wrong reward functions and flags, each with all that a person is told of it. `{dir}` is the folder of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answers import answered, data_row
from small_runs import Shell

import assay
from assay.errors import AssayError
from assay.verifiers.functions.grading import Grading
from assay.verifiers.functions.loading import load
from assay.verifiers.functions.naming import parse

EPISODES = [
    answered(data_row(7, answer="2", source="a"), "an answer"),
    answered(data_row(9, answer="3", source="b"), "another"),
]
IDS = [episode.request.problem.id for episode in EPISODES]

GIVES = {
    "a NaN": (
        "return [1.0, float('nan')]",
        "the reward function 'f' ({dir}/my.py:f) gave nan for line 9 of rows.jsonl (problem {second}), whose answer "
        "begins 'another'; expected a finite number, or None where the function does not apply.",
    ),
    "an infinity": (
        "return [float('-inf'), 1]",
        "the reward function 'f' ({dir}/my.py:f) gave -inf for line 7 of rows.jsonl (problem {first}), whose answer "
        "begins 'an answer'; expected a finite number, or None where the function does not apply.",
    ),
    "a number beyond all floats": (
        "return [10 ** 400, 1]",
        "the reward function 'f' ({dir}/my.py:f) gave inf for line 7 of rows.jsonl (problem {first}), whose answer "
        "begins 'an answer'; expected a finite number, or None where the function does not apply.",
    ),
    "a text": (
        "return [1.0, '1.0']",
        "the reward function 'f' ({dir}/my.py:f) gave '1.0', of type str for line 9 of rows.jsonl (problem {second}), "
        "whose answer begins 'another'; expected a number, or None.",
    ),
    "a complex number": (
        "return [1j, 1]",
        "the reward function 'f' ({dir}/my.py:f) gave 1j, of type complex for line 7 of rows.jsonl (problem {first}), "
        "whose answer begins 'an answer'; expected a number, or None.",
    ),
    "a list in the list": (
        "return [[1.0], [0.0]]",
        "the reward function 'f' ({dir}/my.py:f) gave [1.0], of type list for line 7 of rows.jsonl (problem {first}), "
        "whose answer begins 'an answer'; expected a number, or None.",
    ),
    "an array for a number": (
        "import numpy as np; return [1.0, np.ones(2)]",
        "the reward function 'f' ({dir}/my.py:f) gave an array of shape (2,) for line 9 of rows.jsonl (problem "
        "{second}), whose answer begins 'another'; expected a single number.",
    ),
    "a matrix": (
        "import torch; return torch.zeros(2, 1)",
        "the reward function 'f' ({dir}/my.py:f) gave an array of shape (2, 1); expected one number for each answer.",
    ),
    "too few": (
        "return [1.0]",
        "the reward function 'f' ({dir}/my.py:f) gave 1 rewards for 2 answers; expected one for each, in their order.",
    ),
    "none at all": (
        "pass",
        "the reward function 'f' ({dir}/my.py:f) gave None, of type NoneType; expected a list with a number or None "
        "for each of the 2 answers.",
    ),
    "a number for all": (
        "return 1.0",
        "the reward function 'f' ({dir}/my.py:f) gave 1.0, of type float; expected a list with a number or None for "
        "each of the 2 answers.",
    ),
    "a dictionary": (
        "return {0: 1.0, 1: 0.0}",
        "the reward function 'f' ({dir}/my.py:f) gave {{0: 1.0, 1: 0.0}}, of type dict; expected a list with a number "
        "or None for each of the 2 answers.",
    ),
    "an exception for one answer": (
        "return [1 / (len(c) - 7) for c in completions]",
        "the reward function 'f' ({dir}/my.py:f), line 2 raised ZeroDivisionError: division by zero, for line 9 of "
        "rows.jsonl (problem {second}), whose answer begins 'another'. A reward function gives a number for every "
        "answer, None where it does not apply, and raises on none.",
    ),
    "an exception for several together": (
        "return [1 / (2 - len(completions))] * len(completions)",
        "the reward function 'f' ({dir}/my.py:f), line 2 raised ZeroDivisionError: division by zero, for a call with 2 "
        "answers. A reward function gives a number for every answer, None where it does not apply, and raises on none.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", GIVES)
def test_what_a_function_gives_wrongly_is_told(case: str, tmp_path: Path) -> None:
    body, message = GIVES[case]
    path = tmp_path / "my.py"
    path.write_text(f"def f(completions, **kwargs):\n    {body}\n")
    with pytest.raises(AssayError) as caught:
        Grading(load([parse(f"{path}:f")]))(EPISODES)
    assert str(caught.value) == message.format(dir=tmp_path, first=IDS[0], second=IDS[1])
    assert caught.value.exit_code == 64


ASKS = {
    "a column that is not there": (
        "def f(completions, anwser): return [0.0]",  # codespell:ignore anwser
        "the reward function 'f' ({dir}/my.py:f) asks for 'anwser', but there is no such column. Did you mean "
        "'answer'? There are prompts, completions, completion_ids and the columns answer, gold, source.",
    ),
    "one answer at a time": (
        "def f(completion, answer): return 0.0",
        "the reward function 'f' ({dir}/my.py:f) asks for 'completion', but there is no such column. Did you mean "
        "'completions'? There are prompts, completions, completion_ids and the columns answer, gold, source.",
    ),
    "arguments by position": (
        "def f(prompts, completions, /): return [0.0]",
        "the reward function 'f' ({dir}/my.py:f) takes arguments by position alone, but a reward function gets them by "
        "name. Remove the `/`.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ASKS)
def test_what_a_function_asks_for_wrongly_is_told_before_a_run(case: str, tmp_path: Path) -> None:
    text, message = ASKS[case]
    (tmp_path / "my.py").write_text(text)
    with pytest.raises(AssayError) as caught:
        Grading(load([parse(f"{tmp_path}/my.py:f")])).check([episode.request.problem for episode in EPISODES])
    assert str(caught.value) == message.format(dir=tmp_path)
    assert caught.value.exit_code == 78


GOOD = "def score(completions):\n    return [0.0] * len(completions)\n\ndef other(completions):\n    return [0.0]\n"
FLAGS: dict[str, tuple[str, str, int, str]] = {
    "no file": (
        GOOD, "{dir}/mine.py:score", 64,
        "there is no file {dir}/mine.py. Did you mean 'my.py'? There is my.py.",
    ),
    "no function named": (
        GOOD, "{dir}/my.py", 2,
        "--reward {dir}/my.py: say which function: FILE.py:FUNCTION or FILE.py:FUNCTION=WEIGHT. my.py has score, "
        "other.",
    ),
    "no such function": (
        GOOD, "{dir}/my.py:scores", 78,
        "{dir}/my.py has no 'scores'. Did you mean 'score'? There are score, other.",
    ),
    "no function but a number": (
        "score = 1\n", "{dir}/my.py:score", 78,
        "the reward 'score' is an int, which cannot be called.",
    ),
    "a class that wants arguments": (
        "class Judge:\n    def __init__(self, model): ...\n    def __call__(self, completions): ...\n",
        "{dir}/my.py:Judge", 78,
        "the reward 'Judge' is a class that cannot be made without arguments (Judge.__init__() missing 1 required "
        "positional argument: 'model'). Name an instance of it, or a function.",
    ),
    "a class that cannot be called": (
        "class Judge: ...\n", "{dir}/my.py:Judge", 78,
        "the reward 'Judge' is of type Judge, which cannot be called.",
    ),
    "broken Python": (
        "def score(completions:\n    return []\n", "{dir}/my.py:score", 78,
        "{dir}/my.py, line 1: '(' was never closed. Mend the file; nothing was started.",
    ),
    "a file that raises": (
        "import math\n\nLIMIT = math.nothing\n", "{dir}/my.py:score", 78,
        "{dir}/my.py, line 3: it raised AttributeError: module 'math' has no attribute 'nothing' while it was "
        "imported. A file of reward functions only defines them; put the rest behind `if __name__ == '__main__':`.",
    ),
    "a file that ends the program": (
        "raise SystemExit(3)\n", "{dir}/my.py:score", 78,
        "{dir}/my.py, line 1: it raised SystemExit: 3 while it was imported. A file of reward functions only defines "
        "them; put the rest behind `if __name__ == '__main__':`.",
    ),
    "no such module": (
        GOOD, "no_such_rewards.maths:score", 78,
        "no module named 'no_such_rewards' can be imported, here or from {cwd}. A file is named with its ending: "
        "no_such_rewards/maths.py:FUNCTION.",
    ),
    "no number as weight": (
        GOOD, "{dir}/my.py:score=much", 2,
        "--reward {dir}/my.py:score=much: a weight is a finite number, not 'much'.",
    ),
    "an endless weight": (
        GOOD, "{dir}/my.py:score=inf", 2,
        "--reward {dir}/my.py:score=inf: a weight is a finite number, not 'inf'.",
    ),
    "a function of nothing": (
        GOOD, ":score", 2,
        "--reward :score: say which function: FILE.py:FUNCTION or FILE.py:FUNCTION=WEIGHT.",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", FLAGS)
def test_wrong_names_are_told_before_anything_is_loaded(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, reward, code, message = FLAGS[case]
    (tmp_path / "my.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    arguments = ["--reward", reward.format(dir=tmp_path), "--run", "run", "--json"]
    reply = Shell(capsys)("train", "grpo", "--model", "nowhere", *arguments)
    assert reply.document["message"] == message.format(dir=tmp_path, cwd=Path.cwd())
    assert reply.code == code
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (
            {"reward": ["/a/my.py:f", "/a/my.py:f=2"]},
            "the reward function 'my.f' is named twice; give it once, with a weight.",
        ),
        (
            {"reward": ["/a/my.py:f", "/a/my.py:g"], "reward_weights": [1.0]},
            "reward_weights has 1 numbers for 2 reward functions.",
        ),
        ({"reward": "/a/my.py"}, "--reward /a/my.py: say which function: FILE.py:FUNCTION or FILE.py:FUNCTION=WEIGHT."),
        (
            {"reward": "/a/my.py:f", "reward_weights": [float("nan")]},
            "--reward /a/my.py:f=nan: a weight is a finite number, not 'nan'.",
        ),
        ({"reward": "/a/my.py:f", "right_from": float("nan")}, "right_from must be a number, not nan."),
    ],
)
def test_wrong_wishes_from_python_are_told(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(AssayError) as caught:
        assay.train("grpo", model="nowhere", **wishes)
    assert str(caught.value) == message


def test_enough_kinds_of_mistakes_are_covered() -> None:
    assert len(GIVES) + len(ASKS) + len(FLAGS) >= 18
