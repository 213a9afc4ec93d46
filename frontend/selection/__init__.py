"""Indexing, sorting, sets."""
