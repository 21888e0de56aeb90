"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUFFERS = {"deepsearch": 6}  # 4096 of 16384

ALONG = {
    "expand:search": ("ask:first-steps", "curate:backed-up"),
    "curate:backed-up": ("ask:first-steps", "expand:search"),
}

IDLE = {"ask:recall": {}, "remember:hold-solved": {}}

BUSY = ("expand:search", "curate:backed-up")
KEEPS = {"remember:hold-solved": "solved"}
BARE = {"remember:hold-solved": {"most": 1.0}}
SMALLER = {"deepsearch": "an examination asks a number of its own"}
ROUNDS = {"deepsearch": {"group_size": 4, "values": {"ask:first-steps": {"width": 4, "depth": 3}}}}

TEXTS = {
    "HoldSolved.name": "a model, a role or a store of the recipe",
    "Recall.name": "a model, a role or a store of the recipe",
}
