"""Mathematics answers: read by a grammar into typed values, and compared as values."""
