"""Steps of recurrent networks. In: linear maps of the features and of the state. Out: the next
state. The formulas stand at the cells (nn/layers/recurrent.py)."""

from __future__ import annotations

from ...frontend import ops
from ...frontend.tensor.tensor import Tensor


def rnn_step(of_x: Tensor, of_h: Tensor, nonlinearity: str) -> Tensor:
    """The next h of an Elman network, whose nonlinearity is "tanh" or "relu"."""
    return ops.tanh(of_x + of_h) if nonlinearity == "tanh" else ops.relu(of_x + of_h)


def lstm_step(of_x: Tensor, of_h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next (h, c) of a long short-term memory."""
    i, f, g, o = (of_x + of_h).chunk(4, axis=-1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(c), c


def gru_step(of_x: Tensor, of_h: Tensor, h: Tensor) -> Tensor:
    """The next h of a gated recurrent unit."""
    (xr, xz, xn), (hr, hz, hn) = of_x.chunk(3, axis=-1), of_h.chunk(3, axis=-1)
    r, z = ops.sigmoid(xr + hr), ops.sigmoid(xz + hz)
    return (1 - z) * ops.tanh(xn + r * hn) + z * h
