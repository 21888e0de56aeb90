"""The engine for other architectures: it runs the network of the library `transformers` behind the same interface."""
