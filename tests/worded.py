"""Requests whose prompts hold hints, and by how much parts lengthen prompts."""

from __future__ import annotations

import dataclasses

from assay.ask import Codec
from assay.ask.prompts import length_of
from assay.part import Part
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.run.context_fit import longest_asked
from assay.types import Problem, Request

__all__ = ["added", "grown", "helped", "holds", "keeps"]


def grown(part: Part, problem: Problem, codec: Codec, max_new: int) -> int:
    """By how many tokens the part makes the prompt of this problem longer, at most."""
    bare = Prompt.of(problem)
    longest = max(length_of(prompt, codec) for prompt in part.prompts(bare, problem, codec, max_new))
    return longest - length_of(bare, codec)


def added(recipe: Recipe, problem: Problem, codec: Codec) -> int:
    """The largest number of tokens that the recipe may add to the prompt of this problem."""
    return longest_asked(recipe, problem, codec) - length_of(Prompt.of(problem), codec)


def helped(request: Request) -> Request:
    """The request as one whose prompt holds a hint, with the context that it has."""
    return dataclasses.replace(request, worded=request.prompt.with_hint("?"))


def keeps(prompt: Prompt, before: Prompt) -> bool:
    """Whether the prompt has all that the earlier one had, but for forms that ask for something else than an answer,
    and notes of which it has another about the same.
    """
    return (
        prompt.hints[: len(before.hints)] == before.hints
        and {form for form in before.forms if not form.instead} <= set(prompt.forms)
        and {about for about, _ in before.notes} <= {about for about, _ in prompt.notes}
        and (not before.template or prompt.template == before.template)
        and (not before.begun or prompt.begun == before.begun)
    )


def holds(prompt: Prompt) -> bool:
    """Whether its texts stand in what is told: notes and the template where it asks for an answer."""
    told, answers = str(prompt.told), not any(form.instead for form in prompt.forms)
    shown = [text for form in prompt.forms for _, text in form.shows]
    about = [*(note for _, note in prompt.notes), prompt.template] if answers else []
    return all(text in told for text in (*prompt.hints, *shown, *about))
