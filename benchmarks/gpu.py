"""Weft on a GPU beside torch, torch.compile, jax and cupy. In: what is installed. Out: a table, and
results.json.

    python benchmarks/gpu.py                                    # everything, within 8 minutes
    python benchmarks/gpu.py --wheels wheels --out results      # installs what is missing first
    python benchmarks/gpu.py --only products --peers torch
    python benchmarks/gpu.py --device cpu --small --peers ""    # does the script itself work

Every result is compared with NumPy's in float64 before it is timed, training by the losses of its
first steps. A time is the median of --rounds, in which the systems take turns; one is some calls
between two events of the device, so a call that is shorter there than in Python takes Python's
time. Memory-bound kernels are compared with a copy, products and attention with torch's (cuBLAS and
its fused attention), training steps with torch.compile's. What fails or comes too late is said in
its place.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("memory", "products", "attention", "training")
PEERS = ("torch", "torch.compile", "jax", "cupy")
SLICE = 0.01  # seconds of one measurement, at least
MOST_CALLS = 1000
SLOW_START = (
    60.0  # seconds that torch.compile may take for a network: it is not begun with less left
)
LATE = "no time left"
Row = dict[str, Any]


# ---------------------------------------------------------------- the machine


def install(wheels: Path, into: str) -> None:
    """Unpacks the wheels of a folder whose packages are not there, and makes them importable."""
    missing = [
        str(path)
        for path in sorted(wheels.glob("*.whl"))
        if not _is_installed(path.name.split("-")[0])
    ]
    if missing:
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-index",
            "--no-deps",
            "--target",
            into,
            *missing,
        ]
        subprocess.run(command, check=True)
        sys.path.append(into)


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def make_importable(into: str) -> None:
    """The checkout this script stands in, under its name, unless weft is installed."""
    if find_spec("weft") is None:
        os.symlink(ROOT, os.path.join(into, "weft"))
        sys.path.insert(0, into)


def machine(device: str) -> dict[str, str]:
    packages = {
        name: metadata.version(name)
        for name in ("torch", "jax", "numpy", "pycuda", "llvmlite")
        if _is_installed(name)
    }
    found = {"device": device, "python": sys.version.split()[0], **packages}
    if device == "cuda":
        driver = import_module("weft.runtime.cuda.devices").driver(0)
        compiler = import_module("weft.codegen.cuda.toolchain.build").compiler()
        found |= {
            "device": driver.name,
            "arch": driver.arch,
            "multiprocessors": str(driver.multiprocessors),
        }
        found[compiler.name] = compiler.version
    return found


def copy_speed(device: str, small: bool) -> float:
    """Bytes read and written a second by a copy within the device's memory."""
    import numpy as np

    size = (1 << 20) if small else (1 << 30)
    if device == "cpu":
        a, b = np.zeros(size, np.uint8), np.empty(size, np.uint8)
        times = [_clocked(lambda: np.copyto(b, a)) for _ in range(5)]
        return 2 * size / statistics.median(times)
    driver = import_module("weft.runtime.cuda.devices").driver(0)
    addresses = [driver.allocate(size) for _ in range(2)]
    times = []
    for _ in range(20):
        start = driver.record()
        driver.copy(*addresses, size)
        times.append(1e-3 * driver.elapsed(start, driver.record()))
    for address in addresses:
        driver.free(address)
    return 2 * size / statistics.median(times)


def _clocked(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


# ---------------------------------------------------------------- measurements


class Bench:
    """The systems that are there, the time that is left, and the rows so far."""

    def __init__(self, device: str, peers: list[str], rounds: int, deadline: float) -> None:
        from gpu_systems import PEERS as KINDS
        from gpu_systems import System, Weft

        self.rounds, self.deadline = rounds, deadline
        self.systems: list[System] = [Weft(device)]
        self.absent: dict[str, str] = {}
        self.rows: list[Row] = []
        for name in peers:
            try:
                self.systems.append(KINDS[name](device))
            except Exception as error:
                self.absent[name] = shown(error)

    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.perf_counter()

    def measure(self, case: Any) -> Row:
        """The case's row: a time for each system, or why there is none."""
        row = {
            "group": case.group,
            "name": case.name,
            "cost": case.cost,
            "first": {},
            "failed": {},
            "seconds": {},
            "spread": {},
        }
        self.rows.append(row)
        if self.left() < 0:
            row["failed"] = {"all": LATE}
            return row
        prepared, runs = case.prepare(), {}
        for system in self.systems:
            if system.name in case.without:
                continue
            start = time.perf_counter()
            try:
                if self.left() < (
                    SLOW_START
                    if (case.group, system.name) == ("training", "torch.compile")
                    else 0.0
                ):
                    raise TimeoutError(LATE)
                run = prepared.start(system)
                row["first"][system.name] = time.perf_counter() - start
                runs[system.name] = system, run, calls(system, run)
            except Exception as error:
                row["failed"][system.name] = shown(error)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(self.rounds):
            for name, (system, run, count) in runs.items():
                system.precision(case.precision)
                times[name].append(system.seconds(run, count) / count)
        row["seconds"] = {name: statistics.median(found) for name, found in times.items()}
        row["spread"] = {name: max(found) / min(found) for name, found in times.items()}
        return row


def calls(system: Any, run: Callable[[], Any]) -> int:
    """How many calls fill a slice."""
    for _ in range(3):
        system.seconds(run, 1)
    once = min(system.seconds(run, 3) / 3 for _ in range(2))
    return max(1, min(MOST_CALLS, int(SLICE / max(once, 1e-9)) + 1))


def shown(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


# ---------------------------------------------------------------- what is written


def rate(row: Row, copy: float) -> tuple[str, float | None]:
    """What Weft's time comes to, and as what share of the goal's measure: of a copy, of torch, or
    as often as torch.compile."""
    seconds = row["seconds"]
    mine, torch, compiled = (seconds.get(name) for name in ("weft", "torch", "torch.compile"))
    if mine is None:
        return "", None
    if row["group"] == "memory":
        return f"{row['cost'] / mine / 1e9:.0f} GB/s", row["cost"] / mine / copy
    if row["group"] == "training":
        return "", compiled and compiled / mine
    return f"{row['cost'] / mine / 1e12:.1f} TFLOP/s", torch and torch / mine


SHARES = {
    "memory": "of a copy",
    "products": "of torch",
    "attention": "of torch",
    "training": "torch.compile / Weft",
}


def goal(row: Row) -> float:
    """The least share that is aimed at."""
    if row["group"] == "memory":
        return 0.9
    if row["group"] == "products":
        return 0.85 if row["name"].startswith("float32") else 0.55
    return 1.0


def table(rows: list[Row], copy: float, names: list[str]) -> str:
    """Markdown, a table a group: microseconds."""
    lines = []
    for group in dict.fromkeys(row["group"] for row in rows):
        lines += [
            "",
            f"| {group}, us | {' | '.join(names)} | | {SHARES[group]} |",
            f"|---|{'--:|' * (len(names) + 2)}",
        ]
        lines += [line(row, copy, names) for row in rows if row["group"] == group]
    failures = [
        f"- {row['name']}: {who}: {why}" for row in rows for who, why in row["failed"].items()
    ]
    return "\n".join(lines + (["", "Not there:", "", *failures] if failures else [])) + "\n"


def line(row: Row, copy: float, names: list[str]) -> str:
    cells = [
        f"{1e6 * row['seconds'][name]:.1f}" if name in row["seconds"] else "-" for name in names
    ]
    amount, share = rate(row, copy)
    reached = "" if share is None else f"{share:.0%}{'' if share >= goal(row) else ', short'}"
    return f"| {row['name']} | {' | '.join(cells)} | {amount} | {reached} |"


def summary(rows: list[Row], copy: float) -> list[str]:
    """How many of each group reach what is aimed at."""
    lines = []
    for group in dict.fromkeys(row["group"] for row in rows):
        shares = [(rate(row, copy)[1], goal(row)) for row in rows if row["group"] == group]
        known = [(share, least) for share, least in shares if share is not None]
        lines.append(
            f"{group}: {sum(share >= least for share, least in known)} of {len(known)} reach their"
            " goal"
        )
    return lines


# ---------------------------------------------------------------- main


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--wheels",
        type=Path,
        help="a folder of wheels: those of packages that are not there are installed",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder for results.json and table.md (default: none is written)"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--only", choices=GROUPS, action="append", help="one group; may be given several times"
    )
    parser.add_argument(
        "--peers",
        type=lambda text: [p for p in text.split(",") if p],
        default=list(PEERS),
        help=",".join(PEERS),
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="of which the median counts (default: 7)"
    )
    parser.add_argument(
        "--minutes", type=float, default=7.0, help="after which nothing more is begun (default: 7)"
    )
    parser.add_argument("--small", action="store_true", help="tiny shapes, to try the script")
    found = parser.parse_args()
    if unknown := set(found.peers) - set(PEERS):
        parser.error(f"--peers: there is no {sorted(unknown)[0]!r}, there are {', '.join(PEERS)}")
    return found


def main() -> None:
    deadline, args = time.perf_counter(), arguments()
    deadline += 60 * args.minutes
    with tempfile.TemporaryDirectory() as folder:
        if args.wheels:
            install(args.wheels, folder)
        make_importable(folder)
        if not run(args, deadline):
            raise SystemExit(1)


def run(args: argparse.Namespace, deadline: float) -> bool:
    """Whether Weft has a time in every row that was begun."""
    from gpu_cases import CASES
    from gpu_training import trainings
    from weft.errors import DeviceError

    try:
        found, copy = machine(args.device), copy_speed(args.device, args.small)
    except DeviceError as error:
        raise SystemExit(f"there is nothing to measure on: {error}") from None
    bench = Bench(args.device, args.peers, args.rounds, deadline)
    names = [system.name for system in bench.systems]
    print(
        ", ".join(f"{name} {value}" for name, value in found.items()),
        f"copy {copy / 1e9:.0f} GB/s",
        sep="\n",
    )
    for name, why in bench.absent.items():
        print(f"without {name}: {why}")
    print(f"us: {', '.join(names)}")
    for group in args.only or GROUPS:
        for case in CASES[group](args.small) if group in CASES else trainings(args.small):
            row = bench.measure(case)
            print(
                line(row, copy, names),
                *(f"    {who}: {why}" for who, why in row["failed"].items()),
                sep="\n",
                flush=True,
            )
            write(
                args.out,
                {"machine": found, "copy": copy, "absent": bench.absent, "rows": bench.rows},
                names,
            )
    print(*summary(bench.rows, copy), sep="\n")
    return all("weft" not in row["failed"] for row in bench.rows)


def write(folder: Path | None, results: dict[str, Any], names: list[str]) -> None:
    """After every row, so that nothing is lost."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(results, indent=1))
        (folder / "table.md").write_text(table(results["rows"], results["copy"], names))


if __name__ == "__main__":
    main()
