"""Elementwise functions of Nodes, by theme."""
