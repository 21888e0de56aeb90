"""The world of a search: the tools that a policy has, and how their replies are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.rng import Key
from assay.worlds.play import Spec, Tool, World
from assay.worlds.search.index import Index
from assay.worlds.speech import COMPACT, TAGS, Speech
from assay.worlds.tools import Run, Scene, ToolError, takes_text, tools

LONGEST_QUERY = 200
"""Characters of a query that is read."""


@dataclass(frozen=True)
class Manner:
    """What the tools are called, and how much they say."""

    search: str  # the name of the tool that searches
    open: str  # the name of the tool that opens a page
    hits: int  # titles that a search tells at most
    snippet: int  # characters of each page that stand behind its title; 0: titles alone, in one line
    longest: int  # characters of a page that is opened; more are cut off
    speech: Speech


SHORT = Manner("s", "o", hits=2, snippet=0, longest=60, speech=COMPACT)
"""For small models of characters: `[s a Xovan]Zelmi Xovan`, `[o Zelmi]a Xovan s Doruk`, and `!` for an error."""
TOLD = Manner("search", "open", hits=5, snippet=60, longest=1200, speech=TAGS)
"""For language models, in sentences."""


def searching(index: Callable[[], Index], manner: Manner) -> World:
    """The world in which a policy searches pages and opens them. The index is opened with the first call.

    searching(lambda: opened(made("told")), TOLD)
    """
    explain = "{}".format if manner.snippet else lambda why: "!"
    return tools(*page_tools(index, manner), speech=manner.speech, explain=explain)


def page_tools(index: Callable[[], Index], manner: Manner) -> tuple[tuple[Tool, Run], tuple[Tool, Run]]:
    """The tool that searches and the one that opens a page, which may stand beside others in a world.

    interpreter(beside=page_tools(lambda: opened(made("told")), TOLD))
    """

    def search(scene: Scene, query: str) -> str:
        if not query.strip():
            raise ToolError("the query is empty")
        if len(query) > LONGEST_QUERY:
            raise ToolError(f"a query has at most {LONGEST_QUERY} characters, and this one {len(query)}")
        pages = index()
        hits = [pages.page(number) for number, _ in pages.search(query, manner.hits)]
        if not hits:
            raise ToolError("no page has a word of the query")
        if not manner.snippet:
            return " ".join(page.title for page in hits)
        return "\n".join(f"{page.title}: {cut(page.text, manner.snippet, '...')}" for page in hits)

    def look(scene: Scene, title: str) -> str:
        pages = index()
        if (number := pages.titled(title)) is None:
            raise ToolError(f"there is no page {title!r:.60}")
        before = scene.state.setdefault("opened", [])
        if number not in before:
            before.append(number)
        return cut(pages.page(number).text, manner.longest, " [cut]")

    return (
        (takes_text(manner.search, "query", "titles of pages that fit a query, the best first"), search),
        (takes_text(manner.open, "title", "the page of this title"), look),
    )


def cut(text: str, longest: int, mark: str) -> str:
    """The text, of which no more than so many characters are left."""
    return text if len(text) <= longest else text[:longest] + mark


def called(world: World, spec: Spec, calls: Iterable[tuple[str, str]]) -> str:
    """Calls as a policy writes them, (tool, input), each with the reply that the world gives behind it.

    called(world, {}, [("o", "Zelmi")])  # "[o Zelmi]a Xovan s Doruk"
    """
    assert world.speech is not None
    play, seat, told = world.start(spec, Key("worked")), world.seats[0].name, ""
    play.open()
    for name, given in calls:
        (tool,) = (tool for tool in world.tools if tool.name == name)
        turn = world.speech.call(name, {tool.fields[0]: given}, world.tools)
        ask = play.step(world.act(seat, turn, waits=True)).ask
        assert ask is not None
        told += turn + world.written(ask)
    play.close()
    return told
