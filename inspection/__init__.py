"""Tools that show a program and its speed. In: Tensors, functions, Modules. Out: reports, files."""
