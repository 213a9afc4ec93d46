"""Back ends, all that differs by device: settings, code, executables, timing of candidates."""
