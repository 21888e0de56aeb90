"""Run folders and files of rows that a stranger made to hang a program or fill its memory: refused in words, soon."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attacks import DEEP, NESTED, Arena, Harm, edited, endless, hole, pipe, written
from small_runs import copy_of, make_model, train_line

from assay.cli.main import main


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    with Arena() as made:
        yield made


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("honest")
    assert main([*train_line(make_model(root / "model"), root / "run"), "--quiet"]) == 0
    return root / "run"


def resealed(name: str, content: str) -> Callable[[Path], None]:
    """The file of the last checkpoint, with a manifest that vouches for it."""

    def harm(run: Path) -> None:
        import hashlib

        from assay.record import manifest

        folder = sorted((run / "ckpt").glob("step-*"))[-1]
        (folder / name).write_text(content)
        found = json.loads((folder / "MANIFEST.json").read_text())
        found.pop("seal")
        found["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content.encode()).hexdigest()}
        (folder / "MANIFEST.json").write_bytes(manifest.seal(found))

    return harm


def piped_rollouts(run: Path) -> None:
    for path in (run / "rollouts").glob("*.parquet"):
        pipe(path.name)(run / "rollouts")


RESUME, REPORT = ("resume", "--steps", "5", "--quiet"), ("report",)
ODD = '{"step":1,"reward/mean":"x","time/step":"y"}\n'
RUNS: dict[str, tuple[Harm, str, tuple[tuple[str, ...], ...]]] = {
    "run.json as a pipe": (pipe("run.json"), "is a pipe", (RESUME, REPORT)),
    "run.json without end": (endless("run.json"), "is a device", (RESUME,)),
    "run.json nested": (written("run.json", f'{{"schema":1,"a":{NESTED}}}'), "nested deeper than", (RESUME,)),
    "run.json nested a little": (edited("run.json", warnings=json.loads(DEEP)), "nested deeper than", (RESUME, REPORT)),
    "run.json of 64 gigabytes": (hole("run.json", 1 << 36), "such a file has at most", (RESUME,)),
    "an experiment that is a word": (edited("run.json", experiment="x"), "has no field 'experiment'", (RESUME, REPORT)),
    "an experiment of nothing": (edited("run.json", experiment={}), "run.json", (REPORT,)),
    "metrics as a pipe": (pipe("metrics.jsonl"), "is a pipe", (RESUME, REPORT)),
    "metrics without end": (endless("metrics.jsonl"), "is a device", (RESUME, REPORT)),
    "metrics in one line": (
        lambda run: [written("metrics.jsonl", '{"step":1,"a":"')(run), os.truncate(run / "metrics.jsonl", 1 << 33)],
        "longer than",
        (REPORT,),
    ),
    "metrics nested": (
        written("metrics.jsonl", f'{{"step":1,"a":{NESTED}}}\n'),
        "nested deeper than",
        (RESUME, REPORT),
    ),
    "metrics of words": (written("metrics.jsonl", ODD), "which is not a number", (REPORT,)),
    "scores of words": (
        written("evals.jsonl", '{"step":1,"set":"test","pass":{"x":5},"bank":7}\n'),
        "which no evaluation has there",
        (REPORT,),
    ),
    "memory nested": (resealed("memory.json", NESTED), "nested deeper than", (RESUME,)),
    "memory that is a word": (resealed("memory.json", '"x"'), "does not have the fields that Assay writes", (RESUME,)),
    "counters in a list": (resealed("counters.json", "[1]"), "does not have the fields that Assay writes", (RESUME,)),
    "rollouts as pipes": (piped_rollouts, "is a pipe", (REPORT,)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS)
def test_a_run_folder_that_is_an_attack_is_refused(case: str, honest: Path, tmp_path: Path, arena: Arena) -> None:
    harm, words, verbs = RUNS[case]
    run = copy_of(honest, tmp_path / "run")
    harm(run)
    for verb, *rest in verbs:
        arena.refused(verb, run, *rest, words=words)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BEST", "step-00000004/MANIFEST.json"])
def test_a_pipe_among_the_checkpoints_holds_nobody(name: str, honest: Path, tmp_path: Path, arena: Arena) -> None:
    """A hint that cannot be read is none, and a checkpoint without a manifest is set aside for the one before it."""
    run = copy_of(honest, tmp_path / "run")
    pipe(name)(run / "ckpt")
    for verb, *rest in (RESUME, REPORT):
        assert arena(verb, run, *rest).code == 0


def bomb(path: Path) -> None:
    """Twenty million rows of two thousand bytes each, in four megabytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, type=pa.int32()), pa.array(["x" * 1000]))
    part = pa.table({"prompt": words.cast(pa.string()), "answer": words.cast(pa.string())})
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(part, row_group_size=1_000_000)


def cells(path: Path) -> None:
    """Six cells of 256 megabytes, in fifty kilobytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = pa.table({"prompt": ["y" * (1 << 28)], "answer": ["x"]})
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(6):
            writer.write_table(part)


def text(content: str) -> Harm:
    return lambda path: path.write_text(content)


def opened(begun: str, size: int) -> Harm:
    """A line that begins so and never ends."""
    return lambda path: [path.write_text(begun), os.truncate(path, size)]


LINES = ("x" * 100 + "\n") * 200_000
WIDE = ",".join(f"c{i}" for i in range(100_000)) + "\n" + ",".join(["1"] * 100_000) + "\n"
FILES: dict[str, tuple[str, Harm, str]] = {
    "a parquet bomb of rows": ("rows.parquet", bomb, "unpacks to rows of"),
    "a parquet bomb of cells": ("rows.parquet", cells, "unpacks to rows of"),
    "parquet as a pipe": ("rows.parquet", os.mkfifo, "is a pipe"),
    "rows as a pipe": ("rows.jsonl", os.mkfifo, "is a pipe"),
    "rows nested": ("rows.jsonl", text(f'{{"prompt":"1","answer":{NESTED}}}\n'), "nested too deeply"),
    "a column nested": ("rows.jsonl", text(f'{{"prompt":"1","answer":"1","x":{DEEP}}}\n'), "nested too deeply"),
    "a line of 6 gigabytes": ("rows.jsonl", opened('{"prompt":"', 6 << 30), "are line ends lost?"),
    "a list nested": ("rows.json", text(NESTED), "nested deeper than"),
    "a list of 64 gigabytes": ("rows.json", opened("[1,\n2", 1 << 36), "bytes"),
    "a table of zeros": ("rows.csv", opened("", 6 << 30), "are line ends lost?"),
    "a cell of 20 megabytes": (
        "rows.csv",
        text('prompt,answer\n"' + ("x" * 100 + "\n") * 200_000 + '",1\n'),
        "field larger",
    ),
    "100,000 columns": ("rows.csv", text(WIDE), "no column holds"),
    "100,000 keys, one of them twice": (
        "rows.jsonl",
        text("{" + ",".join(f'"k{i}":1' for i in range(100_000)) + ',"prompt":"1","k1":2}\n'),
        "the key 'k1' stands twice",
    ),
    "a number of 100,000 digits": (
        "rows.jsonl",
        text('{"prompt":"1","answer":' + "9" * 100_000 + "}\n"),
        "is not JSON",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FILES)
def test_a_file_of_rows_that_is_an_attack_is_refused(case: str, tmp_path: Path, arena: Arena) -> None:
    name, make, words = FILES[case]
    make(tmp_path / name)
    arena.refused("data", "check", tmp_path / name, words=words, code=64)
