"""Functions made of functions: batches, Jacobians, derivatives of one's own, recomputation."""
