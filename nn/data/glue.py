"""Sentences with sentiment. In: GLUE's SST-2 files, or nothing. Out: texts and labels, 0 for negative and 1 for positive.

SST-2 (Socher et al. 2013, in the form of GLUE, gluebenchmark.com) has 67,349 phrases of film reviews to train on and 872
sentences to judge by.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from ...frontend.operands.arguments import as_path
from .corpus import Sentences, reviews
from .idx import DataError
from .lines import read_lines
from .sources import Source, download, find, instead_of

__all__ = ["read_tsv", "sst2"]

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
    """(train, dev) of SST-2 from `path`, WEFT_DATA_DIR (its subfolder sst2) or a download; without these, embedded `reviews`.

    The field `source` says which. Raises DataError for damaged files, as read_tsv, and for a path without them.

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
    return replace(every.first(train), source=source), Sentences(every.texts[-dev:], every.labels[-dev:], source)


def read_tsv(path: str | Path) -> Sentences:
    """The sentences of one file, gzipped or not: a line "sentence<tab>label", then one of a text, a tab and 0 or 1 for each.

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
    raise DataError(f"{where}: expected a sentence, a tab and the label 0 or 1, found {line[:100]!r}")
