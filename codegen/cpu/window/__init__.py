"""Convolutions, their gradients and pools on CPUs."""
