"""Theorems of a Metamath database of your own: `theorems:FILE`, a JSON file that names the database and the theorems.

    {"database": "/usr/share/metamath/databases/set.mm", "theorems": ["a1i", "syl"], "statements": ["miniF2F/test"]}

`theorems` are labels of the database, which are proved anew from what stands above them. `statements` are files, or
folders of files `*.mm`, each with one theorem that the database lacks, written as in miniF2F. Paths are relative to the
JSON file. A `sha256` says which version of the database is meant.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from assay.errors import AssayError, DataError
from assay.externals.metamath import METAMATH as PROGRAM
from assay.externals.metamath import digest_of_text
from assay.rng import digest
from assay.tasks.task import SPLITS, Checker, Generator, Spec, Split, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.proofs.own_database import Claim, Stated, Unusable, statement, symbols, theorems, verify

PREFIX = "theorems:"
_FIELDS = {"database", "theorems", "statements", "sha256"}


def theorems_task(name: str) -> Task:
    """The task of this name. Its database and its statements are read before it is returned."""
    return _made(Path(name.removeprefix(PREFIX)).expanduser().resolve())


@functools.lru_cache(maxsize=4)
def _made(path: Path) -> Task:
    specs = read_theorems(path)
    name = f"{PREFIX}{path}"
    problems = {split: tuple(_problem(name, spec) for spec in specs if _split(spec) == split) for split in SPLITS}
    return Task(
        name=name,
        domain="proofs",
        summary=f"prove the {len(specs)} theorems that {path} names, in a database of Metamath",
        generator=Generator(
            levels=range(1, 2),
            instance=_none,
            canonical=lambda spec: spec["label"],
            split=_split,
            rows=lambda split: problems[split],
        ),
        wordings=Wordings(compact=_none, natural=asked, solve=_none),
        checker=Checker(check=_check, verify_many=verify_all, externals=("metamath",), seconds=PROGRAM.deadline),
    )


def _none(*_: Any) -> NoReturn:
    raise AssayError("the theorems of a file are its problems: no further one can be drawn, worded or solved.")


def asked(spec: Spec) -> str:
    """A theorem, and how its proof is written."""
    given = "\n".join(f"{label}  {said}" for label, said in spec["hypotheses"])
    return (
        f"Prove a theorem in Metamath, in the database {Path(spec['file']).name}. "
        + (f"Its hypotheses are\n\n{given}\n\nand it" if given else "It")
        + f" says\n\n{spec['statement']}\n\nGive the whole proof with its steps of syntax, as a row of labels or in "
        "the compressed format `( LABELS ) LETTERS`. Labels are those of the hypotheses and of all that stands above "
        "the theorem in the database. Give the proof in \\boxed{...}."
    )


def _split(spec: Spec) -> Split:
    """The label alone decides, wherever the file lies."""
    bucket = int(digest("split", "theorems", spec["label"]), 16) % 100
    return next(split for split, buckets in SPLITS.items() if bucket in buckets)


def _problem(name: str, spec: Spec) -> Problem:
    return Problem(
        task=name,
        prompt=asked(spec),
        spec=spec,
        canonical=spec["label"],
        level=1,
        domain="proofs",
        wording="natural",
    )


def read_theorems(path: Path) -> list[Spec]:
    """The theorems that a JSON file names. What cannot be used is refused."""
    named = _named(path)
    file = (path.parent / named["database"]).resolve()
    text = _text(file, "Expected a database of Metamath")
    mark = digest_of_text(text)
    if (meant := named.get("sha256")) not in (None, mark):
        raise DataError(f"{file} is another version than {path} means: its sha256 is {mark}, not {meant}.")
    try:
        database = theorems(text)
    except Unusable as error:
        raise DataError(f"{file} is no database of Metamath that can be used: {error}.") from error
    stated = [_theorem(label, database, path, file) for label in named.get("theorems", [])]
    if others := [other for name in named.get("statements", []) for other in _files(path.parent / name)]:
        declared = symbols(text)
        stated += [_statement(other, len(text), declared, file) for other in others]
    if not stated:
        raise DataError(f"{path} names no theorem: expected labels in `theorems`, or files in `statements`.")
    return [_spec(theorem, str(file), mark) for theorem in {theorem.label: theorem for theorem in stated}.values()]


def _named(path: Path) -> dict[str, Any]:
    try:
        named = json.loads(_text(path, "Expected a JSON file that names a database and theorems"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is no JSON: {error}") from error
    if not isinstance(named, dict) or not isinstance(named.get("database"), str):
        raise DataError(f'{path}: expected {{"database": FILE, "theorems": [LABEL, ...]}}.')
    if unknown := sorted(named.keys() - _FIELDS):
        raise DataError(f"{path} has '{unknown[0]}', and {', '.join(sorted(_FIELDS))} are known.")
    for field in ("theorems", "statements"):
        listed = named.get(field, [])
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise DataError(f"{path}: `{field}` is a list of texts.")
    return named


def _text(path: Path, expected: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}. {expected}.") from error


def _theorem(label: str, known: dict[str, Stated], path: Path, file: Path) -> Stated:
    if label not in known:
        raise DataError(f"{path} names the theorem '{label}', and {file} has none of this label.")
    return known[label]


def _files(place: Path) -> list[Path]:
    """The file, or the files of the folder."""
    if not place.is_dir():
        return [place]
    if not (files := sorted(place.glob("*.mm"))):
        raise DataError(f"{place} has no file *.mm: expected statements.")
    return files


def _statement(place: Path, end: int, declared: set[str], file: Path) -> Stated:
    try:
        return statement(_text(place, "Expected a statement"), end, declared)
    except Unusable as error:
        raise DataError(f"{place} cannot be a theorem of {file}: {error}.") from error


def _spec(stated: Stated, file: str, mark: str) -> Spec:
    return {
        "label": stated.label,
        "hypotheses": [list(pair) for pair in stated.hypotheses],
        "statement": stated.statement,
        "place": stated.place,
        "block": stated.block,
        "file": file,
        "digest": mark,
    }


def verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    """Verdicts on whole responses, of all theorems at once."""
    verdicts = [Verdict.fail("format", "no marked answer")] * len(pairs)
    answers = [find_answer(text, problem.wording) for problem, text in pairs]
    marked = [i for i, answer in enumerate(answers) if answer is not None]
    claims = [Claim.of(pairs[i][0].spec, answers[i] or "") for i in marked]
    for i, verdict in zip(marked, verify(claims), strict=True):
        verdicts[i] = verdict
    return verdicts


def _check(spec: Spec, text: str) -> Verdict:
    return verify([Claim.of(spec, text)])[0]
