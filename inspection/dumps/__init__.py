"""Dumps of a program. In: a Compiled program. Out: every artefact as text, in files or on
stderr.
"""
