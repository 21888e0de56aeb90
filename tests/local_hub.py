"""A Hub on this machine: the parts of its interface that a push asks, with the files that arrived."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest
from huggingface_hub import constants

TOKEN = "hf_" + "Secret" * 5
DROP = -1  # in place of a status: the connection is closed without an answer


@dataclass
class Repo:
    private: bool
    branches: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {".gitattributes": b"*"}})
    commits: list[tuple[str, str]] = field(default_factory=list)  # (branch, message)

    def sha(self, branch: str) -> str:
        content = sorted((name, data.hex()) for name, data in self.branches[branch].items())
        return hashlib.sha1(json.dumps(content).encode()).hexdigest()


@dataclass
class LocalHub:
    """What the Hub knows, and what it was asked. `fails` gives the status of requests whose `METHOD PATH` matches."""

    address: str = ""
    user: str = "me"
    role: str = "write"
    repos: dict[str, Repo] = field(default_factory=dict)
    storage: dict[str, bytes] = field(default_factory=dict)  # sha256 -> content
    fails: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)  # (METHOD PATH, its Authorization)

    def written(self) -> list[str]:
        """The requests that change something."""
        return [line for line, _ in self.asked if not line.startswith("GET")]


class Refused(Exception):
    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        self.status, self.code, self.message = status, code, message


def whoami(hub: LocalHub) -> Any:
    return {"name": hub.user, "type": "user", "orgs": [], "auth": {"accessToken": {"role": hub.role}}}


def info(hub: LocalHub, body: bytes, name: str, revision: str | None = None) -> Any:
    if name not in hub.repos:
        raise Refused(404, "RepoNotFound", "Repository not found")
    repo, branch = hub.repos[name], unquote(revision or "main")
    if branch not in repo.branches:
        raise Refused(404, "RevisionNotFound", f"Invalid rev id: {branch}")
    files = [{"rfilename": file} for file in sorted(repo.branches[branch])]
    return {"id": name, "private": repo.private, "sha": repo.sha(branch), "siblings": files}


def create(hub: LocalHub, body: bytes) -> Any:
    asked = json.loads(body)
    name = f"{asked['organization']}/{asked['name']}"
    if asked["organization"] != hub.user:
        raise Refused(403, message=f"You don't have the rights to create a model under the namespace {name}")
    if name in hub.repos:
        raise Refused(409, message="You already created this model repo")
    hub.repos[name] = Repo(private=asked.get("visibility") == "private")
    return {"url": f"{hub.address}/{name}", "name": name, "id": "1"}


def branch(hub: LocalHub, body: bytes, name: str, new: str) -> Any:
    hub.repos[name].branches.setdefault(unquote(new), dict(hub.repos[name].branches["main"]))
    return {}


def yaml(hub: LocalHub, body: bytes) -> Any:
    content = json.loads(body)["content"]
    bad = content.startswith("---") and content.count("---") < 2
    return {"errors": [{"message": "not closed"}] if bad else [], "warnings": []}


def preupload(hub: LocalHub, body: bytes, name: str, revision: str) -> Any:
    there = hub.repos[name].branches[unquote(revision)]
    files = []
    for file in json.loads(body)["files"]:
        mode = "lfs" if file["path"].endswith(".safetensors") else "regular"
        oid = oid_of(there[file["path"]], mode) if file["path"] in there else None
        files.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    return {"files": files, "commitOid": hub.repos[name].sha(unquote(revision))}


def oid_of(content: bytes, mode: str) -> str:
    if mode == "lfs":
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def batch(hub: LocalHub, body: bytes, name: str) -> Any:
    objects = []
    for wanted in json.loads(body)["objects"]:
        actions = {
            "upload": {"href": f"{hub.address}/storage/{wanted['oid']}?signature=Signed"},
            "verify": {"href": f"{hub.address}/verify"},
        }
        objects.append({**wanted, **({} if wanted["oid"] in hub.storage else {"actions": actions})})
    return {"transfer": "basic", "objects": objects}


def store(hub: LocalHub, body: bytes, oid: str) -> Any:
    if hashlib.sha256(body).hexdigest() != oid:
        raise Refused(400, message="BadDigest")
    hub.storage[oid] = body
    return {}


def verify(hub: LocalHub, body: bytes) -> Any:
    wanted = json.loads(body)
    if len(hub.storage[wanted["oid"]]) != wanted["size"]:
        raise Refused(400, message="size")
    return {}


def commit(hub: LocalHub, body: bytes, name: str, revision: str) -> Any:
    repo, place = hub.repos[name], unquote(revision)
    files = dict(repo.branches[place])
    summary = ""
    for line in map(json.loads, body.splitlines()):
        value = line["value"]
        if line["key"] == "header":
            summary = value["summary"]
        elif line["key"] == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif line["key"] == "lfsFile":
            files[value["path"]] = hub.storage[value["oid"]]
        else:
            del files[value["path"]]
    repo.branches[place] = files
    repo.commits.append((place, summary))
    oid = repo.sha(place)
    return {"commitUrl": f"{hub.address}/{name}/commit/{oid}", "commitOid": oid, "pullRequestUrl": None}


NAME = r"([\w.-]+/[\w.-]+)"
ANSWERS: list[tuple[str, Callable[..., Any]]] = [
    ("GET /api/whoami-v2", lambda hub, body: whoami(hub)),
    (f"GET /api/models/{NAME}", info),
    (f"GET /api/models/{NAME}/revision/([^/]+)", info),
    ("POST /api/repos/create", create),
    (f"POST /api/models/{NAME}/branch/([^/]+)", branch),
    ("POST /api/validate-yaml", yaml),
    (f"POST /api/models/{NAME}/preupload/([^/]+)", preupload),
    (f"POST /{NAME}.git/info/lfs/objects/batch", batch),
    ("PUT /storage/([0-9a-f]{64})", store),
    ("POST /verify", verify),
    (f"POST /api/models/{NAME}/commit/([^/]+)", commit),
]
"""Request -> what answers it: the hub, the body, and what the pattern found."""


class Handler(BaseHTTPRequestHandler):
    hub: LocalHub
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        line = f"{self.command} {self.path.partition('?')[0]}"
        token = self.headers.get("Authorization", "")
        self.hub.asked.append((line, token))
        body = self.content()
        status = next((code for pattern, code in self.hub.fails.items() if re.search(pattern, line)), 200)
        if status == DROP:
            self.close_connection = True
            return
        try:
            self.reply(200, self.found(line, body, token) if status == 200 else self.refuse(status))
        except Refused as refused:
            headers = {"X-Error-Code": refused.code} if refused.code else {}
            self.reply(refused.status, {"error": refused.message}, headers)

    def content(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def refuse(self, status: int) -> Any:
        raise Refused(status, message=f"refused with {status}")

    def found(self, line: str, body: bytes, token: str) -> Any:
        if token != f"Bearer {TOKEN}" and "/storage/" not in line:
            raise Refused(401, message="Invalid username or password.")
        for pattern, function in ANSWERS:
            if match := re.fullmatch(pattern, line):
                return function(self.hub, body, *match.groups())
        raise Refused(404, message=f"no {line}")

    def reply(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, format: str, *args: Any) -> None: ...


@contextlib.contextmanager
def serving() -> Iterator[LocalHub]:
    """A Hub that answers at `address` while the block lasts."""
    hub = LocalHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OfThisHub", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def connect(monkeypatch: pytest.MonkeyPatch, hub: LocalHub) -> None:
    """From now on the client in this process asks this Hub, with a token, by the protocol of plain HTTP."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    for proxy in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
