"""Fourier transforms: `wf.fft`. In: Nodes. Out: Nodes."""
