"""The meaning of each op: records of the elementwise ops, and the interpreter."""
