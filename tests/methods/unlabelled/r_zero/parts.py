"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OPEN = ("r-zero", "sqlm")

ALONG = {"expand:answer-posed": ("source:pose",)}

BUSY = ("expand:answer-posed",)
CHOOSES = {"r-zero": "groups"}
OF_ITS_OWN = {"reward:split": "answers to a posed problem"}
