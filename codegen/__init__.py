"""Kernels to loops, and loops to machine code."""
