"""Fusion: units of a Graph, the kernels that they are joined to, and the rules for it."""
