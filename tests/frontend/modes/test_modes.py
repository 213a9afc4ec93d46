"""Modes of `with` blocks: they nest, end in any order, belong to a thread, and end whatever
interrupts them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Thread
from types import FrameType
from typing import Any

import pytest
import weft as wf
from interruptions import is_of_package
from weft import nn
from weft.frontend.lazy import state, watchers
from weft.frontend.tensor import random
from weft.modes import Blocks, Mode


def now() -> tuple[Any, ...]:
    """What modes make of this thread, asked as users do."""
    x = wf.ones(2, requires_grad=True)
    product = wf.ones(2, 2) @ wf.ones(2, 2)
    return (
        (x * 2).requires_grad,
        product.dtype,
        watchers.requirement(),
        random.Fork.blocks.value(None),
    )


BEFORE = (True, wf.float32, None, None)


def off() -> bool:
    return not state.grad_enabled()


MODES = {
    "no_grad": wf.no_grad,
    "enable_grad": wf.enable_grad,
    "autocast": nn.autocast,
    "one_kernel": wf.one_kernel,
    "fork": lambda: random.Fork((1, 2), 3),
}


class Stop:
    """Raises KeyboardInterrupt at the k-th moment at which Python would handle a signal as a
    function of the package begins."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and is_of_package(frame.f_code.co_filename):
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt

    def run(self, body: Callable[[], None]) -> bool:
        """Was there such a moment."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            body()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


@pytest.mark.parametrize("make", MODES.values(), ids=MODES)
def test_a_block_ends_wherever_a_signal_comes(make: Callable[[], Mode]) -> None:
    def block() -> None:
        with make(), make():
            pass

    @make()
    def decorated() -> None: ...

    for body in (block, decorated):
        at = 1
        while Stop(at).run(body):
            assert now() == BEFORE, f"left at call {at}"
            at += 1
        assert at > 2


def test_blocks_nest_and_one_object_may_be_entered_again() -> None:
    off_, on = wf.no_grad(), wf.enable_grad()
    with off_:
        with on:
            assert not off()
            with off_:
                assert off()
            assert not off()
        assert off()
    assert not off()


def test_blocks_that_end_in_another_order_leave_nothing() -> None:
    def values() -> Iterator[bool]:
        with wf.no_grad():
            yield off()

    first = values()
    assert next(first) and off()
    with wf.enable_grad():
        first.close()
        assert not off()
    assert not off()
    second = values()
    with wf.enable_grad():
        next(second)
        assert off()
    assert off()
    del second
    assert not off() and not state.grads


def test_a_block_belongs_to_its_thread_and_leaves_others_alone() -> None:
    mode, seen = wf.no_grad(), []

    def work() -> None:
        seen.append(off())
        with mode:
            seen.append(off())

    with mode:
        thread = Thread(target=work)
        thread.start()
        thread.join()
        assert off()
    assert (
        seen == [False, True] and not off() and not state.grads
    )  # what the thread has left is dropped, too


def test_methods_called_by_hand_and_exit_stacks_do_the_same() -> None:
    mode = wf.no_grad()
    mode.__enter__()
    with wf.enable_grad(), mode:
        assert off()
    assert off()
    mode.__exit__(None, None, None)
    assert not off()
    with pytest.raises(RuntimeError, match="no_grad: __exit__ without __enter__"):
        mode.__exit__(None, None, None)
    with ExitStack() as stack:
        stack.enter_context(mode)
        stack.enter_context(wf.enable_grad())
        stack.enter_context(mode)
        assert off()
    assert not off()


def test_errors_pass_and_nothing_is_kept() -> None:
    class Own(Mode):
        blocks: Blocks[int] = Blocks({})
        value = 1

    for _ in range(3):
        with pytest.raises(ZeroDivisionError), Own():
            assert Own.blocks.value(0) == 1
            raise ZeroDivisionError
    with Own():
        for _ in range(100):
            with Own():
                pass
        assert len(Own.blocks.anywhere) < 3
    assert Own.blocks.value(0) == 0 and not Own.blocks.hold() and not Own.blocks.anywhere
