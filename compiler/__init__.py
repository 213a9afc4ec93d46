"""The compiler: a Graph to a program that runs."""
