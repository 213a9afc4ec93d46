"""Measured times. In: programs, machines. Out: seconds of kernels, limits of machines, traces."""
