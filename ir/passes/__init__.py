"""Passes: Graph to Graph."""
