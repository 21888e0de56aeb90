"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("curate:own-verdicts",)
FEWER = {"curate:own-verdicts": "answers of all groups are asked about, also of those that were left out"}
CHOOSES = {"rl-v": "rows"}

TEXTS = {
    "OwnVerdicts.role": "a model, a role or a store of the recipe",
    "VoteByVerdicts.role": "a model, a role or a store of the recipe",
}
