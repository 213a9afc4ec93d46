"""Seeds of small random graphs that together reach all that fuzz.py counts. In: a number of seeds.
Out: tests/fuzz/corpus.txt.

`python tests/kit/fuzz_corpus.py 1500` looks through so many seeds and writes the file anew: after a
new op, schedule or rule of fusion, or where a change of the generator makes other graphs of the
same seeds.
"""

from __future__ import annotations

import sys
from collections import Counter

from fuzz import Hits, Unsuitable, compare_case, random_case, seeded
from project_root import ROOT
from weft.ir.graph.graph import toposort

FILE = ROOT / "tests/fuzz/corpus.txt"
TIMES = 2  # that each thing is reached


def stored() -> list[int]:
    """The seeds of the corpus."""
    return [
        int(line.split()[0]) for line in FILE.read_text().splitlines() if not line.startswith("#")
    ]


def is_exact(seed: int) -> bool:
    return seed % 5 == 0


def reached(seed: int) -> tuple[set[str], int]:
    """What the graph of a seed reaches, and its size; nothing where it cannot be compared."""
    hits, case = Hits(), random_case(seeded(seed), is_exact(seed))
    try:
        compare_case(case, hits, is_exact(seed), threads=())
    except Unsuitable:
        return set(), 1
    return {*hits.counts} & {*Hits().missing()}, len(toposort(case.outputs))


def cover(found: dict[int, tuple[set[str], int]]) -> dict[int, list[str]]:
    """By seed, the things for which it was chosen: always the seed that adds most for its size."""
    counts: Counter[str] = Counter()
    chosen: dict[int, list[str]] = {}

    def new(seed: int) -> list[str]:
        return sorted(thing for thing in found[seed][0] if counts[thing] < TIMES)

    while (
        best := max(
            found.keys() - chosen.keys(), key=lambda seed: (len(new(seed)) / found[seed][1], -seed)
        )
    ) and new(best):
        chosen[best] = new(best)
        counts.update(found[best][0])
    return chosen


def main(count: int, first: int = 10_000) -> None:
    chosen = cover({seed: reached(seed) for seed in range(first, first + count)})
    lines = [f"{seed}  {', '.join(things)}" for seed, things in sorted(chosen.items())]
    FILE.write_text(
        "\n".join(
            [
                "# Seeds, and what each is there for; python tests/kit/fuzz_corpus.py writes them",
                *lines,
                "",
            ]
        )
    )
    left = {*Hits().missing()} - {thing for things in chosen.values() for thing in things}
    print(f"{len(chosen)} seeds; not reached: {', '.join(sorted(left)) or 'nothing'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
