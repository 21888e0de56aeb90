"""`assay serve`: a policy behind OpenAI's interface. Requests that come together are answered together."""

from __future__ import annotations

import queue
import secrets
import threading
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ConfigError, DataError
from assay.lab.dialogue import settled, stops_of
from assay.lab.sample import open_engine
from assay.policy.kinds import tokenizer_of
from assay.rng import Key
from assay.run.ancestry import origin
from assay.types import Ids, Problem, Request
from assay.worlds.door.chat import ChatAsked, Ended, Heard, Refused, Said, TokensAsked
from assay.worlds.door.http import TURN, DoorServer, same, wrong_token
from assay.worlds.door.replies import before_stops, begun

if TYPE_CHECKING:
    from assay.engine.interface import Generation
    from assay.engine.local import LocalEngine
    from assay.engine.precision import Precision
    from assay.policy.tokenizer import Tokenizer

GATHER = 0.005  # seconds in which requests that come together are gathered
SEEDS = 1 << 62  # unseeded answers are drawn with one of so many numbers


@dataclass(eq=False)
class _Row:
    """An answer that is to be written, and what its client is to hear of it."""

    request: Request
    index: int
    stops: tuple[str, ...]
    before: str = ""  # text that stands in the prompt, and is a part of the answer
    news: queue.SimpleQueue[Said | Ended | Exception] = field(default_factory=queue.SimpleQueue)
    said: int = 0  # characters that were sent
    streams: bool = False
    dropped: bool = False  # its client is gone


class ServedPolicy:
    """A policy that answers requests, in a thread of its own.

    Example:
        served = ServedPolicy(tokenizer, engine, model="runs/first", token=token)
        server = DoorServer(served)
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        engine: LocalEngine,
        *,
        model: str,
        token: str,
        max_new: int | None = None,
        temperature: float = 1.0,
    ) -> None:
        if not token:
            raise ConfigError("a server asks for a token, and it is empty: give one, or leave it out to have one made.")
        self.tokenizer, self.engine, self.model, self.token = tokenizer, engine, model, token
        self.max_new, self.temperature = max_new, temperature
        self.context, self.vocab = engine.context, engine.vocab
        self.key = Key(0)("serve")
        self._waiting = deque[_Row]()
        self._change = threading.Condition()
        self._rendering = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and answers that are being written."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join()

    # As a server sees it

    def admit(self, play: str, token: str) -> ServedPolicy:
        if play:
            raise Refused(404, "plays are those of runs: this server has /v1/chat/completions.")
        if not same(token, self.token):
            raise wrong_token(token)
        return self

    def chat(self, asked: ChatAsked, session: str) -> Generator[Heard, None, None]:
        if asked.model not in ("", self.model):
            raise Refused(404, f"the model is {self.model!r} here, not {asked.model!r:.80}.", kind="not_found_error")
        begins = begun(asked.forced)
        try:
            with self._rendering:
                ids = self.tokenizer.render(asked.messages, tools=list(asked.tools) or None)
                ids = np.concatenate([ids, self.tokenizer.encode(begins)]) if begins else ids
        except DataError as error:
            raise Refused(400, str(error)) from None
        rows = [self._row(ids, asked, sample, before=begins) for sample in range(asked.count)]
        for row in rows:
            row.streams = asked.stream
        yield from self._answered(rows)

    def tokens(self, asked: TokensAsked) -> Generator[Heard, None, None]:
        yield from self._answered([self._row(np.array(asked.ids, np.int32), asked, 0)])

    def _row(self, ids: Ids, asked: ChatAsked | TokensAsked, sample: int, *, before: str = "") -> _Row:
        room = self.context - len(ids)
        most = asked.most or min(room, self.max_new or room)
        if most > room or room < 1:
            raise Refused(
                400,
                f"the model holds {self.context} tokens; the prompt has {len(ids)}, and {max(1, most)} are asked for.",
            )
        stops = (*stops_of(self.tokenizer), *asked.stops)
        draw = secrets.randbelow(SEEDS) if asked.seed is None else SEEDS + asked.seed
        problem = Problem(task="prompt", prompt="", spec={}, canonical="")
        how = {"draw": draw, "sample": sample, "stop": stops}
        how |= {"temperature": self.temperature if asked.temperature is None else asked.temperature}
        request = Request(problem, ids, "prompt", most, top_p=1.0 if asked.top_p is None else asked.top_p, **how)
        return _Row(request, sample, stops, before)

    def _answered(self, rows: list[_Row]) -> Generator[Heard, None, None]:
        """What is written in these rows, as it is written. Closed early, it gives them up."""
        with self._change:
            self._waiting.extend(rows)
            self._change.notify_all()
        open_rows = deque(rows)
        try:
            while open_rows:
                row = open_rows[0]
                open_rows.rotate(-1)
                try:
                    news = row.news.get(timeout=TURN / len(open_rows))
                except queue.Empty:
                    yield None
                    continue
                if isinstance(news, Exception):
                    raise Refused(500, str(news), kind="server_error")
                if isinstance(news, Ended):
                    open_rows.remove(row)
                yield news
        finally:
            for row in open_rows:
                row.dropped = True

    # The thread of the engine

    def _work(self) -> None:
        from assay.engine.choose import processor_of

        with self.engine.keeping(), processor_of(self.engine):
            while (rows := self._next()) is not None:
                if rows:
                    self._write(rows)

    def _next(self) -> list[_Row] | None:
        """The rows that are written together next; None when all is over."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._stopped)
            if not self._stopped:
                self._change.wait_for(lambda: self._stopped, timeout=GATHER)
            if self._stopped:
                return None
            rows, later, ids = [], deque[_Row](), set[str]()
            for row in self._waiting:
                if row.request.id in ids:  # the same question with the same seed, which one batch cannot hold twice
                    later.append(row)
                elif not row.dropped:
                    ids.add(row.request.id)
                    rows.append(row)
            self._waiting = later
            return rows

    def _write(self, rows: list[_Row]) -> None:
        def heard(place: int, ids: Ids) -> bool:
            row = rows[place]
            if row.streams and not row.dropped:
                self._say(row, settled(row.before + self._text(ids), row.stops))
            return row.dropped or self._stopped

        def done(place: int, made: Generation) -> None:
            rows[place].news.put(self._ended(rows[place], made))

        try:
            self.engine.generate([row.request for row in rows], self.key, done=done, heard=heard)
        except Exception as error:  # told to the clients that asked; the next requests are answered
            for row in rows:
                row.news.put(error)

    def _say(self, row: _Row, text: str) -> None:
        if len(text) > row.said:
            row.news.put(Said(row.index, text[row.said :]))
            row.said = len(text)

    def _ended(self, row: _Row, made: Generation) -> Ended | Exception:
        if made.finish == "error":
            return AssayError(made.detail or "the engine failed")
        ids, old = made.segment.ids.tolist(), made.segment.old
        return Ended(
            row.index,
            before_stops(row.before + self._text(made.segment.ids), row.stops),
            "length" if made.finish == "length" else "stop",
            ids=tuple(ids),
            logprobs=() if old is None else tuple(map(float, old)),
            tokens=tuple(self.tokenizer.decode([token]) for token in ids),
            read=len(row.request.context),
        )

    def _text(self, ids: Ids) -> str:
        written = ids.tolist()
        if written and written[-1] in self.tokenizer.end_ids:
            written.pop()
        return self.tokenizer.decode(written)


@dataclass(frozen=True)
class Serving:
    """A server that runs, for its clients."""

    address: str  # of the server; clients of OpenAI's interface are given it with /v1 behind
    token: str
    model: str
    server: DoorServer

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"


@contextmanager
def serving(
    model: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    max_new: int | None = None,
    system: str | None = None,
    precision: Precision = "auto",
) -> Iterator[Serving]:
    """Inside the block a model, or the policy of a run, is served to those who name the token; one is made if none is
    given.

    with serving("runs/first") as door:
        openai.OpenAI(base_url=door.base_url, api_key=door.token)
    """
    run = origin(model)
    policy, engine = open_engine(model, system=system, precision=precision)
    words: Any = tokenizer_of(policy, "a server")
    token = secrets.token_urlsafe(32) if token is None else token
    warm = 1.0 if run is None else run.experiment.evaluation.temperature
    served = ServedPolicy(words, engine, model=model, token=token, max_new=max_new, temperature=warm)
    try:
        server = DoorServer(served, host=host, port=port)
    except OSError as error:
        raise ConfigError(f"nobody can listen at {host}:{port}: {error}. Take another --port or --host.") from None
    with server:
        served.start()
        server.start()
        try:
            yield Serving(server.address, token, model, server)
        finally:
            server.shutdown()
            served.stop()
