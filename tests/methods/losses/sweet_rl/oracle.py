"""The coefficients are worked out in a test beside this."""

TESTED = {
    "sweet-rl": "test_the_policy_learns_from_pairs_of_actions_as_dpo_does",
}
