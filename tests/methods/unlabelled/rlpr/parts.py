"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

PAPERS = {"without verifiers": ["rlpr"], "verifiers domains": ["rlpr"]}

ELSEWHERE = {"reward:reference-probability": "a model"}

IDLE = {"curate:varied": {"beta": 0.0}, "remember:keep-deviation": {}}
GOES_ON = {"reward:reference-probability": "an answer without a reference has no such reward"}
KEEPS = {"remember:keep-deviation": "deviation"}
