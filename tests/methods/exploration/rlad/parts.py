"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("rlad",)

FORMERLY = ("unpaid",)

GROWS = {"ask:write-then-solve": [({}, " !")], "ask:teach-abstractions": [({}, " ?")]}

SMALL = {"ask:abstract": {"num": 2, "bare": 2}}

ALONG = {
    "expand:solve-with": ("ask:abstract",),
    "curate:helpful": ("ask:abstract", "expand:solve-with"),
    "remember:hold-tagged": ("ask:abstract", "expand:solve-with", "curate:helpful"),
    "curate:without-advantage": ("ask:abstract", "expand:solve-with"),
}

IDLE = {"curate:helpful": {}, "curate:without-advantage": {}}

BUSY = (
    "ask:abstract",
    "ask:distilled",
    "ask:teach-abstractions",
    "ask:write-then-solve",
    "expand:solve-with",
)
FEWER = {
    "curate:helpful": "abstractions are drawn in groups, of which those train that helped",
    "remember:hold-tagged": "stands with helpful",
}
HELPED = {"ask:write-then-solve": False, "ask:abstract": False, "ask:teach-abstractions": False}
OF_ITS_OWN = {"reward:usefulness": "rewards of answers; those without one are left out"}

TEXTS = {
    "Helpful.role": "a model, a role or a store of the recipe",
    "WithoutAdvantage.tag": "a reward, a score, a tag or a metric of the run's records",
}
