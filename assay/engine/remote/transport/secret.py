"""The secret by which a run and its servers know each other: one a run, or the one that a person gave his servers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from assay.engine.remote.inside_vllm.assay_door import ASKED, VARIABLE, secret_given
from assay.errors import ConfigError


def fresh_secret() -> str:
    return secrets.token_hex(32)


def handed(secret: str) -> dict[str, str]:
    """The variables that hand a server its secret by the environment, so that no command line shows it."""
    return {VARIABLE: secret, "VLLM_API_KEY": secret}


def secret_of(environment: Mapping[str, str], *, whose: str = "samplers") -> str:
    """The secret that a person gave to his servers and to the run. ConfigError without one; `whose` are the servers."""
    try:
        found = secret_given(environment)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not found:
        raise ConfigError(
            f"{whose} ask for a secret, which they and the run are given in the environment: set {ASKED}. "
            "`openssl rand -hex 32` makes one."
        )
    return found
