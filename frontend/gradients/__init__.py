"""Derivatives of Tensors and of functions."""
