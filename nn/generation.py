"""Sequences that a network writes token by token. In: a function of one step, tokens to go on from.
Out: tokens. The steps are one loop inside the program, and no token passes through Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import errors
from ..frontend import ops
from ..frontend.control.loops import while_loop
from ..frontend.operands.arguments import as_count, as_double, as_function, as_int
from ..frontend.tensor.binding import as_tensor
from ..frontend.tensor.tensor import Tensor

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]
NAME = "generate"


def generate(
    step: Step,
    state: Any,
    tokens: Tensor,
    known: Tensor | int,
    temperature: Tensor | float = 1.0,
    top_k: int | None = None,
    stop: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Fills `tokens` (N, S), ints of which the first `known` columns are given: at least one.

    step: takes the tokens of one place (N,) and the state, and gives scores (N, V) of the tokens
    that may follow, and the next state; nn.MultiheadAttention.step keeps one. The state is a
    structure of Tensors, as wf.while_loop takes it.

    A token is drawn by the softmax of its scores over `temperature`, a number or a 0-d Tensor,
    among the `top_k` best if given; with the number 0 it is the best one. A row ends with `stop`,
    which fills what is left of it, and the loop ends when all rows have ended. Returns (tokens, how
    many of each row come before its end (N,)). Inside wf.jit it is one native call.

    Raises ShapeError, DTypeError, ArgumentError.

    >>> nn.generate(lambda token, _: (F.one_hot((token + 1) % 4, 4), None), None,
    ...             wf.tensor([[2, 0, 0, 0]]), 1, temperature=0)[0].tolist()
    [[2, 3, 0, 1]]
    """
    tokens = as_tensor(NAME, "tokens", tokens)
    if tokens.ndim != 2 or not tokens.dtype.is_int or not tokens.shape[1]:
        raise errors.ShapeError(
            f"{NAME}: tokens are ints of shape (N, S), not {tokens.dtype.name}{list(tokens.shape)}"
        )
    choose = _Choice(temperature, top_k)
    f, (rows, columns) = as_function(NAME, "step", step), tokens.shape
    last = None if stop is None else as_int(NAME, "stop", stop)
    given = ops.asarray(known)

    def goes_on(carry: Any) -> Tensor:
        at, _, _, ends = carry
        more: Tensor = at < columns - 1
        return more & (ends == columns).any()

    def body(carry: Any) -> Any:
        at, written, before, ends = carry
        scores, after = f(written[:, at], before)
        drawn = choose(scores).astype(tokens.dtype)
        place = at + 1
        has_ended = ends < columns
        if last is not None:
            drawn = ops.where(has_ended, last, drawn)
        token = ops.where(place < given, written[:, place], drawn)
        new = written.clone()
        new[:, place] = token
        if last is not None:
            stops = (place >= given) & (token == last) & ~has_ended
            ends = ops.where(stops, place, ends)
        return place, new, after, ends

    first = (ops.asarray(0), tokens, state, ops.full((rows,), columns, dtype="int64"))
    _, written, _, ends = while_loop(goes_on, body, first)
    if last is not None:
        places = ops.arange(columns)
        written = ops.where(places >= ends[:, None], last, written)
    return written, ends


class _Choice:
    """One token of each row of scores."""

    def __init__(self, temperature: Tensor | float, top_k: int | None) -> None:
        self.temperature = temperature
        if not isinstance(temperature, Tensor):
            self.temperature = as_double(NAME, "temperature", temperature)
            if not self.temperature >= 0:
                raise errors.ArgumentError(
                    f"{NAME}: temperature must be 0 or more, not {temperature}"
                )
        self.top_k = None if top_k is None else as_count(NAME, "top_k", top_k, 1)

    def __call__(self, scores: Tensor) -> Tensor:
        if not isinstance(self.temperature, Tensor) and not self.temperature:
            return scores.argmax(-1)
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            least = scores.topk(self.top_k)[0][:, -1:]
            scores = ops.where(scores < least, float("-inf"), scores)
        # the greatest of the scores plus Gumbel noise is drawn by their softmax
        noise = -(-ops.rand(*scores.shape, device=scores.device).log()).log()
        return (scores / self.temperature + noise).argmax(-1)
