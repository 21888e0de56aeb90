"""Python functions as tools: their schemas, what is refused, what comes back, and processes of their own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from talking import said

from assay import check_world
from assay.collect.hosts import HostedPlay, Hosts, PlayLost, ReplyLog
from assay.errors import ConfigError
from assay.rng import Key
from assay.tasks import task
from assay.tasks.data.task import equipped
from assay.tasks.task import Checker, Solution
from assay.types import Verdict
from assay.verifiers.functions.naming import imported, parse
from assay.worlds import JSON, Act, Call, Reply, ToolError
from assay.worlds.functions import functions, schema_of, tool_of


def price(item: str, currency: Literal["EUR", "USD"] = "EUR", pieces: int = 1, reduced: float | None = None) -> dict:
    """The price of an item.

    It stands in a list.

    Args:
        item: what is bought
        pieces (int): how many of it

    Returns:
        the price: a number
    """
    if item == "nothing":
        raise ToolError("nobody sells nothing")
    if item == "broken":
        raise RuntimeError("the list is lost")
    return {"item": item, "price": 3.5 * pieces, "currency": currency, "reduced": reduced}


def joined(words: list[str], marks: dict[str, int], loud: bool = False) -> str:
    """Words."""
    return " ".join(words).upper() if loud else f"{words}{marks}"


def test_a_tool_is_what_the_signature_and_the_docstring_say() -> None:
    tool = tool_of(price)
    assert (tool.name, tool.about) == ("price", "The price of an item.\n\nIt stands in a list.")
    assert tool.schema == {
        "type": "object",
        "properties": {
            "item": {"type": "string", "description": "what is bought"},
            "currency": {"type": "string", "enum": ["EUR", "USD"], "default": "EUR"},
            "pieces": {"type": "integer", "default": 1, "description": "how many of it"},
            "reduced": {"type": ["number", "null"]},
        },
        "required": ["item"],
    }
    assert json.loads(json.dumps(tool.schema)) == tool.schema


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list, {"type": "array"}),
        (dict, {"type": "object"}),
        (list[list[int]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Literal["a", 2], {"type": ["integer", "string"], "enum": ["a", 2]}),
        (Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045
        (Literal["a"] | None, {"type": ["string", "null"], "enum": ["a", None]}),
    ],
)
def test_each_type_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint, "x") == schema


def without_hint(x) -> str:
    return x


def starred(*words: str) -> str:
    return ""


def starred_twice(**words: str) -> str:
    return ""


def of_sets(x: set[int]) -> str:
    return ""


def of_numbers_by_number(x: dict[int, int]) -> str:
    return ""


def of_two(x: int | str) -> str:
    return ""


def of_bytes(x: list[bytes]) -> str:
    return ""


def of_position(x: int, /) -> str:
    return ""


def of_a_wrong_default(x: int = "a") -> str:  # pyright: ignore[reportArgumentType]
    return ""


def of_strange_literals(x: Literal[b"a"]) -> str:
    return ""


async def later(x: int) -> str:
    return ""


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (without_hint, "'x' of the tool 'without_hint' has no type hint"),
        (starred, "'words' of the tool 'starred' is *words"),
        (starred_twice, "'words' of the tool 'starred_twice' is **words"),
        (of_sets, "'x' of the tool 'of_sets' is of the type set, which JSON does not have"),
        (of_numbers_by_number, "'x' of the tool 'of_numbers_by_number' is of the type dict"),
        (of_two, "'x' of the tool 'of_two' is of the type"),
        (of_bytes, "'x' of the tool 'of_bytes' is of the type bytes"),
        (of_position, "'x' of the tool 'of_position' cannot be given by its name"),
        (of_a_wrong_default, "'x' of the tool 'of_a_wrong_default' has the default 'a'"),
        (of_strange_literals, "'x' of the tool 'of_strange_literals' is"),
        (later, "the tool 'later' is no function"),
        (lambda x: x, "the tool '<lambda>' is no function"),
    ],
)
def test_what_a_model_could_not_be_told_is_refused_by_name(call: Callable[..., Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        functions([call])
    assert says in str(error.value)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools have the name 'price'"):
        functions([price, price])


def called(*calls: str | Call) -> Reply:
    world = functions([price, joined], speech=JSON)
    play = world.start({}, Key(0))
    play.open()
    read = [one if isinstance(one, Call) else world.act("policy", f"{one}\n", waits=True).calls[0] for one in calls]
    return play.step(Act("policy", "", tuple(read)))


def line(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def test_what_a_function_returns_is_the_reply() -> None:
    reply = called(line("price", item="tea", pieces=2))
    assert not reply.failed
    assert json.loads(said(reply)) == {"item": "tea", "price": 7.0, "currency": "EUR", "reduced": None}
    assert said(called(line("joined", words=["a", "b"], marks={"c": 1}, loud=True))) == "A B"
    assert json.loads(said(called(line("price", item="tea", reduced=2))))["reduced"] == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (line("price", item="nothing"), "nobody sells nothing"),
        (line("price"), "price needs item"),
        (line("price", item=3), "item of price is string"),
        (line("price", item="tea", currency="GBP"), "one of EUR, USD"),
        (line("price", item="tea", pieces=True), "integer"),
        (line("price", item="tea", pieces=1.5), "integer"),
        (line("price", item="tea", colour="red"), "no field 'colour'"),
        (line("joined", words=["a", 3], marks={}), "words[1] is string, and not 3"),
        (line("joined", words=[], marks={"a": "b"}), "marks['a'] is integer, and not 'b'"),
        (line("pay", item="tea"), "there is no tool 'pay'"),
    ],
)
def test_a_wrong_call_is_an_error_of_the_policys(call: str, says: str) -> None:
    reply = called(call)
    assert reply.failed and says in said(reply)


def test_an_exception_is_an_error_of_the_tools() -> None:
    with pytest.raises(RuntimeError, match="the list is lost"):
        called(line("price", item="broken"))


def test_a_world_of_functions_keeps_the_contract() -> None:
    def priced(item: str, pieces: int = 1) -> str:
        """The price."""
        if pieces < 0 or item != "tea":
            raise ToolError("nobody sells that")
        return str(3 * pieces)

    calculator = task("calculator")
    solved = Solution("3", f"{line('priced', item='tea')}\n" + '{"result": "3"}\n')
    worded = dataclasses.replace(calculator.wordings, solve=lambda spec: solved)
    shop = dataclasses.replace(
        calculator,
        name="shop",
        wordings=worded,
        checker=Checker(check=lambda spec, text: Verdict.ok(text)),
        world=functions([priced], speech=JSON),
    )
    assert check_world(shop).calls > 40


SHOP = '''
import os, time
from assay.worlds import ToolError

def stock(item: str) -> int:
    """How much there is."""
    if item == "slow":
        time.sleep(60)
    if item == "gone":
        os._exit(3)
    if item == "none":
        raise ToolError("none is left")
    if item == "broken":
        raise RuntimeError("lost")
    print("noise")
    return len(item)
'''


@pytest.mark.slow
def test_functions_of_a_file_run_in_processes_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(SHOP)
    name = f"{file}:stock"
    world = functions([imported(parse(name))], speech=JSON, apart=True, made_of=[name])
    data = "data:/tmp/rows-of-a-shop.jsonl"
    hosts = Hosts(1, seconds=2.0)
    act = lambda item: world.act("policy", line("stock", item=item) + "\n", waits=True)  # noqa: E731
    try:
        with equipped([data], world):
            assert task(data).world is world
            play = HostedPlay(hosts, ReplyLog(None), data, {}, Key(0))
            play.open()
            assert said(play.step(act("four"))) == "4"
            reply = play.step(act("none"))
            assert reply.failed and said(reply) == "none is left"
            for item, says in (("broken", "RuntimeError: lost"), ("slow", "took longer than 2 s"), ("gone", "ended")):
                with pytest.raises(PlayLost, match=says):
                    HostedPlay(hosts, ReplyLog(None), data, {}, Key(0)).step(act(item))
        assert task(data).world is None
    finally:
        hosts.close()
