"""`assay export MODEL --push OWNER/NAME`: publishes a model folder on the Hugging Face Hub, in one commit.

All that can be refused is refused before a byte is sent: a malformed name, no token, a token that may not write, a
repository that everybody can read. The token is the one of `hf auth login` or HF_TOKEN; it is never written or printed.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ConfigError, EndpointError, UsageError

MAIN = "main"
OF_A_MODEL = re.compile(
    r"(model|adapter_model|pytorch_model)[\w.-]*\.(safetensors|bin)(\.index\.json)?"
    r"|adapter_config\.json|chat_template\.jinja|assay_\w+\.json"
)
"""Files from which a program loads a model: it would load those of an earlier push beside the new ones, or instead."""
PLACE = "THIS_MODEL"  # in a card, where the name of the model is not known yet


@dataclass(frozen=True)
class Target:
    """The repository and the branch that a model is pushed to: `Target("me/first", public=True)`."""

    name: str
    public: bool = False  # of a repository that is made now; one that is there keeps what it is
    revision: str = MAIN
    message: str = ""  # of the commit; empty: one that names this program


@dataclass(frozen=True)
class Repository:
    """A repository as it is before the push; `files` is None if it is not there yet."""

    api: Any = field(repr=False)
    target: Target
    private: bool
    files: frozenset[str] | None
    branch: bool  # whether the branch is there
    head: str = ""  # the commit at its end

    @property
    def url(self) -> str:
        tree = "" if self.target.revision == MAIN else f"/tree/{self.target.revision}"
        return f"{self.api.endpoint}/{self.target.name}{tree}"

    def stale(self, files: Collection[str]) -> list[str]:
        """The model files of an earlier push that these do not replace."""
        return sorted(name for name in (self.files or ()) if OF_A_MODEL.fullmatch(name) and name not in files)


def repository_of(target: Target) -> Repository:
    """Asks the Hub whether this user may push, and what is there. Refuses what cannot be; changes nothing."""
    api = _api(target)
    with _answers(api, f"asking the Hub for {target.name}"):
        _require_writer(api.whoami())
        return _looked_up(api, target)


def outline(repository: Repository, folder: Path) -> dict[str, Any]:
    """What a push of this folder would upload and delete, as data."""
    files = files_of(folder)
    return {
        "name": repository.target.name,
        "url": repository.url,
        "revision": repository.target.revision,
        "private": repository.private,
        "new": repository.files is None,
        "commit": None,
        "files": [{"file": name, "bytes": path.stat().st_size} for name, path in files.items()],
        "deleted": repository.stale(files),
    }


def push(repository: Repository, folder: Path) -> dict[str, Any]:
    """Uploads a folder in one commit, so that nobody ever sees half of a model; returns `outline` with the commit."""
    api, target = repository.api, repository.target
    planned = outline(repository, folder)
    made = f"{target.name} was made, and holds no model yet. " if repository.files is None else ""
    if repository.files is None:
        with _answers(api, f"making {target.name}"):
            api.create_repo(target.name, private=not target.public)
    with _answers(api, f"uploading to {target.name}", before=made), _shown():
        if not repository.branch:
            api.create_branch(target.name, branch=target.revision, exist_ok=True)
        commit = api.create_commit(
            target.name,
            _operations(files_of(folder), planned["deleted"]),
            commit_message=target.message or _message(),
            revision=target.revision,
        )
    return {**planned, "commit": commit.oid, "changed": commit.oid != repository.head}


def files_of(folder: Path) -> dict[str, Path]:
    """Name in the repository -> path, for every file of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths}


def name_in_card(card: Path | None, target: Target) -> None:
    """Writes the name of the model into the lines of its card that load it."""
    if card is not None:
        card.write_text(card.read_text().replace(PLACE, target.name))


def require_base_elsewhere(folder: Path) -> None:
    """Refuses an adapter whose base is a folder of this machine: nobody else could load it."""
    from assay.host.reach import ADAPTER, of_hub_below

    if (folder / ADAPTER).is_file() and not of_hub_below(folder):
        raise UsageError(
            "the adapter sits on a folder of this machine, so that nobody else could load it: --merge writes the "
            "adapter and its base as one model."
        )


def _api(target: Target) -> Any:
    """The client of the Hub, with the token of this user; refuses a name or a token that cannot be."""
    try:
        from huggingface_hub import HfApi, constants, get_token
        from huggingface_hub.errors import HFValidationError
        from huggingface_hub.utils import validate_repo_id
    except ImportError:
        raise ConfigError("pushing needs huggingface_hub, which is not there: pip install 'assay-rl[hub]'.") from None
    try:
        validate_repo_id(target.name)
    except HFValidationError as error:
        raise UsageError(f"--push takes OWNER/NAME, and not '{target.name}': {error}") from None
    if not re.fullmatch(r"[^/]+/[^/]+", target.name):
        raise UsageError(f"--push takes OWNER/NAME, and not '{target.name}': write your user name, or an organisation.")
    if constants.HF_HUB_OFFLINE:
        raise ConfigError("HF_HUB_OFFLINE is set, so that nothing is sent to the Hub: unset it to push.")
    if (token := get_token()) is None:
        raise ConfigError("there is no token of the Hub: run `hf auth login` once, or set HF_TOKEN.")
    return HfApi(token=token)


def _require_writer(who: Mapping[str, Any]) -> None:
    """Refuses a token that says of itself that it only reads. What another one may do, the Hub says when asked."""
    if who.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise ConfigError(
            f"the token of {who.get('name')} may only read: make one that may write, and give it to `hf auth login`."
        )


def _looked_up(api: Any, target: Target) -> Repository:
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        there = api.repo_info(target.name)
    except RepositoryNotFoundError:
        return Repository(api, target, not target.public, None, target.revision == MAIN)
    if not there.private and not target.public:
        raise ConfigError(f"{target.name} is there, and everybody can read it: add --public if they may read this too.")
    branch = True
    if target.revision != MAIN:
        try:
            there = api.repo_info(target.name, revision=target.revision)
        except RevisionNotFoundError:  # a new branch begins with the files of the main one
            branch = False
    files = frozenset(file.rfilename for file in there.siblings or ())
    return Repository(api, target, bool(there.private), files, branch, there.sha)


def _operations(files: Mapping[str, Path], deleted: Collection[str]) -> list[Any]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    added = [CommitOperationAdd(path_in_repo=name, path_or_fileobj=path) for name, path in files.items()]
    return [*added, *(CommitOperationDelete(path_in_repo=name) for name in deleted)]


def _message() -> str:
    from assay import __version__

    return f"Model written by assay {__version__}"


@contextlib.contextmanager
def _shown() -> Iterator[None]:
    """What the client of the Hub shows meanwhile: bars on a terminal alone, and no signed addresses in its warnings."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    bars = sys.stderr.isatty() or are_progress_bars_disabled()
    handlers = logging.getLogger("huggingface_hub").handlers
    for handler in handlers:
        handler.addFilter(_unsigned)
    if not bars:
        disable_progress_bars()
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_unsigned)
        if not bars:
            enable_progress_bars()


def _unsigned(record: logging.LogRecord) -> bool:
    """Cuts from a record what stands behind the addresses in it, such as the signature of an upload."""
    record.msg, record.args = re.sub(r"(\w+://[^\s?]+)\?\S+", r"\1", record.getMessage()), ()
    return True


@contextlib.contextmanager
def _answers(api: Any, doing: str, *, before: str = "") -> Iterator[None]:
    """Makes an error of ours out of whatever the client of the Hub raises. Its own text is left out: it may hold
    signed addresses of the storage.
    """
    try:
        yield
    except AssayError:
        raise
    except Exception as error:
        kind, sentence = _judged(error, api)
        raise kind(f"{doing} failed: {before}{sentence}".replace(api.token, "***")) from None


def _judged(error: Exception, api: Any) -> tuple[type[AssayError], str]:
    """(kind of the error, what happened and what to do)."""
    responses = (getattr(e, "response", None) for e in _causes(error))
    response = next((response for response in responses if response is not None), None)
    if response is None:
        again = "No half of a model is there: a push appears whole, or not at all. Try it again."
        return EndpointError, f"no answer from {api.endpoint} ({_roots(error)}). {again}"
    status = response.status_code
    told = next((text for e in _causes(error) if (text := getattr(e, "server_message", None))), "")
    says = f" The Hub says: {told.strip()[:300]}" if told else ""
    if status in ADVICE:
        return ConfigError, f"{ADVICE[status]}{says}"
    if status in (409, 412):
        return EndpointError, f"somebody else changes it at this moment ({status}): run the same command again.{says}"
    if status == 429 or status >= 500:
        return EndpointError, f"the Hub cannot serve it now ({status}): run the same command again later.{says}"
    return ConfigError, f"the Hub refuses it ({status}).{says or f' {_roots(error)}'}"


ADVICE = {
    401: "the Hub does not accept the token: `hf auth login` again; HF_TOKEN goes before it where it is set.",
    402: "the Hub wants a plan that is paid for.",
    403: "the token may not write there: it needs the right to write, and you a place in that organisation.",
    404: "it is not there, or the token may not see it.",
}
"""Status -> what to do."""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it comes from, outermost first."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _roots(error: Exception) -> str:
    """The innermost error in words, without addresses."""
    *_, root = _causes(error)
    return re.sub(r"\w+://\S+", "an address", f"{type(root).__name__}: {str(root).strip()[:200]}")
