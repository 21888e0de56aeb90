"""Sample banks: all answers of one model to one set of problems, in a parquet file that all estimates are made of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from assay import __version__
from assay.errors import DataError, StorageError
from assay.host.tables import table_of
from assay.record import disk
from assay.record.turns import Decode, as_records, turn_type
from assay.rng import digest
from assay.scoring.bank import Bank
from assay.types import Episode, Origin, Problem

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2  # with the turns of answers in worlds; a bank without any is written in the first format
MARK = b"assay.bank"  # the entry of the file's metadata that says what was asked
CHECK = b"assay.bank.digest"  # the entry with its digest: Parquet sums up the pages of columns alone
REPLIES = ("max_replies", "longest_reply")
DECODING = ("temperature", "top_p", "max_new")
AGAIN = "Remove it and write it again with `assay bank sample`."

Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """The question that a bank answers: which model, which problems, and how. The same question to the same weights
    gives the same samples again.
    """

    model: str  # as it was named
    weights: str  # fingerprint of the model's weights and tokenizer
    pool: Json  # the tasks that the problems are of, with their levels and weights
    split: str
    samples: int  # answers to each problem
    temperature: float
    top_p: float
    max_new: int
    seed: int
    system: str  # the system message; "" for none
    judge: tuple[str, ...]  # reward functions with digests of their code; empty: the verifiers of the tasks
    problems: Mapping[str, Json]  # id -> {"task", "prompt": text or messages, "canonical": what decides identity}
    version: str = __version__
    verifiers: Mapping[str, str] = field(default_factory=dict)  # verifier or program -> version; empty in older banks
    max_replies: int = 0  # the most tokens of a world's replies in an answer; 0: they count towards max_new
    longest_reply: int = 0  # the most tokens of one reply; 0: no limit

    @property
    def digest(self) -> str:
        return digest("bank", 1, json.dumps(self.to_json(), sort_keys=True))

    def of(self, problems: Iterable[Problem]) -> Asked:
        """The same question about these problems alone."""
        return dataclasses.replace(self, problems=told(problems))

    def to_json(self) -> Json:
        said = dataclasses.asdict(self) | {"judge": list(self.judge)}
        return {name: value for name, value in said.items() if value or name not in REPLIES}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        kinds = {"samples": int, "max_new": int, "seed": int, "temperature": float, "top_p": float, "pool": dict}
        values = {
            name: kinds.get(name, str)(record[name])
            for name in (field.name for field in dataclasses.fields(cls))
            if name not in ("judge", "problems", "verifiers", *REPLIES)
        }
        values |= {name: int(record.get(name, 0)) for name in REPLIES}
        verifiers = {str(name): str(version) for name, version in record.get("verifiers", {}).items()}
        problems = {str(name): dict(said) for name, said in record["problems"].items()}
        return cls(**values, judge=tuple(record["judge"]), problems=problems, verifiers=verifiers)


def told(problems: Iterable[Problem]) -> dict[str, Json]:
    """The entry `problems` of Asked."""
    return {
        problem.id: {"prompt": _plain(problem.prompt), "canonical": problem.canonical, "task": problem.task}
        for problem in problems
    }


def _plain(prompt: str | tuple[Mapping[str, str], ...]) -> str | list[dict[str, str]]:
    return prompt if isinstance(prompt, str) else [dict(message) for message in prompt]


@dataclass(frozen=True, eq=False)
class SampleBank:
    """A row a sample: the answer as tokens and as text, its verdict, how it ended, and how likely it was.

    bank = SampleBank.read(Path("base.parquet"))
    pass_at_k(bank.counts().n, bank.counts().correct, k=64)
    """

    asked: Asked
    table: pa.Table

    @classmethod
    def of(cls, asked: Asked, episodes: Iterable[Episode], *, decode: Decode | None = None) -> SampleBank:
        """The bank of verified episodes, the answers to what was asked. With `decode`, which makes texts of tokens, it
        holds the turns of answers in worlds.
        """
        import pyarrow as pa

        rows = [_row(episode, decode) for episode in episodes]
        return cls(asked, pa.Table.from_pylist(rows, schema=schema()))._checked("these episodes")

    @classmethod
    def joined(cls, asked: Asked, parts: Sequence[SampleBank]) -> SampleBank:
        """The bank of several portions of the problems, in their order."""
        import pyarrow as pa

        return cls(asked, pa.concat_tables([part.table for part in parts]))._checked("these portions")

    def write(self, path: Path) -> None:
        """Writes the bank as one file, atomically and durably."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        plain = self.table["turns"].null_count == len(self.table)
        table = self.table.drop_columns(["turns"]) if plain else self.table
        said = json.dumps({"format": 1 if plain else FORMAT, **self.asked.to_json()}).encode()
        table = table.combine_chunks().replace_schema_metadata({MARK: said, CHECK: digest(said).encode()})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        disk.replace(path, sink.getvalue(), point="samples")

    @classmethod
    def read(cls, path: Path) -> SampleBank:
        """The bank of a file; DataError if the file is missing, damaged, of another kind or of a later version."""
        if not path.is_file():
            raise DataError(f"there is no bank {path}: `assay bank sample MODEL --into {path}` writes one.")
        try:
            table = table_of(path)
        except StorageError as error:
            raise DataError(f"{error} Name a bank. If this was one, write it again: `assay bank sample`.") from error
        entries = table.schema.metadata or {}
        header = entries.get(MARK)
        if header is None:
            raise DataError(
                f"{path} is a table, but no bank of samples, which `assay bank sample MODEL --into FILE` writes."
            )
        if entries.get(CHECK) != digest(header).encode():
            raise DataError(f"{path} is damaged: what was asked has another digest than when it was written. {AGAIN}")
        try:
            document = json.loads(header)
            version = int(document["format"])
            later = version > FORMAT
            asked = None if later else Asked.from_json(document)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise DataError(f"{path} is damaged: what was asked cannot be read ({error!r}). {AGAIN}") from error
        if asked is None:
            raise DataError(
                f"{path} was written by a later Assay, {document.get('version')}: it has format {version}, and this "
                f"Assay, {__version__}, reads formats up to {FORMAT}. Upgrade Assay."
            )
        if not table.schema.equals(schema(version)):
            raise DataError(f"{path} is damaged: it has other columns than a bank of format {version}. {AGAIN}")
        return cls(asked, _with_turns(table.cast(schema(version))))._checked(str(path))

    def counts(self) -> Bank:
        """The counts of the bank with its answers; all estimators work on counts."""
        problem_of, problems = self._places(), len(self.asked.problems)
        status = self._column("status")
        valid = status != "invalid"
        at = problem_of[valid]
        answers: list[list[str | None]] = [[] for _ in range(problems)]
        right: list[list[bool]] = [[] for _ in range(problems)]
        columns = zip(problem_of, valid, self.table["answer"].to_pylist(), self._column("correct"), strict=True)
        for where, counted, answer, correct in columns:
            if counted:
                answers[where].append(answer)
                right[where].append(bool(correct))
        first = np.unique(problem_of, return_index=True)[1]

        def total(weights: np.ndarray) -> np.ndarray:
            return np.bincount(at, weights=weights[valid], minlength=problems).astype(np.int64)

        return Bank(
            problems=tuple(self.asked.problems),
            tasks=tuple(self._column("task")[first].tolist()),
            levels=self._column("level")[first].astype(np.int64),
            n=total(np.ones(len(problem_of))),
            correct=total(self._column("correct")),
            invalid=np.bincount(problem_of[~valid], minlength=problems),
            truncated=total(self._column("finish") == "length"),
            tokens=total(self._column("tokens")),
            max_new=self.asked.max_new,
            temperature=self.asked.temperature,
            answers=tuple(map(tuple, answers)),
            right=tuple(map(tuple, right)),
        )

    def select(self, problems: Sequence[str]) -> SampleBank:
        """The bank of these problems, in this order."""
        if unknown := [problem for problem in problems if problem not in self.asked.problems]:
            raise DataError(f"the bank of {self.asked.model} has no problem {unknown[0]}.")
        order = {problem: i for i, problem in enumerate(problems)}
        named = [order.get(problem) for problem in self._column("problem")]
        rows = sorted((place, i) for i, place in enumerate(named) if place is not None)
        asked = dataclasses.replace(self.asked, problems={name: self.asked.problems[name] for name in problems})
        return SampleBank(asked, self.table.take([i for _, i in rows]))

    def halves(self) -> tuple[SampleBank, SampleBank]:
        """The even and the odd samples: two banks of one model, which differ by the luck of sampling alone."""
        if self.asked.samples < 2:
            raise DataError(f"the bank of {self.asked.model} has one sample of each problem; halves need two or more.")
        odd = self._column("sample") % 2 == 1
        halves = []
        for wanted in (~odd, odd):
            table = self.table.take(np.flatnonzero(wanted))
            asked = dataclasses.replace(self.asked, samples=len(table) // len(self.asked.problems))
            halves.append(SampleBank(asked, table)._checked("a half of a bank"))
        return halves[0], halves[1]

    def same_decoding(self, other: SampleBank) -> bool:
        """Whether both were sampled with the same temperature, top-p and limit of tokens."""
        return not set(self.unlike(other)) & set(DECODING)

    def verified_otherwise(self, other: SampleBank) -> list[str]:
        """The verifiers and foreign programs that verified both banks in two versions."""
        mine, theirs = self.asked.verifiers, other.asked.verifiers
        return [name for name, version in mine.items() if theirs.get(name, version) != version]

    def unlike(self, other: SampleBank) -> dict[str, tuple[Any, Any]]:
        """The settings in which the other model was asked otherwise, without the choice of problems: {name: (here,
        there)}.
        """
        names = (*DECODING, "system", "judge")
        found = {name: (getattr(self.asked, name), getattr(other.asked, name)) for name in names}
        mine, theirs = self.asked.problems, other.asked.problems
        worded = next((p for p in mine if p in theirs and mine[p]["prompt"] != theirs[p]["prompt"]), None)
        if worded is not None:
            found["prompt"] = mine[worded]["prompt"], theirs[worded]["prompt"]
        return {name: pair for name, pair in found.items() if pair[0] != pair[1]}

    def _column(self, name: str) -> np.ndarray:
        return self.table[name].to_numpy()

    def _places(self) -> np.ndarray:
        """The problem of each row, as its place among the problems asked; -1 for one that was not asked."""
        order = {problem: i for i, problem in enumerate(self.asked.problems)}
        return np.array([order.get(problem, -1) for problem in self._column("problem")], dtype=np.int64)

    def _checked(self, what: str) -> SampleBank:
        """This bank, if it has the same number of different samples of each problem that was asked, and no others."""
        place, problems, samples = self._places(), len(self.asked.problems), self.asked.samples
        whole = (place >= 0).all() and (np.bincount(place, minlength=problems) == samples).all()
        different = set(zip(place.tolist(), self._column("sample").tolist(), strict=True))
        if not problems or not whole or len(different) < len(place):
            raise DataError(
                f"{what}: {samples} different samples of each of {problems} problems were expected, and the "
                f"{len(place)} rows are others. {AGAIN}"
            )
        return self


def schema(version: int = FORMAT) -> pa.Schema:
    """The names and types of the columns of a bank in a format."""
    import pyarrow as pa

    text, count, required = pa.string(), pa.int32(), {"nullable": False}
    turns = [pa.field("turns", pa.list_(turn_type()))]  # null where nobody replied
    return pa.schema(
        [
            pa.field("problem", text, **required),
            pa.field("task", text, **required),
            pa.field("level", count, **required),
            pa.field("sample", count, **required),
            pa.field("ids", pa.list_(count), **required),  # tokens of the answer
            pa.field("text", text, **required),
            pa.field("answer", text),  # in canonical form; null where none was found
            pa.field("status", text, **required),  # ok, fail or invalid
            pa.field("kind", text, **required),  # why: wrong, truncated, time, ...
            pa.field("correct", pa.bool_(), **required),
            pa.field("finish", text, **required),
            pa.field("tokens", count, **required),
            pa.field("logp", pa.float64()),
            *(turns if version > 1 else []),
        ]
    )


def _with_turns(table: pa.Table) -> pa.Table:
    """The table of any format, with a column of turns, which says nothing where the format has none."""
    import pyarrow as pa

    if "turns" in table.column_names:
        return table
    column = schema().field("turns")
    return table.append_column(column, pa.nulls(len(table), column.type))


def _row(episode: Episode, decode: Decode | None) -> Json:
    request, verdict = episode.request, episode.verdict
    if verdict is None:
        raise DataError(f"request {request.id} was never verified; a bank holds verdicts.")
    return {
        "problem": request.problem.id,
        "task": request.problem.task,
        "level": request.problem.level,
        "sample": request.sample,
        "ids": episode.stream("ids").tolist(),
        "text": episode.text,
        "answer": verdict.answer,
        "status": verdict.status,
        "kind": verdict.kind,
        "correct": verdict.status == "ok",
        "finish": episode.finish,
        "tokens": len(episode),
        "logp": _logp(episode),
        "turns": as_records(episode, decode) if decode is not None else None,
    }


def _logp(episode: Episode) -> float | None:
    """The log-prob of the answer's own tokens, under the full softmax at its temperature; None if any is unknown."""
    own = [segment.origin == Origin.POLICY for segment in episode.segments]
    if any(segment.old is None and mine.any() for segment, mine in zip(episode.segments, own, strict=True)):
        return None
    sums = [float(s.old[mine].sum()) for s, mine in zip(episode.segments, own, strict=True) if s.old is not None]
    return sum(sums) if sums and np.isfinite(sums).all() else None
