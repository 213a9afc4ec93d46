"""The commands of `python -m weft`, a file each: `add(commands)` declares its arguments, `run(args)` gives an exit status."""
