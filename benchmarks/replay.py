"""Kernels of two revisions, compared: the proof that a refactoring changes none. Out: what differs.

    python benchmarks/replay.py OLD [NEW]    # as git names them; NEW defaults to the working tree
    python benchmarks/replay.py main --show  # with the lines that differ

Compiles the programs of replay_corpus.py in both: the golden ones and the training steps for the
processor of this machine, for avx2 and for sse2, the random graphs in turn for one of them. Next to
nothing is run. Compared are the graphs, the memory and the order of each program, and of each
kernel loops, schedule, LLVM IR and assembly without comments, which is its machine code. Kernels
for GPUs are left out: no public function makes them without a GPU; tests/golden has some.

Exits with 1 if anything differs, with 2 where nothing could be compared. What OLD cannot build,
since it lacks a function, is listed and counts as no change.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import NoReturn

from replay_texts import WHOLE, Change, Program, changes

ROOT = Path(__file__).resolve().parent.parent
TARGETS = "host,avx2,sse2"
THREADS = "2"  # which schedules do not depend on, but what is said of them may

Corpus = dict[str, Program | str]  # by name: the texts, or why there are none


# ---------------------------------------------------------------- two revisions


def fail(text: str) -> NoReturn:
    """Ends with 2: nothing was compared."""
    print(f"replay: {text}", file=sys.stderr)
    raise SystemExit(2)


def git(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["git", "-C", ROOT, *arguments], check=False, capture_output=True, text=True
    )
    if done.returncode:
        fail(f"git {arguments[0]}: {done.stderr.strip()}")


@contextmanager
def checked_out(revision: str | None, folder: Path) -> Iterator[Path]:
    """The folder, with the package `weft` of a revision in it, or of the working tree."""
    folder.mkdir()
    if revision is None:
        (folder / "weft").symlink_to(ROOT)
        yield folder
        return
    git("worktree", "add", "--quiet", "--detach", folder / "weft", revision)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", folder / "weft")


def collected(folder: Path, target: str, seeds: str, only: str) -> Corpus:
    """The corpus for a target, compiled in processes of its own by the package in the folder."""
    out = folder / f"{target}.jsonl"
    script = ROOT / "benchmarks/replay_corpus.py"
    command = [sys.executable, str(script), str(out), "--seeds", seeds, "--only", only]
    ended, before = True, -1
    while ended and size(out) > before:  # a program may end the process: continue after it
        before = size(out)
        there = environment(folder, target)
        done = subprocess.run(command, env=there, check=False, capture_output=True, text=True)
        ended = done.returncode < 0
    if done.returncode:
        fail(f"the corpus for {target} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found = dict(map(json.loads, out.read_text(encoding="utf-8").splitlines()))
    package, wanted = found.pop("package"), str((folder / "weft").resolve())
    if package != wanted:
        fail(f"compiled by {package}, not by {wanted}")
    return {f"{name}, {target}": program for name, program in found.items()}


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def environment(folder: Path, target: str) -> dict[str, str]:
    """No option of the user's: nothing is timed, and what is kept on disk is new."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    found = {"WEFT_TARGET": target, "WEFT_NUM_THREADS": THREADS}
    found |= {"WEFT_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    path = os.pathsep.join(filter(None, (str(folder), kept.get("PYTHONPATH"))))
    return kept | found | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def corpora(
    old: str, new: str | None, targets: Sequence[str], graphs: int, only: str
) -> list[Corpus]:
    """What both revisions make of the corpus."""
    turns = {target: f"{i}:{graphs}:{len(targets)}" for i, target in enumerate(targets)}
    with (
        tempfile.TemporaryDirectory() as top,
        checked_out(old, Path(top, "old")) as before,
        checked_out(new, Path(top, "new")) as after,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        jobs = {(side, t): (side, t, turns[t], only) for t in targets for side in (before, after)}
        running = {job: pool.submit(collected, *given) for job, given in jobs.items()}
        try:
            found = {job: run.result() for job, run in running.items()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [dict(p for t in targets for p in found[side, t].items()) for side in (before, after)]


# ---------------------------------------------------------------- what is printed


def shown(change: Change) -> str:
    told = ", ".join(change.texts) if change.how == "changed" else change.how
    return f"    {change.where:32}  {told}"


def diffs(change: Change) -> Iterator[str]:
    """The lines of each text that differ."""
    for what, (old, new) in change.texts.items():
        head = f"{change.where}: {what}"
        lines = unified_diff(old.splitlines(), new.splitlines(), head, head, lineterm="")
        yield from (f"        {line}" for line in lines)


def compare(old: Corpus, new: Corpus, show: bool) -> bool:
    """Prints what differs; whether anything does."""
    found: dict[str, list[Change]] = {}
    kernels, missing, gone = 0, 0, 0
    for name, before in old.items():
        after = new[name]
        if isinstance(before, str) or isinstance(after, str):
            print(f"{name}: not there{absence('OLD', before)}{absence('NEW', after)}")
            missing += 1
            gone += not isinstance(before, str)
            continue
        kernels += len(before) - 1
        found[name] = changes(before, after)
        tell(name, found[name], show)
    changed = [here for here in found.values() if here]
    counts = f"{len(found)} programs of {kernels} kernels"
    print(f"{summary(changed, counts)}; not there: {missing}, of which OLD has {gone}")
    return bool(changed or gone)


def absence(side: str, why: Program | str) -> str:
    return f", {side}: {why}" if isinstance(why, str) else ""


def tell(name: str, found: Sequence[Change], show: bool) -> None:
    """A program that changed, a line for each kernel that did."""
    if found:
        print(name)
    for change in found:
        print(shown(change), *(diffs(change) if show else ()), sep="\n")


def summary(changed: Sequence[Sequence[Change]], counts: str) -> str:
    """What differs, in one line."""
    if not changed:
        return f"no change: {counts}"
    of_kernels = [c for here in changed for c in here if c.where != WHOLE]
    how = Counter(c.how for c in of_kernels)
    kinds = Counter(what for c in of_kernels if c.how == "changed" for what in c.texts)
    wholes = Counter(what for here in changed for c in here if c.where == WHOLE for what in c.texts)
    others = f"{how['added']} added, {how['removed']} removed"
    kernels = f"{how['changed']} changed{listed(kinds)}, {others}"
    return f"{len(changed)} changed, of {counts}; kernels: {kernels}; programs{listed(wholes)}"


def listed(counts: Counter[str]) -> str:
    return f" ({', '.join(f'{what} {n}' for what, n in counts.most_common())})" if counts else ""


def main() -> int:
    head = __doc__.splitlines()[0]
    parser = argparse.ArgumentParser(description=head)
    add = parser.add_argument
    add("old", help="a revision")
    add("new", nargs="?", help="another one (default: the working tree)")
    add("--graphs", type=int, default=300, help="how many random graphs (default: 300)")
    add("--targets", default=TARGETS, help=f"as WEFT_TARGET has them (default: {TARGETS})")
    add("--only", default="", metavar="WORDS", help="programs named so in part: lenet,graph")
    add("--show", action="store_true", help="print the lines that differ")
    given = parser.parse_args()
    old, new = corpora(given.old, given.new, given.targets.split(","), given.graphs, given.only)
    if not old:
        parser.error(f"no program has {given.only!r} in its name")
    return int(compare(old, new, given.show))


if __name__ == "__main__":
    sys.exit(main())
