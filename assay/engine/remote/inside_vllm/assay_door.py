"""The rule by which a server answers a request: it names the server's secret, and no page in a browser has sent it.

Our own server, vLLM's middleware and the run import this file, which needs Python alone: a vLLM server has an
environment of its own, without Assay.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

VARIABLE = "ASSAY_SAMPLER_SECRET"
FILE_VARIABLE = "ASSAY_SAMPLER_SECRET_FILE"
SHORTEST = 16  # characters
OPEN = "/health"  # the path that is answered to anybody, if it is only read
ASKED = f"{VARIABLE}, or {FILE_VARIABLE} with the path of a file that only its owner reads"
Refusal = tuple[int, str]
"""(status, what was expected and what came)"""


def secret_given(environment: Mapping[str, str]) -> str:
    """The secret that the environment names, '' where it names none. ValueError for one that would not be secret."""
    secret, path = environment.get(VARIABLE, ""), environment.get(FILE_VARIABLE, "")
    if not secret and path:
        secret = _of_file(Path(path))
    if secret and (len(secret) < SHORTEST or not secret.isascii() or not secret.isprintable() or " " in secret):
        raise ValueError(
            f"the secret of samplers has at least {SHORTEST} characters of ASCII and no spaces: make one with "
            "`openssl rand -hex 32`."
        )
    return secret


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(4097)
    except OSError as error:
        raise ValueError(f"{FILE_VARIABLE} names {path}, which cannot be read: {error.strerror}.") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(f"{FILE_VARIABLE} names {path}, which others may open: `chmod 600 {path}`.")
    text = content.decode(errors="replace").strip()
    if not text or len(content) > 4096:
        raise ValueError(f"{FILE_VARIABLE} names {path}, which holds no secret of up to 4096 bytes on one line.")
    return text


def named(secret: str) -> str:
    """The header `Authorization` of a request that knows the secret."""
    return f"Bearer {secret}"


def refusal(headers: Mapping[str, Collection[str]], *, secret: str, names: Collection[str]) -> Refusal | None:
    """Why a request is not answered, by its headers in small letters; None if it is. No `secret`: none is asked for.

    `names` are the names of this machine. A page that has taken over a name sends another one as Host, and each request
    of a page across origins has the header Origin. The secret is compared in constant time.
    """
    hosts = [*headers.get("host", ())]
    if len(hosts) != 1 or not _here(hosts[0], names):
        told = f"one of {', '.join(sorted(names))}, not {', '.join(hosts)[:80]!r}"
        return 400, f"the header Host is an address in numbers, or {told}."
    if "origin" in headers:
        return 403, "this server answers no page of a browser, whose requests have the header Origin."
    given = [*headers.get("authorization", ())]
    matches = len(given) == 1 and hmac.compare_digest(given[0].encode(), named(secret).encode())
    if secret and not matches:
        return 401, f"the request does not name the secret with which this server was started. Set {ASKED}."
    return None


def _here(host: str, names: Collection[str]) -> bool:
    bare = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        ipaddress.ip_address(bare.strip("[]"))
    except ValueError:
        return bare.lower() in {name.lower() for name in names}
    return True
