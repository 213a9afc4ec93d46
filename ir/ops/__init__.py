"""What each op means: records of the elementwise ops, and the interpreter."""
