"""Parquet files that a stranger may have made: a few hundred kilobytes of one can hold rows of many gigabytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.files import require_regular

ALWAYS = 256 << 20  # bytes that any file may hold
TIMES = 100  # its own size that a larger one may hold: text that repeats itself is written in a twentieth
CELL = 64  # bytes of a cell as Python holds it, whatever it says
BATCH = 1024  # rows at a time


def rows_of(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file; StorageError where it is none, or holds far more than its size says."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        most = max(ALWAYS, TIMES * require_regular(path).st_size)
        with path.open("rb") as stream, pq.ParquetFile(stream) as file:
            _require_size(path, file.metadata, most)
            held = 0
            for batch in file.iter_batches(BATCH, columns=None if columns is None else list(columns)):
                held += batch.nbytes
                _require(path, held, most)
                yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{path} cannot be read as parquet: it is damaged, or a file of another kind.") from error


def columns_of(path: Path) -> list[str]:
    """Their names, by what the file says of itself."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        require_regular(path)
        with path.open("rb") as stream:
            return pq.read_schema(stream).names
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{path} cannot be read as parquet: it is damaged, or a file of another kind.") from error


def _require_size(path: Path, metadata: Any, most: int) -> None:
    """By what the file says of itself, before any of it is unpacked."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    unpacked = sum(column.total_uncompressed_size for column in columns)
    _require(path, max(unpacked, metadata.num_rows * metadata.num_columns * CELL), most)


def _require(path: Path, size: int, most: int) -> None:
    if size > most:
        raise StorageError(
            f"{path} has {path.stat().st_size:,} bytes and holds rows of {size:,} or more; of such a file at most "
            f"{most:,} are read. If it is no bomb, write it as .jsonl."
        )
