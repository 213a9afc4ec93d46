"""`wf.explain` and `wf.one_kernel`. In: a compiled program. Out: its kernels, their costs, and why
they stay apart.
"""
