"""A device for tests: runs generated CUDA C on the CPU, one fiber per thread, and finds what a GPU
would let pass.

Generated CUDA C holds no assembly: what C++ cannot say is a function of codegen/cuda/weft.cuh, with
a body in PTX and one in plain C++. So g++ compiles the same text, and the emulator runs one block
at a time, each thread on a fiber until it waits for others. Threads, warps and blocks run in
forward, reverse or random order. Memory lies between protected pages, shared memory is NaN before
each block, and an asynchronous copy arrives when it is waited for and poisons its target until
then. A missing barrier, a wrong address, a barrier that not all threads reach or a wait for too few
copies is then an error or a wrong result, reported with block and thread.

`python -m cuda_emulator.races -m pytest test.py`, with `tests` on the Python path, runs tests under
ThreadSanitizer, which finds races in any order, also between blocks: it sees barriers, not
shuffles. accesses.py counts the sectors and wavefronts of each line of a kernel. The emulator knows
no timing and no weak memory, and rounds sums of `mma` after each product, unlike a GPU.
"""
