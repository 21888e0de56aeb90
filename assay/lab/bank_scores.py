"""`assay bank score`: what a model makes of the answers of a bank, token by token, in one pass and without sampling.

The answers may be another model's: perplexities of one bank under several models are comparable, since the same answers
are read by the same program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import DataError, UsageError
from assay.host.space import device_of
from assay.lab.sample import asked_with
from assay.record import disk
from assay.record.turns import WORLD
from assay.run.base_training import ready
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.engine.statistics import Predicting, TokenStatistics
    from assay.policy import Policy
    from assay.scoring.samples import SampleBank

COLUMNS = ("nll", "entropy", "rank", "top", "nucleus", "kl")
WIDE = ("rank", "nucleus")  # counts of tokens, which half precision does not hold
Json = dict[str, Any]


@dataclass(frozen=True)
class Reader:
    """A model that reads answers, with exact products: fp32 on torch, whatever engine samples from it elsewhere."""

    name: str
    policy: Policy
    engine: Predicting


def reader(model: str, system: str) -> Reader:
    """The model under this name, asked with the system message of a bank."""
    from assay.policy import load_policy

    return reading(model, load_policy(ready(model)), system)


def reading(name: str, policy: Policy, system: str) -> Reader:
    """A policy in memory as a reader, asked with the system message of a bank."""
    from assay.engine.choose import frozen_engine
    from assay.policy.kinds import kind_of

    policy = policy.told(system) if system else policy
    wish = "torch" if kind_of(policy).can("shifts") else "auto"
    return Reader(name, policy, frozen_engine(policy, wish=wish, device=device_of("auto"), precision="fp32"))


def own_statistics(bank: SampleBank, model: Reader) -> list[tuple[str, TokenStatistics]]:
    """(problem, statistics of the tokens that a model chose) for every answer of a bank, in the order of its rows."""
    from assay.engine.interface import Span
    from assay.engine.statistics import token_statistics

    rows = bank.table.select(["problem", "ids", "text", "turns"]).to_pylist()
    _require_one_context(bank, rows)
    _require_words(bank, model, rows)
    contexts = _contexts(bank, model)
    spans = [Span(contexts[row["problem"]], np.asarray(row["ids"], np.int32)) for row in rows]
    statistics = token_statistics(model.engine, spans)
    return [(row["problem"], _own(row, answer)) for row, answer in zip(rows, statistics, strict=True)]


def score(bank: SampleBank, model: Reader, into: Path, *, against: Reader | None = None) -> Json:
    """Writes the statistics of every answer's tokens into a parquet file, and returns summaries of them."""
    from assay.engine.interface import Span
    from assay.engine.statistics import token_statistics

    if into.suffix != ".parquet":
        raise UsageError(f"--into {into}: the scores of a bank are a parquet file; name it {into}.parquet.")
    rows = bank.table.select(["problem", "sample", "ids", "text", "correct", "turns"]).to_pylist()
    _require_one_context(bank, rows)
    for scorer in (model, *([against] if against else [])):
        _require_words(bank, scorer, rows)
    contexts = _contexts(bank, model)
    spans = [Span(contexts[row["problem"]], np.asarray(row["ids"], np.int32)) for row in rows]
    statistics = token_statistics(model.engine, spans, against=None if against is None else against.engine)
    owned = [_own(row, answer) for row, answer in zip(rows, statistics, strict=True)]
    _write(into, rows, statistics, owned)
    return {
        "model": model.name,
        "against": None if against is None else against.name,
        "bank": bank.asked.model,
        "answers": len(rows),
        "all": _summary(owned),
        "right": _summary([answer for row, answer in zip(rows, owned, strict=True) if row["correct"]]),
        "wrong": _summary([answer for row, answer in zip(rows, owned, strict=True) if not row["correct"]]),
        "file": str(into),
    }


def _require_one_context(bank: SampleBank, rows: Sequence[Json]) -> None:
    """Refuses answers that were written under several contexts: they cannot be read behind their prompt."""
    if any(turn["reads"] is not None for row in rows for turn in row["turns"] or ()):
        raise DataError(
            f"within answers of {bank.asked.model} the world replaced what was read, so that they are no single "
            "text behind their prompt. Score the bank of a task whose world appends what it says."
        )


def _own(row: Json, answer: TokenStatistics) -> TokenStatistics:
    """The statistics of the tokens that a model chose: replies of a world are read, and say nothing of a model."""
    if row["turns"] is None:
        return answer
    own = np.concatenate([np.zeros(0, bool), *(np.full(t["tokens"], t["author"] != WORLD) for t in row["turns"])])
    streams = {name: value for name in COLUMNS if (value := getattr(answer, name)) is not None}
    return dataclasses.replace(answer, **{name: value[own] for name, value in streams.items()})


def _require_words(bank: SampleBank, model: Reader, rows: Sequence[Json]) -> None:
    """Refuses a model whose tokens are others than those of the bank."""
    vocab, decode = model.policy.codec.vocab, model.policy.codec.decode
    for row in rows:
        if max(row["ids"], default=0) >= vocab or decode(row["ids"]) != row["text"]:
            raise DataError(
                f"the tokens of {bank.asked.model}, which the bank holds, are others than those of {model.name}: "
                f"{row['text'][:40]!r} is not what its tokenizer reads. Score the bank with a model of the same "
                "tokenizer."
            )


def _contexts(bank: SampleBank, model: Reader) -> dict[str, np.ndarray]:
    """Problem -> the tokens of its prompt, as the bank's model was asked."""
    codec, asked = model.policy.codec, bank.asked
    requests = []
    for name, said in asked.problems.items():
        prompt = said["prompt"] if isinstance(said["prompt"], str) else tuple(said["prompt"])
        problem = Problem(task=said["task"], prompt=prompt, spec={}, canonical=said["canonical"])
        requests.append(Request(problem, codec.render(prompt), name, asked.max_new))
    worded = asked_with(asked.model, codec)(requests)
    return {name: request.context for name, request in zip(asked.problems, worded, strict=True)}


def _write(
    into: Path, rows: Sequence[Json], found: Sequence[TokenStatistics], owned: Sequence[TokenStatistics]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, pa.Array] = {
        "problem": pa.array([row["problem"] for row in rows]),
        "sample": pa.array([row["sample"] for row in rows], pa.int32()),
        "nll_sum": pa.array([float(answer.nll.sum(dtype=np.float64)) for answer in owned], pa.float64()),
    }
    for name in COLUMNS:
        if all(getattr(answer, name) is not None for answer in found):
            kind = pa.int32() if name in WIDE else pa.float16()
            values = [getattr(answer, name).astype(np.int32 if name in WIDE else np.float16) for answer in found]
            columns[name] = pa.array(values, pa.list_(kind))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd", write_page_checksum=True)
    disk.replace(into, sink.getvalue(), point="samples")


def _summary(found: Sequence[TokenStatistics]) -> Json | None:
    """Means over tokens and over answers. Perplexity is that of a token's mean cost over answers, because a mean of
    perplexities would be that of its few largest; the median stands beside it.
    """
    told = [answer for answer in found if len(answer.nll)]
    if not told:
        return None
    costs = np.array([float(answer.nll.mean()) for answer in told])
    far = [float(answer.kl.sum()) for answer in told if answer.kl is not None]
    return {
        "answers": len(found),
        "tokens": int(sum(len(answer.nll) for answer in told)),
        "nll": float(costs.mean()),
        "perplexity": float(np.exp(costs.mean())),
        "median_perplexity": float(np.exp(np.median(costs))),
        "entropy": float(np.concatenate([answer.entropy for answer in told]).mean()),
        "first_rank": float(np.mean(np.concatenate([answer.rank for answer in told]) == 1)),
        "nucleus": float(np.concatenate([answer.nucleus for answer in told]).mean()),
        "kl": float(np.mean(far)) if far else None,
    }
