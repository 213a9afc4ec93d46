"""What things are called. In: Nodes, Structures, Modules. Out: short names of operations, programs and inputs."""
