"""The commands of `python -m weft`, a file each, with `add(commands)` and `run(args)`."""
