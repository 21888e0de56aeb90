"""Reading parquet files that a stranger may have made: a small file can be packed with many gigabytes of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import StorageError
from assay.host.files import require_regular

if TYPE_CHECKING:
    import pyarrow as pa

ALWAYS = 256 << 20  # bytes of unpacked rows that every file may hold
TIMES = 100  # a larger file may hold so many times its own size; real repetitive text shrinks to about a twentieth
CELL = 64  # bytes that a cell takes in Python at the least
BATCH = 1024  # rows that are read at a time


def rows_of(path: Path, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file; StorageError if the file is no parquet, or unpacks to far more than its size."""
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


def table_of(path: Path) -> pa.Table:
    """A parquet file as a table of Arrow, with the metadata of its schema; refused where `rows_of` refuses it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        most = max(ALWAYS, TIMES * require_regular(path).st_size)
        with path.open("rb") as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
            _require_size(path, file.metadata, most)
            return file.read()
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{path} cannot be read as parquet: it is damaged, or a file of another kind.") from error


def columns_of(path: Path) -> list[str]:
    """The names of the columns of a parquet file, from its header."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        require_regular(path)
        with path.open("rb") as stream:
            return pq.read_schema(stream).names
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{path} cannot be read as parquet: it is damaged, or a file of another kind.") from error


def _require_size(path: Path, metadata: Any, most: int) -> None:
    """Checks the size that the file's own header gives, before any row is unpacked."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    unpacked = sum(column.total_uncompressed_size for column in columns)
    _require(path, max(unpacked, metadata.num_rows * metadata.num_columns * CELL), most)


def _require(path: Path, size: int, most: int) -> None:
    if size > most:
        raise StorageError(
            f"{path} has {path.stat().st_size:,} bytes and unpacks to rows of {size:,} bytes or more; from a file of "
            f"this size at most {most:,} bytes are read, because such files can be made to fill the memory. If these "
            "rows are real, write them as .jsonl."
        )
