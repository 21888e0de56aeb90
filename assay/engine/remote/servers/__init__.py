"""Servers: our own and its inside, vLLM's, and the code that starts and ends them, on this machine or on a node."""
