"""From a prompt to the tokens of a request, and how long a prompt may become."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from assay.prompt import Prompt
from assay.types import Ids, Request

if TYPE_CHECKING:
    from assay.ask import Codec


def rendered(prompt: Prompt, codec: Codec) -> Ids:
    """The prompt as the model reads it."""
    ids = codec.render(prompt.told)
    return np.concatenate([ids, np.array(prompt.begun)]).astype(np.int32) if prompt.begun else ids


def reworded(request: Request, prompt: Prompt, codec: Codec) -> Request:
    """The request with this prompt. A part writes into the request's own: `request.prompt.with_hint("3+3=6")`."""
    return dataclasses.replace(request, worded=prompt, context=rendered(prompt, codec))


def length_of(prompt: Prompt, codec: Codec) -> int:
    """The tokens of a prompt, those of texts that are not written yet included."""
    return len(rendered(prompt, codec)) + prompt.room
