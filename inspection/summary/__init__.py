"""`wf.summary`. In: a Module. Out: its tree of layers."""
