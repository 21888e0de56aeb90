"""Pretrained models: GGUF files wherever a model is taken, and those that `assay get` fetches."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from gguf_files import model
from small_runs import Shell, train_line

from assay.errors import StorageError
from assay.policy import config_from_hf, load_policy
from assay.policy.gguf import convert
from assay.policy.provenance import Provenance
from assay.run import bases, pretrained
from assay.run.memory_plan import is_adapter, shape_of
from assay.run.picture_needs import family_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pretrained, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return model().having(llama__context_length=("u32", 256)).write(tmp_path / "tiny.gguf")


def test_a_file_is_converted_once_and_then_found(file: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(bases.locate(str(file)))
    assert folder.parent == cache / "models" and load_policy(folder).config.context == 256
    told = capsys.readouterr().err
    assert told.count("was converted, once: Tiny, restored from Q4_1 (apache-2.0)") == 1
    changed = (folder / "model.safetensors").stat().st_mtime_ns
    file.rename(file.with_name("another-name"))  # the same content, and a name that says nothing
    assert bases.locate(str(file.with_name("another-name"))) == str(folder)
    assert not capsys.readouterr().err and (folder / "model.safetensors").stat().st_mtime_ns == changed


def test_another_content_is_another_model(file: Path, cache: Path) -> None:
    one = bases.locate(str(file))
    model(kind="Q8_0").write(file)
    assert bases.locate(str(file)) != one and len([path for path in (cache / "models").iterdir() if path.is_dir()]) == 2


def test_several_that_need_a_model_at_once_get_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def counting(path: Path, folder: Path, *, about: Provenance | None = None) -> Provenance:
        written.append(path)
        return convert(path, folder, about=about)

    monkeypatch.setattr(pretrained, "convert", counting)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(bases.locate(str(file)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4 and len(written) == 1


def test_what_is_planned_before_a_model_is_loaded_reads_its_shape(file: Path) -> None:
    shape = shape_of(str(file))
    assert shape is not None and shape.hidden == 32 and family_of(str(file)) == "llama" and not is_adapter(str(file))


def test_a_file_that_cannot_be_read_is_told_before_anything_is_planned(tmp_path: Path, shell: Shell) -> None:
    path = model(pre="llama-bpe").write(tmp_path / "m.gguf")
    reply = shell(*train_line(path, tmp_path / "run"), "--dry-run")
    assert reply.code == 78 and "pre-tokenizer 'llama-bpe'" in reply.err
    with pytest.raises(StorageError, match="there is no file"):
        bases.locate(str(tmp_path / "none.gguf"))


@pytest.mark.slow
def test_a_run_trains_on_a_file_and_its_copies_keep_the_provenance(
    file: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = train_line(Path(file.name), tmp_path / "run", "--json")
    assert shell(*line).code == 0
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert document["experiment"]["model"] == str(file)  # so that it is found from any folder
    reply = shell("export", tmp_path / "run", tmp_path / "exported", "--json")
    assert reply.code == 0
    assert json.loads((tmp_path / "exported" / "assay_provenance.json").read_text())["restored"] == "restored from Q4_1"


def test_the_name_that_transformers_gives_to_a_converted_model_is_ignored() -> None:
    plain = {"model_type": "qwen2", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    plain |= {"num_key_value_heads": 2, "intermediate_size": 8, "max_position_embeddings": 8}
    assert config_from_hf({**plain, "_model_name_or_path": "Smollm2"}) == config_from_hf(plain)
