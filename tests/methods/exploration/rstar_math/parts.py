"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {
    "curate:best-trajectories": ("ask:first-steps", "expand:step-search"),
    "remember:keep-preferences": ("ask:first-steps", "expand:step-search"),
}

IDLE = {"curate:best-trajectories": {}, "remember:keep-preferences": {}}
KEEPS = {"remember:keep-preferences": "preferences"}

TEXTS = {"PreferSteps.model": "a model, a role or a store of the recipe"}
