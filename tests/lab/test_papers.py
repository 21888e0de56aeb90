"""Papers are found by arXiv id, title or name, and what is said of them is what the records say."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from of_methods import said
from small_runs import ROOT, Shell
from sweeps import over

from assay import known
from assay.cli.parser import parse
from assay.errors import UnknownName, UsageError
from assay.known import GROUPS, LIKES, METHOD_OF, RECIPES, SLOTS, group_of
from assay.lab import pages, papers
from assay.lab.catalogue import card, listing
from assay.policy.kinds import KINDS
from assay.run.bases import base_for
from assay.run.external_needs import judged_by
from assay.run.foreign.keys import SYSTEMS
from assay.source import Pool, Share
from assay.tasks import MADE_ON_DEMAND, TASKS

NAMES = (Path(__file__).parents[1] / "data" / "paper_names.txt").read_text(encoding="utf-8").splitlines()
PAGES = sorted((ROOT / "docs").glob("*.md"))
FIELDS = {
    "name",
    "title",
    "arxiv",
    "kind",
    "recipes",
    "tasks",
    "rewards",
    "commands",
    "here",
    "missing",
    "summary",
    "needs",
}


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of papers is made once for all that a test looks for."""
    monkeypatch.setattr(papers, "papers", functools.cache(papers.papers))


def names(words: str) -> list[str]:
    return [paper.name for paper in papers.find(words)]


@pytest.mark.slow
@pytest.mark.usefixtures("listed_once")
@over(NAMES)
def test_every_name_of_the_field_is_found_as_a_name(name: str) -> None:
    """And not only by words that are in it: a name that is lost would still find its neighbours."""
    found = papers.find(name)
    plain = name.casefold()
    assert any(plain in [other.casefold() for other in paper.known_as] for paper in found), [p.name for p in found]


@pytest.mark.slow
@pytest.mark.usefixtures("listed_once")
def test_every_recipe_is_found_by_its_name_its_title_and_its_paper() -> None:
    for name, recipe in RECIPES.items():
        for words in (name, recipe.title, recipe.paper):
            if words != "-":
                assert any(name in paper.recipes for paper in papers.find(words)), (name, words)


@pytest.mark.parametrize(
    "words",
    [
        "2503.14476",
        "2503.14476v2",
        "arXiv:2503.14476",
        "https://arxiv.org/abs/2503.14476v1",
        "https://arxiv.org/pdf/2503.14476",
        "the paper 2503.14476 of 2025",
        "dapo: an open source llm reinforcement learning system at scale",
        "Decoupled Clip and Dynamic Sampling",
    ],
)
def test_an_id_or_a_name_is_found_however_it_is_written(words: str) -> None:
    assert names(words) == ["dapo"]


def test_a_name_that_means_two_things_finds_both() -> None:
    assert names("DAPO") == names("dapo") == ["dapo", "DAPO"]
    assert [paper.kind for paper in papers.find("dapo")] == ["method", "corpus"]
    assert names("reinforce") == ["reinforce"]


@pytest.mark.parametrize(("words", "found"), [("direct preference", ["dpo"]), *said("PAPERS").items()])
def test_words_find_what_has_them_together_before_what_has_them_anywhere(words: str, found: list[str]) -> None:
    assert names(words) == found
    assert set(names("survey")) >= {"survey-lrm", "mbrl-survey", "autorl"}, "a kind is a word too"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("grppo", r"Did you mean 'grpo'"),
        ("2599.00001", r"no paper with the arXiv id 2599.00001 in the records. `assay list papers`"),
        ("xyzzy", r"no paper 'xyzzy' in the records. `assay list papers` shows all \d+; docs/method.md"),
        ("--", "no letter and no digit"),
        *said("NEAR").items(),
    ],
)
def test_what_is_not_found_says_what_is_near(words: str, told: str) -> None:
    with pytest.raises(UnknownName, match=told):
        papers.find(words)


def test_a_paper_says_what_runs_and_what_does_not() -> None:
    (grpo,) = papers.find("2402.03300")
    assert grpo.here == "simplified" and "rewards of single steps" in grpo.missing
    (dapo,) = papers.find("2503.14476")
    beside = sorted(name for name, other in said("BESIDE").items() if other == "dapo")
    assert dapo.recipes[0] == "dapo" and sorted(dapo.recipes[1:]) == beside
    assert all(names(name.replace("-", "_")) == ["dapo"] for name in beside)
    assert (dapo.rewards, dapo.here) == (("soft-overlong",), "faithful")
    (absent,) = papers.find("gf-reasoner")
    assert (absent.here, absent.recipes, absent.commands) == ("absent", (), ())


def test_all_recipes_of_a_paper_are_one_paper() -> None:
    found = [paper for paper in papers.papers() if paper.name in METHOD_OF]
    assert sorted(name for paper in found for name in paper.recipes) == sorted(RECIPES)
    assert {paper.cited for paper in found} == {recipe.paper.removeprefix("-") for recipe in RECIPES.values()}
    assert max(Counter(paper.cited for paper in found if paper.cited).values()) == 1


def test_no_name_and_no_id_is_there_twice() -> None:
    every = papers.papers()
    assert max(Counter(paper.name for paper in every).values()) == 1
    assert max(Counter(paper.arxiv for paper in every if paper.arxiv).values()) == 1


def test_what_a_recipe_cites_is_not_in_the_file_as_absent() -> None:
    """Where this fails, a recipe has arrived: delete the line that it names in assay/lab/papers.toml."""
    cited = {recipe.paper for recipe in RECIPES.values()}
    titles = {recipe.title.casefold() for recipe in RECIPES.values()}
    stale = [
        f'{{name = "{paper.name}", ...}}'
        for paper in papers.others()
        if paper.arxiv in cited
        or (paper.title and paper.title.casefold() in titles)
        or (paper.kind != "corpus" and known.spelt(paper.name))
    ]
    assert not stale, f"delete these lines of {papers.FILE.name}: {stale}"


def test_the_file_names_what_there_is() -> None:
    """Where a method was deleted: its other names go too, and what named its recipes names others."""
    assert papers.other_names().keys() <= RECIPES.keys()
    for paper in papers.others():
        assert set(paper.recipes) <= RECIPES.keys(), paper.name
        assert {task for task in paper.tasks if task != "gym:*"} <= TASKS.keys(), paper.name
        assert set(paper.rewards) <= SLOTS["reward"].keys(), paper.name
        assert not paper.missing or paper.here in ("simplified", "piece"), paper.name
        assert paper.arxiv == paper.cited, paper.name
    for name, recipe in RECIPES.items():
        assert {known for known in recipe.tasks if not known.startswith(MADE_ON_DEMAND)} <= TASKS.keys(), name


def test_a_piece_is_a_paper_whose_missing_core_is_named() -> None:
    every = {paper.name: paper for paper in papers.papers()}
    assert set(papers.pieces()) <= every.keys()
    for name in papers.pieces():
        assert every[name].here == "piece" and every[name].missing, name
    assert {paper.here for paper in every.values()} == set(papers.WORDS)


def test_what_a_command_needs_is_said_beside_it() -> None:
    needs = {paper.name: paper.needs for paper in papers.papers()}
    assert {name: needs[name] for name in said("NEEDS")} == said("NEEDS")
    assert needs["grpo"] == () and needs["stream-logprob"][0].startswith("a bank")
    served = {name for name, recipe in RECIPES.items() if judged_by(recipe)}
    for paper in papers.papers():
        asks = any("judge's server" in need for need in paper.needs)
        assert asks == bool(paper.recipes and paper.recipes[0] in served), paper.name


@pytest.mark.slow
def test_the_commands_are_commands() -> None:
    for paper in papers.papers():
        for command in paper.commands:
            program, *arguments = shlex.split(command)
            assert program == "assay" and parse(arguments).command, command


def test_what_a_recipe_is_trained_on_where_no_task_is_named_has_a_base() -> None:
    """But for tasks of two answers in words, which are for models that read English."""
    for recipe in RECIPES.values():
        if not recipe.usual_task.startswith("compare:"):
            assert base_for(Pool((Share.parse(recipe.usual_task),))), recipe.name
    assert RECIPES["grpo"].usual_task == "countdown:3,4"


def test_what_is_missing_is_said_of_the_paper_and_not_handed_on() -> None:
    starting = [name for name, like in LIKES.items() if like.like == "grpo"]
    assert RECIPES["grpo"].missing and any(not RECIPES[name].missing for name in starting)
    assert {name for name, like in LIKES.items() if like.missing} == {n for n in LIKES if RECIPES[n].missing}
    for name, recipe in RECIPES.items():
        assert not recipe.missing.endswith(".") and recipe.missing == " ".join(recipe.missing.split()), name


def test_a_method_of_another_package_is_found_and_takes_the_place_of_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    (absent,) = papers.find("gf-reasoner")
    other = dataclasses.replace(RECIPES["grpo"], name="their-solver", paper=absent.arxiv, missing="")
    monkeypatch.setitem(known.RECIPES, other.name, other)
    monkeypatch.setitem(known.METHOD_OF, other.name, "theirs.solver")
    (found,) = papers.find(absent.arxiv)
    assert (found.name, found.here) == ("their-solver", "faithful")
    assert papers.papers()[-1].name != "their-solver"


def test_the_command_line_shows_a_few_whole_and_more_as_a_table(shell: Shell) -> None:
    shown = shell("list", "papers", "GRPO").out
    assert "arXiv 2402.03300" in shown and "run: assay train grpo --task countdown:3,4" in shown
    assert "missing: rewards of single steps" in shown
    many = shell("list", "papers", "reinforcement", "learning").out.splitlines()
    assert len(many) > papers.CARDS and all(re.search(r"  (faithful|simplified|piece|absent) +", line) for line in many)
    rows = shell("list", "papers", "--json").document
    assert len(rows) == len(papers.papers()) and all(row.keys() >= {*FIELDS, "needs"} for row in rows)
    assert shell("list", "papers", "2402.03300", "--json").document == [row for row in rows if row["name"] == "grpo"]


def test_the_command_line_refuses_what_it_cannot_mean(shell: Shell) -> None:
    assert shell("list", "papers", "grppo").code == 2
    refused = shell("list", "tasks", "countdown")
    assert refused.code == 2 and "takes no words" in refused.err
    assert json.loads(shell("list", "papers", "xyzzy", "--json").out)["error"] == "UnknownName"


def test_the_card_of_a_paper() -> None:
    assert card("paper:2402.03300") == listing("papers", "grpo")[0]
    assert card("paper:DAPO")["kind"] == "corpus" and card("paper:dapo")["kind"] == "method"
    with pytest.raises(UsageError, match=r"means several papers: .*`assay list papers survey` shows them"):
        card("paper:survey")


@pytest.mark.slow
def test_the_list_of_recipes_does_not_read_the_papers() -> None:
    code = "import sys; from assay.cli.main import main; main(['list', 'recipes']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'assay.lab.catalogue'" in done.stdout and "'assay.lab.papers'" not in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_the_docs_are_those_of_the_records(page: Path) -> None:
    """Where this fails: `make docs`."""
    text = page.read_text(encoding="utf-8")
    assert text == pages.filled(text)


def test_every_group_and_every_kind_has_a_table() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    tables = [(what, of) for _, what, of, _ in pages.BLOCK.findall(text)]
    kinds = {*GROUPS, *(paper.kind for paper in papers.others())}
    of_tasks = [("tasks", "own"), ("tasks", "external")]
    of_groups = [(what, group) for what in ("recipes", "blueprint") for group in GROUPS]
    of_trainers = [(what, system) for what in ("keys", "absent") for system in SYSTEMS]
    of_kinds = [("kinds", "all"), *(("kinds", kind.name) for kind in KINDS.values() if not kind.can("texts"))]
    wanted = [*of_groups, *of_kinds, *(("papers", kind) for kind in kinds), *of_tasks, ("parts", "own"), *of_trainers]
    assert sorted(tables) == sorted(wanted)
    rows = [line for of in GROUPS for line in pages.table("recipes", of).splitlines()[2:]]
    assert sorted(re.findall(r"`([^`]+)`", "".join(row.split("|")[1] for row in rows))) == sorted(RECIPES)


def test_a_table_of_nothing_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"no group of methods named 'gate'\. Did you mean 'gates'"):
        pages.filled("<!-- recipes: gate -->\n<!-- end -->")
    with pytest.raises(UnknownName, match="no kind of table named 'recipe'"):
        pages.filled("<!-- recipe: gates -->\n<!-- end -->")
    with pytest.raises(UnknownName, match="no kind of papers named 'methods'"):
        pages.filled("<!-- papers: methods -->\n<!-- end -->")


@over(place for places in GROUPS.values() for place in places)
def test_every_method_says_in_one_line_what_it_is(method: str) -> None:
    told = pages.in_one_line(method)
    assert len(told.split()) > 3 and len(told) < 200 and "|" not in told


def test_a_row_says_which_parts_a_method_brings() -> None:
    (row,) = [row for row in pages.table("recipes", "losses").splitlines() if row.startswith("| `dpo`")]
    assert "`collect` frozen" in row and "`curate` train-at and pairs" in row and "`whole` dpo" in row
    (row,) = [row for row in pages.table("recipes", "baselines").splitlines() if row.startswith("| `dr-grpo`")]
    assert row.endswith("| `aggregate` fixed-length |"), "what it shares with others is not named"
    for name, brought in said("BRINGS").items():
        (row,) = [row for row in pages.table("recipes", group_of(name)).splitlines() if f"`{name}`" in row]
        assert all(part in row for part in brought), name
