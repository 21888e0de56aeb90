"""The coefficients are worked out in a test beside this."""

TESTED = {
    "iter-dpo": "test_rounds_of_dpo_add_the_likelihood_of_the_winner",
}
