"""Damage to a checkpoint or a journal is noticed, named, set aside, and never read."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_runs import IDENTITY, WEIGHTS, checkpoint_of, save, weights

from assay.errors import StorageError, UsageError
from assay.host.tensors import decode
from assay.record import RunFolder, disk, jsonl, manifest
from assay.record.checkpoint import Store

# --- damage -------------------------------------------------------------------------------------------------


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
    with pytest.raises(StorageError, match=r"(?s)step 2 cannot be used.*Saved steps: 1, 2"):
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


@pytest.mark.slow
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


# --- journals -----------------------------------------------------------------------------------------------


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
