"""A question and the beginning of a response, up to the mark behind which a final answer stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.types import Ids, Request
from assay.verifiers.answers import Wording

if TYPE_CHECKING:
    from assay.ask import Codec

CUES: dict[Wording, str] = {"compact": "#", "natural": "\nAnswer: \\boxed{"}


def cued(request: Request, text: str, codec: Codec, *, wanting: bool = True) -> Ids:
    """The context of a request and a beginning of its response. `wanting`: the mark of the answer is put behind it.

    cued(request, "3+4=7", codec)  # the tokens of the question and of "3+4=7#"
    """
    cue = CUES[request.problem.wording] if wanting else ""
    return np.concatenate([request.context, codec.encode(text + cue)]).astype(np.int32)
