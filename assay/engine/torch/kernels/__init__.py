"""The passes over memory between the products of a network, each as one function: in torch, and fused in Triton."""
