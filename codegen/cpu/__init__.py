"""Schedules for CPUs: maps, rows, sorts and scans; contractions, chains and windows in rooms of
their own."""
