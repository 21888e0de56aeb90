"""The store in which a server finds its learner: on the loopback, behind a gate that asks for a secret."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from listening import doors
from torch._C._distributed_c10d import TCPStore

from assay.engine.remote.inside_vllm import assay_store
from assay.engine.remote.inside_vllm.assay_store import GuardedStore, store_behind

AWAY = "127.0.0.2"  # an address of this machine at which the store itself does not listen


@pytest.fixture
def guarded() -> Iterator[GuardedStore]:
    one = GuardedStore(20.0)
    yield one
    one.close()


def test_who_names_a_secret_shares_the_store_with_the_learner(guarded: GuardedStore) -> None:
    port, secrets = guarded.gate(AWAY), [guarded.admit(), guarded.admit()]
    for secret in secrets:
        theirs = store_behind(AWAY, port, secret, 20.0)
        theirs.set(secret, "theirs")
        guarded.store.set("ours", secret)
        assert guarded.store.get(secret) == b"theirs" and theirs.get("ours") == secret.encode()
    assert guarded.gate(AWAY) == port and len(set(secrets)) == 2


def test_store_and_gate_listen_where_they_were_asked_to(guarded: GuardedStore) -> None:
    """Torch's own socket would listen at every address, whatever host is named."""
    gate = guarded.gate(AWAY)
    where = {(door.address, door.port) for door in doors([os.getpid()])}
    assert {("127.0.0.1", guarded.port), (AWAY, gate)} <= where and (AWAY, guarded.port) not in where
    with pytest.raises(ConnectionRefusedError), socket.create_connection((AWAY, guarded.port), timeout=5.0):
        pass
    guarded.close()
    assert (AWAY, gate) not in {(door.address, door.port) for door in doors([os.getpid()])}


@pytest.mark.slow
@pytest.mark.parametrize("said", [b"", b"\0" * 32, b"x" * 31, b"rank0" * 20])
def test_who_names_none_is_sent_away(said: bytes, guarded: GuardedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assay_store, "GREETING", 0.3)
    guarded.admit()
    with socket.create_connection((AWAY, guarded.gate(AWAY)), timeout=10.0) as link:
        link.sendall(said)
        with contextlib.suppress(ConnectionError):
            assert link.recv(1) == b""


@pytest.mark.slow
def test_neither_a_wrong_secret_nor_torchs_own_client_gets_through(
    guarded: GuardedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assay_store, "GREETING", 0.3)
    guarded.store.set("rank0", "good")
    guarded.admit()
    port, began = guarded.gate(AWAY), time.monotonic()
    for attempt in (
        lambda: store_behind(AWAY, port, "another", 2.0),
        lambda: TCPStore(AWAY, port, is_master=False, timeout=timedelta(seconds=2.0)),
    ):
        with pytest.raises(RuntimeError):
            attempt().set("rank0", "evil")
    assert guarded.store.get("rank0") == b"good" and time.monotonic() - began < 60
