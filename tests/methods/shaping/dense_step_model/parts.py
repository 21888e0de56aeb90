"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ELSEWHERE = {"reward:min-form": "another reward's steps"}

TEXTS = {
    "MinForm.name": "a reward, a score, a tag or a metric of the run's records",
    "StepLeaveOneOut.marks": "text that is compared with an answer, or shown to a model",
}
