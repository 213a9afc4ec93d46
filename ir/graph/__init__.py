"""Graphs: dtypes, ops, Nodes, indices and views; the interpreter that says what they mean."""
