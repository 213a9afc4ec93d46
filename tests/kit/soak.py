"""Random programs for hours, in processes that may crash, hang or grow. In: hours. Out: the seeds
of faults, graphs per fault.

    python tests/kit/soak.py --hours 2

Each process runs a range of seeds of one generator (`soak_generators.py`). A wrong result, a crash
or a hang is a fault: its seed and the command that shows it go to the screen and to faults.jsonl,
and another process continues after it. `--resume` continues after the seeds of earlier soaks in the
same folder, and the table at the end is of all of them. Ctrl-C ends it early.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import selectors
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from project_root import ROOT
from soak_process import MODULE, Worker

FOLDER = ROOT / "build" / "soak"
REPORTED = 60  # seconds between lines that say how far it is


@dataclass
class Row:
    """What has come of one generator: a line of the table."""

    next: int = 0  # seed
    right: int = 0
    unsuitable: int = 0
    faults: int = 0
    restarts: int = 0  # of processes that had grown
    seconds: float = 0.0  # of processes, side by side


class Soak:
    """Rows of a table that fill as workers come and go."""

    def __init__(self, settings: argparse.Namespace) -> None:
        self.settings = settings
        given = importlib.import_module(settings.module).GENERATORS
        unknown = {*settings.only} - {g.name for g in given}
        if unknown:
            raise SystemExit(
                f"no generator {', '.join(sorted(unknown))}: there are"
                f" {', '.join(g.name for g in given)}"
            )
        self.generators = [g for g in given if g.name in (settings.only or [g.name])]
        settings.folder.mkdir(parents=True, exist_ok=True)
        self.state, self.faults = settings.folder / "state.json", settings.folder / "faults.jsonl"
        self.rows = {g.name: Row(settings.first_seed) for g in self.generators}
        if settings.resume and self.state.exists():
            self.rows |= {
                name: Row(**row) for name, row in json.loads(self.state.read_text()).items()
            }
        self.workers: list[Worker] = []
        self.selector = selectors.DefaultSelector()

    # ------------------------------------------------------------ processes

    def run(self) -> None:
        """Keeps as many workers as there are jobs until time is up."""
        until = time.monotonic() + 3600 * self.settings.hours
        spoken = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, self._ending():
            while time.monotonic() < until:
                while len(self.workers) < self.settings.jobs:
                    self._start(folder)
                for key, _ in self.selector.select(timeout=0.5):
                    self._listen(key.data, folder)
                for worker in [w for w in self.workers if w.is_late()]:
                    worker.hung = True
                    worker.stop(
                        signal.SIGABRT
                    )  # it prints the stacks of its threads; its end is read as any other
                    worker.changed = time.monotonic()
                if time.monotonic() - spoken > REPORTED:
                    spoken = time.monotonic()
                    print(self.summary(), flush=True)
                    self.save()

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """No worker is left, whatever ends the soak."""
        try:
            yield
        finally:
            for worker in self.workers:
                worker.stop()
                self.rows[worker.generator.name].seconds += time.monotonic() - worker.began
                worker.close()
            self.workers = []
            self.save()

    def _start(self, folder: str, generator: Any = None, first: int = 0, end: int = 0) -> None:
        """Another worker: after a seed, or of the generator that has had the least of its share of
        time."""
        if generator is None:
            now = time.monotonic()
            spent = {g.name: self.rows[g.name].seconds for g in self.generators}
            for w in self.workers:
                spent[w.generator.name] += now - w.began
            generator = min(self.generators, key=lambda g: spent[g.name] / g.share)
            row = self.rows[generator.name]
            first, end = row.next, row.next + generator.block
            row.next = end
            self.save()
        worker = Worker(generator, first, end, self.settings, folder)
        self.workers.append(worker)
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)

    def _listen(self, worker: Worker, folder: str) -> None:
        messages = worker.messages()
        if messages is None:
            self._ended(worker, folder)
            return
        row = self.rows[worker.generator.name]
        for kind, seed, *rest in messages:
            worker.running, worker.next = (seed, seed) if kind == "begun" else (None, seed + 1)
            worker.grown |= kind == "grown"
            match rest:
                case ["right", _]:
                    row.right += 1
                case ["unsuitable", _]:
                    row.unsuitable += 1
                case ["wrong", what]:
                    self._fault(worker, seed, "wrong", what)

    def _ended(self, worker: Worker, folder: str) -> None:
        """Judges the end of a process, and continues after its last seed."""
        self.selector.unregister(worker.stdout)
        self.workers.remove(worker)
        status = worker.process.wait()
        row = self.rows[worker.generator.name]
        row.seconds += time.monotonic() - worker.began
        row.restarts += worker.grown
        if status and worker.running is None and worker.next == worker.first:
            raise SystemExit(
                f"{shlex.join(worker.command(worker.first))} does not begin: status"
                f" {status}\n{worker.said()}"
            )
        if status or worker.running is not None:
            seed = (
                worker.next if worker.running is not None else worker.next - 1
            )  # else it fell at its end
            kind = "hang" if worker.hung else "crash"
            what = (
                f"none of {worker.generator.limit:g} s was enough"
                if worker.hung
                else f"status {status}"
            )
            self._fault(worker, seed, kind, what, worker.said())
            worker.next = seed + 1
        if worker.next < worker.end:
            self._start(folder, worker.generator, worker.next, worker.end)
        worker.close()

    # ------------------------------------------------------------ what is kept and printed

    def _fault(self, worker: Worker, seed: int, kind: str, what: str, said: str = "") -> None:
        self.rows[worker.generator.name].faults += 1
        alone, behind = (
            shlex.join(worker.command(*seeds))
            for seeds in ((seed,), (worker.first, seed - worker.first + 1))
        )
        entry = {
            "generator": worker.generator.name,
            "seed": seed,
            "kind": kind,
            "what": what,
            "said": said,
        }
        entry |= {
            "reproduce": alone,
            "behind what ran before": behind,
            "at": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        with self.faults.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(
            f"FAULT {kind} in {worker.generator.name}, seed {seed}: {what}\n{said}    {alone}",
            flush=True,
        )

    def save(self) -> None:
        """Replaces the file of rows, which a soak that is killed leaves whole."""
        new = self.state.with_suffix(".new")
        new.write_text(json.dumps({name: asdict(row) for name, row in self.rows.items()}, indent=1))
        new.replace(self.state)

    def totals(self) -> tuple[int, int]:
        """Graphs whose results were compared, and faults of all generators."""
        comparing = [g.name for g in self.generators if g.compares]
        faults = sum(row.faults for row in self.rows.values())
        return sum(self.rows[name].right for name in comparing), faults

    def summary(self) -> str:
        graphs, faults = self.totals()
        ratio = f", {graphs // faults:,} graphs per fault" if faults else ""
        return f"{graphs:,} graphs, faults: {faults}{ratio}"

    def table(self) -> str:
        lines = [
            f"{'':10s}{'graphs':>10s}{'unsuitable':>12s}{'faults':>8s}{'restarts':>10s}"
            f"{'hours':>8s}{'a second':>10s}"
        ]
        for name, r in self.rows.items():
            rate = (r.right + r.unsuitable + r.faults) / r.seconds if r.seconds else 0.0
            lines.append(
                f"{name:10s}{r.right:10,d}{r.unsuitable:12,d}{r.faults:8,d}{r.restarts:10,d}"
                f"{r.seconds / 3600:8.2f}{rate:10.1f}"
            )
        notes = [
            f"{g.name}: nothing is compared, and they are not in the sum"
            for g in self.generators
            if not g.compares
        ]
        return "\n".join([*lines, *notes, self.summary()])


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Runs random programs for hours and keeps the seeds of faults."
    )
    parser.add_argument("--hours", type=float, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--only", nargs="+", default=[], metavar="GENERATOR")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue after the seeds of the last soak in the folder",
    )
    parser.add_argument(
        "--memory", type=float, default=1.5, help="GB of a process that is then replaced by another"
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="of state.json and faults.jsonl"
    )
    parser.add_argument("--module", default=MODULE, help="where the generators are")
    soak = Soak(parser.parse_args())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        soak.run()
    except KeyboardInterrupt:
        print("ended early")
    print(soak.table())
    return int(soak.totals()[1] > 0)


if __name__ == "__main__":
    sys.exit(main())
