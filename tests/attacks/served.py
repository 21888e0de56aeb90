"""A sandbox served to another process, whose user is another one: `python served.py LEVEL FOLDER COUNT`.

FOLDER holds the package; COUNT slots are used. Reads pickled lists of runs, or a word that asks for the probe; writes
what came of them.
"""

from __future__ import annotations

import pickle
import sys
from typing import cast


def main(level: str, folder: str, count: str) -> None:
    sys.path.insert(0, folder)
    from assay.sandbox import Sandbox, probe
    from assay.sandbox.limits import Level

    one = cast(Level, level)
    with Sandbox(one, count=int(count)) as sandbox:
        while True:
            try:
                asked = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            answer = probe(one) if asked == "probe" else sandbox.map(asked)
            pickle.dump(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
