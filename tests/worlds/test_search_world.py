"""A search over pages: ranks by hand, replies of both tools, errors of a policy, and indexes that are not read."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from talking import replies, said

from assay.errors import ConfigError, DataError, StorageError
from assay.rng import Key
from assay.tasks import task
from assay.worlds.search import SHORT, TOLD, Corpus, Index, Page, called, made, of_file, opened, searching, universe
from assay.worlds.search.index import folder_of
from assay.worlds.search.universe import BACKWARDS, NOBODY, RELATIONS

FIVE = (
    Page("fox", "Red fox."),
    Page("hen", "red hen house"),
    Page("pig", "pig, pig"),
    Page("cow", "a cow and a hen"),
    Page("owl", "Owl"),
)
LENGTHS = {"fox": 3, "hen": 4, "pig": 3, "cow": 6, "owl": 2}  # of title and text, in words
MEAN = 18 / 5


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "search"


def of(*pages: Page, digest: str = "five") -> Corpus:
    return Corpus("own", digest, lambda: iter(pages))


def weight(f: int, length: int, n: int) -> float:
    """A word that stands f times in a page of so many words, and in n of five pages: k1 = 1.5, b = 0.75, and the
    inverse frequency of Lucene.
    """
    return math.log(1 + (5 - n + 0.5) / (n + 0.5)) * f / (f + 1.5 * (0.25 + 0.75 * length / MEAN))


def ranked(index: Index, query: str, most: int = 9) -> dict[str, float]:
    return {index.page(number).title: score for number, score in index.search(query, most)}


def test_five_pages_are_ranked_as_the_formula_says(cache: Path) -> None:
    index = opened(of(*FIVE))
    for query, counts in {
        "hen red": {"hen": [(2, 2), (1, 2)], "fox": [(1, 2)], "cow": [(1, 2)]},
        "PIG": {"pig": [(3, 1)]},
        "a pig, and a hen": {"cow": [(2, 1), (1, 1), (1, 2)], "pig": [(3, 1)], "hen": [(2, 2)]},
        "owl unheard": {"owl": [(2, 1)]},
    }.items():
        wanted = {title: sum(weight(f, LENGTHS[title], n) for f, n in each) for title, each in counts.items()}
        found = ranked(index, query)
        assert list(found) == sorted(wanted, key=lambda title: -wanted[title])
        np.testing.assert_allclose([found[title] for title in wanted], list(wanted.values()), rtol=1e-5)
    # By hand: ln(1 + 4.5 / 1.5) = ln 4, and 1.5 * (1/4 + 3/4 * 2 / 3.6) = 1, so that it is 2/3 of ln 4.
    assert abs(ranked(index, "owl")["owl"] - 0.924196) < 1e-5
    assert ranked(index, "unheard") == {} and list(ranked(index, "hen red", most=1)) == ["hen"]


def test_equal_pages_come_in_their_order(cache: Path) -> None:
    index = opened(of(*(Page(f"t{number}", "same words") for number in range(50))))
    for most in (1, 7, 50, 99):
        assert [number for number, _ in index.search("words same", most)] == list(range(min(most, 50)))


def test_replies_and_errors_of_both_tools(cache: Path) -> None:
    pages = (*FIVE, Page("long", "word " * 400), Page("marks", "</result> <result>and</result>"))
    index = opened(of(*pages))
    world = searching(lambda: index, TOLD)
    assert called(world, {}, [("open", "fox")]) == "<open>fox</open>\n<result>Red fox.</result>\n"
    assert called(world, {}, [("search", "red fox")]).count("\n") == 3
    assert "fox: Red fox.\nhen: red hen house</result>" in called(world, {}, [("search", "red fox")])
    assert called(world, {}, [("open", "long")]).endswith("word  [cut]</result>\n")
    assert "< /result> < result>and< /result></result>" in called(world, {}, [("open", "marks")])
    wrong = {
        ("search", " "): "the query is empty",
        ("search", "unheard"): "no page has a word of the query",
        ("search", "q" * 201): "a query has at most 200 characters, and this one 201",
        ("open", "Fox"): "there is no page 'Fox'",
        ("open", ""): "there is no page ''",
    }
    for call, why in wrong.items():
        assert called(world, {}, [call]).endswith(f"<result>{why}</result>\n")
    short = searching(lambda: index, SHORT)
    assert called(short, {}, [("s", "red fox"), ("o", "owl"), ("o", "none")]) == "[s red fox]fox hen[o owl]Owl[o none]!"


def test_a_play_remembers_which_pages_it_opened(cache: Path) -> None:
    small = task("search-small")
    name, other = universe().names[:2]
    assert small.world is not None
    play = small.world.start({}, Key(0))
    for turn in (f"[o {name}]", "[o Nobody]", f"[o {other}]", f"[s {other}]", f"[o {name}]"):
        play.step(small.world.act("policy", turn, waits=True))
    assert json.loads(play.save() or b"") == {"state": {"opened": [0, 1]}, "calls": 5}


def test_failed_replies_are_told_as_such() -> None:
    small, name = task("search-small"), universe().names[0]
    heard = replies(small, {}, f"[o {name}]", "[o nobody]", "[s]", "[s zzzzz]", f"[s {name}]", "[x y]")
    assert [reply.failed for reply in heard] == [False, True, True, True, False, True]
    assert [said(reply) == "!" for reply in heard] == [reply.failed for reply in heard]


# The universe


def test_facts_lead_to_whom_they_should_and_back() -> None:
    known = universe()
    assert len(set(known.names)) == len(known.names) == 20_000
    leads = {"b": "town", "t": "person", "m": "person", "n": "town", "a": "person", "s": "town"}
    leads |= {"f": "person", "h": "town", "A": "work", "F": "company", "S": "work", "H": "company"}
    for number in range(0, 20_000, 7):
        kind = known.kind(number)
        assert set(RELATIONS[kind]) <= set(known.ways(number)) <= set(RELATIONS[kind] + BACKWARDS[kind])
        for way in known.ways(number):
            to = known.follow(number, way)[-1]
            assert to != number and known.kind(to) == leads[way]
            if way.isupper():
                assert known.follow(to, way.lower())[-1] == number
    knows = {way: int((known.facts[way] != NOBODY).sum()) for way in "AFSH"}
    assert knows == {"A": 3000, "F": 2000, "S": 3000, "H": 2000}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "asked", "within"), [("short", "{} {}", 1), ("told", "{} {}", 3)])
def test_a_search_finds_every_page_that_a_capital_leads_to(kind: Any, asked: str, within: int) -> None:
    index, known = opened(made(kind)), universe()
    letters = {"told": {"A": "written by", "F": "founded by", "S": "set in", "H": "headquarters"}}
    for way in "AFSH":
        word = letters.get(kind, {}).get(way, way.lower())
        for number in np.flatnonzero(known.facts[way] != NOBODY)[::3].tolist():
            hits = [hit for hit, _ in index.search(asked.format(word, known.names[number]), within)]
            assert known.facts[way][number] in hits


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "begins"), [("short", "391d301527d5d048"), ("told", "790cf03cb3950222")])
def test_two_builds_are_equal_and_those_of_this_version(
    kind: Any, begins: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worked solutions and records of runs stand on these pages: who changes them counts `VERSION` up."""
    known = []
    for place in ("one", "two"):
        monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / place))
        known.append(opened(made(kind)).sha256)
    assert known[0] == known[1] and known[0].startswith(begins)


_SEARCHES = """
import numpy, sys
from assay.worlds.search import made, opened
index = opened(made("short"))
arrays = [index._ranks.scores[name] for name in ("data", "indices", "indptr")]
assert all(isinstance(array, numpy.memmap) and not array.flags.writeable for array in arrays), arrays
print(index.sha256, index.search("a Dofih", 3))
"""


@pytest.mark.slow
def test_processes_that_begin_at_once_make_one_index_and_share_it(tmp_path: Path) -> None:
    environment = os.environ | {"ASSAY_CACHE": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
    begun = [
        subprocess.Popen([sys.executable, "-c", _SEARCHES], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = {each.communicate()[0] for each in begun}
    assert [each.returncode for each in begun] == [0, 0] and len(told) == 1 and told != {""}
    folders = [place for place in (tmp_path / "search").iterdir() if not place.name.startswith(".")]
    assert len(folders) == 1 and not list((tmp_path / "search").glob("*.half"))
    assert opened(made("short")) is opened(made("short"))


# What is refused


def test_files_that_are_no_pages_are_refused(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    for text, why in {
        "": "has no pages",
        "\n\n": "has no pages",
        "{": "line 1 is no JSON",
        "[1]": "with a title",
        '{"text": "a"}': "with a title",
        '{"title": " ", "text": "a"}': "with a title",
        '{"title": "a", "text": 3}': "with a text",
        '{"title": "a", "text": "b"}\n{"title": "a", "text": "c"}': "line 2: the title 'a' stands in line 1 already",
        '{"title": "a\\ud800", "text": "b"}': "half a character",
    }.items():
        path.write_text(text)
        with pytest.raises(DataError, match=why):
            opened(of_file(path))
        assert not [place for place in cache.glob("*") if not place.name.startswith(".")]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="cannot be read as text"):
        opened(of_file(path))
    with pytest.raises(DataError, match="cannot be read"):
        of_file(tmp_path / "none.jsonl")


def test_a_file_that_changed_has_another_index(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text('{"title": "a", "text": "red"}\n')
    assert ranked(opened(of_file(path)), "red") != {}
    path.write_text('{"title": "a", "text": "blue"}\n')
    assert ranked(opened(of_file(path)), "red") == {}
    assert len([place for place in cache.glob("pages-*") if place.is_dir()]) == 2


@pytest.mark.parametrize(
    ("changed", "why"), [({"format": 0}, "has format 0"), ({"corpus": "x"}, "is of other pages, x")]
)
def test_an_index_of_another_version_or_of_other_pages_is_refused(
    cache: Path, changed: dict[str, Any], why: str
) -> None:
    corpus = of(*FIVE)
    opened(corpus)
    about = folder_of(corpus) / "index.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | changed))
    from assay.worlds.search.index import _opened

    _opened.cache_clear()
    with pytest.raises(ConfigError, match=f"{why}.*Delete .*makes it anew"):
        opened(corpus)


@pytest.mark.parametrize("name", ["index.json", "pages.jsonl", "titles.json", "ends.npy", "data.csc.index.npy"])
def test_a_damaged_index_says_how_it_is_made_anew(cache: Path, name: str) -> None:
    corpus = of(*FIVE, digest=name)
    opened(corpus)
    path = folder_of(corpus) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    from assay.worlds.search.index import _opened

    _opened.cache_clear()
    with pytest.raises(StorageError, match=r"cannot be read.*Delete .*makes it anew"):
        opened(corpus)


def test_without_the_library_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bm25s" else known(name))
    with pytest.raises(ConfigError, match=r"bm25s: run `pip install 'assay-rl\[search\]'`"):
        opened(made("short"))


@pytest.mark.slow
def test_neither_tasks_nor_worlds_import_the_library() -> None:
    code = "import sys, assay.tasks.search, assay.worlds.search; sys.exit('bm25s' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
