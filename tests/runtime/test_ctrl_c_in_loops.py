"""Ctrl-C while a loop of a program runs: it is left at once, or after an iteration where values
are written in place."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import weft as wf

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="needs the main thread"
)


@contextmanager
def interrupted(after: float) -> Iterator[None]:
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    assert time.monotonic() - start < after + 5


def endless() -> Callable[[wf.Tensor, int], wf.Tensor]:
    return wf.jit(lambda x, n: wf.fori_loop(0, n, lambda i, x: x * 0.5 + 1, x))


@pytest.mark.slow
def test_a_loop_that_writes_nothing_in_place_is_left() -> None:
    f, x = endless(), wf.zeros(1000).realize()
    f(x, 0)
    with interrupted(0.2):
        f(x, 10**12)
    np.testing.assert_allclose(f(x, 100).numpy(), np.full(1000, 2.0))
    lazy = wf.fori_loop(0, 10**12, lambda i, x: x * 0.5 + 1, x)
    with interrupted(0.2):
        lazy.realize()


@pytest.mark.slow
def test_values_in_place_are_those_after_an_iteration() -> None:
    p, q = (wf.tensor(np.zeros(1000, np.float32)) for _ in range(2))
    wf.realize(p, q)

    @wf.jit
    def run() -> wf.Tensor:
        def body(_: None, x: None) -> tuple[None, wf.Tensor]:
            p.assign(p + 1)
            q.assign(q + 2)
            return None, p.sum()

        return wf.scan(body, None, length=2**25)[1]

    with interrupted(0.2):
        run()
    assert 0 < p.numpy()[0] == p.numpy()[-1]
    np.testing.assert_array_equal(p.numpy() * 2, q.numpy())


def test_a_value_that_is_written_in_place_later_stays() -> None:
    w = wf.tensor(np.zeros(1000, np.float32)).realize()

    @wf.jit
    def run(n: int) -> wf.Tensor:
        w.assign(w + wf.fori_loop(0, n, lambda i, x: x * 0.5 + 1, wf.zeros(1000)))
        return w.sum()

    run(0)
    with interrupted(0.2):
        run(10**12)
    np.testing.assert_array_equal(w.numpy(), np.zeros(1000))
