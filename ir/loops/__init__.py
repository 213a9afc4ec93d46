"""Loops: the language of one kernel; its text, verifier and interpreter."""
