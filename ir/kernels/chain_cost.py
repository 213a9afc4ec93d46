"""The cost of a chain beside that of its contractions one by one. In: a Chain, their products. Out:
a Reason if it is greater.

    parts     every score stores the space, every result reads it
    chain     every block of rows packs again what does not lie as tiles read it

Only chains without reductions along their rows are asked: a softmax reads and writes the space
thrice more, so attention won on nearly all of the grid, most where a mask rules out half of the
space.

Measured on one core of a Zen 4 with AVX-512 (1 MB of level-2 cache, 32 MB of level-3), float32,
time of the chain over that of the parts. Attention of 64..2048 rows and heads of 32, 64, 128: 0.80
to 1.03, causal 0.50 to 0.64; its gradients where they are one chain 0.88 to 0.93. Linear, GELU,
Linear of 256..4096 rows, 16..256 terms, 128..4096 hidden: 0.97 to 1.10, and what the estimate chose
is at most 3 % slower than the other. 65,536 x 64 x 256 x 64, whose space is 64 MB: 0.6. Sums of 8
terms: up to 1.5 in the caches, 0.8 to 0.9 beyond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from ...wording import amount
from ..graph.graph import Node
from ..graph.index import Var
from .chain import factor_of
from .kernel import Chain, Unit, at_sub_axes, reads_of
from .reason import Reason, Rule

# In multiply-adds, each a lane of a vector's.
NEAR_BYTE = 0.6  # of the space, written or read in a cache
FAR_BYTE = 2.0  # beyond the last one: 1 to 4, by how many cores share the memory
LAST_CACHE = 32 << 20
PACKED = 8  # an element that a block of rows packs
SLOWER = 0.03  # of the chain's own: its tiles are smaller
FEWEST_TERMS = 16  # of a score, at which its tiles are as fast as those of longer sums
ROWS = 64  # of a block


def why_parted(chain: Chain, products: Mapping[Unit, Unit]) -> Reason | None:
    """Why the contractions of a chain run one by one. `products`: that of each contraction."""
    if chain.reduces:
        return None
    itemsize = chain.scores[0].node.dtype.itemsize
    space = _extent([*chain.batch, *chain.rows, *chain.columns])
    stored = len(chain.contractions) * space * itemsize
    saved = stored * (FAR_BYTE if space * itemsize > LAST_CACHE else NEAR_BYTE)
    packed = _packed(chain, products)
    lost = packed * PACKED + _slower(chain, space)
    if saved >= lost:
        return None
    detail = (
        f"blocks of rows would pack {amount(packed).strip()} elements to save {amount(stored)}B"
        " between the products"
    )
    return Reason(Rule.CHAIN_COST, detail)


def _slower(chain: Chain, space: int) -> float:
    """What tiles of blocks of rows lose beside those of whole matrices."""
    terms = [_extent(u.inner_vars(u.kept_vars())) for u in chain.scores]
    widths = [
        _extent([v for v in u.kept_vars() if v not in chain.labels[u]]) for u in chain.results
    ]
    return space * (SLOWER * sum(terms + widths) + sum(max(0, FEWEST_TERMS - n) for n in terms))


def _packed(chain: Chain, products: Mapping[Unit, Unit]) -> int:
    """Elements that blocks of rows pack: factors of results that do not lie along their lanes."""
    blocks = _extent(chain.rows[:-1]) * -(-chain.rows[-1].extent // ROWS)
    total = 0
    for u in chain.results:
        lanes = [v for v in u.kept_vars() if v not in chain.labels[u]]
        if not _lies_along(
            _other_factor(chain, u), products[u], _of_product(u, products[u]).get(lanes[-1])
        ):
            # a block of rows needs its own alone, or all columns
            each = 1 if chain.sums_rows(u) else blocks
            total += each * _extent([*chain.batch, *lanes, *u.inner_vars(u.kept_vars())])
    return total


def _other_factor(chain: Chain, anchor: Unit) -> Node:
    """The factor of a result that is no value of the space."""
    weight = factor_of(chain, anchor)
    return next(f for f in anchor.node.src[0].src if f is not weight)


def _lies_along(factor: Node, product: Unit, lane: Var | None) -> bool:
    """Is a factor read as it lies in memory, one element after the other along a variable of its
    product?"""
    reads = reads_of(factor, product.coordinates())
    if lane is None or any(r.mask for r in reads):
        return False
    steps = [[e.coef(lane) for e in r.index] for r in reads]
    return all(last == 1 and not any(others) for *others, last in steps)


def _of_product(anchor: Unit, product: Unit) -> dict[Var, Var]:
    """The variable of the product at each variable of its contraction."""
    read = next(r for r in anchor.reads if r.base is product.node)
    axes = zip(read.index, product.axes, strict=True)
    parts = [
        place for index, sub in axes for place in zip(sub, at_sub_axes(index, sub), strict=True)
    ]
    return {w: v for v, e in parts if (w := e.as_var) is not None}


def _extent(variables: Iterable[Var]) -> int:
    return prod(v.extent for v in variables)
