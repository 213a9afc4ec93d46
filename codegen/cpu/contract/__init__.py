"""Contractions on CPUs: the packed, dot, stream, outer and skinny schedules."""
