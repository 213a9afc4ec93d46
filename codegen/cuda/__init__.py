"""Loops for CUDA: schedules, CUDA C text and its compilers. In: Kernels. Out: images that a driver
loads."""
