"""Questions about pages: a reader that knows the replies alone finds each answer, and finds none in those of others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from talking import said
from test_tasks_oracles import problems

from assay import check_world
from assay.errors import ConfigError, DataError
from assay.rng import Key
from assay.source import Share
from assay.tasks import TASKS, Task, short, task
from assay.tasks.own_pages import plain
from assay.types import Problem
from assay.worlds import World

NAMES = ["search-small", "search"]
SENTENCES = {
    "b": r"born in (\w+)",
    "t": r"taught by (\w+)",
    "m": r"mayor is (\w+)",
    "n": r"leads to (\w+)",
    "a": r"written by (\w+)",
    "s": r"set in (\w+)",
    "f": r"founded by (\w+)",
    "h": r"headquarters are in (\w+)",
}
ASKED = {"a": "written by {}", "f": "founded by {}", "s": "set in {}", "h": "headquarters {}"}


def asking(world: World, problem: Problem) -> Callable[[str, str], str]:
    """(tool, input) -> the reply in one play."""
    play, speech = world.start(problem.spec, Key("read")), world.speech
    assert speech is not None
    play.open()

    def ask(name: str, given: str) -> str:
        (tool,) = (tool for tool in world.tools if tool.name.startswith(name))
        turn = speech.call(tool.name, {tool.fields[0]: given}, world.tools)
        return said(play.step(world.act("policy", turn, waits=True)))

    return ask


def read(problem: Problem, world: World) -> str:
    """The answer by question and replies alone; "" where they do not tell it."""
    _, name, ways = str(problem.prompt).split()
    ask, small = asking(world, problem), world.tools[0].name == "s"
    for way in ways:
        fact = rf"\b{way.lower()} (\w+)" if small else SENTENCES[way.lower()]
        if way.islower():
            found = re.search(fact, ask("o", name))
            if found is None:
                return ""
            name = found[1]
            continue
        hits = ask("s", f"{way.lower()} {name}" if small else ASKED[way.lower()].format(name))
        titles = hits.split() if small else [line.partition(":")[0] for line in hits.split("\n")]
        pages = {title: re.search(fact, ask("o", title)) for title in titles}
        name = next((title for title, match in pages.items() if match and match[1] == name), "")
    return name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_reader_of_replies_finds_the_answer(name: str, level: int) -> None:
    known = task(name)
    assert known.world is not None
    for problem in problems(name, level, 40):
        assert known.verify(problem, problem.solution or "").status == "ok"
        answer = read(problem, known.world)
        assert known.checker.check(problem.spec, answer).status == "ok"
        ways = str(problem.prompt).split()[-1]
        assert len(ways) == level and answer not in str(problem.prompt)
        assert level == 1 or not (ways.isupper() or ways.islower())
    natural = str(known.problem(Key(1), level=level, wording="natural").prompt)
    assert natural.startswith("What is the name of the ") and "\\boxed{" in natural


@pytest.mark.parametrize("level", [1, 4])
def test_answers_are_not_guessed_blindly(level: int) -> None:
    answers = [str(problem.spec["answer"]) for problem in problems("search-small", level, 400)]
    assert max(map(answers.count, answers)) / 400 < 0.05


@pytest.mark.parametrize("level", [1, 3])
def test_a_reader_finds_nothing_in_the_replies_of_another_play(level: int) -> None:
    true, wrong = task("search-small").world, task("shuffled:search-small").world
    assert wrong is not None and true is not None
    batch = problems("shuffled:search-small", level, 60)
    assert sum(read(problem, true) == problem.spec["answer"] for problem in batch) == 60
    assert sum(read(problem, wrong) == problem.spec["answer"] for problem in batch) / 60 < 0.05


# Pages of your own


def own(folder: Path, questions: str | None = None) -> Task:
    pages = [{"title": f"Isle {n}", "text": f"The isle {n} is ruled by king K{n}."} for n in range(30)]
    asked = [{"question": f"Who rules isle {n}?", "answer": [f"K{n}", f"King K{n}"]} for n in range(30)]
    folder.mkdir(exist_ok=True)
    (folder / "pages.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    whole = "".join(f"{json.dumps(one)}\n" for one in asked) if questions is None else questions
    (folder / "questions.jsonl").write_text(whole)
    return task(f"pages:{folder}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "isles"


def test_pages_of_your_own_are_searched_and_questions_about_them_asked(folder: Path) -> None:
    known = own(folder)
    assert known.name == f"pages:{folder}" and short(known.name) == "pages-isles" and known.name not in TASKS
    splits = {split: known.rows_of(split) for split in ("train", "valid", "test")}
    assert sum(map(len, splits.values())) == 30 and len({p.id for rows in splits.values() for p in rows}) == 30
    problem = known.problem(Key(0), level=1)
    number = re.findall(r"isle (\d+)", str(problem.prompt))[0]
    assert problem in splits["train"] and "<NAME>INPUT</NAME>" in str(problem.prompt)
    assert known.world is not None
    assert asking(known.world, problem)("s", f"isle {number}").startswith(f"Isle {number}: The isle {number} is")
    for answer, status in ((f"the king k{number}.", "ok"), (f"K{number}", "ok"), ("K", "fail"), ("", "fail")):
        assert known.verify(problem, f"So \\boxed{{{answer}}}").status == status
    assert known.verify(problem, f"\\boxed{{{'K' * 2000}}}").status == "fail"
    assert check_world(known).calls > 40
    assert Share.parse(known.name).task == known.name


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        ("", "has no questions"),
        ("{", "line 1 is no JSON"),
        ('{"question": "a"}', "a question and an answer"),
        ('{"question": "", "answer": "b"}', "a question and an answer"),
        ('{"question": "a", "answer": []}', "none of them empty"),
        ('{"question": "a", "answer": ["b", " "]}', "none of them empty"),
    ],
)
def test_questions_without_answers_are_refused(folder: Path, questions: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        own(folder, questions)


def test_a_folder_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises((DataError, ConfigError), match=r"pages\.jsonl cannot be read"):
        task(f"pages:{folder}")


def test_what_does_not_change_an_answer_is_left_out() -> None:
    assert plain(" The  Old, Man! ") == "old man" and plain("a") == "a" and plain("A.") != ""
