"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {"k2-critic": {"phases": ("policy by policy gradient and critic",)}}  # from some tasks

OPEN_FILE = {"k2-critic": 64}
