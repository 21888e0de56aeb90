"""Speech: how calls and replies are written. A world has one, and the same world may be spoken in another.

    COMPACT   [2+2]4                                       # for small models; a reply stands behind its call as it is
    TAGS      <look>field</look><result>4</result>
    FENCE     ```python ... ``` and ```output ... ```      # the call is a program
    JSON      {"name": "look", "arguments": {...}}          # a line of its own
    CHAT      the calls of the model's own chat template

What a policy writes may be anything. A call that cannot be read comes to the world as a `Call` with a `fault`, which
says in words what was wrong, so that the world can reply with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from assay.errors import near
from assay.worlds.play import Call, Line, Tool

LONGEST = 64 << 10  # characters of a call that is read; a longer one has a fault


class Speech(Protocol):
    """A way to write calls and replies."""

    templated: ClassVar[bool]  # replies are messages that the model's chat template writes

    @property
    def name(self) -> str: ...
    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that only the world may write; a turn of a policy ends where it writes one, with a fault."""
        ...

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        """The texts behind which a policy waits for a reply."""
        ...

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        """The calls in a turn. `waits`: the turn ended at one of the `stops`, and not with the answer."""
        ...

    def write(self, lines: Sequence[Line]) -> str:
        """The text of what a policy is to read next."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        """A call as a policy writes it: `read` reads it back."""
        ...

    def about(self, tools: Sequence[Tool]) -> str:
        """How to call these tools, in words for a prompt; "" where the chat template says it."""
        ...


@dataclass(frozen=True)
class Compact:
    """`[INPUT]`, or `[NAME INPUT]` where there are several tools. A reply is appended as it is, or in `one_line` of
    printable characters, for small models that know no others.
    """

    name: str = "compact"
    one_line: bool = False
    templated: ClassVar[bool] = False
    markers: tuple[str, ...] = ()

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return ("]",) if tools else ()

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        if not waits:
            return ()
        written = re.search(r"\[([^\[\]]*)\]\Z", text)
        if written is None:
            return (Call("", fault="a call is written [INPUT]"),)
        name, _, inputs = ("", "", written[1]) if len(tools) == 1 else written[1].partition(" ")
        return (one_field(name or (tools[0].name if len(tools) == 1 else ""), inputs, tools),)

    def write(self, lines: Sequence[Line]) -> str:
        text = "".join(line.text for line in lines)
        if not self.one_line:
            return text
        return "".join(letter if " " <= letter <= "~" else "?" for letter in text.replace("\n", " "))

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        named = "" if len(tools) == 1 else f"{name} "
        return f"[{named}{_only(arguments)}]"

    def about(self, tools: Sequence[Tool]) -> str:
        named = "" if len(tools) == 1 else "NAME "
        return f"Write [{named}INPUT] for a call: the reply follows at once.\n{_listed(tools)}"


@dataclass(frozen=True)
class Tags:
    """`<NAME>INPUT</NAME>`, where the input is JSON if the tool has several fields. Replies stand in `<result>`."""

    name: str = "tags"
    templated: ClassVar[bool] = False
    markers: tuple[str, ...] = ("<result>", "</result>")

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return (*(f"</{tool.name}>" for tool in tools), *(self.markers if tools else ()))

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        if any(marker in text for marker in self.markers):
            return (Call("", fault="only replies stand in <result>"),)
        names = "|".join(re.escape(tool.name) for tool in tools)
        calls = [_tagged(name, inner, tools) for name, inner in re.findall(rf"(?s)<({names})>(.*?)</\1>", text)]
        if waits and not calls:
            calls = [Call("", fault="a call is written <NAME>INPUT</NAME>")]
        return tuple(calls)

    def write(self, lines: Sequence[Line]) -> str:
        return "".join(f"\n<result>{_without(line.text, self.markers)}</result>\n" for line in lines)

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        several = any(tool.name == name and len(tool.fields) > 1 for tool in tools)
        return f"<{name}>{json.dumps(dict(arguments)) if several else _only(arguments)}</{name}>"

    def about(self, tools: Sequence[Tool]) -> str:
        return f"Write <NAME>INPUT</NAME> for a call: the reply follows in <result>.\n{_listed(tools)}"


@dataclass(frozen=True)
class Fence:
    """A program in a fence, ```` ```python ````, is the call, of the one tool that there is. Replies stand in a fence
    named `output`.
    """

    name: str = "fence"
    language: str = "python"
    templated: ClassVar[bool] = False
    markers: tuple[str, ...] = ("```output",)

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return ("\n```\n", *self.markers) if tools else ()

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        if self.markers[0] in text:
            return (Call("", fault="only replies stand in a fence named output"),)
        programs = re.findall(r"(?s)```\w*\n(.*?)\n?```", text)
        if programs:
            return (one_field(tools[0].name, programs[-1], tools),)
        return (
            (Call("", fault="a program stands between a line of ``` and its language, and a line of ```"),)
            if waits
            else ()
        )

    def write(self, lines: Sequence[Line]) -> str:
        return "".join(f"```output\n{line.text.replace('```', chr(39) * 3)}\n```\n" for line in lines)

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        return f"```{self.language}\n{_only(arguments)}\n```\n"

    def about(self, tools: Sequence[Tool]) -> str:
        start = f"```{self.language}"
        return f"Write a program between {start} and ``` to have it run: its output follows.\n{_listed(tools)}"


@dataclass(frozen=True)
class JsonLines:
    """A line with an object of `name` and `arguments` is a call. A reply is a line with an object of `result`."""

    name: str = "json"
    templated: ClassVar[bool] = False
    markers: tuple[str, ...] = ('{"result"',)

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return ("}\n", *self.markers) if tools else ()

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        if self.markers[0] in text:
            return (Call("", fault="only replies have a result"),)
        lines = [line.strip() for line in text.splitlines() if line.strip().startswith("{")]
        calls = tuple(call_of(line, tools) for line in lines)
        return calls or ((Call("", fault='a call is a line {"name": ..., "arguments": {...}}'),) if waits else ())

    def write(self, lines: Sequence[Line]) -> str:
        return "".join(f"{json.dumps({'result': line.text}, ensure_ascii=False)}\n" for line in lines)

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        return f"{json.dumps({'name': name, 'arguments': dict(arguments)})}\n"

    def about(self, tools: Sequence[Tool]) -> str:
        return f'Write a line {{"name": NAME, "arguments": {{...}}}} for a call: a line follows.\n{_listed(tools)}'


@dataclass(frozen=True)
class ChatCalls:
    """The calls as chat templates of the Qwen and Hermes kind have them, `<tool_call>{...}</tool_call>`. A turn ends as
    every answer does, and a reply comes as a message of a tool, written by the template.
    """

    name: str = "chat"
    templated: ClassVar[bool] = True
    markers: tuple[str, ...] = ("<tool_response>", "</tool_response>")

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return self.markers if tools else ()

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        if any(marker in text for marker in self.markers):
            return (Call("", fault="only replies stand in <tool_response>"),)
        calls = tuple(call_of(inner, tools) for inner in re.findall(r"(?s)<tool_call>(.*?)</tool_call>", text))
        opened = text.count("<tool_call>") > len(calls)
        return (*calls, Call("", fault="a <tool_call> has no end")) if opened else calls

    def write(self, lines: Sequence[Line]) -> str:
        return "".join(_without(line.text, self.markers) for line in lines)

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        return f"<tool_call>{json.dumps({'name': name, 'arguments': dict(arguments)})}</tool_call>"

    def about(self, tools: Sequence[Tool]) -> str:
        return ""


COMPACT, TAGS, FENCE, JSON, CHAT = Compact(), Tags(), Fence(), JsonLines(), ChatCalls()


def call_of(text: str, tools: Sequence[Tool]) -> Call:
    """The call that an object of JSON, with `name` and `arguments`, stands for."""
    if len(text) > LONGEST:
        return Call("", fault=f"a call of {len(text)} characters is too long")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return Call("", fault="a call is an object of JSON with a name and arguments")
    if not isinstance(said, Mapping) or not isinstance(said.get("name"), str):
        return Call("", fault="a call has a name, a text")
    arguments = said.get("arguments", {})
    if not isinstance(arguments, Mapping):
        return Call(said["name"], fault="the arguments of a call are an object of JSON")
    return checked(Call(said["name"], dict(arguments)), tools)


def one_field(name: str, inputs: str, tools: Sequence[Tool]) -> Call:
    """The call whose whole input is the first field of its tool."""
    if len(inputs) > LONGEST:
        return Call(name, fault=f"a call of {len(inputs)} characters is too long")
    tool = next((tool for tool in tools if tool.name == name), None)
    return checked(Call(name, dict.fromkeys(tool.fields[:1], inputs) if tool else {}), tools)


def checked(call: Call, tools: Sequence[Tool]) -> Call:
    """The call, with a fault if no tool has its name, or if its arguments do not fit the schema of the tool."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    if tool is None:
        names = [tool.name for tool in tools]
        return Call(call.name, call.arguments, f"there is no tool {call.name!r:.40}{_nearest(call.name, names)}")
    for name in tool.schema.get("required", ()):
        if name not in call.arguments:
            return Call(call.name, call.arguments, f"{tool.name} needs {name}")
    for name, value in call.arguments.items():
        if (wrong := _misfit(name, value, tool)) is not None:
            return Call(call.name, call.arguments, wrong)
    return call


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _misfit(name: str, value: Any, tool: Tool) -> str | None:
    """Why an argument does not fit the tool's schema; None if it does."""
    field = tool.schema.get("properties", {}).get(name)
    if field is None:
        return f"{tool.name} has no field {name!r:.40}{_nearest(name, tool.fields)}"
    kinds = field.get("type", ())
    wanted = tuple(kind for each in ([kinds] if isinstance(kinds, str) else kinds) for kind in _TYPES.get(each, ()))
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted)):
        return f"{name} of {tool.name} is {kinds if isinstance(kinds, str) else ' or '.join(kinds)}"
    if "enum" in field and value not in field["enum"]:
        return f"{name} of {tool.name} is one of {', '.join(map(str, field['enum']))}"
    return None


def _nearest(name: str, names: Sequence[str]) -> str:
    return f"; did you mean {meant}?" if (meant := near(name, names)) else ""


def _tagged(name: str, inner: str, tools: Sequence[Tool]) -> Call:
    """The call in a tag: JSON for a tool of several fields, else the text itself."""
    tool = next(tool for tool in tools if tool.name == name)
    if len(tool.fields) < 2:
        return one_field(name, inner.strip(), tools)
    return call_of(f'{{"name": {json.dumps(name)}, "arguments": {inner}}}', tools)


def _only(arguments: Mapping[str, Any]) -> str:
    """The one argument of a call, as text; "" if there is none."""
    return str(next(iter(arguments.values()), ""))


def _without(text: str, markers: Sequence[str]) -> str:
    """The text with a space in each marker, so that no page can imitate the end of a reply."""
    for marker in markers:
        text = text.replace(marker, f"{marker[0]} {marker[1:]}")
    return text


def _listed(tools: Sequence[Tool]) -> str:
    return "\n".join(f"- {tool.name}({', '.join(tool.fields)}): {tool.about}".rstrip(": ") for tool in tools)
