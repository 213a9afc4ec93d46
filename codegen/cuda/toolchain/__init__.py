"""CUDA C to machine code: NVRTC, nvcc, and what they say."""
