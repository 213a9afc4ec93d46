"""Kernels by the time they lose, and what other schedules would have taken."""
