"""Switches for a block or the rest of the process."""
