"""Cells of recurrent networks. In: features of one time step, the state before it. Out: the state
after it."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_bool, as_choice, as_extents
from ...frontend.tensor.binding import as_tensor, of_tensors
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.recurrent import gru_step, lstm_step, rnn_step
from ..module import Module, Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _Cell(Module):
    """Linear maps of the features and of the state, `parts` of hidden_size rows each."""

    parts: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        name = type(self).__name__
        self.input_size, self.hidden_size = as_extents(
            name, input_size=input_size, hidden_size=hidden_size
        )
        bound, rows = 1 / sqrt(max(1, self.hidden_size)), self.parts * self.hidden_size
        has_bias = as_bool(name, "bias", bias)
        self.weight_ih = Parameter(init.uniform((rows, self.input_size), -bound, bound))
        self.weight_hh = Parameter(init.uniform((rows, self.hidden_size), -bound, bound))
        self.bias_ih = Parameter(init.uniform((rows,), -bound, bound)) if has_bias else None
        self.bias_hh = Parameter(init.uniform((rows,), -bound, bound)) if has_bias else None

    def _mapped(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """What each linear map gives."""
        return F.linear(x, self.weight_ih, self.bias_ih), F.linear(h, self.weight_hh, self.bias_hh)

    def _before(self, x: Tensor, name: str, given: Tensor | None) -> Tensor:
        """A part of the state before this step, zeros unless given. Raises ShapeError."""
        shape, cell = (*x.shape[:-1], self.hidden_size), type(self).__name__
        if given is None:
            return ops.zeros(shape, dtype=x.dtype, device=x.device)
        state: Tensor = as_tensor(cell, name, given)
        if state.shape != shape:
            raise errors.ShapeError(
                f"{cell}: {name} has shape {state.shape}, and {shape} goes with features of shape"
                f" {x.shape}"
            )
        return state

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, bias={self.bias_ih is not None}"


class RNNCell(_Cell):
    """A step of an Elman network: x (N, input_size) and hx (N, hidden_size), or both without N,
    give h' = tanh(x @ weight_ih.T + bias_ih + hx @ weight_hh.T + bias_hh).

    weight_ih (hidden_size, input_size), weight_hh (hidden_size, hidden_size), bias_ih and bias_hh
    (hidden_size,); all begin uniform within 1 / sqrt(hidden_size). hx begins as zeros;
    nonlinearity is "tanh" or "relu". Raises ShapeError, ArgumentError, DTypeError.

    >>> cell, h = nn.RNNCell(4, 8), None
    >>> for x in wf.randn(5, 3, 4):
    ...     h = cell(x, h)
    >>> h.shape
    (3, 8)
    """

    parts = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh"
    ) -> None:
        super().__init__(input_size, hidden_size, bias)
        self.nonlinearity = as_choice("RNNCell", "nonlinearity", nonlinearity, ("tanh", "relu"))

    @of_tensors
    def forward(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        return rnn_step(*self._mapped(x, self._before(x, "hx", hx)), self.nonlinearity)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, nonlinearity={self.nonlinearity!r}"


class LSTMCell(_Cell):
    """A step of a long short-term memory (Hochreiter and Schmidhuber 1997, with a forget gate): x
    (N, input_size) and the state (h, c), each (N, hidden_size), or all without N, give the next
    (h, c).

    With i, f, g, o the four parts of x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh,
    c' = sigmoid(f) * c + sigmoid(i) * tanh(g) and h' = sigmoid(o) * tanh(c').

    weight_ih (4 * hidden_size, input_size), weight_hh (4 * hidden_size, hidden_size), bias_ih and
    bias_hh (4 * hidden_size,); all begin uniform within 1 / sqrt(hidden_size). hx begins as zeros.
    Raises ShapeError, ArgumentError, DTypeError.

    >>> cell, state = nn.LSTMCell(4, 8), None
    >>> for x in wf.randn(5, 3, 4):
    ...     state = cell(x, state)
    >>> h, c = state
    >>> h.shape, c.shape
    ((3, 8), (3, 8))
    """

    parts = 4

    @of_tensors
    def forward(self, x: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        if hx is not None and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            raise errors.ArgumentError("LSTMCell: the state hx is a pair (h, c)")
        pair = zip("hc", hx or (None, None), strict=True)
        h, c = (self._before(x, what, given) for what, given in pair)
        return lstm_step(*self._mapped(x, h), c)


class GRUCell(_Cell):
    """A step of a gated recurrent unit (Cho et al. 2014): x (N, input_size) and hx (N,
    hidden_size), or both without N, give the next hx.

    With xr, xz, xn the three parts of x @ weight_ih.T + bias_ih, and hr, hz, hn those of
    hx @ weight_hh.T + bias_hh: r = sigmoid(xr + hr), z = sigmoid(xz + hz), n = tanh(xn + r * hn),
    and the next hx is (1 - z) * n + z * hx.

    weight_ih (3 * hidden_size, input_size), weight_hh (3 * hidden_size, hidden_size), bias_ih and
    bias_hh (3 * hidden_size,); all begin uniform within 1 / sqrt(hidden_size). hx begins as zeros.
    Raises ShapeError, ArgumentError, DTypeError.

    >>> cell, h = nn.GRUCell(4, 8), None
    >>> for x in wf.randn(5, 3, 4):
    ...     h = cell(x, h)
    >>> h.shape
    (3, 8)
    """

    parts = 3

    @of_tensors
    def forward(self, x: Tensor, hx: Tensor | None = None) -> Tensor:
        h = self._before(x, "hx", hx)
        return gru_step(*self._mapped(x, h), h)
