"""Prompts as values: what stands where, that nothing is lost, and that places do not depend on who wrote first."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters

from assay.ask.prompts import length_of, rendered, reworded
from assay.prompt import Form, Prompt
from assay.types import Problem, Request

ASK = {"compact": "{question} [{answer}] ?", "natural": "Judge {answer}.\n\n{question}"}
TALK = ({"role": "system", "content": "s"}, {"role": "user", "content": "q"})


def test_places_of_a_compact_prompt_by_hand() -> None:
    bare = Prompt("3+4=?")
    assert bare.told == "3+4=?" and not bare.hinted
    assert bare.with_hint("3+3=6").with_hint("7").told == "3+4=? [3+3=6] [7]"
    assert bare.with_note("length", "<9").with_hint("7").told == "3+4=? [7] [<9]", "a note comes behind a hint"
    assert bare.within(ASK, answer="8").with_hint("7").told == "3+4=? [7] [8] ?", "a form goes around the hint"
    assert bare.with_note("length", "<9").with_note("label", "BAD").with_note("length", "<8").told == "3+4=? [BAD] [<8]"
    assert bare.in_words("4+3=?").with_hint("7").told == "4+3=? [7]"
    assert bare.with_hint("") is bare


def test_places_of_a_natural_prompt_by_hand() -> None:
    bare = Prompt("What is 3+4?", "natural", system="Be brief.")
    asked = bare.with_template("In a box.").with_note("length", "Nine words.")
    assert asked.with_hint("Count.").within(ASK, answer="8").told == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Judge 8.\n\nWhat is 3+4?\n\nHint: Count.\n\nNine words.\n\nIn a box."},
    )
    instead = asked.within(ASK, instead=True, answer="8")
    assert instead.told[1] == {"role": "user", "content": "Judge 8.\n\nWhat is 3+4?"}, "it asks for no answer"
    assert instead.for_an_answer() == asked


def test_the_last_message_is_written_on_and_pictures_stay() -> None:
    assert Prompt(TALK, "natural").with_hint("h").told == (TALK[0], {"role": "user", "content": "q\n\nHint: h"})
    seen = [{"type": "image", "path": "a.png"}, {"type": "text", "text": "{red}?"}]
    prompt = Prompt(({"role": "user", "content": seen},)).within(ASK, answer="{2}")
    assert prompt.told[0] == {
        "role": "user",
        "content": [{"type": "image", "path": "a.png"}, {"type": "text", "text": "{red}? [{2}] ?"}],
    }


def test_what_helps_is_said_by_the_prompt_itself() -> None:
    bare = Prompt("q")
    assert all(p.hinted for p in (bare.with_hint("h"), bare.in_words("w"), bare.within(ASK, answer="")))
    assert dataclasses.replace(bare, begun=(3,)).hinted
    plain = bare.with_note("a", "b"), bare.with_template("t"), bare.within({"compact": "{question}!"})
    assert not any(p.hinted for p in plain)
    problem = Problem("tiny", "a", {}, "a")
    request = Request(problem, Letters().render("a"), "0:0", 4)
    assert request.prompt == Prompt.of(problem) and not request.hinted
    other = reworded(request, request.prompt.with_hint("b"), Letters())
    assert other.hinted and other.helped and other.context.tolist() == Letters().render("a [b]").tolist()


def test_the_beginning_of_an_answer_comes_behind_all_else_and_room_is_never_rendered() -> None:
    begun = dataclasses.replace(Prompt("a"), begun=(2, 3)).with_note("n", "b").longer(5)
    ids = rendered(begun, Letters())
    assert ids.dtype == np.int32 and ids.tolist() == [*Letters().render("a [b]").tolist(), 2, 3]
    assert length_of(begun, Letters()) == len(ids) + 5


TEXTS = st.text(max_size=4)
WRITES: dict[str, Callable[[Prompt, str], Prompt]] = {
    "hint": lambda prompt, text: prompt.with_hint(text),
    "form": lambda prompt, text: prompt.within(ASK, answer=text),
    "instead": lambda prompt, text: prompt.within(ASK, instead=True, answer=text),
    "length": lambda prompt, text: prompt.with_note("length", text),
    "label": lambda prompt, text: prompt.with_note("label", text),
    "template": lambda prompt, text: prompt.with_template(text),
    "words": lambda prompt, text: prompt.in_words(text),
    "system": lambda prompt, text: dataclasses.replace(prompt, system=text),
}


@given(st.dictionaries(st.sampled_from(sorted(WRITES)), TEXTS, max_size=4), TEXTS)
def test_the_order_of_writing_is_no_matter_but_among_forms_and_notes(writes: dict[str, str], question: str) -> None:
    def written(order: tuple[str, ...]) -> tuple[object, ...]:
        prompt = functools.reduce(lambda made, name: WRITES[name](made, writes[name]), order, Prompt(question))
        return dataclasses.replace(prompt, forms=(), notes=()), set(prompt.forms), set(prompt.notes), prompt.hinted

    first, *others = [written(order) for order in itertools.permutations(writes)]
    assert all(other == first for other in others)


@given(st.lists(st.tuples(st.sampled_from(sorted(WRITES)), TEXTS), max_size=6), TEXTS | st.just(TALK))
def test_json_gives_the_prompt_back(writes: list[tuple[str, str]], question: str) -> None:
    prompt = functools.reduce(lambda made, one: WRITES[one[0]](made, one[1]), writes, Prompt(question))
    data = {field.name: getattr(prompt, field.name) for field in dataclasses.fields(prompt)}
    again = Prompt.of_data(json.loads(json.dumps(data)))
    assert again == prompt and again.told == prompt.told and all(type(form) is Form for form in again.forms)
