"""Programs: the order of kernels, buffers in one arena, donation."""
