"""A stand-in for libcuda, and PyCUDA built for it."""
