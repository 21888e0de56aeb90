"""Calls, patches, repairs and formats: right answers in other words, and wrong ones by one change or by a planted trap.

Each item is made together with its label: a rewriting that leaves the meaning, or a change that does not. The label of
a repair is what Python itself computes for the lines.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from assay.verifiers.audit import Labelled

Json = Any
Rewriting = Callable[[random.Random, list[Json]], str | None]

NAMES = ("search", "send_mail", "get_weather", "book.room", "set-alarm", "Übersetze", "查询")
KEYS = ("to", "at", "city", "note", "limit", "when", "tags", "options", "名前")
WORDS = ("ann", "7", "true", "null", "a;b", 'say "hi"', "line\nbreak", "", " x ", "Zürich", "北京", "1.0", "[1]")


# --- calls of tools -------------------------------------------------------------------------------------------


def _value(draw: random.Random, depth: int = 0) -> Json:
    kind = draw.randrange(8 if depth < 2 else 6)
    if kind == 6:
        return [_value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    if kind == 7:
        return {key: _value(draw, depth + 1) for key in draw.sample(KEYS, draw.randint(1, 3))}
    return (draw.choice(WORDS), draw.randint(-50, 50), draw.choice(WORDS), draw.random() < 0.5, None, 0.25)[kind]


def _calls(draw: random.Random) -> list[Json]:
    return [
        {"name": draw.choice(NAMES), "arguments": {key: _value(draw) for key in draw.sample(KEYS, draw.randint(1, 4))}}
        for _ in range(draw.randint(1, 4))
    ]


def _shuffled(draw: random.Random, value: Json) -> Json:
    """The same value with the keys of its objects in another order."""
    if isinstance(value, dict):
        return {key: _shuffled(draw, value[key]) for key in draw.sample(list(value), len(value))}
    return [_shuffled(draw, one) for one in value] if isinstance(value, list) else value


CALLS_RIGHT: dict[str, Rewriting] = {
    "as it is": lambda draw, calls: json.dumps(calls),
    "keys in another order": lambda draw, calls: json.dumps(_shuffled(draw, calls)),
    "calls in another order": lambda draw, calls: json.dumps(draw.sample(calls, len(calls))),
    "indented": lambda draw, calls: json.dumps(calls, indent=draw.choice([1, 2, 4])),
    "dense": lambda draw, calls: f"\n {json.dumps(calls, separators=(',', ':'))}\n",
    "letters unescaped": lambda draw, calls: json.dumps(_shuffled(draw, calls), ensure_ascii=False),
}


def _place(draw: random.Random, calls: list[Json], kind: type | None = None) -> tuple[Json, Json] | None:
    """A container and a key or index at which a value (of this kind) stands, somewhere in the arguments."""
    found: list[tuple[Json, Json]] = []
    todo: list[Json] = [call["arguments"] for call in calls]
    while todo:
        held = todo.pop()
        for key, value in list(held.items()) if isinstance(held, dict) else list(enumerate(held)):
            if kind is None or type(value) is kind:
                found.append((held, key))
            if isinstance(value, (dict, list)):
                todo.append(value)
    return draw.choice(found) if found else None


def _at(change: Callable[[Json], Json], kind: type | None = None) -> Rewriting:
    """A change of one value of the arguments."""

    def made(draw: random.Random, calls: list[Json]) -> str | None:
        calls = copy.deepcopy(calls)
        place = _place(draw, calls, kind)
        if place is None:
            return None
        held, key = place
        held[key] = change(held[key])
        return json.dumps(calls)

    return made


def _with(change: Callable[[random.Random, list[Json]], object]) -> Rewriting:
    """A change of the list of calls."""

    def made(draw: random.Random, calls: list[Json]) -> str | None:
        calls = copy.deepcopy(calls)
        return None if change(draw, calls) is False else json.dumps(calls)

    return made


def _one(change: Callable[[random.Random, Json], object]) -> Rewriting:
    return _with(lambda draw, calls: change(draw, draw.choice(calls)))


def _renamed(draw: random.Random, call: Json) -> None:
    key = draw.choice(list(call["arguments"]))
    call["arguments"][f"{key}_"] = call["arguments"].pop(key)


def _exchanged(draw: random.Random, call: Json) -> bool:
    """Two values change places."""
    given = call["arguments"]
    if len(given) < 2:
        return False
    one, other = draw.sample(list(given), 2)
    if json.dumps(given[one]) == json.dumps(given[other]):
        return False
    given[one], given[other] = given[other], given[one]
    return True


def _moved(draw: random.Random, calls: list[Json]) -> bool:
    """An argument moves to another call."""
    if len(calls) < 2:
        return False
    one, other = draw.sample(calls, 2)
    key = draw.choice(list(one["arguments"]))
    if key in other["arguments"]:
        return False
    other["arguments"][key] = one["arguments"].pop(key)
    return True


def _capitals(draw: random.Random, call: Json) -> bool:
    name = call["name"]
    call["name"] = name.swapcase()
    return call["name"] != name


CALLS_WRONG: dict[str, Rewriting] = {
    "another number": _at(lambda n: n + 1, int),
    "number as text": _at(str, int),
    "number as float": _at(float, int),
    "bool as number": _at(int, bool),
    "bool turned": _at(lambda b: not b, bool),
    "text turned": _at(lambda s: s[::-1] if s != s[::-1] else f"{s}x", str),
    "text in capitals": _at(lambda s: s.swapcase() if s != s.swapcase() else f"{s} ", str),
    "text with a space": _at(lambda s: f"{s} ", str),
    "null as text": _at(lambda _: "null", type(None)),
    "list as text": _at(json.dumps, list),
    "list longer": _at(lambda one: [*one, 0], list),
    "list turned": _at(lambda one: one[::-1] if json.dumps(one) != json.dumps(one[::-1]) else [one], list),
    "within a list": _at(lambda one: [one]),
    "key renamed": _one(_renamed),
    "key dropped": _one(lambda draw, call: call["arguments"].popitem()),
    "key added": _one(lambda draw, call: call["arguments"].update(extra=None)),
    "name": _one(lambda draw, call: call.update(name=f"{call['name']}s")),
    "name in capitals": _one(_capitals),
    "values exchanged": _one(_exchanged),
    "argument moved": _with(_moved),
    "call dropped": _with(lambda draw, calls: calls.pop(draw.randrange(len(calls)))),
    "call repeated": _with(lambda draw, calls: calls.append(copy.deepcopy(draw.choice(calls)))),
    "call added": _with(lambda draw, calls: calls.insert(0, {"name": "noop", "arguments": {}})),
}  # fmt: skip
CALLS_BROKEN: dict[str, Rewriting] = {
    "words before": lambda draw, calls: f"Here they are: {json.dumps(calls)}",
    "words behind": lambda draw, calls: f"{json.dumps(calls)} Done.",
    "twice": lambda draw, calls: json.dumps(calls) * 2,
    "a comma too many": lambda draw, calls: json.dumps(calls)[:-1] + ",]",
    "cut": lambda draw, calls: json.dumps(calls)[: -draw.randint(1, 5)],
    "a single object": lambda draw, calls: json.dumps(calls[0]),
    "key twice": lambda draw, calls: json.dumps(calls).replace('"name":', '"name": "other", "name":', 1),
    "a third key": lambda draw, calls: json.dumps([{**calls[0], "id": 1}, *calls[1:]]),
    "no number": lambda draw, calls: json.dumps([{"name": "a", "arguments": {"x": float("nan")}}, *calls]),
    "Python": lambda draw, calls: repr(calls) if repr(calls) != json.dumps(calls) else None,
    "arguments as text": lambda draw, calls: json.dumps(
        [{"name": one["name"], "arguments": json.dumps(one["arguments"])} for one in calls]
    ),
}


def calls(count: int, seed: int) -> Iterator[Labelled]:
    draw = random.Random(f"calls {seed}")
    made = 0
    while made < count:
        gold = _calls(draw)
        text = json.dumps(gold)
        way = ("right", "wrong", "wrong", "broken")[made % 4]
        table = {"right": CALLS_RIGHT, "wrong": CALLS_WRONG, "broken": CALLS_BROKEN}[way]
        name = draw.choice(list(table))
        if (answer := table[name](draw, gold)) is not None:
            made += 1
            kind = {"right": "", "wrong": "wrong", "broken": "format"}[way]
            yield Labelled(text, answer, way == "right", name, kind, "rewritten" if way == "right" else "mutant")


# --- formats --------------------------------------------------------------------------------------------------

THOUGHTS = (
    "3+4 is 7.", "First\n\nthen", "\\frac{1}{2} of 14", "if x<y then y>x", "I think: 7", "日本語で考える", "a # b",
    "{}}{", "<b>bold</b>",
    "the answer is \\boxed{6}? No.", "thinking", "`answer`", "1 < 2 </ 3 >",
)  # fmt: skip
BOXED = ("7", "\\frac{1}{2}", "{x}_{1}", "\\text{a is a knave}", "(1, 2)", "a<b", "\\{1, 2\\}")


def _natural(thought: str, answer: str, gap: str = " ") -> str:
    return f"<think>{thought}</think>{gap}<answer>{answer}</answer>"


def _natural_wrong(draw: random.Random, thought: str, box: str) -> dict[str, str]:
    good, answer = _natural(thought, box), f"<answer>{box}</answer>"
    tag = draw.choice(["<think>", "</think>", "<answer>", "</answer>"])
    zero = draw.choice("\u200b\u200d\u2060\ufeff\u00ad")
    return {
        "a tag dropped": good.replace(tag, ""),
        "a tag twice": good.replace(tag, tag * 2),
        "an answer twice": f"{good} {answer}",
        "another answer": f"{good}<answer>\\boxed{{8}}</answer>",
        "an answer in the thought": _natural(f"{thought}{answer}", box),
        "in capitals hidden": f"<think>{thought}<ANSWER></ANSWER></think>{answer}",
        "wide letters hidden": f"<think>{thought}＜answer＞</think>{answer}",
        "an unseen letter hides a tag": f"<think>{thought}{answer.replace('answer', f'an{zero}swer')}</think>{answer}",
        "spaces hide a tag": f"<think>{thought}< answer >8</ answer ></think>{answer}",
        "words before": f"Sure! {good}",
        "words behind": f"{good} I hope it helps.",
        "words between": f"<think>{thought}</think> so <answer>{box}</answer>",
        "order": f"{answer}<think>{thought}</think>",
        "within each other": f"<think>{thought}{answer}</think>",
        "no thought": f"<think> \n</think>{answer}",
        "no box": _natural(thought, "7"),
        "an empty box": _natural(thought, "\\boxed{}"),
        "a blank box": _natural(thought, "\\boxed{ }"),
        "two boxes": _natural(thought, f"{box} {box}"),
        "an open box": _natural(thought, "\\boxed{7"),
        "capital tags": good.replace("think>", "THINK>").replace("answer>", "ANSWER>"),
        "other tags": good.replace("think>", "thought>"),
        "tags with attributes": good.replace("<answer>", '<answer id="1">'),
        "the box alone": box,
        "cut": good[: -draw.randint(1, 12)],
        "empty": "",
    }


def formats(count: int, seed: int) -> Iterator[Labelled]:
    draw = random.Random(f"formats {seed}")
    for number in range(count):
        thought, box = draw.choice(THOUGHTS), f"\\boxed{{{draw.choice(BOXED)}}}"
        if number % 4 == 0:
            gap = draw.choice(["", " ", "\n", "\n\n", "\t"])
            words = draw.choice([box, f"It is {box}.", f"\n{box}\n", f"${box}$"])
            text = gap + _natural(gap + thought, words, gap) + draw.choice(["", "\n"])
            kind = draw.choice(["natural", "opened"])
            text = text.lstrip().removeprefix("<think>") if kind == "opened" else text
            yield Labelled(kind, text, True, "tags", origin="rewritten")
        elif number % 4 < 3:
            name, text = draw.choice(list(_natural_wrong(draw, thought, box).items()))
            yield Labelled("natural", text, False, name, "format", "mutant")
        else:
            yield _compact(draw)


def _compact(draw: random.Random) -> Labelled:
    steps, answer = draw.choice(["3+4=7", "a>b;b>c", "kk?k", "7 7"]), draw.choice(["7", "kn", "-12", "a b"])
    kind = draw.choice(["steps", "bare"])
    good = f"{steps}#{answer}" if kind == "steps" else answer
    other = {
        "steps": {"no steps": f"#{answer}", "no answer": f"{steps}#", "no mark": steps, "two marks": f"{good}#{answer}",
                  "doubled": f"{steps}##{answer}", "blank": f" #{answer}", "empty": ""},
        "bare": {"steps": f"{steps}#{answer}", "a mark": f"#{answer}", "a mark behind": f"{answer}#", "empty": "",
                 "blank": " \n"},
    }[kind]  # fmt: skip
    if draw.random() < 0.3:
        return Labelled(kind, good + draw.choice(["", "\n", " "]), True, "compact", origin="rewritten")
    name = draw.choice(list(other))
    return Labelled(kind, other[name], False, name, "format", "mutant")
