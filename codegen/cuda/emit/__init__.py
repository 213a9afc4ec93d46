"""Loops to CUDA C."""
