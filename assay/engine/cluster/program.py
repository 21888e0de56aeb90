"""The program of the process that speaks with Ray. Ray looks for its token mode when it is imported, so the mode is
set here before anything that imports Ray is.
"""

from __future__ import annotations

import os

from assay.engine.cluster.guarded import MODE


def serve(channel: int, words: int, parent: int) -> None:
    """The main function of the process that speaks with Ray: `assay.engine.cluster.broker`, in token mode."""
    asked = os.environ.get(MODE, "")
    os.environ[MODE] = "token"
    from assay.engine.cluster.broker import serve

    serve(channel, words, parent, asked)
