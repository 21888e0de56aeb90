"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OPEN = ("serl",)

SMALL = {"expand:answer-unlike": {"answers": 2}}

ALONG = {"expand:answer-unlike": ("source:pose",)}

BUSY = ("expand:answer-unlike",)
CHOOSES = {"serl": "groups"}
