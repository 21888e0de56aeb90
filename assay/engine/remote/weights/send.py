"""How a bucket of weights comes to a server: as a file in a folder that both see, or through a process group of torch.

A server has a group of its own with the learner, so that one that is gone or hangs disturbs none of the others.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

from assay.engine.remote.transport.site import Site
from assay.engine.remote.transport.wire import Gone
from assay.host import tensors

if TYPE_CHECKING:
    from torch import Tensor

    from assay.engine.remote.inside_vllm.assay_group import WeightGroup
    from assay.engine.remote.inside_vllm.assay_store import GuardedStore

By = Literal["files", "gloo", "nccl"]

JOIN = 60.0  # seconds in which a server must have joined its group
TURN = 0.002  # seconds between two looks at whether a bucket has come
LAST_WORD = 5.0  # seconds that a server has to say why it broke off


@dataclass(frozen=True)
class Packed:
    """A bucket as it travels."""

    told: Mapping[str, Any]  # `update_info` of `/update_weights`
    size: int  # bytes that go to each server
    content: Tensor | None = None  # None where the bytes lie in a file


class Carrier(Protocol):
    """A bucket is packed once, and handed to each server; to several at once from several threads."""

    def reach(self, site: Site, run: str) -> None:
        """Makes sure that the server can be handed buckets."""
        ...

    def packed(self, bucket: Mapping[str, Tensor]) -> AbstractContextManager[Packed]:
        """The bucket, which can be handed over inside the block."""
        ...

    def hand(self, site: Site, packed: Packed, run: str, *, seconds: float) -> None:
        """Returns when the server has taken the bucket."""
        ...

    def close(self) -> None: ...


class Files:
    """Buckets as files in a folder, which all servers must see.

    Example:
        Files(Path("runs/first/weights"))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._told: set[Site] = set()

    def reach(self, site: Site, run: str) -> None:
        """Says that files come: another run may have sent the server weights in another way."""
        if site not in self._told:
            site.join({"backend": "files"}, run, seconds=JOIN)
            self._told.add(site)

    @contextlib.contextmanager
    def packed(self, bucket: Mapping[str, Tensor]) -> Iterator[Packed]:
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="bucket-", dir=self.folder)).resolve()
        try:
            with (folder / "weights.safetensors").open("wb") as file:
                size = sum(file.write(piece) for piece in tensors.encode(bucket))
            yield Packed({"folder": str(folder)}, size)
        finally:
            shutil.rmtree(folder)

    def hand(self, site: Site, packed: Packed, run: str, *, seconds: float) -> None:
        site.take(packed.told, run, seconds=seconds)

    def close(self) -> None:
        """Every bucket has removed its file."""


class Network:
    """Buckets as bytes, by a process group of the learner with each server.

    Example:
        Network("gloo")
    """

    def __init__(self, backend: Literal["gloo", "nccl"], *, join: float = JOIN) -> None:
        import torch

        self.backend, self.join = backend, join
        self.device = torch.device("cuda", torch.cuda.current_device()) if backend == "nccl" else torch.device("cpu")
        self._groups: dict[Site, WeightGroup] = {}
        self._guarded: GuardedStore | None = None
        self._lock, self._count = threading.Lock(), 0

    def reach(self, site: Site, run: str) -> None:
        """Has the server join a group, unless it is in one. The learner joins in a thread, because joining waits."""
        if site in self._groups:
            return
        from dataclasses import asdict

        from assay.engine.remote.inside_vllm.assay_group import Joining, WeightGroup, address_towards

        host = address_towards(urlsplit(site.wire.address).hostname or "")
        with self._lock:
            guarded, self._count = self._opened(), self._count + 1
            name, port, secret = f"server {self._count}", guarded.gate(host), guarded.admit()
        size = 1 + site.processes(seconds=self.join)
        joining = Joining(self.backend, host, port, name, size, self.join, secret)
        joined = _Task(lambda: WeightGroup(joining, 0, guarded.store, self.device))
        site.join(asdict(joining), run, seconds=self.join)
        self._groups[site] = joined.result(self.join, f"{site.wire.name} has not joined its group")

    def _opened(self) -> GuardedStore:
        from assay.engine.remote.inside_vllm.assay_store import GuardedStore

        self._guarded = self._guarded or GuardedStore(self.join)
        return self._guarded

    @contextlib.contextmanager
    def packed(self, bucket: Mapping[str, Tensor]) -> Iterator[Packed]:
        from assay.engine.remote.inside_vllm.assay_group import described, packed

        content = packed(bucket)
        yield Packed(described(bucket), content.nbytes, content)

    def hand(self, site: Site, packed: Packed, run: str, *, seconds: float) -> None:
        """Tells the server which tensors come, and sends their bytes meanwhile. If anything fails, the group is left,
        and the next `reach` makes another one.
        """
        group = self._groups[site]
        assert packed.content is not None
        work = group.send(packed.content)
        told = _Task(lambda: site.take(packed.told, run, seconds=seconds))
        try:
            end = time.monotonic() + seconds
            while not work.is_completed() and not told.failed:
                if time.monotonic() > end:
                    raise Gone(f"{site.wire.name} has not taken a bucket of weights within {seconds:g} s.")
                time.sleep(TURN)
            if not told.failed:
                _sent(site, work, told)
            told.result(seconds, f"{site.wire.name} does not say that it has taken a bucket of weights")
        except BaseException:
            self._leave(site, work, seconds)
            raise

    def _leave(self, site: Site, work: Any, seconds: float) -> None:
        """Forgets a group. Its threads may wait for the other side until the deadline, and nobody waits for them."""
        group = self._groups.pop(site)

        def wait() -> None:
            with contextlib.suppress(RuntimeError):
                work.wait(timedelta(seconds=seconds))
            del held[:]

        held = [group]
        del group
        threading.Thread(target=wait, daemon=True).start()

    def close(self) -> None:
        self._groups.clear()
        if self._guarded is not None:
            self._guarded.close()
        self._guarded = None


def _sent(site: Site, work: Any, told: _Task) -> None:
    """Raises the error that prevented the bytes from being sent: the server's own, or `Gone`."""
    try:
        work.wait(timedelta(seconds=LAST_WORD))
    except RuntimeError as error:
        told.result(LAST_WORD, f"{site.wire.name} broke its connection for weights off")
        raise Gone(f"{site.wire.name} broke its connection for weights off: {str(error).splitlines()[0]}") from None


class _Task:
    """A call that runs in a thread of its own.

    task = _Task(lambda: site.take(told, run, seconds=600.0)); task.result(600.0, "a server does not answer")
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._found: Any = None
        self._error: BaseException | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._found = self._call()
        except BaseException as error:  # raised where the result is asked for
            self._error = error
        finally:
            self._ended.set()

    @property
    def failed(self) -> bool:
        return self._ended.is_set() and self._error is not None

    def result(self, seconds: float, late: str) -> Any:
        """The result of the call; its error is raised. `Gone` with the words `late` if it has not ended in time."""
        if not self._ended.wait(timeout=seconds):
            raise Gone(f"{late} within {seconds:g} s.")
        if isinstance(self._error, RuntimeError):
            raise Gone(f"{late}: {str(self._error).splitlines()[0]}") from None
        if self._error is not None:
            raise self._error
        return self._found
