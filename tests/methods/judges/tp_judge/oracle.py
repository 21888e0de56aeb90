"""The pairs and what is imitated are worked out in a test beside this."""

TESTED = {
    "tp-judge": "test_which_answers_are_imitated_and_which_are_paired",
    "tp-judge-outcome": "test_which_answers_are_imitated_and_which_are_paired",
}
