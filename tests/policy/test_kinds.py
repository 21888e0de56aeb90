"""The kinds of policy: each record is whole, and no other room looks behind it."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.policy.kinds import ABILITIES, KINDS, Kind, Named, kind_in, kind_named

PACKAGE = Path(__file__).parents[2] / "assay"
NETWORKS = {"Transformer", "Foreign", "PointerNetwork", "Acting", "Mlp", "Tabular"}
HOME = {"policy", "engine"}
ARGUMENTS = {  # of each function that a record names, as those that call it write them
    "load": ("folder", "dtype", "device", "allow_nonfinite"),
    "outline": ("folder", "here"),
    "save": ("policy", "folder", "weights", "dtype", "max_shard_bytes", "merge"),
    "files": ("policy",),
    "size": ("raw",),
    "engine": ("model", "wish", "device", "precision"),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_record_names_functions_that_take_what_they_are_given(kind: Kind, name: str) -> None:
    named = getattr(kind, name)
    assert isinstance(named, Named)
    values = dict.fromkeys(ARGUMENTS[name])
    lead = [values.pop(one) for one in list(values) if one in ("folder", "policy", "raw") or name == "engine"]
    inspect.signature(named.function).bind(*lead, **values)


def test_every_network_is_of_a_kind_that_there_is() -> None:
    from assay.policy.network import Network

    modules = ("transformer", "foreign", "plain_folder")
    for name in (f"assay.policy.{module}" for module in modules):
        __import__(name)

    def final(network: type[Network]) -> set[type[Network]]:
        below = [made for made in network.__subclasses__() if made.__module__.startswith("assay.")]
        return {leaf for made in below for leaf in final(made)} or {network}

    assert {made.kind for made in final(Network)} <= KINDS.keys()


def test_a_folder_is_of_the_kind_that_its_config_names(tmp_path: Path) -> None:
    for family, kind in (
        ("llama", "transformer"),
        ("qwen3", "transformer"),
        ("gpt2", "foreign"),
        (None, "transformer"),
    ):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": family} if family else {}))
        assert kind_in(tmp_path).name == kind == kind_named(family).name


def test_what_a_kind_cannot_do_is_refused_with_the_kinds_that_can() -> None:
    with pytest.raises(ConfigError, match=r"shift.*needs a policy that .*logits.*kind foreign.*Take.*transformer"):
        KINDS["foreign"].require("shifts", what="shifting")
    for ability in ABILITIES.keys() - {"numbers"}:
        KINDS["transformer"].require(ability, what="anything")


def test_asking_what_a_kind_can_do_does_not_import_torch() -> None:
    code = "import sys, assay.policy.kinds; sys.exit('torch' in sys.modules or 'tokenizers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def looks_behind(node: Any) -> str | None:
    """What an expression takes from a policy that its kind should say; None if nothing."""
    if isinstance(node, ast.Attribute) and node.attr == "transformer":
        return f"names .{node.attr}"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "network":
        return f"names .network.{node.attr}"
    if isinstance(node, ast.Attribute) and node.attr == "tokenizer" and isinstance(node.value, ast.Name):
        return f"names {node.value.id}.tokenizer" if "policy" in node.value.id or node.value.id == "model" else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        asked = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & NETWORKS
        return f"asks whether a network is a {asked.pop()}" if asked else None
    return None


def test_no_other_room_looks_behind_the_kind_of_a_policy() -> None:
    seen = [
        f"{path.relative_to(PACKAGE.parent)}:{node.lineno} {what}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in HOME
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.expr) and (what := looks_behind(node)) is not None
    ]
    assert not seen, "; ".join(seen)


@pytest.mark.parametrize(
    "code", ["policy.transformer", "policy.tokenizer", "policy.network.lora", "isinstance(made, Transformer)"]
)
def test_the_check_sees_what_it_forbids(code: str) -> None:
    assert any(looks_behind(node) for node in ast.walk(ast.parse(code)))
