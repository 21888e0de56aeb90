"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {
    "expand:step-search": ("ask:first-steps",),
    "curate:best-trajectories": ("ask:first-steps", "expand:step-search"),
    "remember:keep-preferences": ("ask:first-steps", "expand:step-search"),
}

IDLE = {"expand:step-search": {}, "curate:best-trajectories": {}, "remember:keep-preferences": {}}
