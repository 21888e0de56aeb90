"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("curate:all-verified",)

OPEN = ("tp-judge",)
WITHOUT_VERDICT = {"reward:proved-steps": "what the prover says of statements"}
FEWER = {"curate:all-verified": "groups of whose answers one is not verified do not train"}
