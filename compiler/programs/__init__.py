"""Programs on disk, interpreted, and checked for NaNs."""
