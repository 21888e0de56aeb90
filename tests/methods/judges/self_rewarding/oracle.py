"""The coefficients are worked out in a test beside this."""

TESTED = {
    "self-rewarding": "test_answers_train_and_judgements_do_not",
}
