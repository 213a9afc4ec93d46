"""Programs that serve many sizes. In: structures that differ in extents. Out: one program."""
