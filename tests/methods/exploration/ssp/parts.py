"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"expand:solve-valid": ("source:pose-drawn",)}

BUSY = ("expand:solve-valid", "remember:keep-valid")
OF_ITS_OWN = {"reward:adversarial": "verdicts of readers and of answers to a posed problem"}
WITHOUT_VERDICT = {
    "expand:solve-valid": "verdicts on answers to problems that the policy posed",
    "reward:adversarial": "verdicts on answers to problems that the policy posed",
}
KEEPS = {"remember:keep-valid": "valid"}
