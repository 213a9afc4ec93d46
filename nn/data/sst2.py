"""Sentences with sentiment. In: GLUE's SST-2 files, or nothing. Out: texts and labels, 0 for negative and 1 for positive.

SST-2 (Socher et al. 2013, in the form of GLUE, gluebenchmark.com) has 67,349 phrases of film reviews to train on and 872
sentences to judge by.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .corpus import Sentences
from .idx import DataError
from .lines import read_lines

__all__ = ["read_sst2", "read_tsv"]

SUBFOLDERS = ("sst2", "SST-2")
HEADER = "sentence\tlabel"


def read_sst2(folder: str | Path) -> tuple[Sentences, Sentences]:
    """(train, dev) from train.tsv and dev.tsv in `folder` or its subfolder `sst2` or `SST-2`. Raises DataError, as read_tsv.

    >>> from pathlib import Path
    >>> for name in ("train.tsv", "dev.tsv"):
    ...     _ = Path(name).write_text("sentence\\tlabel\\na fine film \\t1\\n")
    >>> nn.data.read_sst2(".")[0].texts
    ['a fine film']
    """
    folder = Path(folder)
    train, dev = (read_tsv(_find(folder, name)) for name in ("train.tsv", "dev.tsv"))
    return train, dev


def _find(folder: Path, name: str) -> Path:
    for base in (folder, *(folder / sub for sub in SUBFOLDERS)):
        if (base / name).is_file():
            return base / name
    raise DataError(f"{folder}: there is no {name} in it, nor in its subfolders {' and '.join(SUBFOLDERS)}")


def read_tsv(path: str | Path) -> Sentences:
    """The sentences of one file, gzipped or not: a line "sentence<tab>label", then one of a text, a tab and 0 or 1 for each.

    Raises DataError naming file and line where one is something else.

    >>> from pathlib import Path
    >>> _ = Path("reviews.tsv").write_text("sentence\\tlabel\\na fine film\\t1\\nno wit\\t0\\n")
    >>> nn.data.read_tsv("reviews.tsv").labels
    array([1, 0])
    """
    texts, labels = [], []
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
