"""What README and docs say is run: Python blocks are executed, command lines are resolved, links lead somewhere."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import sys
import types
from pathlib import Path
from typing import Any

import local_hub
import open_runs
import pytest
from hub_cache import pretend_hub
from ray_clusters import pretend_ray
from registries import registries_restored
from small_runs import ROOT, SIZES, Shell, make_bases

from assay.cli.parser import parse
from assay.cli.verbs import VERBS
from assay.run import bases, session
from assay.worlds.search import index

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
BLOCK = re.compile(r"^```(\w*)( [^\n]+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def blocks(name: str, language: str) -> list[tuple[int, str]]:
    """(line of the block's first line, its text) of a page; those that have a file's name are files, not of these."""
    text = (ROOT / name).read_text()
    found = [(text.count("\n", 0, match.start()) + 1, match) for match in BLOCK.finditer(text)]
    return [(line, match[3]) for line, match in found if match[1] == language and not match[2]]


def commands(name: str) -> list[list[str]]:
    lines = itertools.chain.from_iterable(text.splitlines() for _, text in blocks(name, "sh"))
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bases(tmp_path_factory.mktemp("cache"))


def small_plan(*arguments: Any, steps: int | None = None, overrides: Any = None, **wishes: Any) -> Any:
    """`session.plan` with sizes of a second."""
    sizes = SIZES | dict(overrides or {})
    return PLAN(*arguments, steps=min(steps or 2, 2), overrides=sizes, **wishes)


PLAN = session.plan


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name, "python")])
@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")  # of the client of the Hub
def test_python_blocks_run_in_the_order_of_the_page(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "cache_folder", lambda: cache)
    monkeypatch.setattr(session, "plan", small_plan)
    monkeypatch.chdir(tmp_path)
    page = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)  # dataclasses look their module up by name
    with registries_restored(), local_hub.serving() as hub:
        local_hub.connect(monkeypatch, hub)
        for line, text in blocks(name, "python"):
            code = compile("\n" * line + text, str(ROOT / name), "exec", dont_inherit=True)
            exec(code, page.__dict__)


HUB = ("Qwen/Qwen2.5-0.5B-Instruct",)
OWN = """
def brief(completions, **columns):
    return [1 - len(text) / 400 for text in completions]

near = score = brief
"""


def named_files(folder: Path) -> None:
    """The files that commands of the pages name, which a reader has."""
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "my_package").mkdir()
    for name in ("own.py", "my.py", "rewards.py", "my_package/__init__.py", "my_package/style.py"):
        (folder / name).write_text(OWN)
    lines = "".join(f"t{i} $p |- b $= ? $.\n" for i in range(60))
    (folder / "small.mm").write_text(f"$c |- b $.\n{lines}")
    (folder / "mine.json").write_text(json.dumps({"database": "small.mm", "theorems": [f"t{i}" for i in range(60)]}))
    (folder / "my-folder").mkdir()
    (folder / "my-folder" / "pages.jsonl").write_text('{"title": "Isle", "text": "K is the king of the isle."}\n')
    asked = [json.dumps({"question": f"Who ruled the isle in {year}?", "answer": "K"}) for year in range(60)]
    (folder / "my-folder" / "questions.jsonl").write_text("\n".join(asked))


@pytest.mark.parametrize("name", [name for name in NAMES if commands(name)])
@pytest.mark.slow
def test_command_lines_are_known_and_their_settings_resolve(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(index, "cache_folder", lambda: tmp_path / "indexes")
    pretend_ray(monkeypatch, there=True)
    pretend_hub(monkeypatch, tmp_path / "hub", *HUB)
    named_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    with open_runs.serving():
        for program, *arguments in commands(name):
            if program == "make":
                assert {argument for argument in arguments if "=" not in argument} <= set(targets)
            elif program == "assay":
                parse(arguments)
                plans = ["--dry-run"] if arguments[0] == "train" else []
                if plans or arguments[0] in {"list", "show"}:
                    reply = Shell(capsys)(*arguments, *plans)
                    assert reply.code == 0, f"{arguments}: {reply.err}"
    assert not (tmp_path / "cache").exists(), "a plan trains no base"


@pytest.mark.parametrize("name", NAMES)
def test_verbs_in_the_running_text_exist(name: str) -> None:
    spans = re.findall(r"`assay ([a-z]+)[^`]*`", (ROOT / name).read_text())
    assert set(spans) <= set(VERBS)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_files_and_headings_of_the_repository(name: str) -> None:
    for target in LINK.findall(BLOCK.sub("", (ROOT / name).read_text())):
        if not re.match(r"[a-z]+:", target):
            path, _, heading = target.partition("#")
            page = (ROOT / name).parent / path if path else ROOT / name
            assert page.exists(), f"{name} links to {target}"
            assert not heading or heading in anchors(page.read_text()), f"{name} links to {target}: no such heading"


def anchors(page: str) -> set[str]:
    """The names by which a link reaches the headings of a page: small letters, hyphens for spaces, no punctuation. Of
    equal headings the second has `-1` behind it, the third `-2`.
    """
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower().replace(" ", "-") for title in titles]
    names = [re.sub(r"[^\w-]", "", title) for title in plain]
    return {f"{one}-{before}" if (before := names[:i].count(one)) else one for i, one in enumerate(names)}


def test_the_anchor_of_a_heading_is_what_a_browser_is_sent_to() -> None:
    page = "# A `b` model's [own](x.md)\n## Two, 3 words?\n## Twice\n```sh\n# no heading\n```\n## Twice\n"
    assert anchors(page) == {"a-b-models-own", "two-3-words", "twice", "twice-1"}


def test_pages_that_texts_of_the_package_name_are_there() -> None:
    """In messages, help texts and docstrings, and a heading behind a page's name too."""
    named = re.compile(r"\b(docs/\w+\.md)(?:#([\w-]+))?")
    sources = [path for kind in ("*.py", "*.toml") for path in (ROOT / "assay").rglob(kind)]
    found = {(path, *match) for path in sources for match in named.findall(path.read_text())}
    assert {page for _, page, _ in found} >= {"docs/rewards.md", "docs/reference_answers.md", "docs/judges.md"}
    for path, page, heading in found:
        assert (ROOT / page).exists(), f"{path} names {page}, which is not there"
        assert not heading or heading in anchors((ROOT / page).read_text()), f"{path} names {page}#{heading}"


def test_the_index_names_every_page_of_the_docs() -> None:
    listed = re.findall(r"^- \[[^\]]+\]\((\w+\.md)\)", (ROOT / "docs" / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md")


def test_the_index_of_papers_names_every_table() -> None:
    text = (ROOT / "docs" / "papers.md").read_text()
    index, tables = text.split("## Where to look")[1].split("\n## ", maxsplit=1)
    assert {target.removeprefix("#") for target in LINK.findall(index)} == anchors(f"## {tables}")


def test_the_pages_were_found() -> None:
    assert {"README.md", "docs/loop.md", "docs/task.md", "docs/method.md"} <= set(NAMES)
    assert any(words[:2] == ["assay", "train"] for words in commands("README.md"))
