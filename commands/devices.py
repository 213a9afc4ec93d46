"""`python -m weft devices`. In: this machine. Out: its devices, and missing packages."""

from __future__ import annotations

import argparse
import json

from ..inspection.machine import surroundings
from ..inspection.machine.surroundings import Facts
from ..inspection.tables import Column, Table, labelled
from ..inspection.terminal import width
from ..wording import amount, binary
from .status import DONE, Commands, described

ABOUT = """\
Lists what Weft can compute on: the processor and the code made for it, threads and what limits
them, caches, memory, GPUs; and the packages that are installed or missing, with the commands that
install them.
"""

END = """\
environment:
  WEFT_NUM_THREADS  number of threads that share a kernel (default: the cores that this process may
                    run on)
  WEFT_TARGET       the instruction set that code is made for: host, avx512, avx2 or sse2 (default:
                    host)
  WEFT_DEVICE       device for new data: cpu, cuda or cuda:1 (default: cpu)

exit status: 0, even if everything is missing.
"""

PAGES = {
    "always": "2 MiB, for all memory",
    "madvise": "2 MiB on request, as Weft does",
    "never": "none, which is slower: as root, "
    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
}
LIMITS = {
    "WEFT_NUM_THREADS": "as WEFT_NUM_THREADS says",
    "affinity": "the cores that this process may run on "
    "(its affinity; taskset and containers set it)",
    "cores": "all cores; WEFT_NUM_THREADS=n takes fewer",
}


def add(commands: Commands) -> None:
    """Declares the arguments."""
    parser = described(commands, "devices", "list devices and missing packages", ABOUT, END)
    parser.add_argument(
        "--measure",
        action="store_true",
        help="measure bandwidths and peaks again, which takes some seconds, and keep them",
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    facts: Facts = {
        "cpu": surroundings.cpu(args.measure),
        "gpus": surroundings.gpus(args.measure),
        "no_gpu": surroundings.no_gpu(),
        "packages": surroundings.packages(),
    }
    print(json.dumps(facts, indent=2) if args.json else text(facts))
    return DONE


def text(facts: Facts) -> str:
    """The facts in aligned lines."""
    parts = [_block(f"cpu: {facts['cpu']['name']}", _cpu(facts["cpu"]))]
    parts += [_block(f"{gpu['device']}: {gpu['name']}", _gpu(gpu)) for gpu in facts["gpus"]]
    if facts["no_gpu"]:
        parts.append(_block("no GPU", [("why", facts["no_gpu"])]))
    there = [f"{p['name']} {p['version']}" for p in facts["packages"] if p["version"]]
    missing = surroundings.missing(facts["packages"])
    parts.append(_block("packages and tools", [("there", ", ".join(there))]))
    if missing:
        parts.append("\n".join(["missing, and how to install it", *_missing(missing)]))
    return "\n\n".join(parts)


def _block(title: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join([title, *labelled(rows, width(), indent=2, label=13)])


def _cpu(cpu: Facts) -> list[tuple[str, str]]:
    target, caches = cpu["target"], cpu["caches"]
    chosen = ", as WEFT_TARGET says" if target["chosen"] else ""
    vectors = (
        f"{target['cpu']}{chosen}: {target['registers']} registers of {target['vector_bits']} bits"
    )
    sizes = ", ".join(f"L{level} {binary(caches[f'l{level}'])}" for level in (1, 2, 3))
    return [
        ("code for", f"{vectors}; {' '.join(target['features'])}"),
        ("threads", _threads(cpu["threads"])),
        ("caches", sizes),
        ("memory", _memory(cpu["memory"])),
        ("large pages", PAGES.get(cpu["large_pages"] or "", "")),
        ("measured", _measured(cpu["machine"])),
    ]


def _threads(threads: Facts) -> str:
    cores = "" if threads["cores"] in (None, threads["used"]) else f" of {threads['cores']} cores"
    text = f"{threads['used']}{cores}: {LIMITS[threads['limit']]}"
    quota = threads["quota"]
    return (
        text
        if quota is None or quota >= threads["used"]
        else f"{text}; the container gives the time of {quota:.3g} cores"
    )


def _memory(memory: Facts) -> str:
    if memory["total"] is None:
        return ""
    text = f"{amount(memory['total'])}B, {amount(memory['available'] or 0)}B of it free"
    least = memory["container"]
    return (
        text
        if least is None or least >= memory["total"]
        else f"{text}; the container may have {amount(least)}B"
    )


def _gpu(gpu: Facts) -> list[tuple[str, str]]:
    shared = f"{binary(gpu['shared'])} of shared memory a block"
    return [
        ("architecture", f"{gpu['arch']}, {gpu['multiprocessors']} multiprocessors, {shared}"),
        ("memory", f"{amount(gpu['memory'])}B"),
        ("driver", f"for CUDA {gpu['driver']}" if gpu["driver"] else ""),
        ("measured", _measured(gpu["machine"], gpu["device"])),
    ]


def _measured(machine: Facts | None, device: str = "cpu") -> str:
    if machine is None:
        return "not yet; python -m weft devices --measure"
    memory, last = (amount(machine[rate]) for rate in ("bandwidth", "cache_bandwidth"))
    speeds = f"{memory}B/s from memory, {last}B/s from the last cache"
    peaks = ", ".join(f"{amount(peak)}flop/s in {name}" for name, peak in machine["flops"].items())
    return f"{speeds}; {peaks}; a kernel takes {amount(machine['launch'] * 1e9)}ns at least"


def _missing(packages: list[Facts]) -> list[str]:
    rows = [(f"  {p['name']}", p["for"], p["install"]) for p in packages]
    lines = Table([Column("")] * 3, rows).lines()
    if max(map(len, lines)) <= width():
        return lines
    folded = [row for name, use, install in rows for row in ((name, use), ("", install))]
    return Table([Column("")] * 2, folded).lines()
