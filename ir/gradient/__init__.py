"""Symbolic derivatives of Graphs."""
