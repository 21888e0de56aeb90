"""Ray in its token mode: every process that speaks with a cluster names its token."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path

from assay.errors import ConfigError, EndpointError

MODE, TOKEN, TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
TOKEN_OF_USER = Path(".ray") / "auth_token"  # in the home, where Ray looks when neither variable is set
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": a cluster of one machine, all on the loopback, as there
PROBE = 30.0  # seconds in which a cluster must have refused a stranger
STRANGER = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1]).internal_kv_keys(b'', b'')"
REFUSED = "authenticat"  # in what Ray prints of a refusal


def guard_own(environment: MutableMapping[str, str], token: str) -> None:
    """The token of a cluster that is about to be started, which listens on the loopback alone."""
    from ray._private import ray_constants  # type: ignore[import-not-found]

    environment.pop(TOKEN_FILE, None)
    environment[TOKEN], environment[LOOPBACK] = token, "0"
    ray_constants.ENABLE_RAY_CLUSTER = False  # which it has read from the environment already


def require_token(environment: MutableMapping[str, str], address: str, asked: str) -> None:
    """Refuses a cluster whose token is not given here; `asked` is the mode that a person has set."""
    known = environment.get(TOKEN) or environment.get(TOKEN_FILE) or (Path.home() / TOKEN_OF_USER).exists()
    if asked not in ("", "token") or not known:
        raise ConfigError(
            f"the Ray cluster at {address} is joined in Ray's token mode alone: set {MODE}=token and {TOKEN}, or "
            f"{TOKEN_FILE}, here and where the cluster is started. `ray get-auth-token --generate` makes a token."
        )


def require_guarded(address: str) -> None:
    """Refuses a cluster that takes orders from a process that does not name its token."""
    plain = {name: value for name, value in os.environ.items() if name not in (TOKEN, TOKEN_FILE)}
    stranger = [sys.executable, "-c", STRANGER, address]
    try:
        ended = subprocess.run(
            stranger, env={**plain, MODE: "disabled"}, capture_output=True, text=True, timeout=PROBE, check=False
        )
    except subprocess.TimeoutExpired:
        raise EndpointError(f"the Ray cluster at {address} has not answered within {PROBE:g} s.") from None
    if ended.returncode == 0:
        raise ConfigError(
            f"the Ray cluster at {address} takes orders from anybody who reaches it: start it with {MODE}=token and a "
            f"token on every node, and give this run the same in {TOKEN}, or in {TOKEN_FILE}."
        )
    if REFUSED not in ended.stderr.lower():
        last = ended.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise EndpointError(f"the Ray cluster at {address} does not say that it asks for a token: {last[0]}")
