"""Tables of vectors. In: indices. Out: rows."""

from __future__ import annotations

from ...frontend.arguments import as_shape
from ...frontend.tensor import Tensor
from .. import functional as F
from .. import init
from ..module import Module, Parameter


class Embedding(Module):
    """Integer indices of any shape -> that shape + (embedding_dim,)."""

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        shape = as_shape("Embedding", (num_embeddings, embedding_dim))
        self.num_embeddings, self.embedding_dim = shape
        self.weight = Parameter(init.normal(shape))

    def forward(self, x: Tensor) -> Tensor:
        return F.embedding(x, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"
