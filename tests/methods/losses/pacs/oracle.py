"""The coefficients are worked out in a test beside this."""

TESTED = {
    "pacs": "test_pacs",
}
