"""The command line, `python -m weft`. In: its arguments. Out: what was asked for as text, and an
exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from .commands import audit, bench, cache, devices, report, run, show
from .commands.status import DONE, FAILED, MISUSED, fail
from .errors import OptionError
from .version import __version__

EXAMPLES = """\
examples:
  python -m weft run train.py --explain    run a script, then say what it computed
  python -m weft report train.py           show it on a page: graph, kernels, machine code, times
  python -m weft audit train.py            where its kernels lose time, and to which schedules
  python -m weft show "(x*y).log() + (x*y).exp()" x=2 y=3
                                           every step with its value and gradient, and the graph
  python -m weft devices                   devices, missing packages and how to install them
  python -m weft bench                     the limits of this machine, and how close Weft comes
  python -m weft cache --stats             what is kept, where, and how much of it
  python -m weft cache --clear             empty it, even while programs run
  WEFT_CACHE_DIR=folder python -m weft cache --stats

import weft as wf; wf.explain(x) and WEFT_DUMP=folder show how an expression is compiled.
"""

COMMANDS = {
    "run": run,
    "report": report,
    "audit": audit,
    "show": show,
    "devices": devices,
    "bench": bench,
    "cache": cache,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; its exit status."""
    parser = _parser()
    own, more = _parted(sys.argv[1:] if argv is None else argv)
    args, unknown = parser.parse_known_args(own, argparse.Namespace(more=more))
    if unknown:
        parser.error(_unknown(unknown, args))
    if args.command is None:
        parser.print_help()
        return DONE
    if more and not getattr(args, "takes_more", False):
        parser.error(f"{args.command} takes no arguments after --")
    try:
        status = COMMANDS[args.command].run(args)
        with suppress(ValueError):  # a script may have closed it
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has enough, as `head` has
        _end_output()
        return DONE
    except OptionError as error:
        return fail(error, MISUSED)
    except OSError as error:
        return fail(error, FAILED)


def _end_output() -> None:
    """Lets nothing be written any more, also not when Python exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _parted(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """The arguments before the first --, and those after it, which are for a script."""
    place = argv.index("--") if "--" in argv else len(argv)
    return argv[:place], argv[place + 1 :]


def _unknown(arguments: Sequence[str], args: argparse.Namespace) -> str:
    """What to say of arguments that no command has: they may be meant for the script."""
    said, script = f"unrecognized arguments: {' '.join(arguments)}", getattr(args, "script", None)
    if args.command == "show" and not arguments[0].startswith("--"):
        return (
            f"{said}\nan expression that begins with - must stand in brackets: python -m weft show"
            f' "({arguments[0]})" ...'
        )
    if script is None:
        return said
    return (
        f"{said}\narguments for the script go after --: python -m weft {args.command} {script} --"
        f" {' '.join(arguments)}"
    )


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    about = "Weft, a code-generating compiler for fused tensor kernels."
    parser = argparse.ArgumentParser(
        "python -m weft", description=about, epilog=EXAMPLES, formatter_class=raw
    )
    parser.add_argument("--version", action="version", version=f"weft {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    for command in COMMANDS.values():
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
