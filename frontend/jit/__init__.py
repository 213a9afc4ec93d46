"""Jitted functions: traced once, run natively."""
