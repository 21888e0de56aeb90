"""The engine for architectures that are not ours: the network of `transformers` itself, behind the same interface."""
