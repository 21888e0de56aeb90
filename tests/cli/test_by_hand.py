"""`assay chat --world`: a model plays and one looks on, and a person in each seat, with the lines of a pipe."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from small_runs import Reply, Shell
from trading_world import TRADE

from assay.cli.by_hand import Person
from assay.lab.by_hand import Asked, by_hand
from assay.lab.trial import small_model
from assay.tasks import TASKS, task

HOW: dict[str, Any] = {"seed": 0, "max_new": 40, "temperature": 1.0, "top_p": 1.0, "system": None}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_model(tmp_path_factory.mktemp("model") / "small"))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def chat(shell: Shell, text: str, *arguments: object) -> Reply:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(text))
        return shell("chat", *arguments)


def documents(reply: Reply) -> list[Json]:
    return [json.loads(line) for line in reply.out.splitlines()]


def script(*lines: str) -> Callable[[Asked], str | None]:
    left = list(lines)
    return lambda asked: left.pop(0) if left else None


def played(model: str, world: str, seat: str, lines: Sequence[str], **how: Any) -> list[Json]:
    return list(by_hand(model, world, seat=seat, **{**HOW, **how}).play(script(*lines)))


def path_of(model: str, world: str, seed: int = 0) -> str:
    """The facts that matter in the problem of a seed."""
    from assay.tasks.wish import path

    return path(by_hand(model, world, seat="policy", **{**HOW, "seed": seed}).problem.spec)


def test_a_person_plays_the_policy_with_its_tool(shell: Shell, model: str) -> None:
    facts = path_of(model, "wish:2")
    first = by_hand(model, "wish:2", seat="policy", **HOW).problem
    answer = (first.solution or "")[-1]
    lines = "".join(f"[{name}]\n" for name in facts) + f"#{answer}\n"
    reply = chat(shell, lines, model, "--world", "wish:2", "--seat", "policy", "--max-new", 40, "--json")
    assert reply.code == 0
    asked, *turns, end = documents(reply)
    assert asked["prompt"] == first.prompt and asked["seats"] == ["policy"] and asked["tools"][0]["name"] == "ask"
    assert [turn["text"] for turn in turns] == [*(f"[{name}]" for name in facts), f"#{answer}"]
    assert [turn["calls"] for turn in turns] == [
        *([{"name": "ask", "arguments": {"question": name}, "fault": None}] for name in facts),
        [],
    ]
    assert {turn["by"] for turn in turns} == {"person"} and [turn["turn"] for turn in turns] == [1, 2, 3, 4]
    (seat,) = end["seats"]
    assert seat["verdict"]["status"] == "ok" and seat["scores"] == {"needless": 0.0} and end["turns"] == turns


def test_a_person_is_shown_what_there_is_to_read_and_the_verdict(shell: Shell, model: str) -> None:
    reply = chat(shell, "[?]\n\n[a] and more\n#?\n", model, "--world", "wish:2", "--seat", "policy", "--max-new", 40)
    assert reply.code == 0 and "you are policy" in reply.out and "ask(question)" in reply.out
    assert "the reply tells of an error" in reply.out and "you read" in reply.out
    assert "policy: wrong (format)" in reply.out and "needless" in reply.out and "solution" in reply.out


def test_a_model_plays_and_one_looks_on(shell: Shell, model: str) -> None:
    how = (model, "--world", "wish:1", "--max-new", 30, "--json")
    asked, first, *_, end = documents(chat(shell, "", *how, "--seed", 4))
    assert asked["seat"] is None and first["by"] == "model" and first["text"] and end["seats"][0]["verdict"]
    assert documents(chat(shell, "", *how, "--seed", 4))[1] == first
    assert documents(chat(shell, "", *how, "--seed", 5))[0]["problem"] != asked["problem"]


def test_a_person_plays_the_user_and_reads_what_the_user_reads(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy, a script here, asks; the person is told the facts, and not the question of the policy's problem."""
    game = by_hand(model, "wish-model:1", seat="user", **HOW)
    spec = game.problem.spec
    from assay.engine.interface import Generation
    from assay.types import Segment

    said = ["[a]", "[A]", "#x"]

    def generate(requests: Sequence[Any], key: Any, *, done: Callable[[int, Generation], None]) -> None:
        ids = game.codec.encode(said.pop(0)).astype(np.int32)
        ids = ids if said else np.append(ids, np.int32(min(game.codec.end_ids)))
        done(0, Generation(Segment(ids, np.zeros(len(ids), np.int8)), "stop"))

    monkeypatch.setattr(game.engine, "generate", generate)
    heard: list[Asked] = []

    def typed(asked: Asked) -> str:
        heard.append(asked)
        return "1" if len(heard) == 1 else "qrs"

    asked, *turns, end = game.play(typed)
    assert asked["prompt"] is None and [turn["seat"] for turn in turns] == ["policy", "user"] * 2 + ["policy"]
    things = "".join(f"{letter}{int(letter in spec['has'])}" for letter in "abcdefghijklmnop")
    facts = f"u {things}{''.join(f'{chr(65 + i)}{letter}' for i, letter in enumerate(spec['names']))}"
    assert [one.reads for one in heard] == [f"{facts} a", f"{facts} A"] and {one.left for one in heard} == {24}
    assert [turn["text"] for turn in turns] == [None, "1", None, "qrs", None]
    assert [turn["text"] for turn in end["turns"]] == ["[a]", "1", "[A]", "qrs", "#x"]
    assert [one["seat"] for one in end["seats"]] == ["policy"]


def test_a_turn_that_cannot_be_is_asked_for_again(model: str) -> None:
    seen: list[Asked] = []

    def typed(asked: Asked) -> str | None:
        seen.append(asked)
        return ["é", "x" * 500, "[a]", None][len(seen) - 1]

    *_, end = by_hand(model, "wish:1", seat="policy", **HOW).play(typed)
    assert "'é'" in seen[1].refused and "has 500 tokens, and may have 40" in seen[2].refused
    assert seen[3].refused == "" and seen[3].left < 40 and end["left"] and len(end["turns"]) == 1


def test_rewards_of_turns_are_told(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trader earns a quarter for each a, and the other one is asked next."""
    monkeypatch.setitem(TASKS, "trade", TRADE)
    _, first, *_ = played(model, "trade", "policy", ["aa"])
    assert first["earned"] == 0.5 and first["reply"]["to"] == "other" and first["reply"]["text"] is None


def test_the_end_of_the_input_leaves(shell: Shell, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = chat(shell, "[a]\n", model, "--world", "wish:1", "--seat", "policy", "--json")
    assert reply.code == 0 and documents(reply)[-1]["left"] and documents(reply)[-1]["seats"] == []
    person = Person(shown=True)
    person.at_terminal = True
    for error in (EOFError, KeyboardInterrupt):

        def pressed(prompt: str, error: type[BaseException] = error) -> str:
            raise error

        monkeypatch.setattr("builtins.input", pressed)
        assert person.typed(Asked("policy", "", 9)) is None


def test_lines_that_end_in_a_backslash_are_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\nfor x in y:\\\n    z\n"))
    assert Person(shown=False).typed(Asked("policy", "", 9)) == "for x in y:\n    z"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--world nowhere", "no task named 'nowhere'"),
        (
            "--world countdown",
            "'countdown' has no world: nobody replies there. Tasks with a world of words: ",
        ),
        ("--world chain:5", "has a world of numbers"),
        ("--world wish --seat user", "has no such seat; it has policy"),
        ("--world wish:77", "levels 1 to 5, not 77"),
        ("--seat policy", "name the task too, with --world"),
        ("--world wish --max-new 0", "--max-new must be at least 1"),
        ("--world wish --seat policy", "'é'"),
    ],
)
def test_bad_input_is_refused(shell: Shell, model: str, line: str, says: str) -> None:
    reply = chat(shell, "é\n", model, *line.split(), "--json")
    assert reply.code != 0 and says in documents(reply)[-1]["message"]


def test_each_world_of_words_can_be_played(model: str) -> None:
    for name in ("lookup-tool", "calculator", "wish"):
        _, turn, *_ = played(model, name, "policy", ["[zz]", "#1"])
        assert turn["calls"] and task(name).world is not None
