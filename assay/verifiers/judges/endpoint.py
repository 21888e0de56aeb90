"""The records of a judge's endpoint and of what came of a question, and which models have answered. `request.py` sends
the questions.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from assay.errors import ConfigError
from assay.host.reach import Address

URL, MODEL, KEY = "ASSAY_JUDGE_URL", "ASSAY_JUDGE_MODEL", "ASSAY_JUDGE_KEY"

Message = Mapping[str, str]


@dataclass(frozen=True)
class Endpoint:
    """A judge's endpoint: where the judge answers, and how long it may take.

    The key is never a field. It is the environment's ASSAY_JUDGE_KEY, and is sent to the host of the environment's
    ASSAY_JUDGE_URL alone: a recipe of somebody else that names another host does not get it.

    Example:
        Endpoint(url="http://127.0.0.1:8000/v1", model="Qwen/Qwen3-8B")
    """

    url: Address = ""  # of the API, up to and including /v1; "": the environment's ASSAY_JUDGE_URL
    model: str = ""  # "": the environment's ASSAY_JUDGE_MODEL
    max_tokens: int = 1024  # of a reply
    temperature: float = 0.0
    connect: float = 5.0  # seconds to connect
    read: float = 60.0  # seconds for one reply
    budget: float = 120.0  # seconds for one question, all attempts and waits together
    attempts: int = 3
    at_once: int = 16  # requests under way

    def resolved(self) -> tuple[str, str, str]:
        """(url, model, key), from the environment where the record has none; '' for no key."""
        url, model = self.url or os.environ.get(URL, ""), self.model or os.environ.get(MODEL, "")
        if not url or not model:
            name, what = (URL, "address") if not url else (MODEL, "model")
            raise ConfigError(
                f"this recipe asks a judge, and the judge's {what} is not known. Set the environment variable {name}, "
                f"for example {URL}=http://127.0.0.1:8000/v1 and {MODEL}=NAME; its key, if it needs one, is {KEY}."
            )
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"a judge's address begins with http:// or https:// and has a host, not {parts.scheme}.")
        if parts.username or parts.password or parts.query:
            raise ConfigError(
                "a judge's address must not contain a key or a password, because run folders show the address. Put the "
                f"key in the environment variable {KEY}."
            )
        ours = urlsplit(os.environ.get(URL, url if not self.url else ""))
        trusted = (ours.scheme, ours.netloc) == (parts.scheme, parts.netloc)
        return url.rstrip("/"), model, os.environ.get(KEY, "") if trusted else ""


@dataclass(frozen=True)
class Said:
    """A reply of a model, and the name that it goes by at its endpoint: `Said("...", "qwen3-8b-2026-05-01")`."""

    text: str
    model: str  # as the reply says; "": it does not say


class Served:
    """The models that have answered behind each endpoint since this process began, in the order of their first reply.

    A server may put another model behind a name at any time; scores before and after cannot be compared then.

    served = Served()
    served.note("judge m at http://127.0.0.1:8000/v1", "m-2026-05-01")  # "": nothing new
    """

    def __init__(self) -> None:
        self.models: dict[str, list[str]] = {}
        self.told: list[str] = []
        self._lock = threading.Lock()

    def note(self, name: str, model: str) -> None:
        """Notes which model answered. A second one is something to tell."""
        with self._lock:
            known = self.models.setdefault(name, [])
            if model not in known:
                known.append(model)
                if len(known) > 1:
                    self.told.append(
                        f"{name} has answered as {known[-2] or 'a model without a name'} and now answers as "
                        f"{model or 'a model without a name'}: scores before and after cannot be compared"
                    )

    def news(self) -> list[str]:
        """The messages that were added since the last call."""
        with self._lock:
            told, self.told = self.told, []
            return told


SERVED = Served()


@dataclass(frozen=True)
class Fault:
    """Why a question has no answer: `Fault("judge_busy", "status 429", again=True, after=2.0)`."""

    kind: str  # judge_down, judge_busy, judge_garbage, judge_refused or judge_key
    detail: str
    again: bool = False  # the same request may succeed later
    after: float | None = None  # seconds that the server asks us to wait
