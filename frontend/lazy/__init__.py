"""Lazy evaluation: from pending graphs to values in memory."""
