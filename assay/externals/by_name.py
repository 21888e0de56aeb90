"""Every external by name, the worker processes of each, and the check that a run's externals can be trusted."""

from __future__ import annotations

from collections.abc import Iterable

from assay.errors import ConfigError, unknown
from assay.externals.coq import COQ
from assay.externals.duckdb import DUCKDB
from assay.externals.external import External, Found, examine
from assay.externals.highs import HIGHS
from assay.externals.iverilog import IVERILOG
from assay.externals.math_verify import MATH_VERIFY
from assay.externals.metamath import METAMATH
from assay.externals.sandbox import SANDBOX
from assay.externals.scipy import SCIPY
from assay.externals.sqlite import SQLITE
from assay.externals.yosys import YOSYS
from assay.externals.z3 import Z3
from assay.host.workers import Workers

EXTERNALS: dict[str, External] = {
    external.name: external
    for external in (
        DUCKDB,
        HIGHS,
        MATH_VERIFY,
        SANDBOX,
        SCIPY,
        SQLITE,
        METAMATH,
        IVERILOG,
        YOSYS,
        COQ,
        Z3,
    )
}  # fmt: skip

_shared: dict[str, Workers] = {}


def external(name: str) -> External:
    """The record of this name: `external("highs").install`."""
    if name not in EXTERNALS:
        raise unknown("external", name, EXTERNALS, "assay doctor --externals")
    return EXTERNALS[name]


def workers_of(name: str) -> Workers:
    """The worker processes of an external that all verifiers of this program share.

    (outcome,) = workers_of("highs").map([{"program": text}])

    They start with the first job and end with the program. An external that is missing is a ConfigError.
    """
    if name not in _shared:
        found = external(name)
        if found.version() is None:
            raise ConfigError(f"{_missing(found)} {_LOOK}")
        _shared[name] = found.workers()
    return _shared[name]


def require(names: Iterable[str], needed_by: str) -> dict[str, str]:
    """The versions of externals by name. Raises ConfigError for those that are missing or verify wrongly.

    require(["highs"], "task 'programs'")  # {"highs": "1.15.1"}
    """
    versions, wrong = {}, []
    for name in dict.fromkeys(names):
        found = look(name)
        versions[name] = found.version
        if found.state != "ok":
            wrong.append(_said(external(name), found))
    if wrong:
        raise ConfigError(f"{needed_by} needs other programs. {' '.join(wrong)} {_LOOK}")
    return versions


def look(name: str) -> Found:
    """Examines an external with the processes that its verifiers will use, so that these are warm afterwards."""
    found = external(name)
    if found.version() is None:
        return Found("missing", advice=found.install)
    return examine(found, workers_of(name))


_LOOK = "`assay doctor --externals` looks at all of them."


def _missing(found: External) -> str:
    return f"{found.name} ({found.purpose}) is not installed: run `{found.install}`."


def _said(asked: External, found: Found) -> str:
    if found.state == "missing":
        return _missing(asked)
    return (
        f"{asked.name} {found.version} fails its self-test: {found.problem}. Install it again with `{asked.install}`."
    )
