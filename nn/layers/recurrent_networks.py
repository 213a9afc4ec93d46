"""Recurrent networks. In: the features of all time steps, a state. Out: the states of the last
layer at each step, the last state of each layer. A network of one layer and direction is one loop
inside the program (wf.scan)."""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

from ... import errors
from ...frontend import ops
from ...frontend.control.loops import scan
from ...frontend.control.traced import as_tensor as as_any_tensor
from ...frontend.operands.arguments import as_bool, as_choice, as_count, as_extents, as_fraction
from ...frontend.tensor.binding import as_tensor, of_tensors
from ...frontend.tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..functional.recurrent import gru_step, lstm_step, rnn_step
from ..module import Module, Parameter

__all__ = ["GRU", "LSTM", "RNN"]

State = tuple[Tensor, ...]  # (h,), or (h, c)


class _Network(Module):
    """Layers of one kind, in one direction or two; `parts` rows of weights for each feature of the
    hidden state, whose `states` are named."""

    parts: ClassVar[int]
    states: ClassVar[str] = "h"
    proj_size: int = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        name = type(self).__name__
        self.input_size, self.hidden_size = as_extents(
            name, input_size=input_size, hidden_size=hidden_size
        )
        self.num_layers = as_count(name, "num_layers", num_layers, 1)
        self.bias, self.batch_first = (
            as_bool(name, "bias", bias),
            as_bool(name, "batch_first", batch_first),
        )
        self.dropout = as_fraction(name, "dropout", dropout)
        self.bidirectional = as_bool(name, "bidirectional", bidirectional)
        if self.proj_size >= self.hidden_size:
            raise errors.ArgumentError(
                f"{name}: proj_size {self.proj_size} must be less than hidden_size {hidden_size}"
            )
        self.output_size = self.proj_size or self.hidden_size
        for layer in range(self.num_layers):
            wide = self.output_size * len(self._directions) if layer else self.input_size
            for suffix in self._directions:
                self._add(f"l{layer}{suffix}", wide)

    @property
    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _add(self, place: str, wide: int) -> None:
        """The parameters of one layer in one direction."""
        bound, rows = 1 / sqrt(max(1, self.hidden_size)), self.parts * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, wide),
            "weight_hh": (rows, self.output_size),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for what, shape in shapes.items():
            setattr(self, f"{what}_{place}", Parameter(init.uniform(shape, -bound, bound)))

    # ------------------------------------------------------------ a run over all steps

    def _run(self, x: Tensor, hx: State | None, lengths: Any) -> tuple[Tensor, State]:
        """(the outputs of the last layer, the last states of all layers). Time is the first axis
        inside."""
        name, single = type(self).__name__, x.ndim == 2
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise errors.ShapeError(
                f"{name}: the features have shape {x.shape}, not (T, N, {self.input_size}) or (T,"
                f" {self.input_size})"
            )
        if single:
            x = x[:, None]
        elif self.batch_first:
            x = x.swapaxes(0, 1)
        first = self._first(x, hx, single)
        valid = None if lengths is None else self._valid(x, lengths)
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = F.dropout(x, self.dropout)
            outputs = []
            for suffix in self._directions:
                state = tuple(s[len(last)] for s in first)
                end, y = self._layer(x, f"l{layer}{suffix}", state, valid, suffix != "")
                last.append(end)
                outputs.append(y)
            x = outputs[0] if len(outputs) == 1 else ops.concatenate(outputs, -1)
        states = tuple(ops.stack(list(s)) for s in zip(*last, strict=True))
        if single:
            return x[:, 0], tuple(s[:, 0] for s in states)
        return (x.swapaxes(0, 1) if self.batch_first else x), states

    def _layer(
        self, x: Tensor, place: str, state: State, valid: Tensor | None, reverse: bool
    ) -> tuple[State, Tensor]:
        """One layer in one direction: the last state, and h of each step."""
        own = vars(self)
        weight, bias = own[f"weight_hh_{place}"], own.get(f"bias_hh_{place}")
        projection = own.get(f"weight_hr_{place}")
        of_xs = F.linear(x, own[f"weight_ih_{place}"], own.get(f"bias_ih_{place}"))

        def step(before: State, given: tuple[Tensor, Tensor | None]) -> tuple[State, Tensor]:
            of_x, here = given
            after = self._step(of_x, F.linear(before[0], weight, bias), before)
            if projection is not None:
                after = (F.linear(after[0], projection), *after[1:])
            if here is None:
                return after, after[0]
            kept = [ops.where(here, a, b) for a, b in zip(after, before, strict=True)]
            return tuple(kept), ops.where(here, after[0], 0.0)

        return scan(step, state, (of_xs, valid), reverse=reverse)

    def _step(self, of_x: Tensor, of_h: Tensor, before: State) -> State:
        """The next state, of linear maps of the features and of h."""
        raise NotImplementedError

    # ------------------------------------------------------------ arguments

    def _first(self, x: Tensor, hx: State | None, single: bool) -> State:
        """The first states of all layers, zeros unless given. Raises ShapeError."""
        name, count = type(self).__name__, self.num_layers * len(self._directions)
        sizes = [self.output_size, self.hidden_size]
        out = []
        for k, what in enumerate(self.states):
            shape = (count, x.shape[1], sizes[k])
            if hx is None:
                out.append(ops.zeros(shape, dtype=x.dtype, device=x.device))
                continue
            state: Tensor = as_tensor(name, what, hx[k])
            wanted = (shape[0], shape[2]) if single else shape
            if state.shape != wanted:
                raise errors.ShapeError(
                    f"{name}: {what} has shape {state.shape}, these features go with {wanted}"
                )
            out.append(state[:, None] if single else state)
        return tuple(out)

    def _valid(self, x: Tensor, lengths: Any) -> Tensor:
        """(T, N, 1): is a step within its sequence. Raises ShapeError."""
        counts = as_any_tensor(type(self).__name__, "lengths", lengths)
        if counts.shape != (x.shape[1],) or not counts.dtype.is_int:
            raise errors.ShapeError(
                f"{type(self).__name__}: lengths are {x.shape[1]} ints, one of each sequence, not"
                f" {counts.dtype.name}{list(counts.shape)}"
            )
        steps = ops.arange(x.shape[0], device=x.device)
        return (steps[:, None] < counts)[:, :, None]

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"num_layers={self.num_layers}"] * (self.num_layers > 1)
        parts += ["bias=False"] * (not self.bias)
        parts += ["batch_first=True"] * self.batch_first
        parts += [f"dropout={self.dropout}"] * bool(self.dropout)
        parts += ["bidirectional=True"] * self.bidirectional
        parts += [f"proj_size={self.proj_size}"] * bool(self.proj_size)
        return ", ".join(parts)


class _OneState(_Network):
    """A network whose state is h alone."""

    @of_tensors
    def forward(
        self, x: Tensor, hx: Tensor | None = None, lengths: Any = None
    ) -> tuple[Tensor, Tensor]:
        output, (h,) = self._run(x, None if hx is None else (hx,), lengths)
        return output, h


class RNN(_OneState):
    """An Elman network: num_layers times nn.RNNCell over the time steps of x (T, N, input_size), or
    (T, input_size), from the state hx (D * num_layers, N, hidden_size), zeros unless given.

    Returns (the outputs of the last layer (T, N, D * hidden_size), the last states of hx's shape).
    D is 2 where bidirectional: a second direction runs from the last step to the first, and the
    states of both are neighbours. With batch_first x and the outputs are (N, T, ..). dropout
    applies between layers, in training. Parameters are called weight_ih_l0, weight_hh_l0,
    bias_ih_l0, bias_hh_l0, and with _reverse, as in torch.

    lengths: N ints, for sequences that are padded to T: outputs beyond are 0, the last state is
    that of the last step within, and the other direction begins there, as with torch's packed
    sequences. Raises ShapeError, ArgumentError, DTypeError.

    >>> rnn = nn.RNN(4, 8, num_layers=2)
    >>> output, h = rnn(wf.randn(5, 3, 4))
    >>> output.shape, h.shape
    ((5, 3, 8), (2, 3, 8))
    """

    parts = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional
        )
        self.nonlinearity = as_choice("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))

    def _step(self, of_x: Tensor, of_h: Tensor, before: State) -> State:
        return (rnn_step(of_x, of_h, self.nonlinearity),)

    def extra_repr(self) -> str:
        other = "" if self.nonlinearity == "tanh" else ", nonlinearity='relu'"
        return f"{super().extra_repr()}{other}"


class LSTM(_Network):
    """A long short-term memory: num_layers times nn.LSTMCell over the time steps of x (T, N,
    input_size), or (T, input_size), from the state (h, c), each (D * num_layers, N, hidden_size).

    Returns (the outputs of the last layer (T, N, D * hidden_size), (h, c) after the last step).
    With proj_size, h' = weight_hr @ h is the output and the next h, of so many features (Sak et al.
    2014). All else is as in nn.RNN, `lengths` too. Raises ShapeError, ArgumentError, DTypeError.

    >>> lstm = nn.LSTM(4, 8, bidirectional=True)
    >>> output, (h, c) = lstm(wf.randn(5, 3, 4))
    >>> output.shape, h.shape
    ((5, 3, 16), (2, 3, 8))
    """

    parts, states = 4, "hc"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
    ) -> None:
        self.proj_size = as_count("LSTM", "proj_size", proj_size)
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional
        )

    @of_tensors
    def forward(
        self, x: Tensor, hx: tuple[Tensor, Tensor] | None = None, lengths: Any = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if hx is not None and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            raise errors.ArgumentError("LSTM: the state hx is a pair (h, c)")
        output, (h, c) = self._run(x, hx, lengths)
        return output, (h, c)

    def _step(self, of_x: Tensor, of_h: Tensor, before: State) -> State:
        return lstm_step(of_x, of_h, before[1])


class GRU(_OneState):
    """A network of gated recurrent units: num_layers times nn.GRUCell over the time steps of x (T,
    N, input_size), or (T, input_size), from the state hx (D * num_layers, N, hidden_size).

    Returns (the outputs of the last layer (T, N, D * hidden_size), hx after the last step). All
    else is as in nn.RNN, `lengths` too. Raises ShapeError, ArgumentError, DTypeError.

    >>> gru = nn.GRU(4, 8, batch_first=True)
    >>> output, h = gru(wf.randn(3, 5, 4))
    >>> output.shape, h.shape
    ((3, 5, 8), (1, 3, 8))
    """

    parts = 3

    def _step(self, of_x: Tensor, of_h: Tensor, before: State) -> State:
        return (gru_step(of_x, of_h, before[0]),)
