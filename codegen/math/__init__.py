"""Transcendental functions in basic ops."""
