"""The run folder and its checkpoint store: what is saved comes back, and what was damaged is noticed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from assay.errors import ConfigError, Stopped, StorageError, UsageError
from assay.record import RunFolder, RunLocked, StopFlag, disk, failpoint, jsonl, manifest
from assay.record.checkpoint import Store
from assay.record.lock import holder
from assay.record.tensors import decode, encode

IDENTITY = {"model": {"width": 4, "kind": "tiny"}, "seed": 7}
WEIGHTS = "policy/model.safetensors"


def weights(step: int) -> dict[str, np.ndarray]:
    return {"w": np.full((2, 3), step, np.float32), "count": np.array(step, np.int64)}


def save(run: RunFolder, step: int, **more: Any) -> bool:
    run.append("metrics", {"step": step, "loss": 1 / step})
    return run.save(step, tensors={WEIGHTS: weights(step)}, documents={"memory.json": {"at": step}}, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a run with spaces, ümläuts\nand a newline"


@pytest.fixture
def run(path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(path, identity=IDENTITY, document={"command": ["assay", "train"]}) as run:
        yield run


@pytest.fixture(autouse=True)
def _disarm() -> Iterator[None]:
    yield
    failpoint.arm(None)


def checkpoint_of(run: RunFolder, step: int) -> Path:
    return run.path / "ckpt" / f"step-{step:08d}"


# --- what is saved comes back ---------------------------------------------------------------------------------------


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
    assert any(line.startswith("device: 'cpu' -> 'cuda'") for line in checkpoint.environment_changes("cuda"))
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


# --- retention ------------------------------------------------------------------------------------------------------


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
    with pytest.raises(UsageError, match="no checkpoint"):
        run.mark_best(2, 0.7)


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


# --- damage ---------------------------------------------------------------------------------------------------------


def flip(folder: Path) -> None:
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[len(data) // 2] ^= 4
    (folder / WEIGHTS).write_bytes(data)


def swap(folder: Path) -> None:
    shutil.copy(folder.with_name("step-00000001") / WEIGHTS, folder / WEIGHTS)


def swap_all(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("step-00000001"), folder)


def link(folder: Path) -> None:
    (folder / "memory.json").rename(folder.parent / "elsewhere.json")
    (folder / "memory.json").symlink_to(folder.parent / "elsewhere.json")


def link_folder(folder: Path) -> None:
    (folder / "policy").rename(folder.parent / "elsewhere")
    (folder / "policy").symlink_to(folder.parent / "elsewhere")


def reseal(folder: Path, **changes: Any) -> None:
    found = manifest.read(folder)
    assert isinstance(found, dict)
    (folder / "MANIFEST.json").write_bytes(manifest.seal({**found, **changes}))


def escape(folder: Path) -> None:
    (folder.parent / "secret").write_bytes(b"x")
    sha = disk.digest_file(folder.parent / "secret")
    reseal(folder, files={"../secret": {"size": 1, "sha256": sha}})


def absolute(folder: Path) -> None:
    sha = disk.digest_file(folder / "memory.json")
    size = (folder / "memory.json").stat().st_size
    reseal(folder, files={str(folder / "memory.json"): {"size": size, "sha256": sha}})


def edit_manifest(folder: Path) -> None:
    text = (folder / "MANIFEST.json").read_text()
    (folder / "MANIFEST.json").write_text(text.replace('"step": 2', '"step": 3', 1))


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "flipped bit": ("hash", flip),
    "truncated": ("size", lambda folder: os.truncate(folder / WEIGHTS, 10)),
    "empty": ("size", lambda folder: os.truncate(folder / WEIGHTS, 0)),
    "grown": ("size", lambda folder: (folder / "memory.json").write_bytes(b"{} " * 9)),
    "file of another step": ("hash", swap),
    "folder of another step": ("step", swap_all),
    "missing file": ("missing", lambda folder: (folder / WEIGHTS).unlink()),
    "folder for a file": ("missing", lambda folder: ((folder / WEIGHTS).unlink(), (folder / WEIGHTS).mkdir())),
    "extra file": ("extra", lambda folder: (folder / "policy/pytorch_model.bin").write_bytes(b"x")),
    "no manifest": ("manifest", lambda folder: (folder / "MANIFEST.json").unlink()),
    "half a manifest": ("manifest", lambda folder: os.truncate(folder / "MANIFEST.json", 100)),
    "manifest is a list": ("manifest", lambda folder: (folder / "MANIFEST.json").write_text("[]")),
    "edited manifest": ("seal", edit_manifest),
    "manifest without files": ("manifest", lambda folder: reseal(folder, files=[])),
    "link to a file": ("symlink", link),
    "link to a folder": ("symlink", link_folder),
    "path upwards": ("path", escape),
    "absolute path": ("path", absolute),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_set_aside_and_the_one_before_is_used(run: RunFolder, case: str) -> None:
    reason, harm = DAMAGE[case]
    save(run, 1)
    save(run, 2)
    harm(checkpoint_of(run, 2))
    with pytest.raises(StorageError, match=r"(?s)step 2 cannot be used.*Steps there: 1, 2"):
        run.load(2)
    checkpoint = run.load()
    assert checkpoint is not None and checkpoint.step == 1
    assert len(checkpoint.rejected) == 1 and "step 2" in checkpoint.rejected[0]
    assert (run.path / "ckpt" / f"step-00000002.corrupt-{reason}").is_dir()
    assert run.store.steps() == [1]


def test_hidden_files_of_a_file_manager_do_no_harm(run: RunFolder) -> None:
    save(run, 1)
    (checkpoint_of(run, 1) / "policy/.DS_Store").write_bytes(b"x")
    checkpoint = run.load()
    assert checkpoint is not None and checkpoint.step == 1


def test_a_run_whose_checkpoints_are_all_damaged_never_starts_over_by_itself(run: RunFolder) -> None:
    assert run.load() is None
    save(run, 1)
    flip(checkpoint_of(run, 1))
    for _ in range(2):
        with pytest.raises(StorageError, match=r"(?s)No checkpoint in .* can be used"):
            run.load()


def test_reading_without_the_lock_changes_nothing(run: RunFolder) -> None:
    save(run, 1)
    save(run, 2)
    flip(checkpoint_of(run, 2))
    reader = RunFolder.read_only(run.path)
    checkpoint = reader.load()
    assert checkpoint is not None and checkpoint.step == 1
    assert reader.store.steps() == [1, 2]
    assert [record["step"] for record in reader.read("metrics")] == [1, 2]
    for write in (lambda: reader.append("metrics", {"step": 3}), lambda: reader.rewind(None), lambda: save(reader, 3)):
        with pytest.raises(UsageError, match="not open for writing"):
            write()


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_flipped_bit_anywhere_is_seen(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    store = Store(tmp_path_factory.mktemp("flip"), IDENTITY)
    store.save(1, tensors={WEIGHTS: weights(1)}, documents={"memory.json": {"at": 1}})
    files = sorted(p for p in store.folder(1).rglob("*") if p.is_file())
    file = data.draw(st.sampled_from(files))
    content = bytearray(file.read_bytes())
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)
    try:
        found = store.load(repair=False)
    except StorageError:
        return
    # White space of the manifest is the one thing that may change without a meaning.
    assert file.name == "MANIFEST.json" and found is not None
    assert found.tensors(WEIGHTS)["count"] == 1


HOSTILE = {
    "offsets beyond the file": {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}},
    "overlap": {
        "a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
        "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]},
    },
    "shape that disagrees": {"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 4]}},
}


@pytest.mark.parametrize("case", [*HOSTILE, "huge header", "pickle"])
def test_hostile_tensor_files_are_refused(tmp_path: Path, case: str) -> None:
    header = json.dumps(HOSTILE.get(case, {})).encode()
    data = struct.pack("<Q", len(header)) + header + b"\0" * 4
    if case == "huge header":
        data = struct.pack("<Q", 200 << 20) + data
    if case == "pickle":
        data = b"\x80\x04cos\nsystem\n(S'exit 1'\ntR."
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(StorageError, match="not a readable safetensors file"):
        decode(tmp_path / "x.safetensors")


# --- identity and schema --------------------------------------------------------------------------------------------


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
    ("schema", "todo"), [(99, "Upgrade assay"), (0, "the assay that wrote it"), (None, "wrote it")]
)
def test_other_schema_versions_are_refused(run: RunFolder, schema: object, todo: str) -> None:
    save(run, 1)
    reseal(checkpoint_of(run, 1), schema=schema)
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


# --- the lock -------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_told_who(run: RunFolder) -> None:
    owner = holder(run.path / "lock")
    assert owner is not None and owner["pid"] == os.getpid()
    with pytest.raises(RunLocked, match=f"in use by process {os.getpid()} on .*, since ") as refusal:
        RunFolder.open(run.path)
    assert refusal.value.exit_code == 74
    run.close()
    RunFolder.open(run.path).close()


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


# --- journals -------------------------------------------------------------------------------------------------------


def test_a_resume_leaves_one_record_a_step(run: RunFolder) -> None:
    for step in (1, 2):
        save(run, step)
    for step in (3, 4):
        run.append("metrics", {"step": step})
    run.append("evals", {"step": 4})
    run.rewind(run.load())
    assert [record["step"] for record in run.read("metrics")] == [1, 2]
    assert run.read("evals") == []
    assert (run.path / "orphans/metrics-1.jsonl").read_bytes() == b'{"step":3}\n{"step":4}\n'
    run.append("metrics", {"step": 3})
    run.rewind(run.load())
    assert (run.path / "orphans/metrics-2.jsonl").read_bytes() == b'{"step":3}\n'
    run.rewind(None)
    assert run.read("metrics") == [] and run.store.steps() == []


def test_going_back_to_an_earlier_step_sets_the_later_ones_aside(run: RunFolder) -> None:
    for step, score in ((1, 0.1), (2, 0.9)):
        save(run, step, score=score)
    run.rewind(run.load(1))
    newest = run.load()
    assert newest is not None and newest.step == 1
    assert (run.path / "ckpt/step-00000002.orphan").is_dir()
    assert save(run, 2, score=0.05)
    best = run.best()
    assert best is not None and (best.step, best.score) == (1, 0.1)


def test_missing_records_are_not_papered_over(run: RunFolder) -> None:
    save(run, 1)
    os.truncate(run.path / "metrics.jsonl", 3)
    with pytest.raises(StorageError, match="records are missing"):
        run.rewind(run.load())


def test_a_torn_tail_is_moved_aside(run: RunFolder) -> None:
    save(run, 1)
    run.close()
    with (run.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step":2,"lo')
    assert len(RunFolder.read_only(run.path).read("metrics")) == 1
    with RunFolder.open(run.path) as again:
        assert (run.path / "orphans/metrics-1.jsonl").read_bytes() == b'{"step":2,"lo'
        again.append("metrics", {"step": 2})
        assert [record["step"] for record in again.read("metrics")] == [1, 2]


GOOD = b'{"step":1}\n{"step":2}\n'
BROKEN = {
    "nul block": (GOOD + b"\0" * 40 + b"\n", 3),
    "half a line inside": (b'{"step":1}\n{"st\n{"step":3}\n', 2),
    "two writers": (b'{"step":1}\n{"ste{"step":2}\np":3}\n', 2),
    "a record twice": (GOOD + b'{"step":2}\n', 3),
    "a step left out": (GOOD + b'{"step":4}\n', 3),
    "a step back": (GOOD + b'{"step":1}\n', 3),
    "first lines lost": (b'{"step":5}\n', 1),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, 1),
    "latin-1": (GOOD + b'{"step":3,"x":"\xe9"}\n', 3),
    "no step": (b'{"loss":1}\n', 1),
    "step that is text": (b'{"step":"1"}\n', 1),
    "a list": (b"[1]\n", 1),
    "empty line": (GOOD + b"\n", 3),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_corrupt_line_is_named(tmp_path: Path, case: str) -> None:
    content, number = BROKEN[case]
    (tmp_path / "metrics.jsonl").write_bytes(content)
    with pytest.raises(StorageError, match=f"line {number} is damaged"):
        jsonl.read(tmp_path / "metrics.jsonl", contiguous=True)
    steps = [record["step"] for record in jsonl.read(tmp_path / "metrics.jsonl", contiguous=True, skip_damaged=True)]
    assert steps == sorted(set(steps))


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(GOOD.replace(b"\n", b"\r\n"))
    assert jsonl.read(tmp_path / "x.jsonl", contiguous=True) == [{"step": 1}, {"step": 2}]


values = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
values |= st.text(max_size=8)
tree = values | st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=2)


@given(st.lists(st.dictionaries(st.text(max_size=5).filter(lambda key: key != "step"), tree, max_size=3), max_size=4))
@settings(max_examples=20, deadline=None)
def test_records_come_back_with_step_first(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    journal = jsonl.Journal(folder / "x.jsonl", orphans=folder)
    records = [{**body, "step": number} for number, body in enumerate(bodies, start=1)]
    for record in records:
        journal.append(record)
    journal.close()
    found = jsonl.read(folder / "x.jsonl", contiguous=True)
    assert found == records
    assert all(next(iter(record)) == "step" for record in found)


def test_numpy_and_numbers_that_are_not_finite(run: RunFolder) -> None:
    run.append("metrics", {"a": np.float32(0.5), "b": np.array([1, 2]), "c": float("nan"), "d": [np.inf], "step": 1})
    assert run.read("metrics") == [{"step": 1, "a": 0.5, "b": [1, 2], "c": None, "d": [None]}]
    with pytest.raises(UsageError, match="integer `step`"):
        run.append("metrics", {"loss": 1})


# --- a disk that fails ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["enospc", "eio"])
@pytest.mark.parametrize("point", ["jsonl.before_write", "jsonl.after_write"])
def test_a_record_waits_for_a_better_disk(run: RunFolder, point: str, action: str) -> None:
    run.append("metrics", {"step": 1})
    before = (run.path / "metrics.jsonl").read_bytes()
    failpoint.arm(f"{point}:{action}:*")
    assert not run.append("metrics", {"step": 2})
    assert not run.append("metrics", {"step": 3})
    assert (run.path / "metrics.jsonl").read_bytes() == before
    failpoint.arm(None)
    assert run.append("metrics", {"step": 4})
    assert [record["step"] for record in run.read("metrics")] == [1, 2, 3, 4]
    failpoint.arm(f"{point}:{action}:*")
    assert not run.append("metrics", {"step": 5})
    assert not run.append("metrics", {"step": 6})
    with pytest.raises(StorageError, match="3 times in a row"):
        run.append("metrics", {"step": 7})
    failpoint.arm(None)
    assert len(run.failures) == 4


def test_the_third_failed_save_stops_the_run(run: RunFolder) -> None:
    save(run, 1)
    failpoint.arm("checkpoint.before_write:enospc:*")
    assert not save(run, 2)
    assert not save(run, 3)
    failpoint.arm(None)
    assert save(run, 4)
    failpoint.arm("checkpoint.before_fsync:eio:*")
    assert not save(run, 5)
    assert not save(run, 6)
    assert sorted(p.name for p in (run.path / "ckpt").iterdir()) == ["step-00000001", "step-00000004"]
    with pytest.raises(StorageError, match="3 saves in a row") as stop:
        save(run, 7)
    assert stop.value.exit_code == 74
    assert run.store.steps() == [1, 4]


def test_a_save_that_would_fill_the_disk_is_not_begun(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wanted: a quarter more than its 4000 bytes, and the reserve of 64 MiB."""
    needed = 5000 + (64 << 20)
    tensors = {WEIGHTS: {"w": np.zeros(1000, np.float32)}}
    for free, works in ((needed - 1, False), (needed, True)):
        usage = shutil._ntuple_diskusage(1 << 40, 0, free)  # pyright: ignore[reportAttributeAccessIssue]
        monkeypatch.setattr(shutil, "disk_usage", lambda _, usage=usage: usage)
        assert run.save(1, tensors=tensors) is works
        assert (run.store.steps() == [1]) is works


def test_a_save_that_reads_back_differently_is_no_commit(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (1, 2):
        save(run, step)
    monkeypatch.setattr(manifest, "digest_file", lambda _: "0" * 64)
    assert not save(run, 3)
    monkeypatch.undo()
    assert run.store.steps() == [1, 2]
    assert "reads back differently" in run.failures[0]


def test_a_save_waits_for_records_that_wait(run: RunFolder) -> None:
    failpoint.arm("jsonl.before_write:enospc:*")
    assert not save(run, 1)
    assert run.store.steps() == []
    failpoint.arm(None)
    assert save(run, 2)
    checkpoint = run.load()
    assert checkpoint is not None
    assert checkpoint.journals["metrics"] == (run.path / "metrics.jsonl").stat().st_size
    assert [record["step"] for record in run.read("metrics")] == [1, 2]


def test_a_read_error_is_set_aside_and_a_missing_permission_is_not(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(run, 1)
    save(run, 2)

    def refuse(number: int) -> Callable[[Path], str]:
        def digest(path: Path) -> str:
            if "step-00000002" in str(path):
                raise OSError(number, "no")
            return disk.digest_file(path)

        return digest

    monkeypatch.setattr(manifest, "digest_file", refuse(errno.EACCES))
    with pytest.raises(StorageError, match="cannot be read"):
        run.load()
    assert run.store.steps() == [1, 2]
    monkeypatch.setattr(manifest, "digest_file", refuse(errno.EIO))
    checkpoint = run.load()
    assert checkpoint is not None and checkpoint.step == 1
    assert (run.path / "ckpt/step-00000002.corrupt-unreadable").is_dir()


# --- signals and failpoints -----------------------------------------------------------------------------------------


def test_the_first_signal_asks_and_the_second_leaves() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopFlag() as stop:
        assert not stop
        stop.check()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop
        with pytest.raises(Stopped, match="SIGTERM") as stopped:
            stop.check()
        assert stopped.value.exit_code == 75
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            pid = os.fork()
            if pid == 0:
                os.kill(os.getpid(), number)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("spec", ["checkpoint.befor_write:kill", "loop.save:explode", "loop.save", "loop.save:kill:x"])
def test_a_failpoint_that_could_never_fire_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        failpoint.arm(spec)


def test_a_failpoint_fires_at_its_visit_and_only_there() -> None:
    failpoint.arm("loop.save:eio:2")
    failpoint.failpoint("loop.save")
    failpoint.failpoint("loop.update")
    with pytest.raises(OSError, match=r"failpoint loop\.save") as error:
        failpoint.failpoint("loop.save")
    assert error.value.errno == errno.EIO
    failpoint.failpoint("loop.save")


def test_the_names_of_failpoints_are_distinct() -> None:
    assert len(set(failpoint.FAILPOINTS)) == len(failpoint.FAILPOINTS)
