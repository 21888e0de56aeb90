"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("curate:own-verdicts",)
FEWER = {"curate:own-verdicts": "answers of all groups are asked about, also of those that were left out"}
CHOOSES = {"rl-v": "rows"}
