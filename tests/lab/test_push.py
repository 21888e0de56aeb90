"""Pushing to the Hub: what arrives is what was written, what cannot be is refused in time, and no secret leaves."""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_hub import DROP, TOKEN, LocalHub, Repo, connect, serving
from small_runs import Shell, make_model, program, train_line

import assay
from assay.errors import ConfigError, EndpointError, UsageError
from assay.lab import push

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # of the client of the Hub
CHANGES = ("POST /api/repos", "/branch/", "/preupload/", "PUT ", "/commit/")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    with serving() as hub:
        connect(monkeypatch, hub)
        yield hub


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_model(tmp_path_factory.mktemp("model") / "small")
    (folder / "README.md").write_text("---\nlicense: mit\n---\nvllm serve THIS_MODEL\n")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changes(hub: LocalHub) -> list[str]:
    return [line for line in hub.written() if any(part in line for part in CHANGES)]


@pytest.mark.slow
def test_the_bytes_that_arrive_are_those_of_the_folder(
    hub: LocalHub, shell: Shell, model: Path, tmp_path: Path
) -> None:
    reply = shell("export", model, tmp_path / "out", "--push", "me/first", "--json")
    assert reply.code == 0, reply.err
    files, repo = contents(tmp_path / "out"), hub.repos["me/first"]
    assert repo.branches["main"] == {".gitattributes": b"*", **files} and "model.safetensors" in files
    assert files["README.md"].endswith(b"vllm serve me/first\n"), "the card loads the model by its name"
    assert repo.private and repo.commits == [("main", f"Model written by assay {assay.__version__}")]
    told = reply.document
    assert told["url"] == f"{hub.address}/me/first" and told["commit"] == repo.sha("main")
    assert {entry["file"]: entry["bytes"] for entry in told["files"]} == {k: len(v) for k, v in files.items()}
    assert (told["new"], told["private"], told["changed"], told["deleted"]) == (True, True, True, [])


@pytest.mark.slow
def test_the_last_line_is_the_address_and_a_folder_is_not_needed(hub: LocalHub, shell: Shell, model: Path) -> None:
    reply = shell("export", model, "--push", "me/first", "--public", "--revision", "later", "--message", "The first")
    assert reply.code == 0, reply.err
    assert reply.out.splitlines()[-1] == f"{hub.address}/me/first/tree/later"
    repo = hub.repos["me/first"]
    assert not repo.private and repo.commits == [("later", "The first")]
    assert "model.safetensors" in repo.branches["later"] and "model.safetensors" not in repo.branches["main"]


@pytest.mark.slow
def test_a_dry_run_lists_what_a_push_sends_and_changes_nothing(
    hub: LocalHub, shell: Shell, model: Path, tmp_path: Path
) -> None:
    dry = shell("export", model, tmp_path / "out", "--push", "me/first", "--dry-run", "--json")
    assert dry.code == 0 and changes(hub) == [] and hub.repos == {} and not (tmp_path / "out").exists()
    real = shell("export", model, "--push", "me/first", "--json").document
    varying = {"dry_run", "commit", "changed", "folder"}
    assert {k: v for k, v in dry.document.items() if k not in varying} == {
        k: v for k, v in real.items() if k not in varying
    }
    said = shell("export", model, "--push", "me/first", "--dry-run").out
    assert "nothing was uploaded; this would go to the private repository" in said
    for name, size in {entry["file"]: entry["bytes"] for entry in real["files"]}.items():
        assert f"{size:,}  {name}" in said


@pytest.mark.slow
def test_a_second_push_replaces_the_model_and_leaves_what_is_not_of_it(hub: LocalHub, model: Path) -> None:
    """A program would load the shards or the adapter of an earlier push instead of the new weights."""
    stale = {"model-00001-of-00002.safetensors", "model.safetensors.index.json", "adapter_config.json"}
    stale |= {"adapter_model.safetensors", "assay_chat.json", "chat_template.jinja"}
    kept = {"plot.png": b"p", "onnx/model.safetensors": b"o", "LICENSE": b"l", "model.gguf": b"g"}
    hub.repos["me/first"] = Repo(private=True, branches={"main": {**kept, **dict.fromkeys(stale, b"old")}})
    done = assay.push(model, "me/first")
    files = hub.repos["me/first"].branches["main"]
    gone = {name for name in stale if name not in {entry["file"] for entry in done["files"]}}
    assert set(done["deleted"]) == gone and gone >= {"model.safetensors.index.json", "adapter_config.json"}
    assert kept.items() <= files.items() and not gone & files.keys() and b"old" not in files.values()
    assert len(hub.repos["me/first"].commits) == 1, "nobody sees half of a model"


@pytest.mark.slow
def test_the_same_model_again_makes_no_commit(hub: LocalHub, model: Path) -> None:
    assay.push(model, "me/first")
    before = len(hub.repos["me/first"].commits)
    again = assay.push(model, "me/first")
    assert len(hub.repos["me/first"].commits) == before and not again["changed"]
    assert "nothing had changed" in str(again)


@pytest.mark.slow
def test_the_card_of_a_run_goes_along_with_its_judge(hub: LocalHub, shell: Shell, model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert shell(*train_line(model, run, "--quiet")).code == 0
    done = assay.Run(run).push("me/first")
    assert done["url"] == f"{hub.address}/me/first" and str(done).endswith(done["url"])
    card = hub.repos["me/first"].branches["main"]["README.md"].decode()
    assert "| pass@1 | verifier |" in card and 'from_pretrained("me/first")' in card and "THIS_MODEL" not in card
    assert str(tmp_path) not in card, "paths of this machine are nobody else's matter"


@pytest.mark.slow
def test_an_adapter_on_a_folder_is_refused_and_merged_it_is_a_model(
    hub: LocalHub, shell: Shell, model: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert shell(*train_line(model, run, "--lora", "2", "--quiet")).code == 0
    reply = shell("export", run, "--push", "me/first")
    assert reply.code == 2 and "--merge" in reply.err and changes(hub) == []
    assert shell("export", run, "--push", "me/first", "--merge").code == 0
    assert "model.safetensors" in hub.repos["me/first"].branches["main"]


REFUSED = {
    "a name without an owner": (("first",), 2, "OWNER/NAME"),
    "a name with two slashes": (("a/b/c",), 2, "OWNER/NAME"),
    "a name that the Hub does not allow": (("me/a--b",), 2, "OWNER/NAME"),
    "a web address": (("https://hub/me/first",), 2, "OWNER/NAME"),
    "someone else's": (("you/first",), 78, "the token may not write there"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_name_that_cannot_be_pushed_to_is_refused(case: str, hub: LocalHub, shell: Shell, model: Path) -> None:
    (name,), code, sentence = REFUSED[case]
    reply = shell("export", model, "--push", name)
    assert reply.code == code and sentence in reply.err
    assert hub.repos == {} and hub.storage == {}


@pytest.mark.parametrize("option", [("--public",), ("--revision", "x"), ("--message", "x"), ("--dry-run",)])
def test_an_option_of_a_push_without_one_is_refused(option: tuple[str, ...], shell: Shell, tmp_path: Path) -> None:
    reply = shell("export", "model", tmp_path / "out", *option)
    assert reply.code == 2 and f"{option[0]} says how to push" in reply.err


def test_an_export_names_a_folder_or_a_repository(shell: Shell) -> None:
    reply = shell("export", "model")
    assert reply.code == 2 and "--push OWNER/NAME" in reply.err


def test_without_a_token_nothing_is_asked(
    hub: LocalHub, shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(push_constants(), "HF_TOKEN_PATH", str(tmp_path / "none"))
    reply = shell("export", model, tmp_path / "out", "--push", "me/first")
    assert reply.code == 78 and "`hf auth login`" in reply.err
    assert hub.asked == [] and not (tmp_path / "out").exists()


def push_constants() -> object:
    from huggingface_hub import constants

    return constants


def test_offline_means_offline(hub: LocalHub, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_constants(), "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="HF_HUB_OFFLINE is set"):
        assay.push(model, "me/first")
    assert hub.asked == []


def test_a_missing_package_is_named_with_its_extra(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigError, match=r"pip install 'assay-rl\[hub\]'"):
        assay.push(model, "me/first")


def test_a_token_that_only_reads_is_refused_before_the_model_is_written(
    hub: LocalHub, shell: Shell, model: Path, tmp_path: Path
) -> None:
    hub.role = "read"
    reply = shell("export", model, tmp_path / "out", "--push", "me/first")
    assert reply.code == 78 and "the token of me may only read" in reply.err
    assert changes(hub) == [] and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_public_repository_takes_a_model_only_by_that_word(hub: LocalHub, shell: Shell, model: Path) -> None:
    hub.repos["me/first"] = Repo(private=False)
    reply = shell("export", model, "--push", "me/first")
    assert reply.code == 78 and "everybody can read it: add --public" in reply.err and changes(hub) == []
    assert shell("export", model, "--push", "me/first", "--public").code == 0


def test_a_private_repository_stays_private(hub: LocalHub, model: Path) -> None:
    hub.repos["me/first"] = Repo(private=True)
    assert assay.push(model, "me/first", public=True)["private"] and hub.repos["me/first"].private


FAILING = {  # request, answer -> exit code, and what is said
    "a token that is not valid": ("whoami", 401, 78, "does not accept the token"),
    "a busy Hub": ("whoami", 503, 69, "run the same command again later"),
    "too many requests": ("whoami", 429, 69, "run the same command again later"),
    "no right to make it": ("repos/create", 403, 78, "the token may not write there"),
    "made by another meanwhile": ("repos/create", 409, 69, "somebody else changes it at this moment"),
    "no right to commit": ("/commit/", 403, 78, "me/first was made, and holds no model yet"),
    "changed by another meanwhile": ("/commit/", 412, 69, "somebody else changes it"),
    "a card that the Hub refuses": ("validate-yaml", 400, 78, "refused with 400"),
    "a storage that refuses": ("PUT /storage", 403, 78, "the token may not write there"),
    "a connection that ends": ("/commit/", DROP, 69, "no answer from"),
    "a connection that ends in a large file": ("PUT /storage", DROP, 69, "no answer from"),
    "no connection": ("", DROP, 69, "no answer from"),
}


@pytest.mark.parametrize("case", FAILING)
def test_what_fails_is_told_with_its_code_and_without_a_secret(
    case: str,
    hub: LocalHub,
    shell: Shell,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between the client's own attempts
    for handler in logging.getLogger("huggingface_hub").handlers:
        monkeypatch.setattr(handler, "stream", sys.stderr)  # that of this test
    request, status, code, sentence = FAILING[case]
    hub.fails[request] = status
    reply = shell("export", model, tmp_path / "out", "--push", "me/first")
    assert reply.code == code, reply.err
    assert sentence in reply.err and "Traceback" not in reply.err
    if (tmp_path / "out").exists():
        assert f"assay export {tmp_path / 'out'} --push me/first" in reply.err
    told = reply.out + reply.err + caplog.text
    assert TOKEN not in told and "Signed" not in told
    for repo in hub.repos.values():
        assert repo.branches["main"].keys() == {".gitattributes"}, "no half of a model"


@pytest.mark.slow
def test_the_token_goes_to_the_hub_alone(hub: LocalHub, shell: Shell, model: Path, tmp_path: Path) -> None:
    reply = shell("export", model, tmp_path / "out", "--push", "me/first", "--json")
    assert TOKEN not in reply.out + reply.err
    assert not any(TOKEN.encode() in content for content in contents(tmp_path / "out").values())
    assert not any(TOKEN.encode() in content for content in hub.repos["me/first"].branches["main"].values())
    tokens = {line.split()[1].split("/")[1]: token for line, token in hub.asked}
    assert tokens["api"] == f"Bearer {TOKEN}" and tokens["storage"] == "", "the storage has signed addresses"
    repository = push.repository_of(push.Target("me/first"))
    assert TOKEN not in repr(repository) and "token" not in json.dumps(dataclasses.asdict(repository.target))


@pytest.mark.slow
def test_a_program_pushes_to_the_hub_that_its_environment_names(hub: LocalHub, model: Path, tmp_path: Path) -> None:
    environment = {"HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    environment |= {"HF_HOME": str(tmp_path / "home"), "NO_PROXY": "127.0.0.1"}
    line = ["-m", "assay", "export", str(model), str(tmp_path / "out"), "--push", "me/first", "--json"]
    done = program(line, **environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["url"] == f"{hub.address}/me/first"
    files = contents(tmp_path / "out")
    assert hub.repos["me/first"].branches["main"] == {".gitattributes": b"*", **files}
    assert TOKEN not in done.stdout + done.stderr


def test_the_kinds_of_errors_are_ours(hub: LocalHub, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub.fails["whoami"] = DROP
    with pytest.raises(EndpointError) as lost:
        assay.push(model, "me/first")
    assert lost.value.__cause__ is None and lost.value.__suppress_context__, "its own text may hold signed addresses"
    with pytest.raises(UsageError):
        assay.push(model, "first")
