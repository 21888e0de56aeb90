"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("expand:ask-verdicts", "expand:show-verdicts")
CHOOSES = {"heimdall": "groups"}
OF_ITS_OWN = {"reward:verdict-agrees": "the verdict of the task, beside the judge's own text"}
FREE = {"verifier": "of the recipe's role table"}

TEXTS = {
    "AskVerdicts.role": "a model, a role or a store of the recipe",
    "AskVerdicts.verifier": "a model, a role or a store of the recipe",
    "ShowVerdicts.role": "a model, a role or a store of the recipe",
    "ShowVerdicts.verifier": "a model, a role or a store of the recipe",
}
