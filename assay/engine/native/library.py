"""The compiled core as Python sees it: structures of pointers and sizes, and calls that can be interrupted.

A job runs on the core's own threads. Python waits for it without the interpreter lock, a tenth of a second at a
time, so that Ctrl-C and SIGTERM are noticed. An interrupted job is stopped before the interrupt is raised further.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_float, c_int32, c_int64, c_void_p
from pathlib import Path

import numpy as np
from torch import Tensor

from assay.errors import AssayError
from assay.host import interrupt

RUNNING, DONE, FAILED, CANCELLED, NOT_FINITE, CALLBACK = 0, 1, -1, -2, -3, -4
NOTHING, ALL, INPUTS = 0, 1, 2  # how much a forward pass keeps for the backward pass; INPUTS: those of layers alone
TURN_MS, SOON_MS = 100, 10

Stopped = ctypes.CFUNCTYPE(c_int32, c_int32, POINTER(c_int32), c_int32)


class Shape(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("layers", "hidden", "heads", "kv_heads", "d", "ffn", "vocab", "positions")),
        ("qk_norm", c_int32),
        ("learns", c_int32),
        ("eps", c_float),
    ]


class PackedArrays(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("tokens", "groups", "rows", "predicted", "top")),
        *((name, c_void_p) for name in ("ids", "positions", "context_at", "row_at", "row_start", "row_length")),
        *((name, c_void_p) for name in ("predict", "targets", "top_ids", "tau", "beside", "share", "stem_of")),
    ]


SAMPLING = np.dtype(
    [
        ("tau", np.float32),
        ("greedy", np.int32),
        ("filtered", np.int32),
        ("top_k", np.int32),
        ("top_p", np.float32),
        ("min_p", np.float32),
        ("barred", np.int32),
    ]
)


class Requests(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("count", "prompts", "length", "slots", "prefill_tokens")),
        *(
            (name, c_void_p)
            for name in ("prompt_ids", "prompt_at", "prompt_of", "size", "max_new", "sampling", "barred", "may_stop")
        ),
        *((name, c_void_p) for name in ("at", "u", "ends")),
        ("stopped", Stopped),
        *((name, c_void_p) for name in ("ids", "old", "mu", "entropy", "written", "finish")),
        *((name, c_void_p) for name in ("piece_at", "pieces", "piece_size", "kept")),
        ("room", c_int64),
        ("prefilled", c_void_p),
    ]


class NotFinite(AssayError):
    """The core computed logits that are not finite, for this request at this token of its answer."""

    def __init__(self, request: int, token: int) -> None:
        super().__init__(f"logits of request {request} at token {token} are not finite")
        self.request, self.token = request, token


def pointer(array: np.ndarray | Tensor | None) -> int | None:
    """The address of an array's memory, which must be contiguous; None for None."""
    if array is None:
        return None
    if isinstance(array, Tensor):
        assert array.is_contiguous()
        return array.data_ptr()
    assert array.flags.c_contiguous
    return array.ctypes.data


def pointers(arrays: list[Tensor | None]) -> ctypes.Array:
    return (c_void_p * len(arrays))(*(pointer(a) for a in arrays))


def give_back() -> None:
    """Returns to the system the freed memory that the C library still holds: matrices that come and go leave holes of
    some hundred megabytes between those that stay. Other C libraries than glibc have no such call, and need none.
    """
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def load(path: Path) -> ctypes.CDLL:
    """The shared library, with the argument and result types of its functions declared."""
    library = ctypes.CDLL(str(path))
    handle, size = c_void_p, c_int32
    types: dict[str, tuple[type | None, list]] = {
        "assay_lanes": (size, []),
        "assay_new": (handle, [POINTER(Shape), size]),
        "assay_free": (None, [handle]),
        "assay_error": (c_char_p, [handle]),
        "assay_where": (None, [handle, POINTER(c_int32 * 2)]),
        "assay_cancel": (None, [handle]),
        "assay_wait": (size, [handle, size]),
        "assay_take_weights": (size, [handle, c_void_p]),
        "assay_pack": (size, [handle, size, c_void_p]),
        "assay_take_gradients": (size, [handle, c_void_p]),
        "assay_take_adapters": (size, [handle, c_void_p, c_void_p]),
        "assay_take_adapter_gradients": (size, [handle, c_void_p]),
        "assay_pass_new": (handle, [handle]),
        "assay_pass_free": (None, [handle]),
        "assay_forward": (size, [handle, handle, POINTER(PackedArrays), size, *[c_void_p] * 6, size]),
        "assay_states": (size, [handle, handle, POINTER(PackedArrays), size, c_void_p]),
        "assay_backward": (size, [handle, handle, c_void_p, c_void_p, c_void_p]),
        "assay_pull_states": (size, [handle, handle, c_void_p]),
        "assay_prefill": (size, [handle, handle, POINTER(PackedArrays), c_void_p]),
        "assay_sample": (size, [handle, POINTER(Requests)]),
        "assay_free_rows": (None, [c_void_p]),
    }
    for name, (result, arguments) in types.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Pass:
    """The core's buffers for a forward pass and for the backward pass that follows it."""

    def __init__(self, core: Core) -> None:
        self.core = core  # keeps the core alive, which must outlive its passes
        self.handle = core.library.assay_pass_new(core.handle)
        if not self.handle:
            raise MemoryError("no memory for the buffers of a forward pass")

    def __del__(self) -> None:
        if getattr(self, "handle", None) and self.core.process == os.getpid():
            self.core.library.assay_pass_free(self.handle)


class Rows:
    """Keys and values of tokens in memory that the core allocated; freed together with this object."""

    def __init__(self, library: ctypes.CDLL, address: int) -> None:
        self.library, self.address = library, address

    def __del__(self) -> None:
        self.library.assay_free_rows(self.address)


class Core:
    """One set of weights in the core, and the threads that work on them."""

    def __init__(self, library: ctypes.CDLL, shape: Shape, threads: int) -> None:
        self.library, self.threads = library, threads
        self.process = os.getpid()
        self.handle = library.assay_new(ctypes.byref(shape), threads)
        if not self.handle:
            raise MemoryError("no memory for the packed weights of the core")

    def __del__(self) -> None:
        if getattr(self, "handle", None) and self.process == os.getpid():  # a forked child has no threads to join
            self.library.assay_free(self.handle)

    def take_weights(self, weights: list[Tensor | None]) -> None:
        """A matrix that is None stays as it is until `pack` copies another."""
        self._run(lambda: self.library.assay_take_weights(self.handle, pointers(weights)))

    def pack(self, number: int, weight: Tensor) -> None:
        """Copies the weight of matrix `number` of the layers' in the calling thread. Several threads may do so at the
        same time, each another matrix, while the core does nothing else.
        """
        self._check(self.library.assay_pack(self.handle, number, pointer(weight)))

    def take_gradients(self, gradients: list[Tensor | None]) -> None:
        self._check(self.library.assay_take_gradients(self.handle, pointers(gradients)))

    def take_adapters(self, adapters: list[tuple[Tensor, Tensor] | None]) -> None:
        """A and B of each matrix of the layers, or None. The weights contain them."""
        ranks = (c_int32 * len(adapters))(*(0 if pair is None else len(pair[0]) for pair in adapters))
        table = pointers([tensor for pair in adapters for tensor in pair or (None, None)])
        self._run(lambda: self.library.assay_take_adapters(self.handle, ranks, table))

    def take_adapter_gradients(self, gradients: list[Tensor | None]) -> None:
        self._check(self.library.assay_take_adapter_gradients(self.handle, pointers(gradients)))

    def forward(
        self,
        work: Pass,
        packed: PackedArrays,
        *,
        keep: int,
        logp: Tensor,
        entropy: Tensor | None = None,
        top_logp: Tensor | None = None,
        mean_logp: Tensor | None = None,
        likeliest: Tensor | None = None,
        likeliest_logp: Tensor | None = None,
    ) -> None:
        out = [pointer(x) for x in (logp, entropy, top_logp, mean_logp, likeliest, likeliest_logp)]
        best = 0 if likeliest is None else likeliest.shape[1]
        given = (self.handle, work.handle, ctypes.byref(packed), keep, *out, best)
        self._run(lambda: self.library.assay_forward(*given))

    def states(self, work: Pass, packed: PackedArrays, *, keep: int, states: Tensor) -> None:
        """Fills [M, hidden] hidden states that predict the tokens."""
        given = (self.handle, work.handle, ctypes.byref(packed), keep, pointer(states))
        self._run(lambda: self.library.assay_states(*given))

    def backward(self, work: Pass, gradients: list[Tensor | None]) -> None:
        given = [pointer(g) for g in gradients]
        self._run(lambda: self.library.assay_backward(self.handle, work.handle, *given))

    def pull_states(self, work: Pass, gradient: Tensor) -> None:
        """Takes the gradient by the states that `states` filled through the network."""
        self._run(lambda: self.library.assay_pull_states(self.handle, work.handle, pointer(gradient)))

    def prefill(self, work: Pass, packed: PackedArrays) -> list[Rows]:
        """The keys and values of contexts that are run alone."""
        kept = (c_void_p * packed.groups)()
        try:
            self._run(lambda: self.library.assay_prefill(self.handle, work.handle, ctypes.byref(packed), kept))
        finally:
            rows = [Rows(self.library, address) for address in kept if address]
        return rows

    def sample(self, requests: Requests, turn: Callable[[], None], *, every: int = TURN_MS) -> None:
        """Samples all requests and meanwhile calls `turn` again and again, after `every` milliseconds."""
        self._run(lambda: self.library.assay_sample(self.handle, ctypes.byref(requests)), turn, every)

    def _run(self, start: Callable[[], int], turn: Callable[[], None] = lambda: None, every: int = TURN_MS) -> None:
        self._check(start())
        try:
            while (answer := self.library.assay_wait(self.handle, every)) == RUNNING:
                interrupt.ask()
                turn()
        except BaseException:
            self.library.assay_cancel(self.handle)
            while self.library.assay_wait(self.handle, TURN_MS) == RUNNING:
                pass
            raise
        self._check(answer)

    def _check(self, answer: int) -> None:
        if answer == DONE:
            return
        if answer == NOT_FINITE:
            where = (c_int32 * 2)()
            self.library.assay_where(self.handle, ctypes.byref(where))
            raise NotFinite(*where)
        if answer == CALLBACK:
            raise AssayError("the core stopped: the function that looks for stop strings failed")
        raise AssayError(f"the core: {self.library.assay_error(self.handle).decode()}")
