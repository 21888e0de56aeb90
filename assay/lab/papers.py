"""Papers by arXiv id, title or name: what of each paper runs here, with which command, and what of it is not here.

The papers of recipes are read from the recipes. Every other paper of the field is listed in `papers.toml`; most of
these are not here yet.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.errors import UnknownName, UsageError
from assay.known import GROUPS, LIKES, METHOD_OF, RECIPES, spelt
from assay.part import name_of
from assay.recipe import Recipe
from assay.reward import Outcome
from assay.source import Pool, Share

FILE = Path(__file__).with_name("papers.toml")
ARXIV = re.compile(r"(?<!\d)(\d{4}\.\d{4,5})(?:v\d+)?(?!\d)")
CARDS = 3  # up to this many papers are shown as cards, more of them as a table
Here = Literal["faithful", "simplified", "piece", "absent"]
WORDS: Mapping[Here, str] = {
    "faithful": "the method runs with the values of the paper, and nothing of it is known to be missing",
    "simplified": "the method runs, and `missing` says what of the paper is left out or replaced",
    "piece": "something of the paper runs, and its core is missing",
    "absent": "nothing of the paper is here",
}


@dataclass(frozen=True)
class Paper:
    """A paper, data set, environment or framework, and what of it runs here.

    Paper("dapo", title="DAPO: An Open-Source ...", cited="2503.14476", kind="method", recipes=("dapo", "len-dapo"))
    """

    name: str
    title: str
    cited: str  # its arXiv id, or how else it is cited
    kind: str
    also: tuple[str, ...] = ()  # other names, and further arXiv ids
    recipes: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    rewards: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # commands that run what is here
    missing: str = ""  # what of it is not here
    needs: tuple[str, ...] = ()  # what the command needs beside this package, or makes first
    piece: bool = False  # what is missing is the core of the paper

    @property
    def arxiv(self) -> str:
        return self.cited if ARXIV.fullmatch(self.cited) else ""

    @property
    def here(self) -> Here:
        """How much of the paper runs here, in one of four words that `WORDS` explains."""
        if not (self.recipes or self.tasks or self.rewards or self.commands):
            return "absent"
        if self.piece:
            return "piece"
        return "simplified" if self.missing else "faithful"

    @property
    def known_as(self) -> Iterator[str]:
        """All names under which the paper is found, the names of its recipes included."""
        yield from (self.name, self.title, self.title.partition(":")[0], self.cited, *self.also)
        if self.name in self.recipes:
            yield from self.recipes


def papers() -> list[Paper]:
    """All papers: first those that recipes cite, in the order of the groups of methods, then the others."""
    cited = _cited()
    ids = {paper.arxiv for paper in cited if paper.arxiv}
    every = [*cited, *(paper for paper in others() if paper.arxiv not in ids)]
    return [dataclasses.replace(paper, piece=paper.name in pieces()) for paper in every]


@functools.cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def others() -> list[Paper]:
    """The papers in `papers.toml`."""
    return [_other(kind, line) for kind, lines in _file()["others"].items() for line in lines]


def pieces() -> Sequence[str]:
    """The names of the papers whose core is missing here."""
    return _file()["pieces"]


def other_names() -> Mapping[str, Sequence[str]]:
    """Name of a recipe -> other names of the paper that the recipe cites."""
    return _file()["also"]


def _other(kind: str, line: Mapping[str, Any]) -> Paper:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in line.items()}
    cited = values.pop("arxiv", "")
    if "commands" not in values:
        values["commands"] = _commands(values.get("recipes", ()), values.get("tasks", ()))
    if "needs" not in values:
        values["needs"] = tuple(need for name in values.get("recipes", ())[:1] for need in _needs(RECIPES[name]))
    return Paper(**{"title": "", **values, "cited": cited, "kind": kind})


def _commands(recipes: Sequence[str], tasks: Sequence[str]) -> tuple[str, ...]:
    """The commands that run the first of these recipes or, if there is none, GRPO on these tasks."""
    if recipes:
        return tuple(command(RECIPES[name]) for name in recipes[:1] if name in RECIPES)
    return tuple(f"assay train grpo --task {task}" for task in tasks)


def _cited() -> list[Paper]:
    order = [place for places in GROUPS.values() for place in places]
    place = lambda recipe: order.index(at) if (at := METHOD_OF[recipe.name]) in order else len(order)  # noqa: E731
    found: dict[str, list[Recipe]] = {}
    for recipe in sorted(RECIPES.values(), key=place):
        found.setdefault(recipe.paper if recipe.paper != "-" else recipe.title, []).append(recipe)
    return [_of_recipes(recipes) for recipes in found.values()]


def _of_recipes(recipes: Sequence[Recipe]) -> Paper:
    """The paper that all these recipes cite. Its name and title are those of the first recipe."""
    first = recipes[0]
    return Paper(
        name=first.name,
        title=first.title,
        cited="" if first.paper == "-" else first.paper,
        kind="method",
        also=_unlike(name for recipe in recipes for name in _others_of(recipe) if name != first.title),
        recipes=tuple(recipe.name for recipe in recipes),
        tasks=_unlike(task for recipe in recipes for task in recipe.tasks),
        rewards=_unlike(reward for recipe in recipes for reward in _rewards(recipe)),
        commands=(command(first),),
        needs=_needs(first),
        missing="; ".join(_unlike(recipe.missing for recipe in recipes if recipe.missing)),
    )


def _others_of(recipe: Recipe) -> tuple[str, ...]:
    """Other names of the paper that the recipe cites, among them the title as this recipe writes it."""
    return (recipe.title, *other_names().get(recipe.name, ()))


def _rewards(recipe: Recipe) -> list[str]:
    """The rewards of a recipe, without the plain outcome, and without those of the recipe that it starts from: these
    are of another paper.
    """
    rules = (one for mechanism in recipe.mechanisms for one in (mechanism, *mechanism.rules))
    found = [name_of(part) for one in rules for part in one.reward]
    theirs = _rewards(RECIPES[LIKES[recipe.name].like]) if recipe.name in LIKES else []
    return [name for name in found if name not in (*theirs, name_of(Outcome))]


def _unlike(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def command(recipe: Recipe) -> str:
    """The command that trains with a recipe, on a task that shows what the recipe is for.

    command(RECIPES["grpo"])  # assay train grpo --task countdown:3,4
    """
    return f"assay train {recipe.name} --task {recipe.usual_task}"


def _needs(recipe: Recipe) -> tuple[str, ...]:
    """What `command` needs for this recipe: a judge's server, a base of its task's own that is made first, or a model
    that reads English. The base of countdown, which `make demo` makes, is not named.
    """
    from assay.run.bases import base_for
    from assay.run.external_needs import judged_by

    found = [f"a judge's server ({name}): ASSAY_JUDGE_URL" for name in judged_by(recipe)][:1]
    try:
        base = base_for(Pool((Share.parse(recipe.usual_task),)))
    except UsageError:
        return (*found, "a model that reads English: --model")
    return (*found, f"the base `{base}`, which the first run makes") if base != "countdown" else tuple(found)


def find(words: str) -> list[Paper]:
    """The papers that these words name. An arXiv id finds its paper. Other words find, in this order: papers with
    exactly this name or title, papers with the words as a part of a name, papers whose names contain all of the words.

        find("2503.14476")
        assay list papers 2503.14476
    """
    every = papers()
    if ids := ARXIV.findall(words):
        by_id = [paper for paper in every if {paper.arxiv, *paper.also} & set(ids)]
        if by_id:
            return by_id
        raise UnknownName(f"no paper with the arXiv id {', '.join(ids)} in the records. {_what_else(every)}")
    if not _plain(words):
        raise UnknownName(f"'{words}' has no letter and no digit to look for. {_what_else(every)}")
    wanted = {_plain(words), _plain(spelt(words) or words)}
    exact = [paper for paper in every if wanted & {_plain(name) for name in paper.known_as}]
    parts = [paper for paper in every if _has(paper, [" ".join(_words(words))])]
    return exact or parts or [paper for paper in every if _has(paper, _words(words))] or _unknown(words, every)


def named(name: str) -> Paper | None:
    """The paper with exactly this name, title or arXiv id, however it is spelt; None if none has it, or several have.

    named("len-l1").recipes  # ("l1-exact", "l1-max")
    assay show len-l1
    """
    found = [paper for paper in papers() if _plain(name) in {_plain(known) for known in paper.known_as if known}]
    return found[0] if len(found) == 1 else None


def recipes_of(name: str) -> tuple[str, ...]:
    """The recipes that a name means: the one of this name, else those of the paper or technique of this name. A name
    that means neither comes back as it is, for `assay.known.recipe` to refuse.
    """
    paper = None if spelt(name) else named(name)
    if paper is not None and not paper.recipes:
        raise UnknownName(f"'{paper.name}' has no recipe. `assay show {paper.name}` says what of it is here.")
    return (name,) if paper is None else paper.recipes


def names() -> Iterator[str]:
    """Every short name under which a paper is found: neither titles nor arXiv ids."""
    for paper in papers():
        yield from (name for name in (paper.name, *paper.also) if " " not in name and not ARXIV.fullmatch(name))


def _has(paper: Paper, phrases: Sequence[str]) -> bool:
    """Whether one of the paper's names, or its kind, contains each of these phrases, from the beginning of a word."""
    names = [" " + " ".join(_words(name)) for name in (*paper.known_as, paper.kind)]
    return all(any(f" {phrase}" in name for name in names) for phrase in phrases)


def _unknown(words: str, every: Sequence[Paper]) -> list[Paper]:
    names = {_plain(name): name for paper in every for name in paper.known_as if name}
    near = [names[name] for name in difflib.get_close_matches(_plain(words), names, n=3, cutoff=0.6)]
    hint = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    raise UnknownName(f"no paper '{words}' in the records.{hint} {_what_else(every)}")


def _what_else(every: Sequence[Paper]) -> str:
    return f"`assay list papers` shows all {len(every)}; docs/method.md says how a method is written."


@functools.cache
def _plain(text: str) -> str:
    """The text without case, spaces and punctuation, so that `G²RPO-A` equals `G^2RPO-A`. A plus stays, because
    REINFORCE++ is not REINFORCE.
    """
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum() or sign == "+")


@functools.cache
def _words(text: str) -> Sequence[str]:
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


def row(paper: Paper) -> dict[str, Any]:
    """A paper as data."""
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(paper).items()}
    return {**values, "arxiv": paper.arxiv, "here": paper.here, "summary": paper.title or paper.kind}


def rows(words: str = "") -> list[dict[str, Any]]:
    """All papers as data, or those that the words name."""
    return [row(paper) for paper in (find(words) if words else papers())]


def text(found: Sequence[Mapping[str, Any]]) -> str:
    """Papers as text for a terminal: up to `CARDS` as cards, more of them with a line for each."""
    if len(found) <= CARDS:
        return "\n\n".join(_card(paper) for paper in found)
    width = max(len(paper["name"]) for paper in found)
    return "\n".join(f"{p['name']:<{width}}  {p['here']:<10}  {p['arxiv']:<10}  {p['summary']}" for p in found)


def _card(paper: Mapping[str, Any]) -> str:
    cited = f"arXiv {paper['arxiv']}" if paper["arxiv"] else paper["cited"]
    lines = [": ".join(part for part in (paper["name"], paper["title"]) if part) + (f" ({cited})" if cited else "")]
    lines.append(f"  {paper['kind']}, {paper['here']}: {WORDS[paper['here']]}")
    lines += [f"  {name}: {', '.join(paper[name])}" for name in ("also", "recipes", "tasks", "rewards") if paper[name]]
    lines += [f"  missing: {paper['missing']}"] * bool(paper["missing"])
    lines += [f"  run: {line}" for line in paper["commands"]]
    lines += [f"  needs: {line}" for line in paper["needs"]]
    lines += [f"  explain: assay explain {name}" for name in paper["recipes"][:1]]
    return "\n".join(lines)
