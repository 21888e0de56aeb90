"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {"x1": {"phases": ("policy by imitation", "value", "policy by policy gradient and value")}}
