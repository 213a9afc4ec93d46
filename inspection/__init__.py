"""Looking inside: what a program does, why, and how fast. In: Tensors, functions, programs. Out: reports, files."""
