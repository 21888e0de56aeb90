"""Kernels of the torch engine in Triton, for GPUs."""
