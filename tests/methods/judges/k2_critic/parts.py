"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {"k2-critic": {"phases": ("policy by policy gradient and critic",)}}  # from some tasks

WITHOUT_VERDICT = {"reward:grounded": "the verdict on a judgement"}
JUDGED = {"reward:preferred-by": ("answers", "judge", "2")}

OPEN_FILE = {"k2-critic": 64}

TEXTS = {"PreferredBy.role": "a model, a role or a store of the recipe"}
