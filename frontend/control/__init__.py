"""Loops and branches inside a program."""
