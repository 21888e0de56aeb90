"""Servers: our own and its inside, vLLM's, and what starts and ends either of them, on this machine or on a node."""
