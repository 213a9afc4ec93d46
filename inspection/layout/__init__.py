"""`wf.layout`. In: Tensors. Out: where their elements lie in memory."""
