"""Functions of matrices over LAPACK: `wf.linalg`. In: Nodes. Out: Nodes."""
