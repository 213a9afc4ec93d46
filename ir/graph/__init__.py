"""Graphs: dtypes, ops, Nodes, indices and views."""
