"""Tables of vectors. In: indices. Out: rows."""

from __future__ import annotations

from typing import Any, Self

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_extents
from ...frontend.tensor.binding import as_tensor
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.embeddings import refuse_max_norm, row_of
from ..module import Module, Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What both have: weight (num_embeddings, embedding_dim), normal, and zeros in row
    padding_idx."""

    def _start(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: Any,
        rows: Any,
    ) -> None:
        name = type(self).__name__
        refuse_max_norm(name, max_norm)
        shape = as_extents(name, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.num_embeddings, self.embedding_dim = shape
        self.padding_idx = None if padding_idx is None else row_of(name, padding_idx, shape[0])
        weight = init.normal(shape) if rows is None else rows
        if rows is None and self.padding_idx is not None:
            weight = ops.where(ops.arange(shape[0]).unsqueeze(1) == self.padding_idx, 0.0, weight)
        self.weight = Parameter(weight)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **settings: Any) -> Self:
        """A table of these vectors, (num_embeddings, embedding_dim); not learned if freeze. Raises
        ShapeError.

        >>> nn.Embedding.from_pretrained([[1.0, 2.0], [3.0, 4.0]])(wf.tensor(1)).tolist()
        [3.0, 4.0]
        """
        table = as_tensor(f"{cls.__name__}.from_pretrained", "embeddings", embeddings)
        if table.ndim != 2:
            raise errors.ShapeError(
                f"{cls.__name__}.from_pretrained: embeddings must have shape (num_embeddings,"
                f" embedding_dim), not {table.shape}"
            )
        made = cls(*table.shape, **settings, _weight=table)  # type: ignore[call-arg]
        made.weight.requires_grad_(not as_bool(cls.__name__, "freeze", freeze))
        return made

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Embedding(_Table):
    """Integer indices of any shape -> that shape + (embedding_dim,).

    The weight (num_embeddings, embedding_dim) starts normal; row padding_idx starts as zeros and
    gets no gradient.

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
        self._start(num_embeddings, embedding_dim, padding_idx, max_norm, _weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.weight, self.padding_idx)


class EmbeddingBag(_Table):
    """The "sum", "mean" or "max" of each bag of rows: (B, L), or (n,) and offsets (B,), -> (B,
    embedding_dim).

    See F.embedding_bag. The weight (num_embeddings, embedding_dim) starts normal, row padding_idx
    as zeros.

    >>> nn.EmbeddingBag(10, 3, mode="sum")(wf.tensor([[0, 1], [2, 3]])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: Any = None,
        *,
        mode: str = "mean",
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> None:
        self._start(num_embeddings, embedding_dim, padding_idx, max_norm, _weight)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(
        self, x: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            x,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"
