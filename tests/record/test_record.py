"""The run folder and its checkpoint store: what is saved comes back, to its own run and to one writer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_runs import IDENTITY, WEIGHTS, checkpoint_of, save, weights
from safetensors.numpy import load_file

from assay.errors import ConfigError, StorageError, UsageError
from assay.host.tensors import decode, encode
from assay.record import RunFolder, RunLocked, disk, manifest
from assay.record.lock import holder

# --- what is saved comes back -------------------------------------------------------------------------------


def test_a_checkpoint_comes_back(run: RunFolder, tmp_path: Path) -> None:
    blob = tmp_path / "tokenizer.json"
    blob.write_bytes(b'{"a": 1}')
    assert save(run, 3, files={"policy/tokenizer.json": blob, "policy/config.json": b"{}"})
    checkpoint = run.load()
    assert checkpoint is not None
    assert checkpoint.step == 3
    for name, tensor in weights(3).items():
        found = checkpoint.tensors(WEIGHTS)[name]
        assert (found.dtype, found.shape, found.tobytes()) == (tensor.dtype, tensor.shape, tensor.tobytes())
        assert found.flags.writeable
    assert checkpoint.document("memory.json") == {"at": 3}
    assert checkpoint.file("policy/tokenizer.json").read_bytes() == blob.read_bytes()
    assert checkpoint.environment_changes("cpu") == []
    assert any(line.startswith("place: 'cpu' -> 'cuda'") for line in checkpoint.environment_changes("cuda"))
    with pytest.raises(StorageError, match=r"holds no other\.json; it holds .*memory\.json"):
        checkpoint.file("other.json")


def test_a_copy_without_the_empty_folders_is_the_same_run(run: RunFolder) -> None:
    run.close()
    for name in ("ckpt", "rollouts", "orphans"):
        (run.path / name).rmdir()
    reader = RunFolder.read_only(run.path)
    assert reader.load() is None and reader.best() is None and reader.rollout_steps() == []
    with RunFolder.open(run.path) as again:
        assert save(again, 1)


def test_a_moved_run_is_the_same_run(run: RunFolder, tmp_path: Path) -> None:
    save(run, 1)
    run.close()
    shutil.move(run.path, tmp_path / "elsewhere")
    with RunFolder.open(tmp_path / "elsewhere", identity=IDENTITY) as moved:
        checkpoint = moved.load()
        assert checkpoint is not None and checkpoint.tensors(WEIGHTS)["count"] == 1


DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f4"]


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=6).filter(lambda name: name != "__metadata__"),
        st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3)),
        max_size=5,
    )
)
@settings(max_examples=40, deadline=None)
def test_what_we_encode_the_library_reads(tmp_path_factory: pytest.TempPathFactory, shapes: dict[str, Any]) -> None:
    tensors = {
        name: (np.arange(int(np.prod(shape))) % 2).astype(kind).reshape(shape) for name, (kind, shape) in shapes.items()
    }
    file = tmp_path_factory.mktemp("st") / "x.safetensors"
    file.write_bytes(b"".join(bytes(piece) for piece in encode(tensors)))
    for read in (load_file(file), decode(file)):
        assert read.keys() == tensors.keys()
        for name, tensor in tensors.items():
            little = tensor.astype(tensor.dtype.newbyteorder("<"))
            assert (read[name].shape, read[name].tobytes()) == (tensor.shape, little.tobytes())


def test_a_tensor_that_is_not_laid_out_in_rows(tmp_path: Path) -> None:
    tensor = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
    (tmp_path / "x").write_bytes(b"".join(bytes(piece) for piece in encode({"t": tensor})))
    assert np.array_equal(decode(tmp_path / "x")["t"], tensor)


@pytest.mark.slow
def test_torch_tensors_and_bfloat16(run: RunFolder) -> None:
    torch = pytest.importorskip("torch")
    tensors = {
        "b": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t().requires_grad_(),
        "s": torch.tensor(2.5),
        "m": torch.tensor([True, False]),
        "e": torch.zeros(0, 3),
    }
    assert run.save(1, tensors={WEIGHTS: tensors})
    checkpoint = run.load()
    assert checkpoint is not None
    read = checkpoint.tensors(WEIGHTS, framework="torch")
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor.detach())
    with pytest.raises(StorageError, match="framework='torch'"):
        checkpoint.tensors(WEIGHTS)
    tensors["b"] = torch.tensor([1.0, float("inf")], dtype=torch.bfloat16)
    with pytest.raises(StorageError, match=r"tensor b .*not finite"):
        run.save(2, tensors={WEIGHTS: tensors})


@pytest.mark.slow
def test_nothing_heavy_is_imported() -> None:
    code = "import sys, assay.record; print([m for m in ('torch', 'pyarrow', 'transformers') if m in sys.modules])"
    root = Path(disk.__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, -1])
def test_values_that_are_not_finite_are_never_committed(run: RunFolder, bad: float, place: int) -> None:
    tensor = np.zeros(20, np.float32)
    tensor[place] = bad
    with pytest.raises(StorageError, match=r"tensor w of optimizer\.safetensors .*not finite"):
        run.save(1, tensors={"optimizer.safetensors": {"w": tensor}})
    assert list((run.path / "ckpt").iterdir()) == []


def test_documents_are_strict_json(run: RunFolder) -> None:
    for value in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises(StorageError, match=r"memory\.json is not JSON data"):
            run.save(1, tensors={}, documents={"memory.json": value})


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../b", "a//b", "./a", ".hidden", "", "MANIFEST.json", "a\\b"])
def test_names_that_leave_the_checkpoint_are_refused(run: RunFolder, name: str) -> None:
    with pytest.raises(UsageError, match="relative paths"):
        run.save(1, tensors={}, documents={name: {}})


# --- retention ----------------------------------------------------------------------------------------------


def test_the_newest_two_and_the_best_stay(run: RunFolder) -> None:
    for step, score in ((1, 0.1), (2, 0.9), (3, 0.5), (4, 0.9), (5, 0.2), (6, 0.3)):
        save(run, step, score=score)
    assert run.store.steps() == [2, 5, 6]
    best = run.best()
    assert best is not None and (best.step, best.score) == (2, 0.9)
    assert json.loads((run.path / "ckpt/BEST").read_text()) == {"step": 2, "score": 0.9}


def test_a_score_that_comes_later(run: RunFolder) -> None:
    save(run, 1)
    assert run.mark_best(1, 0.5)
    save(run, 2)
    assert not run.mark_best(2, 0.5)
    for step in (3, 4):
        save(run, step)
    assert run.store.steps() == [1, 3, 4]
    with pytest.raises(UsageError, match="finite"):
        run.mark_best(4, float("nan"))
    assert not run.mark_best(2, 0.7)


def test_garbage_in_the_hint_loses_nothing_that_a_manifest_knows(run: RunFolder) -> None:
    save(run, 1, score=0.5)
    (run.path / "ckpt/BEST").write_bytes(b"\0{")
    for step in (2, 3, 4):
        save(run, step)
    assert run.store.steps() == [1, 3, 4]


def test_keeping_one_is_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="at least 2"):
        RunFolder.create(path, identity=IDENTITY, keep=1)


def test_a_step_is_saved_once(run: RunFolder) -> None:
    save(run, 1)
    before = (checkpoint_of(run, 1) / "MANIFEST.json").read_bytes()
    assert run.save(1, tensors={WEIGHTS: weights(9)})
    assert (checkpoint_of(run, 1) / "MANIFEST.json").read_bytes() == before


# --- identity and schema ------------------------------------------------------------------------------------


def test_another_identity_is_refused_with_the_fields(run: RunFolder, tmp_path: Path) -> None:
    save(run, 1)
    other = {"model": {"width": 8, "kind": "tiny"}, "seed": 7, "data": "x"}
    with pytest.raises(ConfigError, match=r"(?s)data: None -> 'x'.*model\.width: 4 -> 8") as refusal:
        RunFolder.open(run.path, identity=other)
    assert "seed" not in str(refusal.value) and "kind" not in str(refusal.value)
    with RunFolder.create(tmp_path / "other", identity=other) as stranger:
        shutil.copytree(checkpoint_of(run, 1), checkpoint_of(stranger, 1))
        with pytest.raises(ConfigError, match=r"model\.width: 4 -> 8"):
            stranger.load()
        assert stranger.store.steps() == [1]


@pytest.mark.parametrize(
    ("schema", "todo"), [(99, "Upgrade assay"), (0, "the version of assay that wrote it"), (None, "wrote it")]
)
def test_other_schema_versions_are_refused(run: RunFolder, schema: object, todo: str) -> None:
    save(run, 1)
    found = manifest.read(checkpoint_of(run, 1))
    assert isinstance(found, dict)
    (checkpoint_of(run, 1) / "MANIFEST.json").write_bytes(manifest.seal({**found, "schema": schema}))
    with pytest.raises(ConfigError, match=f"schema version {schema}; .*version 1.*{todo}"):
        run.load()
    assert run.store.steps() == [1]
    run.close()
    document = json.loads((run.path / "run.json").read_text())
    (run.path / "run.json").write_text(json.dumps({**document, "schema": schema}))
    for enter in (RunFolder.open, RunFolder.read_only):
        with pytest.raises(ConfigError, match=f"run.json has schema version {schema}.*{todo}"):
            enter(run.path)


def test_a_run_is_created_once(run: RunFolder) -> None:
    with pytest.raises(UsageError, match="assay resume"):
        RunFolder.create(run.path, identity=IDENTITY)
    assert run.document["command"] == ["assay", "train"]


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match=r"not empty .*thesis\.tex"):
        RunFolder.create(tmp_path, identity=IDENTITY)
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]
    with pytest.raises(UsageError, match="holds no run"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema": 1}'])
def test_a_damaged_run_document_is_reported(run: RunFolder, content: bytes) -> None:
    run.close()
    (run.path / "run.json").write_bytes(content)
    with pytest.raises(StorageError, match=r"run\.json"):
        RunFolder.open(run.path)


# --- the lock -----------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_told_who(run: RunFolder) -> None:
    owner = holder(run.path / "lock")
    assert owner is not None and owner["pid"] == os.getpid()
    with pytest.raises(RunLocked, match=f"in use by process {os.getpid()} on .*, since ") as refusal:
        RunFolder.open(run.path)
    assert refusal.value.exit_code == 74
    run.close()
    RunFolder.open(run.path).close()


@pytest.mark.slow
def test_the_lock_of_a_dead_process_does_not_block(path: Path) -> None:
    RunFolder.create(path, identity=IDENTITY).close()
    code = (
        "import os, sys; from assay.record import RunFolder; run = RunFolder.open(sys.argv[1]);"
        "print('locked', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(disk.__file__).parents[2],
    )
    assert child.stdin and child.stdout
    assert child.stdout.readline() == b"locked\n"
    with pytest.raises(RunLocked, match=f"process {child.pid} "):
        RunFolder.open(path)
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    RunFolder.open(path).close()


def test_a_forked_worker_does_not_keep_the_lock(run: RunFolder) -> None:
    (started, start), (leave, leaving) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(leaving)
        os.write(start, b"x")
        os.read(leave, 1)
        os._exit(0)
    os.read(started, 1)
    run.close()
    RunFolder.open(run.path).close()
    os.close(leaving)
    os.waitpid(pid, 0)
    for end in (started, start, leave):
        os.close(end)
