"""The driver that calls a candidate's function inside the sandbox. It knows what goes in, and not what should come out.

Its standard input is one JSON object (`job`): the candidate's source, the name of the function, and packed arguments. A
function that the program does not have is looked for as a method of its class `Solution`. For each call it writes one
line of JSON to descriptor 3. The candidate prints to standard output, which nobody reads. `text()` puts `plain.py`
before the driver, to define the names that it uses inside.
"""

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.verifiers.programs import plain
from assay.verifiers.programs.plain import LONGEST, NotPlain, pack, unpack


def text() -> str:
    """The program that runs inside."""
    return Path(plain.__file__).read_text() + "\n" + inspect.getsource(drive) + "\ndrive()\n"


def job(source: str, entry: str, calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> bytes:
    """The driver's standard input: the source, the function, the arguments of each call, by place and by keyword."""
    packed = [pack([list(given), dict(named)]) for given, named in calls]
    text = source.encode("utf-8", errors="replace").decode()
    return json.dumps({"source": text, "entry": entry, "calls": packed}).encode()


def drive():
    import io
    import json
    import os
    import sys
    import types

    job = json.loads(sys.stdin.buffer.read())
    sys.stdin = io.StringIO()

    def tell(**frame):
        line = json.dumps(frame).encode()
        if len(line) > LONGEST:
            line = json.dumps({"odd": "too large"}).encode()
        os.write(3, line + b"\n")

    def told(error):
        kind = type(error).__name__
        try:
            return f"{kind}: {error}"[:200]
        except BaseException:
            return kind

    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    try:
        code = compile(job["source"].encode(), "solution.py", "exec", dont_inherit=True)
    except BaseException as error:
        tell(stage="compile", error=told(error))
        return
    try:
        exec(code, module.__dict__)
        holder, _, name = job["entry"].rpartition(".")
        if not holder and name not in module.__dict__ and "Solution" in module.__dict__:
            holder = "Solution"
        if holder:
            function = lambda *given, **named: getattr(getattr(module, holder)(), name)(*given, **named)  # noqa: E731
        else:
            function = getattr(module, name)
    except BaseException as error:
        tell(stage="load", error=told(error), memory=type(error) is MemoryError)
        return
    for arguments in job["calls"]:
        try:
            given, named = unpack(arguments)
            packed = pack(function(*given, **named))
        except NotPlain as error:
            tell(odd=str(error))
            break
        except BaseException as error:
            tell(stage="call", error=told(error), memory=type(error) is MemoryError)
            break
        tell(value=packed)
