"""Tensors, functions, gradients and jit, as users call them. This folder computes nothing and knows
no code generator.
"""
