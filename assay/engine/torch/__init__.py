"""The engine in torch: our own network with a backward pass written by hand, on any torch device."""
