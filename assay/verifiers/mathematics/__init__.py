"""The mathematics verifier: reads answers by a grammar into typed values, and compares the values."""
