"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"expand:sketch-drafts": ("ask:drafts",)}
IDLE = {"expand:close-sketches": {}}
BUSY = ("ask:drafts", "expand:sketch-drafts")
HELPED = {"ask:drafts": False}
FREE = {"closers": "tactics of Coq, of the list that proofs may have"}
TEXTS = {"CloseSketches.closers": "tactics of Coq, of the list that proofs may have"}
CHOOSES = {"dsp-plus": "groups", "dsp-plus-undrafted": "groups"}  # nothing trains
