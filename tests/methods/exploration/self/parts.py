"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"expand:after-failure": {}}

BUSY = ("ask:greedy-probe",)
SMALLER = {"self": "the greedy answer is a group of its own"}
