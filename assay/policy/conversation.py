"""The chat settings that a run puts into every prompt: a system message, variables of the template, tools, examples;
and the texts that end an answer.

This module does not import jinja.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from assay.errors import ConfigError, StorageError
from assay.host.files import parse_json, read_bytes
from assay.prompt import text_of

FILE = "assay_chat.json"
Thinking = Literal["template", "on", "off"]
Template = Literal["model", "none"]
MOST_SHOTS = 256  # worked examples that are drawn
MARK = "Answer:"  # before an answer in plain text; worked solutions in natural wording may begin with it


@dataclass(frozen=True)
class Chat:
    """Chat settings. With the defaults, the tokenizer's chat template alone decides.

    Example:
        Chat(system="Reason step by step.", thinking="off", variables=('reasoning_effort="low"',))
    """

    system: str = ""  # the system message, for every prompt that has none of its own
    thinking: Thinking = "template"  # sets `enable_thinking`, for templates that have this variable
    tools: str = ""  # a list of tool schemas as JSON, or the path of a .json file that holds one
    variables: tuple[str, ...] = ()  # further variables of the template, as NAME=JSON
    template: Template = "model"  # none: prompts are plain text, as a base model reads it
    stop: tuple[str, ...] = ()  # texts that end an answer, beside the model's end tokens; \n is the end of a line
    shots: int = 0  # how many worked examples of the training split stand before each question
    examples: str = ""  # [[question, answer], ...] as JSON, or a .json file of it; `shots` writes the drawn ones here

    @property
    def worked(self) -> list[tuple[str, str]]:
        """The examples that stand before each question, with their answers."""
        return [(question, answer) for question, answer in json.loads(self.examples)] if self.examples else []

    @property
    def schemas(self) -> list[dict[str, Any]] | None:
        return json.loads(self.tools) if self.tools else None

    @property
    def switches(self) -> dict[str, Any]:
        """The variables that the template sees beside the messages and the tools."""
        thinking = {} if self.thinking == "template" else {"enable_thinking": self.thinking == "on"}
        return thinking | dict(map(_pair, self.variables))


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ConfigError(f"chat.variables: write NAME=JSON, such as reasoning_effort=\"low\", not '{text}'.")
    try:
        return name, parse_json(value)
    except ValueError:
        return name, value  # a word without its quotation marks


def resolved(chat: Chat) -> Chat:
    """The settings with the files of tools and examples read into them, so that the run does not depend on files that
    may change, and with the ends of lines in `stop`.
    """
    _require_unicode(chat)
    stop = tuple(text.replace("\\n", "\n").replace("\\t", "\t") for text in chat.stop)
    if not all(stop):
        raise ConfigError("chat.stop: an empty text would end every answer before it begins; leave it out.")
    require_shots("chat.shots", chat.shots)
    tools, examples = _listed("tools", chat.tools), _listed("examples", chat.examples)
    if not all(isinstance(tool, Mapping) for tool in tools or ()):
        raise ConfigError("chat.tools must be a list of tool schemas, each a JSON object.")
    for example in examples or ():
        if not (isinstance(example, list) and len(example) == 2 and all(isinstance(text, str) for text in example)):
            raise ConfigError(f"chat.examples must be a list of [question, answer], both texts, not {example!r:.80}.")
    lists = {
        name: json.dumps(values) for name, values in (("tools", tools), ("examples", examples)) if values is not None
    }
    return dataclasses.replace(chat, stop=stop, **lists)


def require_shots(name: str, shots: int) -> None:
    if not 0 <= shots <= MOST_SHOTS:
        raise ConfigError(f"{name} must be from 0 to {MOST_SHOTS}, not {shots}.")


def _require_unicode(chat: Chat) -> None:
    """Refuses a text with half of a surrogate pair: bytes of a command line that are no text become such halves."""
    for name, value in dataclasses.asdict(chat).items():
        for text in value if isinstance(value, tuple) else (value,):
            try:
                str(text).encode()
            except UnicodeEncodeError as error:
                raise ConfigError(f"chat.{name} is no text in UTF-8: {error}. Remove the character.") from None


def _listed(name: str, given: str) -> list[Any] | None:
    """A setting that is a JSON list or the path of a file of one; None where it is empty."""
    if not given:
        return None
    text = given
    if not text.lstrip().startswith("["):
        try:
            text = read_bytes(Path(text)).decode()
        except (OSError, ValueError, StorageError) as error:
            raise ConfigError(f"chat.{name}: {given} is neither a JSON list nor a file of one: {error}") from error
    try:
        items = parse_json(text)
    except ValueError as error:
        raise ConfigError(f"chat.{name} is not JSON: {error}") from error
    if not isinstance(items, list):
        raise ConfigError(f"chat.{name} must be a JSON list, not {type(items).__name__}.")
    return items


def stored(document: Mapping[str, Any]) -> Chat:
    """The settings stored in a model's folder. `tools` and `examples` must be JSON there, because a path would point
    out of the folder.
    """
    try:
        lists = {name: tuple(document.get(name, ())) for name in ("variables", "stop")}
        chat = Chat(**{**document, **lists})
        texts = (chat.system, chat.tools, chat.examples, *chat.variables, *chat.stop)
    except TypeError as error:
        raise ConfigError(f"{FILE} does not hold the settings of a conversation: {error}") from None
    if not all(isinstance(text, str) for text in texts) or chat.thinking not in get_args(Thinking):
        raise ConfigError(
            f"{FILE}: system, tools, examples, variables and stop are texts, thinking one of {get_args(Thinking)}."
        )
    if chat.template not in get_args(Template) or type(chat.shots) is not int:
        raise ConfigError(f"{FILE}: template is one of {get_args(Template)}, shots a number.")
    for name in ("tools", "examples"):
        if (text := getattr(chat, name)) and not text.lstrip().startswith("["):
            raise ConfigError(f"{FILE}: {name} must be a JSON list, not {text[:80]!r}.")
    return chat


def opened(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages, after the system message of the settings if they begin with none of their own, and after the
    exchanges of the examples.
    """
    own = [message for message in messages[:1] if _role(message) in ("system", "developer")]
    system = own or ([{"role": "system", "content": chat.system}] if chat.system else [])
    pairs = [(("user", question), ("assistant", answer)) for question, answer in chat.worked]
    shown = [{"role": role, "content": content} for pair in pairs for role, content in pair]
    return [*system, *shown, *messages[len(own) :]]


def plain(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of a prompt without a template: the texts of the messages, with an empty line between two of them. After
    examples the question has the same form, `Question: ...` and `Answer:`, and the model continues it.
    """
    *before, last = opened(dataclasses.replace(chat, examples=""), messages)
    said = [text_of(message.get("content") or "") for message in before]
    if not chat.examples:
        return "\n\n".join([*said, text_of(last.get("content") or "")])
    shown = [f"Question: {question}\n{MARK} {answer.removeprefix(MARK).lstrip()}" for question, answer in chat.worked]
    return "\n\n".join([*said, *shown, f"Question: {text_of(last.get('content') or '')}\n{MARK}"])


def _role(message: Any) -> str | None:
    return message.get("role") if isinstance(message, Mapping) else None
