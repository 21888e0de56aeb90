"""Questions about pages of your own: `pages:FOLDER`, a folder with two files of JSON lines.

    pages.jsonl       {"title": "Xovan", "text": "Xovan was born in Mirel."}
    questions.jsonl   {"question": "Where was Xovan born?", "answer": "Mirel"}

An `answer` may be a list of texts, each of which is right. A policy searches and opens pages as in the task `search`.
"""

from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from assay.errors import AssayError, DataError
from assay.rng import digest
from assay.tasks.task import SPLITS, Checker, Generator, Spec, Split, Task, Wordings
from assay.types import Problem, Verdict
from assay.worlds import World
from assay.worlds.search import TOLD, of_file, opened, searching

PREFIX = "pages:"
PAGES, QUESTIONS = "pages.jsonl", "questions.jsonl"
_MAX_CHARACTERS = 1_000


def pages_task(name: str) -> Task:
    """The task of this name. Its files are read, and its pages indexed, before it is returned."""
    return _made(Path(name.removeprefix(PREFIX)).expanduser().resolve())


@functools.lru_cache(maxsize=8)
def _made(folder: Path) -> Task:
    corpus = of_file(folder / PAGES)
    index = opened(corpus)
    questions = read_questions(folder / QUESTIONS)
    world = searching(lambda: index, TOLD)
    name = f"{PREFIX}{folder}"
    problems = {
        split: tuple(_problem(name, spec, world) for spec in questions if _split(spec) == split) for split in SPLITS
    }
    return Task(
        name=name,
        domain="tools",
        summary=f"questions about the {len(index)} pages of {folder}, which are searched and opened",
        generator=Generator(
            levels=range(1, 2),
            instance=_none,
            canonical=lambda spec: spec["question"],
            split=_split,
            rows=lambda split: problems[split],
        ),
        wordings=Wordings(compact=_none, natural=lambda spec: asked(spec["question"], world), solve=_none),
        checker=Checker(check=check),
        world=world,
    )


def _none(*_: Any) -> NoReturn:
    raise AssayError("the questions of a file are its problems: no further one can be drawn, worded or solved.")


def asked(question: str, world: World) -> str:
    """A question, and how pages are searched and the answer is marked."""
    about = "" if world.speech is None else world.speech.about(world.tools)
    return f"{question}\nIt stands in pages that you can search and open.\n{about}\nGive the answer in \\boxed{{...}}."


def _split(spec: Spec) -> Split:
    """The question alone decides, wherever its file lies."""
    bucket = int(digest("split", "pages", spec["question"]), 16) % 100
    return next(split for split, buckets in SPLITS.items() if bucket in buckets)


def _problem(name: str, spec: Spec, world: World) -> Problem:
    return Problem(
        task=name,
        prompt=asked(spec["question"], world),
        spec=spec,
        canonical=spec["question"],
        level=1,
        domain="tools",
        wording="natural",
    )


def read_questions(path: Path) -> list[Spec]:
    """The questions of a JSONL file with their right answers. What is no such file is refused."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}. Expected a file of questions.") from error
    asked = [_question(line, f"{path}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not asked:
        raise DataError(f'{path} has no questions: expected a line {{"question": ..., "answer": ...}} for each.')
    return list({spec["question"]: spec for spec in asked}.values())


def _question(line: str, where: str) -> Spec:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is no JSON: {error}") from error
    right = row.get("answer") if isinstance(row, dict) else None
    golds = [right] if isinstance(right, str) else right
    if not isinstance(golds, list) or not isinstance(row.get("question"), str) or not row["question"].strip():
        raise DataError(f"{where}: expected an object with a question and an answer, and got {line[:60]!r}.")
    if not golds or not all(isinstance(gold, str) and plain(gold) for gold in golds):
        raise DataError(f"{where}: an answer is a text, or a list of texts, and none of them empty.")
    return {"question": row["question"].strip(), "golds": golds}


def plain(text: str) -> str:
    """An answer without what does not change it: capitals, articles, marks and spaces."""
    bare = text.casefold().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split()) or " ".join(text.casefold().split())


def check(spec: Spec, text: str) -> Verdict:
    """Whether the answer is one of the right ones."""
    if len(text) > _MAX_CHARACTERS:
        return Verdict.fail("format", f"an answer has at most {_MAX_CHARACTERS} characters")
    golds: Sequence[str] = spec["golds"]
    said = plain(text)
    right = next((gold for gold in golds if plain(gold) == said), None)
    return Verdict.fail("wrong", answer=said[:40]) if right is None else Verdict.ok(right)
