"""Names for readers. In: Nodes, Structures, Modules. Out: names of operations, programs, inputs."""
