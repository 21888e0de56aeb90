"""Commands in what recipes say of themselves: each goes through the parser, and its settings resolve.

They stand in backticks: a whole command (`assay data tests`), or options of `assay train RECIPE` with their values, or
the name of one option.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import Shell
from sweeps import over

from assay.cli.parser import parse
from assay.cli.verbs import VERBS
from assay.known import RECIPES
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.run import bases, session
from assay.run.configure import to_data
from assay.source import Pool, Share
from assay.tasks import ALPHABET
from assay.view.report import leaves

SPAN = re.compile(r"`([^`]*)`")
OPTION = re.compile(r"(?<![\w-])--[a-z]")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")  # FILE, RUN, EXAMS


def texts(recipe: str) -> tuple[str, ...]:
    known = RECIPES[recipe]
    return (*known.notes, *known.deviations, known.missing)


def spans(recipe: str) -> Iterator[str]:
    """The commands and options of a recipe's texts."""
    for text in texts(recipe):
        yield from (span for span in SPAN.findall(text) if span.startswith("assay ") or OPTION.match(span))


NOTED = [(name, span) for name in RECIPES for span in dict.fromkeys(spans(name))]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty cache of bases, and a model of long contexts beside them."""
    folder = tmp_path_factory.mktemp("cache")
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 32768, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("noted")), folder / "long")
    return folder


@over(RECIPES)
def test_options_stand_in_backticks(name: str) -> None:
    bare = [SPAN.sub("", text) for text in texts(name)]
    assert not [text for text in bare if OPTION.search(text) or "assay train" in text]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "span"), NOTED, ids=[f"{name}: {span}" for name, span in NOTED])
def test_what_a_note_tells_to_type_is_understood(
    name: str, span: str, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "cache_folder", lambda: cache)
    words = shlex.split(span)
    if words[0] != "assay":
        words = ["assay", "train", name, *words]
    if len(words) == 4 and words[1] == "train":
        assert _is_option(name, words[3])
        return
    assert words[1] in VERBS
    if PLACEHOLDER.search(span) or len(words) == 3:
        return  # the name of a verb, or a command that a user completes
    if words[1] != "train":
        parse([words[1], name, "dapo", *words[2:]] if words[2].startswith("-") else words[1:])
        return
    # of one's own, where no base fits what is noted
    model = [] if "--model" in words or words.count("--task") == 1 else ["--model", cache / "long"]
    reply = Shell(capsys)(*words[1:], *model, "--dry-run")
    assert reply.code == 0, reply.err


def _is_option(recipe: str, option: str) -> bool:
    """Whether `assay train RECIPE` has this option, or its experiment this setting."""
    planned, _ = session.plan(
        RECIPES[recipe], model="countdown", pool=Pool((Share("countdown", (3,)),)), profile="paper"
    )
    data = to_data(planned)
    wanted = option.removeprefix("--").replace("-", "_")
    known = {path for path, _ in leaves({**data, **data["recipe"]})}
    flags = {field.name for field in dataclasses.fields(planned)} | {"model", "reward", "data", "task", "steps"}
    return wanted in flags or any(path == wanted or path.startswith(f"{wanted}.") for path in known)
