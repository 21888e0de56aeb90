"""`assay chat`: its arguments, and a conversation in the terminal or with the lines of a pipe."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import Argument, one_of
from assay.cli.by_hand import ARGUMENTS as BY_HAND
from assay.cli.by_hand import refuse_alone, run_by_hand
from assay.cli.problems import SYSTEM
from assay.errors import ConfigError, DataError
from assay.host import terminal

if TYPE_CHECKING:
    from types import FrameType

    from assay.lab.dialogue import Dialogue, Said, Turn

ARGUMENTS: list[Argument] = [
    (
        ("--max-new",),
        {
            "type": int,
            "help": "the most tokens of an answer; default: the limit of the run, or 512 if MODEL is not a run, and at "
            "most half of the context",
        },
    ),
    (
        ("--top-p",),
        {"type": float, "default": 1.0, "help": "the share of probability that is sampled from; default 1.0"},
    ),
    (
        ("--temperature",),
        {
            "type": float,
            "help": "the sampling temperature; 0 is greedy; default: that of the exams of the run, or 0.7 if MODEL is "
            "not a run",
        },
    ),
    SYSTEM,
    (
        ("--precision",),
        one_of(
            "precision",
            ("auto", "fp32", "bf16"),
            see="assay chat --help",
            default="auto",
            help="the format of the numbers; fp32 rounds least; default auto, bf16 where the machine has it",
        ),
    ),
    *BY_HAND,
]
LEAVE = "/exit"
COMMANDS = "/clear begins anew, /system TEXT gives another system message, /exit or Ctrl-D leaves"


def run_chat(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A document for each question, as soon as it is answered: the answer, or why there is none."""
    refuse_alone(arguments)
    if arguments.world:
        yield from run_by_hand(arguments)
        return
    from assay.lab.dialogue import open_dialogue

    with open_dialogue(
        arguments.model,
        max_new=arguments.max_new,
        temperature=arguments.temperature,
        top_p=arguments.top_p,
        seed=arguments.seed,
        system=arguments.system,
        precision=arguments.precision,
    ) as dialogue:
        if sys.stdin and sys.stdin.isatty() and sys.stdout.isatty():
            yield from AtTerminal(dialogue).talk(arguments.model)
        else:
            yield from piped(dialogue, shown=not arguments.json)


class AtTerminal:
    """A conversation with a person. Ctrl-C ends an answer; at the prompt it leaves if it is the second in a row."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.prompting = False
        self.pressed = False  # whether Ctrl-C was pressed since the last line

    def talk(self, model: str) -> Iterator[dict[str, Any]]:
        """Asks for lines until the person leaves."""
        with suppress(ImportError):
            import readline  # noqa: F401  # lets a person edit a line, and recall those before
        limits = f"its context holds {self.dialogue.engine.context} tokens, an answer at most {self.dialogue.max_new}"
        for line in (f"{model}: {limits}.", f"Ctrl-C ends an answer; {COMMANDS}.", ""):
            terminal.say(line)
        before = signal.signal(signal.SIGINT, self._press)
        try:
            while (line := self._line()) != LEAVE:
                if line:
                    yield from taken(self.dialogue, line, self._said)
                    terminal.say("")
        finally:
            signal.signal(signal.SIGINT, before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        """While the model writes, the first Ctrl-C is noted and a second one ends the program."""
        if self.prompting or self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def _said(self, piece: str) -> bool:
        terminal.hand_over(piece, end="")
        return self.pressed

    def _line(self) -> str:
        """The next line; `LEAVE` if the person leaves without a word."""
        self.prompting = True
        try:
            line = input("> ").strip()
        except EOFError:
            terminal.say("")
            return LEAVE
        except UnicodeDecodeError as error:
            terminal.say(f"DataError: {not_text(error)}")
            return ""
        except KeyboardInterrupt:
            terminal.say("")
            if self.pressed:
                return LEAVE
            self.pressed = True
            terminal.say("[Ctrl-C once more leaves]")
            return ""
        finally:
            self.prompting = False
        self.pressed = False
        return line


def piped(dialogue: Dialogue, *, shown: bool) -> Iterator[dict[str, Any]]:
    """Answers each line of the standard input. In the end it is an error if a line was refused."""
    refused = 0

    def said(piece: str) -> bool:
        if shown:
            terminal.hand_over(piece, end="")
        return False

    while (line := next_line()) not in (None, LEAVE):
        for document in taken(dialogue, line, said) if line else ():
            refused += "error" in document
            yield document
    if refused:
        lines = "1 line was" if refused == 1 else f"{refused} lines were"
        raise DataError(f"{lines} refused; the messages above say why.")


def next_line() -> str | None:
    """The next line of the standard input, without blanks around it; None at its end, or if it is closed."""
    try:
        line = sys.stdin.readline() if sys.stdin else ""
    except UnicodeDecodeError as error:
        raise not_text(error) from None
    return line.strip() if line else None


def not_text(error: UnicodeError) -> DataError:
    """The error for bytes that spell no text; Python hands them over as halves of characters, or refuses the line."""
    return DataError(f"what was typed or piped is no text in UTF-8: {error}.")


def taken(dialogue: Dialogue, line: str, said: Said) -> Iterator[dict[str, Any]]:
    """The document of a question; none for a command, which is obeyed. A refusal is told, and talk can go on."""
    try:
        line.encode()
        if obeyed(dialogue, line):
            return
        turn = dialogue.ask(line, said)
    except (DataError, ConfigError, UnicodeEncodeError) as error:
        error = not_text(error) if isinstance(error, UnicodeEncodeError) else error
        terminal.say(f"{type(error).__name__}: {error}")
        yield {"question": line, "error": type(error).__name__, "message": str(error)}
        return
    said("\n")
    tell_about(turn, dialogue.engine.context)
    yield {name: getattr(turn, name) for name in ("question", "answer", "tokens", "cut", "seconds")}


def obeyed(dialogue: Dialogue, line: str) -> bool:
    """Obeys the line if it is a command, and says whether it is one."""
    word, _, rest = line.partition(" ")
    if line == "/clear":
        dialogue.clear()
        terminal.say("[a new conversation]")
    elif word == "/system":
        dialogue.instruct(rest.strip())
        terminal.say("[the next answers follow this system message]" if rest.strip() else "[no system message]")
    elif line == "/help":
        terminal.say(f"{COMMANDS}.")
    return line in ("/clear", "/help") or word == "/system"


def tell_about(turn: Turn, context: int) -> None:
    """Tells a person about a turn what the answer itself does not show."""
    if turn.limited:
        terminal.say(f"[cut off at {turn.tokens} tokens, as --max-new says]")
    elif turn.cut:
        terminal.say("[cut off]")
    elif not turn.answer.strip():
        terminal.say("[an empty answer]")
    if turn.left_out:
        terminal.say(
            f"[the conversation no longer fits into the context of {context} tokens: from now on its oldest exchanges "
            "are left out]"
        )
