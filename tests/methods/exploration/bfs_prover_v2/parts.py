"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"ask:first-tactics": {"width": 2}}
ALONG = {"expand:best-first": ("ask:first-tactics",)}
IDLE = {"expand:best-first": {"expansions": 1}, "curate:tactic-band": {}, "remember:keep-proofs": {}}
BUSY = {"ask:first-tactics", "ask:rehearse-proofs"}
FEWER = {"ask:rehearse-proofs": "learns from what is held, and nothing is drawn"}
KEEPS = {"remember:keep-proofs": "proofs"}
TEXTS = {"RehearseProofs.name": "a model, a role or a store of the recipe"}
LATER = {"curate:tactic-band": "marks proofs that an earlier stage has found"}
