"""Chains of contractions on CPUs: attention."""
