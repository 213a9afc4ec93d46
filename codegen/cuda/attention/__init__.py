"""Chains of contractions on GPUs: attention."""
