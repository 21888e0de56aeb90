"""Forward passes of the learner over spans, for outputs that the sampler does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.streams import Floats, Ids, Names
from assay.types import Batch, Episode

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.interface import Engine, Scores, Span, Want

NOTHING = 0  # the token behind what is read, which the model does not read


def span_of(episode: Episode, temperature: float | None = None, context: Ids | None = None) -> Span:
    """An episode's answer as a continuation of its training context, at the temperature of its request, or others."""
    from assay.engine.interface import Span

    read = episode.training_context if context is None else context
    ids = episode.stream("ids").astype(np.int32, copy=False)
    heat = episode.request.temperature if temperature is None else temperature
    return Span(read, ids, heat, episode.known("seen"), episode.known("action"))


def _part(span: Span, context: Ids, start: int, stop: int) -> Span:
    """Tokens `start` to `stop` of a span, behind another context."""
    from assay.engine.interface import Span

    seen, action = (None if stream is None else stream[start:stop] for stream in (span.seen, span.action))
    return Span(context, span.ids[start:stop], span.temperature, seen, action)


def longer(span: Span, after: Floats | None = None) -> Span:
    """The span with a token behind it, before which `after` was seen. The value head gives the value before each token:
    here that is the value after the last token of the span.
    """
    from assay.engine.interface import Span

    ids, still = np.append(span.ids, np.int32(NOTHING)), None if span.action is None else np.zeros_like(span.action[-1])
    return Span(span.context, ids, span.temperature, _behind(span.seen, after), _behind(span.action, still))


def _behind(stream: Floats | None, last: Floats | None) -> Floats | None:
    return None if stream is None or last is None else np.concatenate([stream, last[None]])


def laid(spans: Sequence[Span], **streams: Any) -> Batch:
    """A batch with a row for each span. No token is masked."""
    lengths = np.array([len(span.ids) for span in spans], np.int64)
    count, names = int(lengths.sum()), Names.of(str(i) for i in range(len(spans)))
    nothing = np.zeros(0, np.int32)
    for name in ("seen", "action"):
        if any(getattr(span, name) is not None for span in spans):
            streams[name] = np.concatenate([getattr(span, name) for span in spans])
    return Batch(
        context=np.concatenate([nothing, *(span.context for span in spans)]).astype(np.int32),
        context_at=np.cumsum([0, *(len(span.context) for span in spans)]),
        ids=np.concatenate([nothing, *(span.ids for span in spans)]).astype(np.int32),
        at=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        mask=np.ones(count, bool),
        counted=np.ones(count, bool),
        counted_rows=np.ones(len(spans), bool),
        advantage=np.zeros(count, np.float32),
        origin=np.zeros(count, np.int8),
        temperature=np.array([span.temperature for span in spans], np.float32),
        problem=names,
        request=names,
        group=names,
        **streams,
    )


def paths_of(
    episodes: Sequence[Episode], *, sampled: bool, temperature: float | None = None
) -> tuple[list[Span], list[int]]:
    """Answers as spans, one for each path of an answer, and the number of paths of each.

    `sampled`: under the contexts that the tokens were sampled in, and not under those that are trained. The temperature
    is that of the request, unless another is given.
    """
    spans: list[Span] = []
    counts: list[int] = []
    for episode in episodes:
        paths = episode.paths(sampled=sampled)
        whole = span_of(episode, temperature, paths[0].context)
        spans += [whole] if len(paths) == 1 else [_part(whole, *path) for path in paths]
        counts.append(len(paths))
    return spans, counts


def joined(pieces: Sequence[Any], counts: Sequence[int]) -> list[np.ndarray]:
    """The arrays of answers, made of those of their paths."""
    ends = np.cumsum(counts, dtype=np.int64).tolist()
    own = [pieces[end - count : end] for end, count in zip(ends, counts, strict=True)]
    return [some[0] if len(some) == 1 else np.concatenate(some) for some in own]


def scored(
    engine: Engine,
    episodes: Sequence[Episode],
    *,
    sampled: bool,
    entropy: bool = False,
    temperature: float | None = None,
) -> list[Scores]:
    """The log-probabilities of the tokens of whole answers, as `Learner.score` gives them for spans."""
    from assay.engine.interface import Scores

    spans, counts = paths_of(episodes, sampled=sampled, temperature=temperature)
    made = engine.score(spans, entropy=entropy) if spans else []
    logp = joined([scores.logp for scores in made], counts)
    spread = joined([scores.entropy for scores in made], counts) if entropy else [None] * len(logp)
    return [Scores(*both) for both in zip(logp, spread, strict=True)]


def read_again(
    engine: Engine,
    episodes: Sequence[Episode],
    want: Want,
    *names: str,
    sampled: bool,
    tokens: int,
    temperature: float | None = None,
) -> list[tuple[np.ndarray, ...]]:
    """As `forwarded`, for whole answers."""
    spans, counts = paths_of(episodes, sampled=sampled, temperature=temperature)
    made = forwarded(engine, spans, want, *names, tokens=tokens)
    columns = [joined([outputs[place] for outputs in made], counts) for place in range(len(names))]
    return [tuple(column[i] for column in columns) for i in range(len(episodes))]


def distinct(spans: Sequence[Span]) -> tuple[list[Span], list[int]]:
    """The different ones among these spans, and for each span the place of its equal among them.

    Where a number of a span is compared with that of another, equal spans must have one number to the last bit, and two
    passes over the same tokens may round differently.
    """
    places: dict[tuple[bytes, bytes, float], int] = {}
    kept, of = [], []
    for span in spans:
        key = (span.context.tobytes(), span.ids.tobytes(), span.temperature)
        if key not in places:
            places[key] = len(kept)
            kept.append(span)
        of.append(places[key])
    return kept, of


def forwarded(
    engine: Engine, spans: Sequence[Span], want: Want, *names: str, tokens: int, **streams: Any
) -> list[tuple[np.ndarray, ...]]:
    """For each span, the outputs of these names, [T] or [T, K] each, from a pass of the learner without gradients."""
    import torch

    found: list[tuple[np.ndarray, ...]] = [()] * len(spans)
    with torch.no_grad():
        for chunk in engine.chunks(laid(spans, **streams), tokens=tokens) if spans else ():
            out = engine.forward(chunk, want)
            pieces = [np.split(_numbers(getattr(out, name)), chunk.batch.at[1:-1]) for name in names]
            for place, *piece in zip(chunk.rows, *pieces, strict=True):
                found[place] = tuple(piece)
    return found


def _numbers(output: Tensor) -> np.ndarray:
    """An output in the host's memory; numbers of 16 bits, which numpy does not have, as floats."""
    return (output.float() if output.is_floating_point() and output.itemsize < 4 else output).cpu().numpy()
