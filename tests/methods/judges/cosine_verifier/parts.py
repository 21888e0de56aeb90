"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("expand:ask-verifier",)
OWN_JUDGE = ("cosine-verified",)
OF_ITS_OWN = {"reward:verified-by": "a verdict, which is an answer to a task"}
WITHOUT_VERDICT = {"reward:verified-by": "what the verifier says, and not whether it is right"}
FEWER = {"expand:ask-verifier": "verdicts are drawn in groups too"}

TEXTS = {
    "AskVerifier.role": "a model, a role or a store of the recipe",
    "AskVerifier.of": "a model, a role or a store of the recipe",
    "VerifiedBy.role": "a model, a role or a store of the recipe",
}
