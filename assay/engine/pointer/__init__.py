"""The engine of policies that build routes: the network of `assay.policy.pointer`, and torch's autograd."""
