"""Turns rows into problems: finds the columns of question and answer, and checks both in every row.

A file is read to its end before anything else is loaded. Every row that cannot be used is named by its line.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.policy.messages import pictures_in, plain_parts
from assay.prompt import text_of
from assay.rng import digest
from assay.tasks.data.files import UNREADABLE, Fault, FileRow, kind, read
from assay.tasks.data.published import PUBLISHED, is_published, published
from assay.tasks.data.ruled_rows import INSTRUCTIONS, is_ruled, rules_of
from assay.types import Problem

PROMPTS = ("prompt", "messages", "question", "problem")
TESTS = "tests"  # a column with tests of a program, as `assay.verifiers.programs.forms.read_tests` takes them
ANSWERS = (
    "final_answer",
    "ground_truth",
    "gold",
    "answer",
    "reward_model.ground_truth",
    TESTS,
    *PUBLISHED,
    INSTRUCTIONS,
    "solution",
)
SOLUTIONS = ("solution", "completion")
ROLES = ("system", "developer", "user", "assistant", "tool")
MEANT = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant"}  # roles of others -> ours
TEXTS = (".jsonl", ".ndjson", ".csv", ".tsv")  # files whose rows are lines
SHOWN = 10  # the most faults that a message lists one by one
MARK = "####"
_BOX = "\\boxed{"

Prompt = str | tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Columns:
    """The names of a table's columns. A dot leads into an object: `reward_model.ground_truth`."""

    prompt: str
    answer: str | None
    solution: str | None
    others: tuple[str, ...]  # the columns that are left for reward functions
    split: bool = False  # the prompt is a conversation whose last message is the answer
    tests: bool = False  # answers are tests of a program
    ruled: bool = False  # answers are instructions that code checks, as rows of IFEval have them


@dataclass(frozen=True)
class Table:
    """The problems of one or several files, each once, with notes for the user.

    Example:
        table = read_table("/data/train.jsonl", task="data:/data/train.jsonl")
        table.problems[0].prompt, table.problems[0].spec["gold"]
    """

    places: tuple[str, ...]
    columns: Columns
    problems: tuple[Problem, ...]
    num_rows: int
    repeats: tuple[int | str, ...]  # rows that repeat an earlier row: their lines or, with several files, `FILE:LINE`
    faults: tuple[Fault, ...]  # why rows were left out, with --skip-bad-rows
    notes: tuple[str, ...]
    of_files: tuple[str, ...] = ()  # with several files, the digest of each

    @property
    def place(self) -> str:
        return ", ".join(self.places)

    @property
    def digests(self) -> tuple[str, ...]:
        """For each file, a digest of everything that a run reads from it, in order."""
        rows = (f"{problem.canonical}\n{problem.prompt}" for problem in self.problems)
        return self.of_files or (digest("data", *rows),)


class _Bad(Exception):
    """Why a row cannot be used."""


def read_table(
    place: str,
    *,
    task: str,
    prompt: str = "",
    answer: str = "",
    system: str = "",
    skip_bad_rows: bool = False,
    split: bool = False,
) -> Table:
    """Reads, checks and converts a whole file. Faulty rows are an error that names them, unless `skip_bad_rows` is set.

    `split`: prompts are conversations that end with the assistant, whose last message is the answer.
    """
    items = list(read(place))
    rows = [item for item in items if isinstance(item, FileRow)]
    faults = [item for item in items if isinstance(item, Fault)]
    if not rows:
        raise _refusal(place, faults, len(items)) if faults else DataError(f"{place} holds no rows.")
    columns = _columns(place, rows, prompt, answer, split)
    problems: list[Problem] = []
    for row in rows:
        try:
            problems.append(_problem(row, columns, task, system))
        except _Bad as error:
            faults.append(Fault(row.line, str(error)))
    usable = {problem.spec["row"] for problem in problems}
    faults += _mixed([row for row in rows if row.line in usable], columns.prompt)
    faults.sort(key=lambda fault: fault.line)
    if faults and not skip_bad_rows:
        raise _refusal(place, faults, len(items))
    bad = {fault.line for fault in faults}
    unique: dict[str, Problem] = {}
    for problem in problems:
        if problem.spec["row"] not in bad:
            unique.setdefault(problem.id, problem)
    if not unique:
        raise _refusal(place, faults, len(items))
    taken = {problem.spec["row"] for problem in unique.values()}
    repeats = tuple(row.line for row in rows if row.line not in taken | bad)
    notes = _notes(rows, columns, list(unique.values()), repeats, faults)
    return Table((place,), columns, tuple(unique.values()), len(items), repeats, tuple(faults), tuple(notes))


def _refusal(place: str, faults: Sequence[Fault], count: int) -> DataError:
    noun = "line" if Path(place).suffix in TEXTS else "row"
    lines = [f"  {noun} {fault.line} {fault.what}" for fault in faults[:SHOWN]]
    if len(faults) > SHOWN:
        lines.append(f"  ... and {len(faults) - SHOWN} more")
    return DataError(
        f"{len(faults)} of {count} rows of {place} cannot be used:\n"
        + "\n".join(lines)
        + "\nMend them, or leave them out with --skip-bad-rows."
    )


# Columns


def _columns(place: str, rows: Iterable[FileRow], prompt: str, answer: str, split: bool) -> Columns:
    names = tuple(dict.fromkeys(name for row in rows for name in row.columns))
    nested = [f"{n}.{inner}" for row in rows for n, v in row.columns.items() if isinstance(v, Mapping) for inner in v]
    all_names = tuple(dict.fromkeys([*names, *nested]))
    for flag, name in (("--prompt-column", prompt), ("--answer-column", answer)):
        if name and name not in all_names:
            raise DataError(
                f"{place}: no column '{name}' ({flag}).{_nearest([name], all_names)} There are: {_few(names)}."
            )
    usual = ("messages", *PROMPTS) if split else PROMPTS
    question = prompt or next((name for name in usual if name in names), "")
    if not question:
        raise DataError(
            f"{place}: no column holds the question; expected one of {', '.join(PROMPTS)}.{_nearest(PROMPTS, names)} "
            f"There are: {_few(names)}. {_form_of(place, rows, names)}"
        )
    if split:
        return Columns(question, question, question, tuple(name for name in names if name != question), split)
    held = [name for name in ANSWERS if name in all_names and name != question]
    gold = answer or next((name for name in held if _is_answer(name, names)), None)
    worked = next((name for name in SOLUTIONS if name in names and name not in (gold, question)), None)
    tests = gold == TESTS or is_published(gold or "", names)
    others = tuple(name for name in names if name != question)
    return Columns(question, gold, worked, others, tests=tests, ruled=is_ruled(gold or "", names))


def _is_answer(name: str, names: Sequence[str]) -> bool:
    """Whether a column of an answer's name holds one, among the columns of its file."""
    if name == INSTRUCTIONS:
        return is_ruled(name, names)
    return name not in PUBLISHED or is_published(name, names)


def _form_of(place: str, rows: Iterable[FileRow], names: Sequence[str]) -> str:
    """What to do with rows of a form that others write; of any other, the option that names a column."""
    first = next(iter(rows)).columns
    if {"instruction", "output"} <= set(names):
        return "These are rows of Alpaca's form: --prompt-column instruction --answer-column output."
    if isinstance(talk := first.get("conversations"), list) and talk and isinstance(talk[0], Mapping):
        return (
            "These are conversations of ShareGPT's form: write them as 'messages', with role (user, assistant) for "
            "from (human, gpt) and content for value; then add --answer-from-messages."
        )
    inside = [name for name, value in first.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if inside and len(names) <= SHOWN:
        return f"The rows seem to be those of the list '{inside[0]}': `jq .{inside[0]} {Path(place).name}` gives them."
    return "Name it with --prompt-column."


def _nearest(wanted: Sequence[str], names: Sequence[str]) -> str:
    near = [n for name in wanted for n in difflib.get_close_matches(name, names, n=1, cutoff=0.6)]
    return f" Did you mean '{near[0]}'?" if near else ""


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name[:40]}'" for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown


# Rows


def _problem(row: FileRow, columns: Columns, task: str, system: str) -> Problem:
    kept = {name: value for name, value in row.columns.items() if value is not UNREADABLE}
    asked, answer = _at(kept, columns.prompt), _at(kept, columns.answer) if columns.answer else None
    if columns.split:
        asked, answer = _parted(asked, columns.prompt)
    prompt = _prompt(asked, columns.prompt)
    if columns.tests or columns.ruled:
        gold, solution = _ruled(kept) if columns.ruled else _tests(kept, columns), None
    else:
        gold, solution = _gold(answer, columns.answer or "")
    if columns.split:
        solution = answer
    elif solution is None and columns.solution:
        solution = _worked(kept.get(columns.solution), columns.solution)
    others = {name: value for name, value in kept.items() if name != "prompt" or columns.prompt != "prompt"}
    content = {"prompt": prompt, "gold": gold, "columns": others}
    return Problem(
        task=task,
        prompt=_with_system(prompt, system),
        spec={"row": row.line, "gold": gold, "columns": others, **_marks(columns)},
        canonical=json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
        level=1,
        domain="data",
        solution=solution,
        provenance="data",
        wording="natural",
    )


def _marks(columns: Columns) -> dict[str, bool]:
    """What says how answers are verified."""
    marks = {"tests": columns.tests, "ruled": columns.ruled}
    return {name: True for name, marked in marks.items() if marked}


def _at(columns: Mapping[str, Any], path: str) -> Any:
    """The value of a column; a dotted name that is no column leads into an object."""
    if path in columns:
        return columns[path]
    head, _, rest = path.partition(".")
    inner = columns.get(head)
    return inner.get(rest) if rest and isinstance(inner, Mapping) else None


def _prompt(value: Any, name: str) -> Prompt:
    if value is None:
        raise _Bad(f"has no '{name}'.")
    if isinstance(value, list):
        return _messages(value, name)
    if not isinstance(value, str):
        raise _Bad(f"has {kind(value)} in '{name}': expected text, or a list of messages.")
    if not value.strip():
        raise _Bad(f"has an empty '{name}'.")
    if "\0" in value:
        raise _Bad(f"has a NUL character in '{name}'.")
    if value.lstrip().startswith(('[{"role"', "[{'role'")):
        raise _Bad(f"has a conversation written as text in '{name}': write it as JSON, a list of messages.")
    return value


def _parted(value: Any, name: str) -> tuple[list[Any], str]:
    """(the conversation before the assistant's last message, the text of that message)."""
    if not isinstance(value, list) or not value:
        raise _Bad(f"has {kind(value)} in '{name}': expected a list of messages that ends with the assistant's answer.")
    last = _message(value[-1], len(value), name)
    if last["role"] != "assistant" or not text_of(last["content"]).strip():
        raise _Bad(f"does not end '{name}' with an answer of the assistant, as --answer-from-messages expects.")
    return value[:-1], text_of(last["content"]).strip()


def _messages(value: Sequence[Any], name: str) -> tuple[Mapping[str, Any], ...]:
    messages = tuple(_message(item, number, name) for number, item in enumerate(value, 1))
    if not messages:
        raise _Bad(f"has no messages in '{name}'.")
    if not any(message["role"] == "user" for message in messages):
        raise _Bad(f"has no message of the user in '{name}', so nothing is asked.")
    if messages[-1]["role"] == "assistant":
        raise _Bad(f"ends '{name}' with the assistant's answer: split it off with --answer-from-messages.")
    return messages


def _message(item: Any, number: int, name: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping) or not {"role", "content"} <= item.keys():
        raise _Bad(f'has {kind(item)} as message {number} of \'{name}\': expected {{"role": ..., "content": ...}}.')
    role, content = item["role"], item["content"]
    if role not in ROLES:
        meant = f" ({MEANT[role]} is meant?)" if role in MEANT else ""
        raise _Bad(f"has the role {role!r} in message {number} of '{name}'{meant}: expected {', '.join(ROLES)}.")
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        content = "".join(texts) if len(texts) == len(parts) else _shown(content, number, name)
    if not isinstance(content, str | list):
        raise _Bad(f"has {kind(content)} as content of message {number} of '{name}': expected text.")
    if role == "user" and not (content.strip() if isinstance(content, str) else content):
        raise _Bad(f"has an empty message {number} of the user in '{name}'.")
    further = {key: value for key, value in item.items() if value is not None}
    return {**further, "role": role, "content": content}


def _shown(content: Sequence[Any], number: int, name: str) -> list[Mapping[str, Any]]:
    """The parts of a message with pictures, each with the fields that are needed."""
    try:
        return plain_parts(content)
    except DataError as error:
        raise _Bad(f"has a part that cannot be shown in message {number} of '{name}': {error}") from None


def _with_system(prompt: Prompt, system: str) -> Prompt:
    """The prompt with the system message before it. A prompt with a system message of its own keeps that one."""
    if not system:
        return prompt
    messages = ({"role": "user", "content": prompt},) if isinstance(prompt, str) else prompt
    return messages if messages[0]["role"] == "system" else ({"role": "system", "content": system}, *messages)


def _gold(value: Any, name: str) -> tuple[str | None, str | None]:
    """(the gold answer, the worked solution) in an answer column. A text with `####` or a box is a worked solution, and
    its gold is what the mark marks. Any other text is the gold itself.
    """
    text = _written(value, name)
    if not text:
        return None, None
    if MARK in text:
        gold = text.rpartition(MARK)[2].strip()
        if not gold:
            raise _Bad(f"has nothing behind the last {MARK} of '{name}'.")
        return gold, text
    if _BOX in text:
        gold = last_box(text)
        if not gold:
            raise _Bad(f"has a last {_BOX}...}} of '{name}' that is empty or never closed.")
        return gold, text
    return text, None


def _tests(columns: Mapping[str, Any], names: Columns) -> str | None:
    """Tests of a program as one text of JSON; None if the row has none."""
    name = names.answer or ""
    value = columns.get(name) if name == TESTS else published(columns, name)
    return json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else _written(value, name) or None


def _ruled(columns: Mapping[str, Any]) -> str | None:
    """The instructions of a row as one text of JSON; None if it has none."""
    try:
        return rules_of(columns)
    except DataError as error:
        raise _Bad(f"has instructions that cannot be checked: {error}.") from None


def _written(value: Any, name: str) -> str:
    """An answer as text: "" for null, "42" for the number 42.0."""
    if value is None or isinstance(value, str):
        return (value or "").strip()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else str(value)
    raise _Bad(f"has {kind(value)} in '{name}': expected the answer as text or number.")


def last_box(text: str) -> str | None:
    """The content of the last \\boxed{...}; None if its brace is never closed."""
    depth, begin = 1, text.rfind(_BOX) + len(_BOX)
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin:place].strip()
    return None


def _worked(value: Any, name: str) -> str | None:
    """A worked solution as text; the column may also hold a list with one message of the assistant."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        value = value[0].get("content")
    if value is not None and not isinstance(value, str):
        raise _Bad(f"has {kind(value)} in '{name}': expected a worked solution as text.")
    return value if value and value.strip() else None


# The table as a whole


def _mixed(rows: Sequence[FileRow], name: str) -> list[Fault]:
    """Faults of rows whose prompt is a conversation while most prompts are texts, or the other way round."""
    lines: dict[str, list[int]] = {}
    for row in rows:
        lines.setdefault(kind(_at(row.columns, name)), []).append(row.line)
    if len(lines) < 2:
        return []
    (fewer, strange), (more, usual) = sorted(lines.items(), key=lambda item: len(item[1]))
    what = f"has {fewer} as its '{name}', and line {usual[0]} has {more}: write all in one way."
    return [Fault(line, what) for line in strange]


def _notes(
    rows: Sequence[FileRow],
    columns: Columns,
    problems: Sequence[Problem],
    repeats: Sequence[int],
    faults: Sequence[Fault],
) -> list[str]:
    notes = []
    if faults:
        notes.append(f"{count_of(len(faults), 'row')} left out: {listed([fault.line for fault in faults])}")
    if repeats:
        notes.append(f"{count_of(len(repeats), 'row')} left out, because an earlier row is the same: {listed(repeats)}")
    without = [problem.spec["row"] for problem in problems if problem.spec["gold"] is None]
    if without and columns.answer:
        notes.append(f"{count_of(len(without), 'row')} without an answer: {listed(without)}")
    for name in columns.others:
        values = [row.columns.get(name) for row in rows]
        if UNREADABLE in values:
            notes.append(f"column '{name}' holds bytes, which are no JSON data: reward functions do not get it")
        elif len(kinds := Counter(kind(value) for value in values if value is not None)) > 1:
            rarest = min(kinds, key=lambda k: kinds[k])
            line = next(row.line for row in rows if kind(row.columns.get(name)) == rarest)
            counts = ", ".join(f"{number} x {k}" for k, number in kinds.most_common())
            notes.append(f"column '{name}' mixes types ({counts}; line {line} has {rarest})")
    return notes


def with_system_of_their_own(problems: Iterable[Problem]) -> int:
    """How many problems have a system message of their own."""
    firsts = (problem.prompt[0] for problem in problems if isinstance(problem.prompt, tuple))
    return sum(first["role"] in ("system", "developer") for first in firsts)


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(lines: Sequence[int | str]) -> str:
    shown = ", ".join(map(str, lines[:SHOWN]))
    return f"line{'s' * (len(lines) > 1)} {shown}" + (" ..." if len(lines) > SHOWN else "")


def plain_prompt(problem: Problem) -> str:
    """The prompt in lower case, with single spaces, without system messages, and with the sources of its pictures:
    equal for prompts that read the same.
    """
    prompt = problem.prompt
    texts = [prompt] if isinstance(prompt, str) else [text_of(m["content"]) for m in prompt if m["role"] != "system"]
    return " ".join([*" ".join(texts).casefold().split(), *pictures_in(prompt)])


def without(problems: Sequence[Problem], others: Sequence[Problem]) -> tuple[Problem, ...]:
    """The problems whose prompts are not among those of `others`."""
    taken = {plain_prompt(problem) for problem in others}
    return tuple(problem for problem in problems if plain_prompt(problem) not in taken)
