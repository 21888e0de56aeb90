"""The coefficients are worked out in a test beside this."""

TESTED = {
    "hpt": "test_hpt_switches_by_group",
}
