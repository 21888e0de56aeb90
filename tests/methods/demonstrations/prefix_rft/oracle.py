"""The coefficients are worked out in a test beside this."""

TESTED = {
    "prefix-rft": "test_prefix_rft_trains_the_forks_of_what_is_given",
}
