"""The hunt for NaNs. In: a switch. Out: the option in force, for the rest of the process or a
`with` block."""

from __future__ import annotations

from ... import options
from ..lazy import state
from ..operands.arguments import as_bool


class debug_nans:
    """Inside, the first operation that makes a NaN or an infinity of finite operands raises
    FloatingPointError.

    The error names the operation, the user's line (and whether it is the gradient of that line that
    went wrong), the index of the element, its operands and the kernel. The same kernels run, with
    checks inside: also what a fused kernel never stores is looked at, and the backward pass like
    the forward one. NaNs and infinities in inputs and constants are no fault, nor is what follows
    from them, nor what `where` does not choose: `where(x > 0, log(x), 0)` is fine. infs=False:
    infinities are no fault, NaNs are.

    `with wf.debug_nans():` for a block, `wf.debug_nans(True)` and `wf.debug_nans(False)` for the
    rest of the process, in all threads; WEFT_DEBUG_NANS=1 from outside, WEFT_DEBUG_NANS=nan for
    infs=False. What is computed inside counts, not what is written there: functions jitted before
    are checked, too. When it raises, nothing has been computed or assigned, and the same can be
    computed again, elsewhere or without the mode. A product of matrices and a sum count as one
    operation each.

    Nothing is updated in place, and programs are compiled anew with their checks when they first
    run; then a step of LeNet takes 1.4 times as long. Where infinities are given to sums, a run
    that is no fault may take much longer. Outside it costs nothing.

    >>> x = wf.tensor([1.0, 0.0, 2.0])
    >>> with wf.debug_nans():
    ...     (x.log() + 1).numpy()
    Traceback (most recent call last):
        ...
    weft.errors.FloatingPointError: log(0) gives -inf, at index (1,) of a float32[3]
        in model.py:3:  (x.log() + 1).numpy()
        in kernel k0_map_log
    """

    def __init__(self, enabled: bool = True, *, infs: bool = True) -> None:
        chosen = "inf" if as_bool("debug_nans", "infs", infs) else "nan"
        self._before = options.current().debug_nans
        self._chosen = chosen if as_bool("debug_nans", "enabled", enabled) else ""
        self._set(self._chosen)

    def _set(self, nans: str) -> None:
        options.update(debug_nans=nans)
        state.changes.count += (
            1  # so that jitted functions look: one that saw the old number saw the old option, too
        )

    def __enter__(self) -> None:
        self._set(self._chosen)

    def __exit__(self, *exception: object) -> None:
        self._set(self._before)
