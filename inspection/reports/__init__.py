"""Reports of a program. In: a Compiled program. Out: a Report, and tables of it for terminals and notebooks."""
