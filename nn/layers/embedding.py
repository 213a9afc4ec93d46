"""Tables of vectors. In: indices. Out: rows."""

from __future__ import annotations

from typing import Any, Self

from ... import errors
from ...frontend import ops
from ...frontend.arguments import as_bool, as_shape
from ...frontend.tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.embedding import refuse_max_norm, row_of
from ..module import Module, Parameter

__all__ = ["Embedding"]


class Embedding(Module):
    """Integer indices of any shape -> that shape + (embedding_dim,).

    The weight (num_embeddings, embedding_dim) starts normal; row padding_idx starts as zeros and gets no gradient.

    >>> nn.Embedding(10, 3, padding_idx=0)(wf.tensor([[0, 0]])).tolist()
    [[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: Any = None,
        *,
        _weight: Tensor | None = None,
    ) -> None:
        refuse_max_norm("Embedding", max_norm)
        shape = as_shape("Embedding", (num_embeddings, embedding_dim))
        self.num_embeddings, self.embedding_dim = shape
        self.padding_idx = None if padding_idx is None else row_of("Embedding", padding_idx, shape[0])
        weight = init.normal(shape) if _weight is None else _weight
        if _weight is None and self.padding_idx is not None:
            weight = ops.where(ops.arange(shape[0]).unsqueeze(1) == self.padding_idx, 0.0, weight)
        self.weight = Parameter(weight)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Self:
        """A table of these vectors, (num_embeddings, embedding_dim); not learned if freeze. Raises ShapeError.

        >>> nn.Embedding.from_pretrained([[1.0, 2.0], [3.0, 4.0]])(wf.tensor(1)).tolist()
        [3.0, 4.0]
        """
        table = embeddings if isinstance(embeddings, Tensor) else ops.tensor(embeddings)
        if table.ndim != 2:
            raise errors.ShapeError(f"Embedding: the vectors must have shape (num_embeddings, embedding_dim), not {table.shape}")
        made = cls(table.shape[0], table.shape[1], padding_idx, _weight=table)
        made.weight.requires_grad_(not as_bool("Embedding", "freeze", freeze))
        return made

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
