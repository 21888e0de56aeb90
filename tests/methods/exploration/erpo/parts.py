"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUFFERS = {"erpo": 5}

IDLE = {"ask:own-temperature": {}, "remember:track-temperature": {}}

BUSY = ("curate:solved-groups",)
KEEPS = {"remember:track-temperature": "temperatures"}
