"""Text as numbers. In: sentences, text files. Out: lines, tokens, a vocabulary of them, int64
arrays of one width."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_count, as_int, as_ints, as_path, as_sequence
from ...ir.graph.brief import brief
from .collate import as_integers
from .idx import Array, DataError, is_gzip

__all__ = ["Vocabulary", "pad_sequences", "read_lines", "tokenize"]

PAD, UNKNOWN = "<pad>", "<unk>"  # numbers 0 and 1 of every Vocabulary

# parted from their words, as in the Penn Treebank: do n't, it 's
CLITICS = r"n't\b | '(?:s|re|ve|ll|d|m)\b"
NUMBER = r"\d+(?:[.,]\d+)*(?!\w)"
WORD = r"(?:(?!n't\b)\w)+"
PUNCTUATION = r"\.\.\. | -- | `` | '' | \S"
TOKEN = re.compile(f"{CLITICS} | {NUMBER} | {WORD} | {PUNCTUATION}", re.VERBOSE)


def tokenize(text: str) -> list[str]:
    """The words, numbers and marks of a text, in lower case; an end like 's or n't and each part of
    a hyphenated word alone.

    Text that is tokens between spaces stays what it is, as far as they are such tokens: SST-2 does.

    >>> nn.data.tokenize("It's well-made, but I don't care...")
    ['it', "'s", 'well', '-', 'made', ',', 'but', 'i', 'do', "n't", 'care', '...']
    """
    if not isinstance(text, str):
        raise errors.DTypeError(f"tokenize: text must be a str, not {brief(text)}")
    return TOKEN.findall(text.lower().replace("\u2019", "'"))


class Vocabulary:
    """Tokens and their numbers: 0 is "<pad>", 1 "<unk>" for all that are not in it, then the tokens
    given.

    >>> words = nn.data.Vocabulary(["good", "bad"])
    >>> len(words), words.encode(["bad", "film"]), words.decode([2, 1])
    (4, [3, 1], ['good', '<unk>'])
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = [PAD, UNKNOWN, *_tokens("Vocabulary", tokens)]
        self._numbers: dict[str, int] = {}
        for number, token in enumerate(self.tokens):
            if self._numbers.setdefault(token, number) != number:
                raise errors.ArgumentError(f"Vocabulary: the token {token!r} occurs twice")

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Iterable[str]], min_count: int = 1, max_size: int | None = None
    ) -> Vocabulary:
        """Of all tokens that are there `min_count` times: the most frequent first, equals by
        alphabet, `max_size` in all.

        >>> nn.data.Vocabulary.from_sentences([["a", "good", "film"], ["a", "film"]],
        ...     max_size=4).tokens
        ['<pad>', '<unk>', 'a', 'film']
        """
        name = "Vocabulary.from_sentences"
        least = as_int(name, "min_count", min_count)
        most = None if max_size is None else as_int(name, "max_size", max_size) - 2
        if most is not None and most < 0:
            raise errors.ArgumentError(
                f"{name}: max_size counts {PAD} and {UNKNOWN}, so it is not {max_size}"
            )
        counts: Counter[str] = Counter()
        for sentence in as_sequence(name, "sentences", sentences):
            counts.update(_tokens(name, sentence))
        counted = sorted(
            (-n, token) for token, n in counts.items() if n >= least and token not in (PAD, UNKNOWN)
        )
        return cls(token for _, token in counted[:most])

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """The number of each token, 1 for those that are not in the vocabulary."""
        number = self._numbers.get
        return [number(token, 1) for token in _tokens("Vocabulary.encode", tokens)]

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The tokens of these numbers. Raises IndexError for one that is none's."""
        return [self._token(number) for number in as_ints("Vocabulary.decode", "numbers", numbers)]

    def _token(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise errors.IndexError(f"Vocabulary.decode: {number} is not in 0 .. {len(self) - 1}")
        return self.tokens[number]

    def to_json(self) -> str:
        """The vocabulary as text, for a checkpoint."""
        return json.dumps(self.tokens[2:], ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """What to_json wrote. Raises DataError for other text.

        >>> text = nn.data.Vocabulary(["good", "bad"]).to_json()
        >>> nn.data.Vocabulary.from_json(text).encode(["bad"])
        [3]
        """
        try:
            tokens = json.loads(text)
        except (TypeError, ValueError) as e:
            raise DataError(f"Vocabulary.from_json: this is not JSON: {e}") from None
        if not isinstance(tokens, list):
            raise DataError(
                f"Vocabulary.from_json: expected a list of tokens, found {brief(tokens)}"
            )
        return cls(tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"


def pad_sequences(
    rows: Sequence[Sequence[int]], length: int | None = None, value: int = 0
) -> Array:
    """int64 (len(rows), length): each row cut at `length`, or filled with `value` at its end;
    without one, that of the longest.

    >>> nn.data.pad_sequences([[5, 6, 7], [8]], length=4)
    array([[5, 6, 7, 0],
           [8, 0, 0, 0]])
    """
    sequences = [
        as_integers("pad_sequences", "each row", row)
        for row in as_sequence("pad_sequences", "rows", rows)
    ]
    width = (
        max(map(len, sequences), default=0)
        if length is None
        else as_count("pad_sequences", "length", length)
    )
    out = np.full((len(sequences), width), as_int("pad_sequences", "value", value), np.int64)
    for line, row in zip(out, sequences, strict=True):
        line[: len(row)] = row[:width]
    return out


def _tokens(name: str, value: Any) -> list[str]:
    """A list of tokens, unless it is one str, whose characters would pass for them. Raises
    DTypeError."""
    if isinstance(value, str):
        raise errors.DTypeError(
            f"{name}: expected a list of tokens, not the text {brief(value)}: tokenize it"
        )
    tokens = as_sequence(name, "a list of tokens", value)
    for token in tokens:
        if not isinstance(token, str):
            raise errors.DTypeError(f"{name}: every token must be a str, not {brief(token)}")
    return tokens


# ---------------------------------------------------------------- text files, gzipped or not


LONGEST = 1 << 26  # bytes of a line; of damaged and of hostile files it is all that is in memory


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end) of a UTF-8 file, one at a time. Raises DataError where
    it cannot be read.

    >>> from pathlib import Path
    >>> _ = Path("poem.txt").write_text("a rose\\nis a rose\\n")
    >>> list(nn.data.read_lines("poem.txt"))
    [(1, 'a rose'), (2, 'is a rose')]
    """
    path, number = as_path("read_lines", path), 0
    try:
        with (gzip.open if is_gzip(path) else open)(path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
                if len(line) > LONGEST:
                    raise DataError(
                        f"{path}, line {number}: longer than {LONGEST} bytes, which no text is"
                    )
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as e:
        raise DataError(
            f"{path}, line {number}: not UTF-8 text: {e.reason} at byte {e.start}"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        raise DataError(
            f"{path}: damaged: it cannot be decompressed after line {number} ({e})"
        ) from e
    except OSError as e:
        raise DataError(f"{path}: cannot be read: {e.strerror or e}") from e
