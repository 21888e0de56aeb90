"""Weights on their way from a learner to servers: sent, received, and believed once the servers compute with them."""
