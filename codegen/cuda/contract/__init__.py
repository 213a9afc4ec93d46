"""Contractions on CUDA: tiles of results in registers, factors in shared memory. In: Problems. Out:
Loops."""
