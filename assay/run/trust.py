"""Trust in a run folder: whether the code that it names may be imported, its programs started, its addresses reached.

A run folder is data, which may have been downloaded or edited. The types of its settings say which of them reach out
(`assay.host.reach`). A command uses such a setting of a run folder only if the command line gives it, if this user's
own command allowed exactly this to the run before (`assay.run.allowed`), or if a person allows it now.
"""

from __future__ import annotations

import importlib.machinery
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError, StorageError
from assay.host import terminal
from assay.host.files import read_bytes
from assay.host.reach import CODE, COMMAND, PROGRAM, Consent, Reach, of_hub_below, reached
from assay.record.folder import RunFolder
from assay.rng import digest_of
from assay.run.allowed import Allowed, allow, allowed
from assay.run.experiment import Experiment
from assay.verifiers.functions.naming import NAMELESS, is_file, names, parse

LARGEST = 16 << 20  # bytes of a file of code


@dataclass(frozen=True)
class Trust:
    """What one command allows a run folder to reach.

    Trust(fields=("machine.cluster",), consents=("code",))  # --machine.cluster auto --trust-code
    """

    fields: Collection[str] = ()  # paths of settings that the command itself gives
    consents: Collection[Consent] = ()
    functions: Collection[str] = ()  # names of reward functions that the calling program passes: nothing is imported

    @classmethod
    def of(cls, *, code: bool = False, addresses: bool = False, **more: Collection[str]) -> Trust:
        chosen: dict[Consent, bool] = {"code": code, "addresses": addresses}
        return cls(consents=[consent for consent, given in chosen.items() if given], **more)


def code_of(rewards: Sequence[str]) -> dict[str, str]:
    """File or module -> digest of all code that importing it would run, for run.json. Imports nothing."""
    contents_of = {place: _contents(place) for place in map(_place_of, rewards) if place != NAMELESS}
    return {place: digest_of(contents) for place, contents in contents_of.items() if contents}


def remember(folder: RunFolder, experiment: Experiment) -> None:
    """Notes for this user that a run may reach what its experiment names; a later command then does not ask."""
    if reaches := reached(experiment):
        allow(folder.document["run"], folder.path, map(known_as, reaches))


def require_trust(
    folder: RunFolder, experiment: Experiment, trust: Trust | None = None, *, of: Collection[str] = ()
) -> frozenset[Consent]:
    """Refuses (ConfigError) to use code, programs or addresses that the run folder names and nobody allowed; a person
    may allow them now.

    `of` are the fields of the experiment that the command will use; all of them if none is named. Returns the kinds of
    consent that were given now, and not before.
    """
    trust = trust or Trust()
    used = [reach for reach in reached(experiment) if not of or reach.field.split(".")[0] in of]
    used = [reach for reach in used if reach.field not in trust.fields and not _brought(reach, experiment, trust)]
    if not used:
        return frozenset()
    before = allowed(str(folder.document.get("run")))
    doubts = {reach: line for reach in used if (line := _doubt(reach, folder, before))}
    wanted: set[Consent] = {reach.mark.consent for reach in doubts}
    if missing := sorted(wanted - set(trust.consents)):
        question = "\n".join([f"{folder.path} names what you have not allowed it to reach:", *doubts.values()])
        if not terminal.ask(f"{question}\nAllow it?"):
            flags = " ".join(f"--trust-{consent}" for consent in missing)
            fields = {reach.field: reach for reach in doubts if reach.mark.consent in missing}
            raise ConfigError(f"{question}\nNothing of it was used. {_advice(flags, fields)}")
    return frozenset(wanted)


def require_known_base(folder: RunFolder, adapter: Path) -> None:
    """Refuses (ConfigError) a run's adapter on a model of the Hub that no command of this user let the run download."""
    known = allowed(str(folder.document.get("run")))
    for base in of_hub_below(adapter):
        if Allowed("model", base) not in known:
            raise ConfigError(
                f"{folder.path} holds an adapter on {base} of the Hub, which no command of yours let this run "
                f"download. Nothing was downloaded. If it may be, name the adapter in place of the run: {adapter}"
            )


def _advice(flags: str, fields: Mapping[str, Reach]) -> str:
    """The advice on settings that were refused."""
    told = f"Look at it in run.json; if it may be, add {flags}."
    name = next((name for name in fields if name.split(".")[0] in ("machine", "tracking")), None)
    option = (name or "").replace("_", "-")
    return f"{told} `assay resume` also takes another value: --{option} VALUE." if name else told


def _brought(reach: Reach, experiment: Experiment, trust: Trust) -> bool:
    """Whether a function needs no import: the calling program passes it, or it had no file to begin with."""
    if reach.mark is not CODE:
        return False
    if _place_of(reach.place) == NAMELESS or reach.field == "tools":
        return _place_of(reach.place) == NAMELESS
    functions = [parse(text) for text in experiment.rewards]
    name = names(functions)[experiment.rewards.index(reach.place)]
    return name in trust.functions


def _doubt(reach: Reach, folder: RunFolder, known: Collection[Allowed]) -> str | None:
    """Why a place may not be what the user allowed; None if it is."""
    line = f"{reach}"
    if reach.mark is CODE:
        code = _place_of(reach.place)
        if is_file(code) and not Path(code).exists():
            return None  # there is no file that could run; loading the function reports that it is missing
        if is_file(code) and not Path(reach.place.rpartition(":")[0]).is_absolute():
            return f"{line}: a relative path names another file in each working directory"
    if any(_below(path, folder.path) for path in _files(reach)):
        return f"{line}: the file lies in the run folder itself, and may have come with it"
    return doubt(reach, known, "run")


def doubt(reach: Reach, known: Collection[Allowed], what: str) -> str | None:
    """Why a place is not among what the user allowed to a run, or to `what` else names it; None if it is."""
    line, item = f"{reach}", known_as(reach)
    if item in known:
        return None
    same = next((earlier for earlier in known if (earlier.field, earlier.place) == (item.field, item.place)), None)
    if same is None:
        return f"{line}: no command of yours has allowed that to this {what}"
    if reach.mark is CODE:
        return f"{line}: the digest of its code is {item.identity}, and was {same.identity} when you allowed it"
    return f"{line}: that is {item.identity or 'nothing'} here, and was {same.identity} when you allowed it"


def known_as(reach: Reach) -> Allowed:
    """The record of a place: for code its digest, for a program its path, and the digest of the files that its command
    line names.
    """
    if reach.mark is CODE:
        return Allowed(reach.field, reach.place, digest_of(_contents(_place_of(reach.place))))
    program, *named = _files(reach) or [""]
    digest = f" {digest_of([read_bytes(path, most=LARGEST) for path in map(Path, named)])}" if named else ""
    return Allowed(reach.field, reach.place, f"{program}{digest}")


def _files(reach: Reach) -> list[Path]:
    """The files that would run: of a command the program, and those that its words name."""
    if reach.mark is CODE:
        return _files_of(_place_of(reach.place))
    return _programs(reach.place) if reach.mark in (PROGRAM, COMMAND) else []


def _programs(place: str) -> list[Path]:
    """The program at a place and, where that is a command line, the files that it names."""
    if (found := shutil.which(place)) or Path(place).exists():
        return [Path(found or place).absolute()]
    try:
        program, *words = shlex.split(place)
    except ValueError:  # no shell reads it, and the run says so
        return [Path(place).absolute()]
    named = [Path(word).absolute() for word in words if Path(word).is_file()]
    return [Path(shutil.which(program) or program).absolute(), *named]


def _below(path: Path, folder: Path) -> bool:
    return any(one.is_relative_to(folder.resolve()) for one in (path.absolute(), path.resolve()))


def _place_of(reward: str) -> str:
    return parse(reward).place


def _files_of(place: str) -> list[Path]:
    """The files that importing a place runs: one file, or those of a module and of the packages above it."""
    return [Path(place)] if is_file(place) else list(_files_of_module(place))


def _contents(place: str) -> list[bytes]:
    try:
        return [read_bytes(path, most=LARGEST) for path in _files_of(place)]
    except (OSError, StorageError):
        return []


def _files_of_module(name: str) -> Iterator[Path]:
    """The files that `import name` would run, in order: the packages above the module come first. Imports nothing."""
    where: Sequence[str] | None = None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:depth]), where)
        if spec is None:
            return
        if spec.origin is not None and spec.has_location:
            yield Path(spec.origin)
        where = spec.submodule_search_locations
        if where is None:
            return


def _spec(name: str, where: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        if (spec := finder.find_spec(name, where, None)) is not None:
            return spec
    return importlib.machinery.PathFinder.find_spec(name, [str(Path.cwd())]) if where is None else None
