"""One request to a judge's endpoint.

Only the standard library is used. A request ends at its deadline whatever the server does: it may refuse, redirect,
send its reply byte by byte, or send too much. The key comes from the environment, and is taken out of whatever the
server says, so that it stands in no log and in no run folder.
"""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import json
import ssl
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from assay.host.deadline import cut_after
from assay.verifiers.judges.endpoint import Endpoint, Fault, Message, Said

LARGEST = 1 << 20  # bytes of a reply
_AGAIN = {408, 425, 429}  # and 5xx: statuses after which a request may be sent again
_SHOWN = 160  # characters of what a server says that are kept


def post(endpoint: Endpoint, messages: Sequence[Message], seconds: float) -> Said | Fault:
    """The reply of the model, or why there is none. It returns within the seconds for a reply."""
    url, model, key = endpoint.resolved()
    body = {
        "model": model,
        "messages": [dict(message) for message in messages],
        "temperature": endpoint.temperature,
        "max_tokens": endpoint.max_tokens,
    }
    try:
        status, headers, data = _exchange(url, key, json.dumps(body).encode(), endpoint.connect, seconds)
    except TimeoutError:
        return Fault("judge_down", "no reply in time", again=True)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Fault("judge_down", _plain(f"{type(error).__name__}: {error}", key), again=True)
    if len(data) > LARGEST:
        return Fault("judge_garbage", f"a reply of more than {LARGEST} bytes", again=True)
    if status != 200:
        return _refused(status, headers, data, key)
    content = _content(data)
    if content is None:
        return Fault("judge_garbage", f"no chat completion: {_plain(data[:400].decode(errors='replace'), key)}", True)
    return content


def _exchange(
    url: str, key: str, body: bytes, connect: float, seconds: float
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """(status, headers, at most LARGEST + 1 bytes). The connection is cut when the time is over."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "https":
        link: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=connect, context=ssl.create_default_context()
        )
    else:
        link = http.client.HTTPConnection(host, port, timeout=connect)
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    with contextlib.closing(link):
        link.connect()
        link.sock.settimeout(seconds)
        with cut_after(link.sock, seconds) as cut:
            try:
                link.request("POST", f"{parts.path}/chat/completions", body=body, headers=headers)
                reply = link.getresponse()
                data = reply.read(LARGEST + 1)
            except (OSError, http.client.HTTPException):
                if cut.is_set():
                    raise TimeoutError from None
                raise
            if cut.is_set():
                raise TimeoutError
            return reply.status, reply.headers, data


def _refused(status: int, headers: http.client.HTTPMessage, data: bytes, key: str) -> Fault:
    said = _plain(data[:400].decode(errors="replace"), key)
    if status in (401, 403):
        return Fault("judge_key", f"status {status}: {said}")
    if status == 429:
        return Fault("judge_busy", f"status 429: {said}", True, retry_after(headers.get("Retry-After"), time.time()))
    if status in _AGAIN or status >= 500:
        return Fault(
            "judge_down", f"status {status}: {said}", True, retry_after(headers.get("Retry-After"), time.time())
        )
    return Fault("judge_refused", f"status {status}: {said}")


def retry_after(text: str | None, now: float) -> float | None:
    """The seconds that a `Retry-After` header asks for: a number, or a date; None if it says neither."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None


def _content(data: bytes) -> Said | None:
    """The text of the first choice of a chat completion; None if the body is none."""
    try:
        body: Any = json.loads(data)
        content, model = body["choices"][0]["message"]["content"], body.get("model", "")
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return Said(content, _plain(model, "") if isinstance(model, str) else "") if isinstance(content, str) else None


def _plain(text: str, key: str) -> str:
    """Text of a server for a message: short, on one line, and without the key."""
    if key:
        text = text.replace(key, "[key]")
    return "".join(c if c.isprintable() else " " for c in text)[:_SHOWN]
