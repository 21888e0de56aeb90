"""Programs in Python, verified by what they print or return in the sandbox.

from assay.verifiers.programs import Call, Calls, verify
verify([("def f(x): return x + 1", Calls((Call("f", (1,), 2),)))], assay.sandbox.opened())
"""

from assay.verifiers.programs.asserts import UnreadableTest, calls_of
from assay.verifiers.programs.forms import read_tests
from assay.verifiers.programs.reading import program_in
from assay.verifiers.programs.specs import Call, Calls, Streams, Tests
from assay.verifiers.programs.tested import Outcome, outcomes_of, verify

__all__ = [
    "Call",
    "Calls",
    "Outcome",
    "Streams",
    "Tests",
    "UnreadableTest",
    "calls_of",
    "outcomes_of",
    "program_in",
    "read_tests",
    "verify",
]
