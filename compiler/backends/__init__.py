"""What differs by device: settings, code, executables, timing of candidates."""
