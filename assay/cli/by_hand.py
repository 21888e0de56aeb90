"""`assay chat --world`: a play in the terminal, or with the lines of a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument
from assay.errors import DataError, UsageError
from assay.host import terminal

if TYPE_CHECKING:
    from assay.lab.by_hand import Asked

ARGUMENTS: list[Argument] = [
    (
        ("--world",),
        {
            "metavar": "NAME[:LEVEL]",
            "help": "play one held-out problem of this task, whose world replies; --seed says which; default: talk",
        },
    ),
    (
        ("--seat",),
        {
            "metavar": "SEAT",
            "help": "the seat of the world that you take: policy, or another such as user; default: the model plays "
            "all of them, and you look on",
        },
    ),
]
HELP = "a line is a turn; one that ends in \\ goes on in the next; Ctrl-D or Ctrl-C leaves"


def run_by_hand(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The documents of a play, each as soon as it is known."""
    from assay.lab.by_hand import by_hand

    game = by_hand(
        arguments.model,
        arguments.world,
        seat=arguments.seat or "",
        seed=arguments.seed,
        max_new=arguments.max_new,
        temperature=1.0 if arguments.temperature is None else arguments.temperature,
        top_p=arguments.top_p,
        system=arguments.system,
        precision=arguments.precision,
    )
    shown = not arguments.json
    person = Person(shown=shown)
    try:
        for document in game.play(person.typed):
            if shown and (text := told(document)):
                terminal.show(text)
            yield document
    except KeyboardInterrupt:
        terminal.say("[left]")


def refuse_alone(arguments: argparse.Namespace) -> None:
    """Refuses a seat where nothing is played."""
    if arguments.seat and not arguments.world:
        raise UsageError("--seat is a seat of a world: name the task too, with --world NAME[:LEVEL].")


class Person:
    """Somebody who writes the turns of a seat, at the terminal or with the lines of a pipe."""

    def __init__(self, *, shown: bool) -> None:
        self.shown = shown
        self.at_terminal = bool(sys.stdin) and sys.stdin.isatty() and sys.stdout.isatty()
        if self.at_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401  # lets a person edit a line
            terminal.say(HELP)

    def typed(self, asked: Asked) -> str | None:
        """The next turn; None at the end of the input. At the terminal a turn that cannot be is asked for again."""
        if asked.refused and not self.at_terminal:
            raise DataError(asked.refused)
        if asked.refused:
            terminal.say(f"DataError: {asked.refused}")
        if asked.reads:
            (terminal.show if self.shown else terminal.say)(_block("you read", asked.reads))
        lines: list[str] = []
        while (line := self._line(asked)) is not None:
            if line.endswith("\\"):
                lines.append(line[:-1])
            elif line or lines:
                return "\n".join([*lines, line])
        return "\n".join(lines) or None

    def _line(self, asked: Asked) -> str | None:
        """A line; None at the end of the input, or where the person presses Ctrl-C."""
        try:
            if self.at_terminal:
                return input(f"{asked.seat}> ").rstrip("\r\n")
            line = sys.stdin.readline() if sys.stdin else ""
        except (EOFError, KeyboardInterrupt):
            terminal.say("")
            return None
        except UnicodeDecodeError as error:
            raise DataError(f"what was typed or piped is no text in UTF-8: {error}.") from None
        return line.rstrip("\r\n") if line else None


def told(document: Mapping[str, Any]) -> str:
    """A document for a person."""
    if "prompt" in document:
        return _problem(document)
    return _end(document) if "seats" in document else _turn(document)


def _problem(document: Mapping[str, Any]) -> str:
    asked = document["prompt"] or ""
    text = asked if isinstance(asked, str) else "\n".join(f"{m['role']}: {m['content']}" for m in asked)
    who = f"you are {document['seat']}" if document["seat"] else "the model plays all seats"
    head = f"{document['task']}, level {document['level']}, problem {document['problem']}; {who}"
    lines = [head, _block("asked", text)] if text else [head]
    for tool in document["tools"]:
        fields = ", ".join(tool["schema"].get("properties", {}))
        lines.append(_block("tool", f"{tool['name']}({fields}) {tool['about']}".strip()))
    return "\n".join(lines)


def _turn(document: Mapping[str, Any]) -> str:
    lines = []
    if document["by"] == "model" and document["text"] is not None:
        lines.append(_block(document["seat"], document["text"]))
    elif document["text"] is None:
        lines.append(_block(document["seat"], f"[{document['tokens']} tokens]"))
    lines += [_block("error", call["fault"]) for call in document["calls"] or () if call["fault"]]
    if document["earned"] is not None:
        lines.append(_block("earned", f"{document['earned']:+g}"))
    reply = document["reply"]
    if reply is not None and reply["failed"]:
        lines.append(_block("", "[the reply tells of an error]"))
    if reply is not None and reply["text"] is not None:
        lines.append(_block("reply", reply["text"]))
    return "\n".join(lines)


def _end(document: Mapping[str, Any]) -> str:
    if document["left"]:
        return "[left: nothing was judged]"
    lines = []
    for answer in document["seats"]:
        verdict = answer["verdict"]
        status = (
            "no verdict" if verdict is None else {"ok": "right", "fail": "wrong"}.get(verdict["status"], "no verdict")
        )
        kind = "" if verdict is None or verdict["kind"] in ("", "wrong") else f" ({verdict['kind']})"
        why = "" if verdict is None or not verdict["detail"] else f", {verdict['detail']}"
        scores = "".join(f", {name} {value:g}" for name, value in answer["scores"].items() if value is not None)
        earned = "" if answer["earned"] is None else f", earned {answer['earned']:+g}"
        cut = ", cut by a limit" if answer["finish"] == "length" else ""
        lines.append(_block("verdict", f"{answer['seat']}: {status}{kind}{why}{scores}{earned}{cut}"))
    if document["solution"]:
        lines.append(_block("solution", document["solution"]))
    return "\n".join(lines)


def _block(label: str, words: str) -> str:
    """Words behind a label; further lines stand below the first."""
    first, *more = words.split("\n")
    return "\n".join([f"  {label:<12}{first}", *(f"  {'':<12}{line}" for line in more)])
