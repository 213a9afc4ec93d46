"""Connectionist temporal classification. In: log-probabilities of labels at each time, and label
sequences. Out: -log of how likely each sequence is, whatever its alignment.

The sequence with a blank before, between and after its labels is a chain of states; each time
stays, goes on by one, or skips a blank between two different labels. Sums over all paths are formed
state by state, in logarithms (Graves et al. 2006).
"""

from __future__ import annotations

from itertools import accumulate

from ... import errors
from ...frontend import ops
from ...frontend.control.loops import scan
from ...frontend.operands.arguments import as_bool, as_choice, as_int
from ...frontend.tensor.tensor import Tensor
from .common import REDUCTIONS, in_float32_at_least, indices, reduced

__all__ = ["ctc_loss"]

# the logarithm of what cannot happen: finite, so that sums and derivatives are no NaN
NEVER = -1e30
NAME = "ctc_loss"


@in_float32_at_least
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability of target sequences, summed over all alignments with the times of an
    input.

    log_probs (T, N, C) are logarithms of probabilities, as of log_softmax; targets (N, S) labels 0
    .. C-1 without the blank, or all sequences one after the other; input_lengths and target_lengths
    (N,) how much of each counts. Without N also (T, C), (S,) and two numbers. "mean" divides each
    loss by its target length first. A sequence that no alignment of the times gives has the loss
    inf, with zero_infinity 0, and no gradient. A label or a length out of range raises IndexError
    when computed.

    Raises ShapeError, DTypeError, ArgumentError.

    >>> even = wf.full((2, 1, 3), 1 / 3).log()  # of 9 alignments, "bb", "b-" and "-b" give b
    >>> F.ctc_loss(even, wf.tensor([[1]]), [2], [1], reduction="sum").exp().item()
    3.0...
    """
    blank, zeroed = as_int(NAME, "blank", blank), as_bool(NAME, "zero_infinity", zero_infinity)
    as_choice(NAME, "reduction", reduction, REDUCTIONS)
    is_single = log_probs.ndim == 2
    lengths = indices(input_lengths, NAME), indices(target_lengths, NAME)
    if is_single:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
        lengths = lengths[0].reshape(-1), lengths[1].reshape(-1)
    _check(log_probs, targets, *lengths, blank)
    times = ops.arange(log_probs.shape[0] + 1)
    lengths = ops.gather(times, lengths[0]), lengths[1]  # the same, checked to be 0 .. T
    labels = _padded(indices(targets, NAME), lengths[1], log_probs.shape[1], blank)
    loss = -_log_likelihood(log_probs, labels, *lengths, blank)
    loss = ops.where(loss < -0.1 * NEVER, loss, 0.0 if zeroed else float("inf"))
    if is_single and reduction == "none":
        return loss.squeeze(0)
    return reduced(
        NAME,
        loss / lengths[1].clip(1).astype(loss.dtype) if reduction == "mean" else loss,
        reduction,
    )


def _check(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> None:
    shapes = f"log_probs {log_probs.shape}, targets {targets.shape}"
    if not log_probs.dtype.is_float:
        raise errors.DTypeError(f"{NAME}: log_probs must be floats, not {log_probs.dtype.name}")
    if log_probs.ndim != 3 or not log_probs.shape[0]:
        raise errors.ShapeError(
            f"{NAME}: log_probs are (T, N, C) or (T, C) with T above 0, got {shapes}"
        )
    count = log_probs.shape[1]
    if targets.ndim != 1 and (targets.ndim != 2 or targets.shape[0] != count):
        raise errors.ShapeError(
            f"{NAME}: targets are (N, S), or all sequences one after the other, got {shapes}"
        )
    if input_lengths.shape != (count,) or target_lengths.shape != (count,):
        shapes = f"{input_lengths.shape} and {target_lengths.shape}"
        raise errors.ShapeError(
            f"{NAME}: there is one length for each of {count} sequences, got shapes {shapes}"
        )
    if not 0 <= blank < log_probs.shape[2]:
        raise errors.ArgumentError(
            f"{NAME}: blank={blank} is not a label in 0 .. {log_probs.shape[2] - 1}"
        )


def _padded(targets: Tensor, lengths: Tensor, count: int, blank: int) -> Tensor:
    """(N, S) with blanks after each sequence, S being at least 1."""
    if targets.ndim == 1:
        sizes = [as_int(NAME, "each of target_lengths", n) for n in lengths.tolist()]
        if sum(sizes) != targets.size or min(sizes, default=0) < 0:
            raise errors.ShapeError(
                f"{NAME}: {targets.size} targets do not make sequences of lengths {sizes}"
            )
        starts = ops.tensor([0, *accumulate(sizes)][:count], dtype="int64").unsqueeze(1)
        places = (starts + ops.arange(max(sizes, default=0))).clip(0, max(targets.size - 1, 0))
        targets = ops.take(targets, places) if places.size else targets.reshape(count, 0)
    if not targets.shape[1]:
        targets = ops.full((count, 1), blank)
    return ops.where(ops.arange(targets.shape[1]) < lengths.unsqueeze(1), targets, blank)  # type: ignore[no-any-return]


def _log_likelihood(
    log_probs: Tensor, labels: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> Tensor:
    """(N,): the logarithm of the sum over all paths through the states blank, label, blank, label
    .. blank."""
    times, count, _ = log_probs.shape
    pairs = ops.stack([ops.full(labels.shape, blank), labels], axis=-1).reshape(count, -1)
    label = ops.pad(pairs, [(0, 0), (0, 1)], blank)  # of each state
    emitted = _emitted(log_probs, label).clip(NEVER)
    before = ops.pad(label[:, :-2], [(0, 0), (2, 0)], blank)
    can_skip = (label != blank) & (label != before)
    # from two before, one before, the state itself
    step = ops.where(can_skip.unsqueeze(-1) | (ops.arange(3) > 0), 0.0, NEVER)

    def later(alpha: Tensor, now: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
        emits, goes_on = now
        paths = ops.window(ops.pad(alpha, [(0, 0), (2, 0)], NEVER), 1, 3) + step
        return ops.where(goes_on.unsqueeze(1), paths.logsumexp(axis=-1) + emits, alpha), None

    first = ops.where(ops.arange(label.shape[1]) < 2, emitted[0], NEVER)
    goes_on = input_lengths > ops.arange(1, times).unsqueeze(1)
    alpha, _ = scan(later, first, (emitted[1:], goes_on))
    last = [ops.arange(count), 2 * target_lengths]
    at_label = ops.gather(alpha, [last[0], (last[1] - 1).clip(0)], (0, 1))
    at_end = ops.logaddexp(
        ops.gather(alpha, last, (0, 1)), ops.where(target_lengths > 0, at_label, NEVER)
    )
    return ops.where(input_lengths > 0, at_end, ops.where(target_lengths > 0, NEVER, 0.0))  # type: ignore[no-any-return]


def _emitted(log_probs: Tensor, label: Tensor) -> Tensor:
    """(T, N, states): the log-probability of each state's label at each time."""
    times, count, _ = log_probs.shape
    places = ops.arange(times).reshape(-1, 1, 1), ops.arange(count).reshape(-1, 1), label
    return ops.gather(log_probs, list(ops.broadcast_arrays(*places)), (0, 1, 2))  # type: ignore[no-any-return]
