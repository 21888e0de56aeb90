"""Prompts as values. A prompt is a question with places around it: a system text, other words, hints, forms, notes and
a template.

Each part writes at its place and leaves the others as they are. So nothing that a part wrote is lost, and parts that
write at different places may stand in any order. `Prompt.told` is the text, or the messages, that a codec renders at
last.

    Prompt("3+4=?").with_hint("3+3=6").told  # 3+4=? [3+3=6]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from assay.types import Problem

Content = str | Sequence[Mapping[str, Any]]
"""The content of a message: a text, or parts as Hugging Face's chat messages have them, texts and pictures."""
Question = str | tuple[Mapping[str, Any], ...]
"""The question of a problem: a text, or messages for a chat template, of which the last one asks."""


def parts_of(content: Content) -> Sequence[Mapping[str, Any]]:
    """The parts of a message; a text is one part."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(content: Content) -> str:
    """The text of a message, without its pictures."""
    return "\n".join(str(part["text"]) for part in parts_of(content) if part["type"] == "text")


def retold(content: Content, change: Callable[[str], str]) -> Content:
    """The message with its text changed. Pictures stay, before the text."""
    if isinstance(content, str):
        return change(content)
    pictures = [part for part in content if part["type"] != "text"]
    return [*pictures, {"type": "text", "text": change(text_of(content))}]


def text_asked(question: Question) -> str:
    """The text of a question: the question itself, or its last message without the pictures."""
    return question if isinstance(question, str) else text_of(question[-1].get("content") or "")


class Form(NamedTuple):
    """A text around a question, which stands in it at `{question}`. Other texts that it shows stand at names of their
    own.
    """

    text: str
    shows: tuple[tuple[str, str], ...] = ()  # (name, text)
    instead: bool = False  # it asks for something else than an answer to the question

    def around(self, question: str) -> str:
        return self.text.format(question=question, **dict(self.shows))


@dataclass(frozen=True)
class Prompt:
    """A question with the texts around it, in the order of the fields: hints behind the question, each form around all
    before it, then notes and the template. Notes and the template say how to answer, so they are left out where a form
    asks for something else than an answer.
    """

    question: Question
    wording: Literal["compact", "natural"] = "compact"
    system: str = ""  # stands before the conversation, in place of the system message of the run
    words: str = ""  # the question in other words, in place of its own text
    hints: tuple[str, ...] = ()
    forms: tuple[Form, ...] = ()  # the innermost first
    notes: tuple[tuple[str, str], ...] = ()  # (what it is about, text): how long or how good the answer should be
    template: str = ""  # the format of the answer
    begun: tuple[int, ...] = ()  # tokens with which the answer begins, behind all else
    room: int = 0  # tokens of texts that are not written yet: for plans, which ask how long a prompt may become

    @classmethod
    def of(cls, problem: Problem) -> Prompt:
        """The problem's own question, bare."""
        return cls(problem.prompt, problem.wording)

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Prompt:
        """The prompt with these fields, as JSON has them."""
        plain = {name: _tuples(value) for name, value in data.items() if name not in ("question", "forms")}
        asked = data["question"]
        question = asked if isinstance(asked, str) else tuple(dict(message) for message in asked)
        return cls(question, forms=tuple(Form(*_tuples(form)) for form in data["forms"]), **plain)

    @property
    def hinted(self) -> bool:
        """Whether it shows more than the problem asks, or asks it in words that may be easier."""
        return bool(self.hints or self.begun or self.words) or any(form.shows for form in self.forms)

    @property
    def told(self) -> Question:
        """The text or the messages, as a codec renders them. The tokens that begin the answer come behind these."""
        told = with_text(self.question, self._around)
        if not self.system:
            return told
        conversation = ({"role": "user", "content": told},) if isinstance(told, str) else told
        return ({"role": "system", "content": self.system}, *conversation)

    def _around(self, question: str) -> str:
        text = (self.words or question) + "".join(self.hints)
        for form in self.forms:
            text = form.around(text)
        if any(form.instead for form in self.forms):
            return text
        text += "".join(note for _, note in self.notes)
        return f"{text}\n\n{self.template}" if self.template else text

    def with_hint(self, hint: str, *, title: str = "Hint: ") -> Prompt:
        """The prompt with the hint behind the question and the hints before; unchanged if the hint is empty."""
        return dataclasses.replace(self, hints=(*self.hints, self._behind(hint, title))) if hint else self

    def with_note(self, about: str, text: str) -> Prompt:
        """The prompt with this note, in place of one about the same."""
        others = tuple(note for note in self.notes if note[0] != about)
        return dataclasses.replace(self, notes=(*others, (about, self._behind(text, ""))))

    def within(self, form: Mapping[Any, str], *, instead: bool = False, **shows: str) -> Prompt:
        """The prompt within the form of its wording, which shows these texts beside it."""
        return dataclasses.replace(self, forms=(*self.forms, Form(form[self.wording], tuple(shows.items()), instead)))

    def with_template(self, template: str) -> Prompt:
        """The prompt with this format of the answer at its end."""
        return dataclasses.replace(self, template=template)

    def about(self, problem: Problem) -> Prompt:
        """The prompt with the question of another problem."""
        return dataclasses.replace(self, question=problem.prompt, wording=problem.wording)

    def in_words(self, words: str) -> Prompt:
        """The prompt with its question in these words."""
        return dataclasses.replace(self, words=words)

    def for_an_answer(self) -> Prompt:
        """The prompt without the forms that ask for something else than an answer."""
        return dataclasses.replace(self, forms=tuple(form for form in self.forms if not form.instead))

    def longer(self, tokens: int) -> Prompt:
        """The prompt with room for a text of so many tokens that is not written yet."""
        return dataclasses.replace(self, room=self.room + tokens)

    def _behind(self, text: str, title: str) -> str:
        return f" [{text}]" if self.wording == "compact" else f"\n\n{title}{text}"


def with_text(question: Question, change: Callable[[str], str]) -> Question:
    """The question with its text changed; in a conversation, that of its last message."""
    if isinstance(question, str):
        return change(question)
    *before, last = question
    return (*before, {**last, "content": retold(last["content"], change)})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
