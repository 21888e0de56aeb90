"""The coefficients are worked out in a test beside this."""

TESTED = {
    "meta-rewarding": "test_judgements_train_in_two_rounds_and_answers_in_all",
}
