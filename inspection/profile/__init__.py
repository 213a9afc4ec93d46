"""`wf.profile`. In: a program. Out: the time of a run, of each kernel, phase and thread."""
