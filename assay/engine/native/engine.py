"""The engine on the compiled core: sampler and learner share one forward pass, so their log-probs are bitwise equal."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from assay.engine import sampling_call
from assay.engine.footprint import NATIVE_PREFILL as PREFILL_TOKENS
from assay.engine.footprint import TAPE_BYTES, native_slots, native_tape_bytes
from assay.engine.interface import Chunk, Done, Generation, Heard, Outputs, Want
from assay.engine.layout import Layout, hosted, lay, offsets
from assay.engine.local import LaidChunk
from assay.engine.native import build, library
from assay.engine.native.library import SAMPLING, SOON_MS, TURN_MS, Core, PackedArrays, Pass, Requests, Rows, pointer
from assay.engine.native.prefix_cache import Keeping
from assay.engine.native.weights import Weights
from assay.engine.torch.network_engine import NetworkEngine
from assay.errors import AssayError, ConfigError, UsageError
from assay.rng import Key, uniforms
from assay.types import Ids, Origin, Request, Segment

POSITIONS = 1 << 18  # positions whose rotary angles are stored: more than a row on a processor will have
FORMATS: dict[torch.dtype, build.Format] = {torch.float32: "fp32", torch.bfloat16: "bf16"}


def refusal(device: torch.device, compute: torch.dtype) -> str | None:
    """The reason why the core cannot run on this device in this format; None if it can."""
    if device.type != "cpu":
        return f"the core runs on processors, not on {device.type}"
    if compute not in FORMATS:
        return f"the core computes in fp32 and bf16, not in {str(compute).removeprefix('torch.')}"
    try:
        library.load(build.library(build.chosen(FORMATS[compute])))
    except build.Unavailable as reason:
        return str(reason)
    except OSError as error:
        return f"the compiled core cannot be loaded: {error}"
    return None


@dataclass(frozen=True, eq=False)
class _Laid:
    """A layout in the core's form, together with the arrays that its pointers point to."""

    arrays: PackedArrays
    kept: tuple[np.ndarray | Tensor, ...]


class NativeEngine(NetworkEngine):
    """A parameter set on the compiled core, for processors.

    Example:
        engine = NativeEngine(policy.network, end_ids=policy.end_ids)
        engine.generate(requests, key)
    """

    name = "native"
    exact = True
    has_threads = True
    shares = True
    reads_fp32 = True

    def __init__(self, *arguments, **settings) -> None:
        super().__init__(*arguments, **settings)
        reason = refusal(self.device, self.compute)
        if reason is not None:
            raise ConfigError(reason)
        self.context = min(self.context, POSITIONS)
        self.variant = build.chosen(FORMATS[self.compute])
        c = self.model.config
        shape = library.Shape(
            layers=c.layers,
            hidden=c.hidden,
            heads=c.heads,
            kv_heads=c.kv_heads,
            d=c.head_dim,
            ffn=c.ffn,
            vocab=self.vocab,
            positions=self.context,
            qk_norm=c.qk_norm,
            learns=self.optimiser is not None,
            eps=c.norm_eps,
        )
        self.threads = torch.get_num_threads()
        self.core = Core(library.load(build.library(self.variant)), shape, self.threads)
        self.weights = Weights(self.model, self.core, vocab=self.vocab, positions=self.context)
        self._spare: list[Pass] = []
        self._again = False
        self._held: weakref.WeakKeyDictionary[Outputs, Pass] = weakref.WeakKeyDictionary()
        self.weights.take()

    @property
    def place(self) -> str:
        return f"{super().place} {self.variant.name}"

    def _refresh(self) -> None:
        self.weights.take()

    # Sampling

    def generate(
        self, requests: Sequence[Request], key: Key, *, done: Done | None = None, heard: Heard | None = None
    ) -> list[Generation]:
        limits = sampling_call.Limits(self.context, self.end_ids, self.memory_bytes, self.decode)
        sampling_call.check(requests, limits)
        return _Sampling(self, requests, key, done, heard).run() if requests else []

    def prefill(self, contexts: Sequence[Ids]) -> list[Rows]:
        """The keys and values of distinct contexts."""
        work, laid = self._pass(), _lay(lay(contexts), np.zeros(0, np.int64), torch.zeros(0), None)
        rows = self.core.prefill(work, laid.arrays)
        self._spare.append(work)
        return rows

    # Scoring and learning

    def _pass(self) -> Pass:
        """A pass whose buffers are not in use. The caller puts it back into `_spare`."""
        return self._spare.pop() if self._spare else Pass(self.core)

    def _keep(self, learns: bool, laid: _Laid) -> int:
        """How much a forward pass over these tokens keeps. Once the layers of a chunk were computed again, those of all
        later chunks are too, so that no smaller chunk needs more memory than that one.
        """
        if self.checkpointing == "auto":
            needed = native_tape_bytes(self.model.config, laid.arrays.tokens, self.compute.itemsize)
            self._again = self._again or (learns and needed > TAPE_BYTES)
        again = self._again or self.checkpointing == "on"
        return (library.INPUTS if again else library.ALL) if learns else library.NOTHING

    def _score(self, layout: Layout, ids: np.ndarray, tau: Tensor, entropy: bool) -> tuple[Tensor, Tensor | None]:
        work = self._pass()
        logp, spread = torch.empty(len(ids)), torch.empty(len(ids)) if entropy else None
        laid = _lay(layout, ids, tau, None)
        self.core.forward(work, laid.arrays, keep=library.NOTHING, logp=logp, entropy=spread)
        self._spare.append(work)
        return logp, spread

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        assert isinstance(chunk, LaidChunk)
        self._refuse_unknown(chunk, want)
        learns = torch.is_grad_enabled() and self.optimiser is not None
        top_ids = chunk.batch.top_ids if want.top_ids else None
        laid = _lay(chunk.layout, chunk.batch.ids, chunk.tau, top_ids)
        count = len(chunk.batch.ids)
        logp = torch.empty(count)
        entropy = torch.empty(count) if want.entropy else None
        top_logp = torch.empty(top_ids.shape) if top_ids is not None else None
        mean = torch.empty(count) if want.mean_logp else None
        best = torch.empty(count, want.likeliest, dtype=torch.int32) if want.likeliest else None
        best_logp = None if best is None else torch.empty(best.shape)
        work = self._pass()
        asked = {"entropy": entropy, "top_logp": top_logp, "mean_logp": mean, "likeliest_logp": best_logp}
        self.core.forward(work, laid.arrays, keep=self._keep(learns, laid), logp=logp, likeliest=best, **asked)
        likeliest = None if best is None else best.long()
        if not learns:
            self._spare.append(work)
            return Outputs(logp=logp, likeliest=likeliest, **asked)
        leaves = [None if x is None else x.requires_grad_(True) for x in (logp, entropy, top_logp)]
        outputs = Outputs(logp, leaves[1], leaves[2], mean, likeliest, best_logp)
        self._held[outputs] = work
        return outputs

    def backward(self, chunk: Chunk, outputs: Outputs) -> None:
        work = self._held.pop(outputs, None)
        if work is None:
            raise UsageError("backward needs the outputs of a forward with gradients, once")
        leaves = (outputs.logp, outputs.entropy, outputs.top_logp)
        grads = [None if x is None or x.grad is None else x.grad.float().contiguous() for x in leaves]
        if any(g is not None for g in grads):
            self.weights.gather()
            self.core.backward(work, grads)
        self._spare.append(work)

    def states(self, chunk: LaidChunk, *, keep: bool) -> tuple[Tensor, Pass | None]:
        laid = _lay(chunk.layout, chunk.batch.ids, chunk.tau, None)
        found, work = torch.empty(len(chunk.batch.ids), self.model.config.hidden), self._pass()
        self.core.states(work, laid.arrays, keep=self._keep(keep, laid), states=found)
        if keep:
            return found, work
        self._spare.append(work)
        return found, None

    def pull_states(self, chunk: LaidChunk, kept: Pass, grad: Tensor) -> None:
        self.weights.gather()
        self.core.pull_states(kept, grad.float().contiguous())
        self._spare.append(kept)

    def hand_out(self) -> None:
        self.weights.hand_out()


def _lay(layout: Layout, ids: np.ndarray, tau: Tensor, top_ids: np.ndarray | None) -> _Laid:
    groups = len(layout.context_at) - 1
    context_of = layout.context_of[: len(layout.start)]
    order = np.argsort(context_of, kind="stable")
    rows = np.bincount(context_of, minlength=groups)
    parts = {
        "ids": layout.ids,
        "positions": layout.positions,
        "context_at": layout.context_at,
        "row_at": offsets(rows),
        "row_start": layout.start[order],
        "row_length": layout.length[order],
        "predict": layout.predict,
        "targets": ids,
        "top_ids": top_ids,
        "beside": layout.blend_ids,
        "stem_of": layout.stem_of,
    }
    share = None if layout.blend_share is None else np.ascontiguousarray(layout.blend_share, dtype=np.float32)
    arrays: dict[str, np.ndarray | None] = {"share": share}
    arrays |= {k: None if v is None else np.ascontiguousarray(v, dtype=np.int32) for k, v in parts.items()}
    result = PackedArrays(
        tokens=len(layout.ids),
        groups=groups,
        rows=len(layout.start),
        predicted=len(layout.predict),
        top=0 if top_ids is None else top_ids.shape[1],
        tau=pointer(tau),
        **{k: pointer(v) for k, v in arrays.items()},
    )
    return _Laid(result, (tau, *(v for v in arrays.values() if v is not None)))


class _Sampling:
    """One call of the core's sampler: the arrays that the core reads and fills, and the generations made from them."""

    def __init__(
        self, engine: NativeEngine, requests: Sequence[Request], key: Key, done: Done | None, heard: Heard | None
    ) -> None:
        self.engine, self.requests, self.done, self.heard = engine, requests, done, heard
        prompts = [sampling_call.prompt_of(r) for r in requests]
        which, first = hosted(prompts)
        self.order = np.argsort(which, kind="stable")
        self.sorted = [requests[i] for i in self.order]
        self.barred = sampling_call.barred_sets(self.sorted)
        self.prompts = [prompts[i] for i in first]
        self.prompt_of = which[self.order].astype(np.int32)
        self.size = np.array([len(prompts[i]) for i in self.order], np.int32)
        self.prompt_at = offsets(np.array([len(p) for p in self.prompts]))
        self.max_new = np.array([r.max_new for r in self.sorted], np.int32)
        self.at = offsets(self.max_new)
        self.before = [r.given for r in self.sorted]
        self.u = self._noise(key)
        self.length = int((self.size + self.max_new).max())
        self.trouble: BaseException | None = None
        total, count = int(self.at[-1]), len(requests)
        self.ids = np.empty(total, np.int32)
        self.old, self.mu, self.entropy = (np.empty(total, np.float32) for _ in range(3))
        self.origin = np.full(int(self.max_new.max()), Origin.POLICY, np.int8)  # all segments read its first entries
        self.origin.flags.writeable = False
        self.written, self.finish = np.zeros(count, np.int32), np.zeros(count, np.int32)
        self.complete = np.zeros(count, bool)  # the requests that the last look saw complete
        self.generations: dict[int, Generation] = {}  # by the place of their request
        self.so_far: dict[int, int] = {}  # request -> tokens written, since `heard` last heard it
        self.ended: set[int] = set()  # requests that `heard` has ended

    def _noise(self, key: Key) -> np.ndarray:
        """The random numbers of all requests, end to end: number t of a
        request's stream is for token t of its answer.
        """
        noise = uniforms(key.branches(r.id for r in self.sorted), int((self.before + self.max_new).max()))
        parts = [row[b : b + n] for row, b, n in zip(noise, self.before, self.max_new)]
        return np.concatenate(parts)

    def _how(self) -> np.ndarray:
        vocab = self.engine.vocab

        def of(
            temperature: float, top_k: int, top_p: float, min_p: float, barred: tuple[int, ...]
        ) -> tuple[float, ...]:
            greedy = temperature == 0
            top_k = min(top_k or vocab, vocab)
            filtered = not greedy and (top_k < vocab or top_p < 1 or min_p > 0)
            which = self.barred.index(barred) if barred else -1
            return 1.0 if greedy else temperature, greedy, filtered, top_k, top_p, min_p, which

        asked = [(r.temperature, r.top_k, r.top_p, r.min_p, r.barred) for r in self.sorted]
        known = {settings: of(*settings) for settings in set(asked)}  # nearly always one for all
        return np.array([known[settings] for settings in asked], SAMPLING)

    def _slots(self) -> int:
        """How many rows a thread has in flight, in even waves and within the memory."""
        engine = self.engine
        settings = {"memory_bytes": engine.memory_bytes, "threads": engine.threads, "itemsize": engine.compute.itemsize}
        settings["group"] = int(np.bincount(self.prompt_of).max())
        return native_slots(engine.model.config, length=self.length, count=len(self.sorted), **settings)

    def _stopped(self) -> Callable[..., int]:
        """The function that the core calls after each token of a request with stop strings, and of all requests if they
        are heard: 1 to stop, 0 to go on. It may be called by another thread, so that it only notes what `_look` reads.

        If the function fails, it answers -1, which ends the call.
        """
        decode = self.engine.decode

        def stopped(request: int, ids, count: int) -> int:
            try:
                self.so_far[request] = count
                stop = self.sorted[request].stop
                stops = stop and sampling_call.stops(self.sorted[request], np.ctypeslib.as_array(ids, (count,)), decode)
                return int(stops or request in self.ended)
            except BaseException as trouble:
                self.trouble = trouble
                return -1

        return stopped

    def run(self) -> list[Generation]:
        total, count = int(self.at[-1]), len(self.sorted)
        vocab = self.engine.vocab
        ends = np.zeros(vocab, np.uint8)
        ends[[i for i in self.engine.end_ids if 0 <= i < vocab]] = 1
        inputs = {
            "prompt_ids": np.concatenate(self.prompts).astype(np.int32),
            "prompt_at": self.prompt_at,
            "prompt_of": self.prompt_of,
            "size": self.size,
            "max_new": self.max_new,
            "sampling": self._how(),
            "barred": sampling_call.flags_of(self.barred, vocab),
            "may_stop": np.array([bool(r.stop or self.heard) for r in self.sorted], np.int32),
            "at": self.at,
            "u": self.u,
            "ends": ends,
        }
        outputs = {name: getattr(self, name) for name in ("ids", "old", "mu", "entropy", "written", "finish")}
        outputs["prefilled"] = prefilled = np.zeros(1, np.int64)
        core = self.engine.core
        keeping = Keeping(
            self.engine.kept,
            self.engine.model.config,
            self.engine.prefill,
            prompts=self.prompts,
            answers=count,
            max_new=total,
        )
        arrays = Requests(
            count=count,
            prompts=len(self.prompts),
            length=self.length,
            slots=self._slots(),
            prefill_tokens=PREFILL_TOKENS,
            stopped=library.Stopped(self._stopped()),
            room=keeping.room,
            **{k: pointer(v) for k, v in (inputs | outputs | keeping.arrays).items()},
        )
        try:
            core.sample(arrays, self._look, every=SOON_MS if self.heard else TURN_MS)
        except library.NotFinite as bad:
            raise sampling_call.diverged(self.sorted[bad.request].id, bad.token + self.before[bad.request]) from None
        except AssayError:
            if self.trouble is not None:
                raise self.trouble from None
            raise
        finally:
            rows = keeping.taken(core.library)
        self.engine.prefilled += keeping.prefilled + int(prefilled[0])
        self._hand_out(range(count))
        answers = (self.ids[a : a + n] for a, n in zip(self.at, self.written))
        keeping.put(rows, zip(self.prompt_of, self.size, answers))
        return [self.generations[index] for index in range(count)]

    def _look(self) -> None:
        """Hands out the answers that are complete. An answer that one look saw complete is read by the next look. In
        between, the core was asked whether it is done, so that this thread sees all that was written before.
        """
        if self.heard is not None:
            for i in list(self.so_far):
                count, begin = self.so_far.pop(i), int(self.at[i])
                if self.heard(int(self.order[i]), self.ids[begin : begin + count]):
                    self.ended.add(i)
        if self.done is not None:
            self._hand_out(np.flatnonzero(self.complete))
            self.complete = self.written > 0

    def _hand_out(self, which: Iterable[int]) -> None:
        """Makes the generations of these requests, as the core has them in order, that were not made before."""
        for i in which:
            place = int(self.order[i])
            if place not in self.generations:
                self.generations[place] = self._generation(int(i))
                if self.done is not None:
                    self.done(place, self.generations[place])

    def _generation(self, i: int) -> Generation:
        begin, count = int(self.at[i]), int(self.written[i])
        cut = slice(begin, begin + count)
        segment = Segment(
            ids=self.ids[cut].copy(),
            origin=self.origin[:count],
            old=self.old[cut].copy(),
            mu=self.mu[cut].copy(),
            entropy=self.entropy[cut].copy(),
            version=self.engine.version,
        )
        return Generation(segment, "length" if self.finish[i] else "stop")
