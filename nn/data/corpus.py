"""Film reviews that a small grammar writes. In: a number and a seed. Out: sentences with their sentiment, the same everywhere.

Praise and blame share their patterns, and each turns into the other after a negation or a contrast: "the plot isn't dull", "the
music is dull, but I like the plot". So the sentiment lies in the order of the words, not in which words there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_int
from .idx import Array

__all__ = ["Sentences", "reviews"]

# Words of capitals are symbols. One that ends in + has the sentiment of the whole, one in - the other.
GRAMMAR = """
SENTENCE = CLAUSE+. | OPENING, CLAUSE+. | CLAUSE+, and CLAUSE+. | CLAUSE-, but CLAUSE+. | although CLAUSE-, CLAUSE+.
    | CLAUSE+, even if CLAUSE-.
CLAUSE = the PART is VERY ADJECTIVE+ | the PART is one of the most ADJECTIVE+ in years | WHO VERB+ the PART
    | there is NOUN+ in the PART | the PART has a lot of NOUN+ | the PART isn't ADJECTIVE- | the PART is never ADJECTIVE-
    | WHO don't VERB- the PART | there is no NOUN- in the PART | the PART is anything but ADJECTIVE-
OPENING = in the end | for a KIND | for once | to my surprise | from the first scene on | as so often
KIND = comedy | thriller | drama | western | musical | documentary | romance
PART = film | plot | ending | cast | script | music | dialogue | pace | camera | hero | villain | love-story | sequel | finale
WHO = I | we | the critics | my friends | the children
VERY = | very | really | truly | quite | rather | so
ADJECTIVE+ = moving | charming | brilliant | funny | clever | gripping | fresh | elegant | warm | witty | touching | inspired
ADJECTIVE- = dull | tedious | clumsy | bland | silly | predictable | shallow | lifeless | messy | stale | annoying | noisy
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
        return self if limit is None else Sentences(self.texts[:limit], self.labels[:limit], self.source)


def reviews(count: int, seed: int = 0) -> Sentences:
    """`count` different sentences about films, praise and blame in turn, the same for a seed on every machine.

    >>> nn.data.reviews(2, seed=1).texts
    ['There is no cruelty in the cast.', 'The hero has a lot of cruelty, and the film is rather predictable.']
    """
    if not 1 <= as_int("reviews", "count", count) <= MOST:
        raise errors.ArgumentError(f"reviews: count must be in 1 .. {MOST:,}, not {count}")
    draws = Random(as_int("reviews", "seed", seed))
    labels: dict[str, int] = {}
    while len(labels) < count:
        label = (len(labels) + 1) % 2
        labels.setdefault(_written(_expanded("SENTENCE+", bool(label), draws.random)), label)
    return Sentences(list(labels), np.array(list(labels.values()), np.int64), "embedded grammar of film reviews")


def _expanded(symbol: str, positive: bool, draw: Callable[[], float]) -> str:
    """A text for the symbol. Draws are numbers in [0, 1), the part of Python's generator that every version keeps."""
    name, own = symbol.rstrip("+-"), positive != symbol.endswith("-")
    rules = RULES[name] if name in RULES else RULES[name + "-+"[own]]
    return SYMBOL.sub(lambda inner: _expanded(inner[0], own, draw), rules[int(draw() * len(rules))])


def _written(text: str) -> str:
    """With single spaces and a capital at the beginning."""
    words = " ".join(text.split())
    return words[0].upper() + words[1:]
