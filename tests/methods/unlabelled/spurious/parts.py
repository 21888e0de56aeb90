"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OPEN = ("spurious-random", "spurious-format", "spurious-majority")

BUSY = ("curate:wrong-labels",)
FEWER = {"curate:wrong-labels": "a group that elects a right answer does not train"}
CHOOSES = {"spurious-incorrect": "groups"}
