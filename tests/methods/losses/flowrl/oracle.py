"""The coefficients are worked out in a test beside this."""

TESTED = {
    "flowrl": "test_flowrl",
}
