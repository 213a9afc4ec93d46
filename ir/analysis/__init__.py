"""Facts about Graphs: ranges of values, finiteness, suspects of a NaN."""
