"""Data files as a task: its name is `data:/path/to/file.jsonl`, and settings for reading the file follow a `?`.

Several files are one set. Rows with equal content are one problem, wherever
their files lie. Rows with the same prompt are in the same split.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from urllib.parse import parse_qsl, quote, unquote, urlencode

from assay.errors import AssayError, DataError, UsageError
from assay.rng import digest
from assay.tasks.data import PREFIX
from assay.tasks.data.files import is_hub
from assay.tasks.data.rows import TESTS, Table, plain_prompt, without
from assay.tasks.data.ruled_rows import followed
from assay.tasks.data.several import names_of, read_set
from assay.tasks.task import SPLITS, Checker, Generator, Split, Task, Wordings
from assay.types import Problem, Verdict
from assay.worlds import World

if TYPE_CHECKING:
    from assay.verifiers.programs import Tests

_KEPT = "/:.-_~ "  # characters of a path that stay as they are; all others are quoted as in a URL
_NAMED = 3  # a title names all files of a set up to so many
_VALID = 20  # of a hundred held-out rows, so many are in the split that is evaluated during training


@dataclass(frozen=True)
class Data:
    """Files or data sets of the Hub, and how to read them. All of it can be told from its `name`, which names a task.

    Example:
        Data.of("data:/tmp/train.jsonl?answer_column=gold")
        Data(("openai/gsm8k:main:train",), held_out=("openai/gsm8k:main:test",)).name
    """

    places: tuple[str, ...]  # one set; each is an absolute path, or owner/name[:configuration][:split]
    held_out: tuple[str, ...] = ()  # files for evaluation; with them, all rows of `places` are for training
    prompt_column: str = ""  # "": the first usual name that the file has
    answer_column: str = ""  # likewise
    system: str = ""  # a system message for rows that have none, in old runs; `chat.system` has replaced it
    skip_bad_rows: bool = False
    answer_from_messages: bool = False  # conversations end with the assistant, whose last message is the answer
    rows: Literal["", "test"] = ""  # test: all rows are for evaluation

    @property
    def name(self) -> str:
        first, *others = self.places
        query = [*(("also", place) for place in others), *(("held_out", place) for place in self.held_out)]
        fields = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self)[2:])
        query += [(name, "yes" if value is True else value) for name, value in fields if value]
        return PREFIX + quote(first, safe=_KEPT) + (f"?{urlencode(query, safe='/:')}" if query else "")

    @classmethod
    def of(cls, name: str) -> Data:
        """The data that a task's name describes."""
        path, _, query = name.removeprefix(PREFIX).partition("?")
        settings = parse_qsl(query)
        known = sorted({"also", *(field.name for field in dataclasses.fields(cls))} - {"places"})
        if strange := [key for key, _ in settings if key not in known]:
            raise UsageError(f"{name}: data has no setting '{strange[0]}'; it has {', '.join(known)}.")
        fields: dict[str, Any] = {key: value for key, value in settings if key not in ("also", "held_out")}
        fields |= {flag: flag in fields for flag in ("skip_bad_rows", "answer_from_messages")}
        kinds = ("also", "held_out")
        also, held_out = (tuple(located(place) for key, place in settings if key == kind) for kind in kinds)
        return cls((located(unquote(path)), *also), held_out, **fields)

    @property
    def label(self) -> str:
        """A short name, for titles and folders."""
        first, *others = map(_stem, self.places)
        return "+".join([first, *others] if len(others) < _NAMED else [first, f"{len(others)}-more"])


def _stem(place: str) -> str:
    return Path(place).stem if place.startswith("/") else place.replace("/", "-").replace(":", "-")


def located(place: str | Path) -> str:
    """The place as a task's name has it: a data set of the Hub by its name, a file by its absolute path."""
    text = str(place)
    if not text.strip():
        raise UsageError("the name of the data is empty: give a file or a data set of the Hub.")
    return text if is_hub(text) else str(Path(text).expanduser().resolve())


Places = str | Path | Sequence[str | Path]
"""A file or a data set of the Hub, or several of them, which are one set."""


def all_located(places: Places | None) -> tuple[str, ...]:
    listed = [] if places is None else [places] if isinstance(places, str | Path) else places
    return tuple(located(place) for place in listed)


def data(places: Places, *, held_out: Places | None = None, **settings: Any) -> Data:
    """The data that a user names. Their files are read anew, because they may
    have changed since they were last read.
    """
    tables.cache_clear()
    rows_of.cache_clear()
    if not (found := all_located(places)):
        raise UsageError("no data: name a file or a data set of the Hub.")
    if settings.get("answer_column") and settings.get("answer_from_messages"):
        raise UsageError("--answer-column and --answer-from-messages name two places for the answer: leave one out.")
    return Data(found, all_located(held_out), **settings)


@functools.lru_cache(maxsize=64)
def data_task(name: str) -> Task:
    """The task of this name. Its rows are read when they are first needed."""
    described = Data.of(name)
    return Task(
        name=described.name,
        domain="data",
        summary=f"the rows of {', '.join(described.places)}",
        generator=Generator(
            levels=range(1, 2), instance=_none, canonical=_none, rows=functools.partial(_rows_to_draw, described.name)
        ),
        wordings=Wordings(compact=_none, natural=_none, solve=_none),
        checker=Checker(check=_none, verify_many=_verify_all),
        world=_EQUIPPED.get(described.name),
    )


_EQUIPPED: dict[str, World] = {}
"""Name of a task -> the world of the tools that the run at hand has on its rows."""


@contextlib.contextmanager
def equipped(names: Sequence[str], world: World) -> Iterator[None]:
    """Inside the block the rows of these tasks are answered in this world."""
    _EQUIPPED.update(dict.fromkeys(names, world))
    data_task.cache_clear()
    try:
        yield
    finally:
        for name in names:
            del _EQUIPPED[name]
        data_task.cache_clear()


def _none(*_: Any) -> NoReturn:
    raise AssayError("the rows of a data file are its problems: no further problem can be drawn, worded or solved.")


@functools.lru_cache(maxsize=8)
def tables(name: str) -> tuple[Table, ...]:
    """The tables of a task: the table of its rows and, if it has held-out files, the table of the held-out rows."""
    described = Data.of(name)
    common: dict[str, Any] = {"task": name, "prompt": described.prompt_column, "answer": described.answer_column}
    sets = [described.places, *([described.held_out] if described.held_out else [])]
    common |= {"system": described.system, "skip_bad_rows": described.skip_bad_rows}
    common |= {"split": described.answer_from_messages}
    return tuple(read_set(places, **common) for places in sets)


@functools.lru_cache(maxsize=24)
def rows_of(name: str, split: Split) -> tuple[Problem, ...]:
    """The rows of a split. Without held-out files, the content of a row decides
    its split; about 80% are for training.
    """
    (table, *held), only = tables(name), Data.of(name).rows
    if held:
        if split == "train":
            return without(table.problems, held[0].problems)
        valid = _to_choose_by(held[0].problems)
        return tuple(problem for problem in held[0].problems if (problem.id in valid) == (split == "valid"))
    if only:
        return table.problems if split == only else ()
    return tuple(problem for problem in table.problems if _bucket(problem) in SPLITS[split])


def _rows_to_draw(name: str, split: Split) -> tuple[Problem, ...]:
    """The rows of a split. Refuses held-out files that hold every row."""
    rows = rows_of(name, split)
    if split != "train" and not rows and (sets := tables(name))[1:]:
        files = ", ".join(names_of(sets[1].places))
        raise DataError(
            f"{files}: {len(sets[1].problems)} row, and held-out rows are at least two: one kind is evaluated during "
            "training, and chooses the checkpoint, the other scores it at the end."
        )
    if split == "train" and not rows and len(sets := tables(name)) > 1 and sets[0].problems:
        files, others = (", ".join(names_of(table.places)) for table in sets)
        raise DataError(
            f"all {len(sets[0].problems)} rows of {files} are held out by --eval-data {others}, and none is left to "
            "train on. Give other rows to hold out, or leave --eval-data out: then a fifth of the rows is held out."
        )
    return rows


def _to_choose_by(rows: Sequence[Problem]) -> frozenset[str]:
    """The ids of the held-out rows that are evaluated during training: a fifth, by content. Of two rows or more at
    least one is among them, and at least one is not.
    """
    ranked = sorted(rows, key=lambda row: (_bucket(row), content(row)))
    count = sum(_bucket(row) < _VALID for row in ranked)
    if len(ranked) > 1:
        count = min(max(count, 1), len(ranked) - 1)
    return frozenset(row.id for row in ranked[:count])


def _bucket(problem: Problem) -> int:
    return int(digest("split", "data", plain_prompt(problem)), 16) % 100


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Judges responses against the answers of their rows, as mathematics; against tests, as programs; against
    instructions, by their rules.
    """
    tested = [i for i, (problem, _) in enumerate(pairs) if problem.spec.get(TESTS)]
    verdicts = dict(zip(tested, _judge_programs([pairs[i] for i in tested]), strict=True))
    verdicts |= {i: followed(row.spec["gold"], text) for i, (row, text) in enumerate(pairs) if row.spec.get("ruled")}
    rest = [i for i in range(len(pairs)) if i not in verdicts]
    if rest:
        from assay.verifiers.mathematics.against_gold import verify

        verdicts |= zip(rest, verify([pairs[i] for i in rest]), strict=True)
    return [verdicts[i] for i in range(len(pairs))]


def _judge_programs(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on the last block of code of each response."""
    if not pairs:
        return []
    from assay.sandbox import opened
    from assay.verifiers.programs import program_in, verify

    verdicts: dict[int, Verdict] = {}
    items = []
    for i, (problem, text) in enumerate(pairs):
        program = program_in(text)
        if program is None:
            verdicts[i] = Verdict.fail("format", "no closed block of code that begins with ```python")
            continue
        try:
            items.append((i, program, _tests_of(problem.spec["gold"])))
        except (DataError, ValueError, TypeError, RecursionError) as error:
            verdicts[i] = Verdict.invalid("bad_gold", str(error)[:200])
    verified = verify([(program, tests) for _, program, tests in items], opened()) if items else []
    verdicts |= zip([i for i, _, _ in items], verified, strict=True)
    return [verdicts[i] for i in range(len(pairs))]


@functools.lru_cache(maxsize=256)
def _tests_of(gold: str) -> Tests:
    """The tests of a row, read once for all answers to it."""
    from assay.verifiers.programs import read_tests

    return read_tests(json.loads(gold))


def content(problem: Problem) -> str:
    """A digest of the prompt: equal for rows whose prompts read the same, in whatever files."""
    return digest("content", plain_prompt(problem))


def where(problem: Problem) -> str:
    """The place of a problem's row, for a person: `line 7 of rows`, or with several files `line 7 of b.jsonl`."""
    file, _, line = str(problem.spec["row"]).rpartition(":")
    return f"line {line} of {file or Data.of(problem.task).label}"


def describe(name: str) -> list[str]:
    """Lines that tell a user about the data before a run begins: counts,
    columns, splits, and rows that were left out.
    """
    table, *held = tables(name)
    columns, file = table.columns, ", ".join(names_of(table.places))
    answer = f"answers in '{columns.answer}'" if columns.answer else "no answers"
    lines = [f"{file}: {table.num_rows} rows; questions in '{columns.prompt}', {answer}"]
    lines += [f"{file}: {note}" for note in table.notes]
    for other in held:
        shared, their = len(table.problems) - len(rows_of(name, "train")), ", ".join(names_of(other.places))
        lines.append(f"{their}: {other.num_rows} held-out rows")
        lines += [f"{their}: {note}" for note in other.notes]
        if shared:
            lines.append(f"{file}: {shared} rows are among the held-out ones too, and are left out of training")
    counts = {split: len(rows_of(name, split)) for split in SPLITS}
    if not Data.of(name).rows:
        lines.append(f"{file}: {counts['train']} to train on, {counts['valid']} to validate, {counts['test']} to test")
    return lines


def digests(name: str) -> list[str]:
    """A digest of each file's rows, by which a resumed run can tell whether they are still the same."""
    return [digest for table in tables(name) for digest in table.digests]
