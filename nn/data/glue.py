"""Sentences with sentiment. In: GLUE's SST-2 files, or nothing. Out: texts and labels, 0 for
negative and 1 for positive.

SST-2 (Socher et al. 2013, in the form of GLUE, gluebenchmark.com) has 67,349 phrases of film
reviews to train on and 872 sentences to judge by.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from zipfile import ZipFile

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_int, as_path
from .idx import Array, DataError
from .sources import Source, download, find, instead_of
from .text import read_lines

__all__ = ["Sentences", "read_tsv", "reviews", "sst2"]

FILES = ("train.tsv", "dev.tsv")
SST2 = Source("SST-2", FILES, ("sst2", "SST-2"))
ARCHIVE = Source(
    "SST-2",
    ("SST-2.zip",),
    (),
    "https://dl.fbaipublicfiles.com/glue/data/",
    {"SST-2.zip": "d67e16fb55739c1b32cdce9877596db1c127dc322d93c082281f64057c16deaa"},
)
EMBEDDED = (4000, 500)  # reviews to train on and to judge by
HEADER = "sentence\tlabel"


def sst2(path: str | Path | None = None) -> tuple[Sentences, Sentences]:
    """(train, dev) of SST-2 from `path`, WEFT_DATA_DIR (its subfolder sst2) or a download; without
    these, embedded `reviews`.

    The field `source` says which. Raises DataError for damaged files, as read_tsv, and for a path
    without them.

    >>> from pathlib import Path
    >>> for name in ("train.tsv", "dev.tsv"):
    ...     _ = Path(name).write_text("sentence\\tlabel\\na fine film \\t1\\n")
    >>> train, dev = nn.data.sst2(".")
    >>> train.texts, train.labels
    (['a fine film'], array([1]))
    """
    folder = find(SST2, path) or _unpacked(download(ARCHIVE))
    return _embedded() if folder is None else _read(folder)


def _read(folder: Path) -> tuple[Sentences, Sentences]:
    train, dev = (read_tsv(folder / name) for name in FILES)
    return train, dev


def _unpacked(folder: Path | None) -> Path | None:
    """The folder of the archive, with its two files beside it."""
    if folder is None or all((folder / name).is_file() for name in FILES):
        return folder
    with ZipFile(folder / ARCHIVE.files[0]) as archive:
        for name in FILES:
            part = folder / f"{name}.{os.getpid()}"
            part.write_bytes(archive.read(f"SST-2/{name}"))
            part.replace(folder / name)  # whole or not at all
    return folder


def _embedded() -> tuple[Sentences, Sentences]:
    """The first of the reviews, and others."""
    every, (train, dev) = reviews(sum(EMBEDDED)), EMBEDDED
    source = instead_of(ARCHIVE, every.source)
    return replace(every.first(train), source=source), Sentences(
        every.texts[-dev:], every.labels[-dev:], source
    )


def read_tsv(path: str | Path) -> Sentences:
    """The sentences of one file, gzipped or not: a line "sentence<tab>label", then one of a text, a
    tab and 0 or 1 for each.

    Raises DataError naming file and line where one is something else.

    >>> from pathlib import Path
    >>> _ = Path("reviews.tsv").write_text("sentence\\tlabel\\na fine film\\t1\\nno wit\\t0\\n")
    >>> nn.data.read_tsv("reviews.tsv").labels
    array([1, 0])
    """
    path, texts, labels = as_path("read_tsv", path), [], []
    for number, line in read_lines(path):
        if number > 1:
            text, label = _row(f"{path}, line {number}", line)
            texts.append(text)
            labels.append(label)
        elif line != HEADER:
            raise DataError(f"{path}, line 1: expected {HEADER!r}, found {line[:100]!r}")
    if not texts:
        raise DataError(f"{path}: there is no sentence in it")
    return Sentences(texts, np.array(labels, np.int64), str(path))


def _row(where: str, line: str) -> tuple[str, int]:
    match line.split("\t"):
        case [text, ("0" | "1") as label] if text.strip():
            return text.strip(), int(label)
    raise DataError(
        f"{where}: expected a sentence, a tab and the label 0 or 1, found {line[:100]!r}"
    )


# ---------------------------------------------------------------- film reviews that a small grammar
# writes

# Praise and blame share their patterns, and each turns into the other behind a negation or a
# contrast: "the plot isn't dull", "the music is dull, but I like the plot". So the sentiment lies
# in the order of the words, not in which words there are.


# Words of capitals are symbols. One that ends in + has the sentiment of the whole, one in - the
# other.
GRAMMAR = """
SENTENCE = CLAUSE+. | OPENING, CLAUSE+. | CLAUSE+, and CLAUSE+. | CLAUSE-, but CLAUSE+.
    | although CLAUSE-, CLAUSE+. | CLAUSE+, even if CLAUSE-.
CLAUSE = the PART is VERY ADJECTIVE+ | the PART is one of the most ADJECTIVE+ in years
    | WHO VERB+ the PART | there is NOUN+ in the PART | the PART has a lot of NOUN+
    | the PART isn't ADJECTIVE- | the PART is never ADJECTIVE-
    | WHO don't VERB- the PART | there is no NOUN- in the PART | the PART is anything but ADJECTIVE-
OPENING = in the end | for a KIND | for once | to my surprise | from the first scene on
    | as so often
KIND = comedy | thriller | drama | western | musical | documentary | romance
PART = film | plot | ending | cast | script | music | dialogue | pace | camera | hero | villain
    | love-story | sequel | finale
WHO = I | we | the critics | my friends | the children
VERY = | very | really | truly | quite | rather | so
ADJECTIVE+ = moving | charming | brilliant | funny | clever | gripping | fresh | elegant
    | warm | witty | touching | inspired
ADJECTIVE- = dull | tedious | clumsy | bland | silly | predictable | shallow
    | lifeless | messy | stale | annoying | noisy
VERB+ = love | enjoy | admire | like | recommend | adore
VERB- = hate | regret | dislike | despise | resent | loathe
NOUN+ = wit | charm | grace | tension | heart | wisdom | magic
NOUN- = boredom | cliché | noise | nonsense | vanity | cruelty | kitsch
"""
MOST = 1_000_000  # sentences of one call: the grammar has many times as many
RULES = {
    symbol: [rule.strip() for rule in rules.split("|")]
    for symbol, rules in re.findall(r"^(\S+) =(.*?)(?=^\S|\Z)", GRAMMAR, re.MULTILINE | re.DOTALL)
}
SYMBOL = re.compile(r"[A-Z]{2,}[+-]?")


@dataclass(frozen=True, eq=False)
class Sentences:
    """Texts, int64 labels (N,), 0 for negative and 1 for positive, and where they came from.

    >>> nn.data.reviews(100).first(3).labels
    array([1, 0, 1])
    """

    texts: list[str]
    labels: Array
    source: str

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, limit: int | None) -> Sentences:
        """The first `limit` of them, or all."""
        return (
            self
            if limit is None
            else Sentences(self.texts[:limit], self.labels[:limit], self.source)
        )


def reviews(count: int, seed: int = 0) -> Sentences:
    """`count` different sentences about films, praise and blame in turn, the same for a seed on
    every machine.

    >>> nn.data.reviews(2, seed=1).texts
    ['There is no cruelty in the cast.', 'The hero has a lot of cruelty, and the film is rather
    predictable.']
    """
    if not 1 <= as_int("reviews", "count", count) <= MOST:
        raise errors.ArgumentError(f"reviews: count must be in 1 .. {MOST:,}, not {count}")
    draws = Random(as_int("reviews", "seed", seed))
    labels: dict[str, int] = {}
    while len(labels) < count:
        label = (len(labels) + 1) % 2
        labels.setdefault(_written(_expanded("SENTENCE+", bool(label), draws.random)), label)
    return Sentences(
        list(labels), np.array(list(labels.values()), np.int64), "embedded grammar of film reviews"
    )


def _expanded(symbol: str, positive: bool, draw: Callable[[], float]) -> str:
    """A text for the symbol. Draws are numbers in [0, 1), the part of Python's generator that every
    version keeps."""
    name, own = symbol.rstrip("+-"), positive != symbol.endswith("-")
    rules = RULES[name] if name in RULES else RULES[name + "-+"[own]]
    return SYMBOL.sub(lambda inner: _expanded(inner[0], own, draw), rules[int(draw() * len(rules))])


def _written(text: str) -> str:
    """With single spaces and a capital at the beginning."""
    words = " ".join(text.split())
    return words[0].upper() + words[1:]
