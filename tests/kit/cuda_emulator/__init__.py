"""A device for tests: runs generated CUDA C on the CPU, one fiber a thread, and finds what a GPU would let pass."""
