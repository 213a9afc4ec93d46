"""wf.matmul_precision: what it says, sets, puts back and refuses, and what a GPU computes by it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft import options
from weft.errors import OptionError


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    with options.override():
        yield


def test_float32_is_the_default() -> None:
    assert wf.matmul_precision() == "float32"


def test_it_holds_until_it_is_set_again() -> None:
    wf.matmul_precision("tf32")
    assert wf.matmul_precision() == "tf32" == options.current().matmul


def test_a_block_puts_back_what_was_before_also_after_an_error() -> None:
    with pytest.raises(KeyError), wf.matmul_precision("tf32"):
        with wf.matmul_precision("float32"):
            assert wf.matmul_precision() == "float32"
        assert wf.matmul_precision() == "tf32"
        raise KeyError
    assert wf.matmul_precision() == "float32"


@pytest.mark.parametrize(
    "wrong", ["high", "TF32", 32, np.array(["tf32"] * 2), [10**5000]], ids=type
)
def test_others_are_refused(wrong: object) -> None:
    with pytest.raises(OptionError, match="'float32', 'tf32'"):
        wf.matmul_precision(wrong)
    assert wf.matmul_precision() == "float32"


@needs_compiler
def test_a_gpu_computes_by_it() -> None:
    device()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    x, y, exact = (
        wf.tensor(a, device="cuda"),
        wf.tensor(b, device="cuda"),
        a.astype("d") @ b.astype("d"),
    )

    def error() -> float:
        return float(np.linalg.norm((x @ y).cpu().numpy() - exact) / np.linalg.norm(exact))

    assert error() < 1e-6
    with wf.matmul_precision("tf32"):
        assert 1e-5 < error() < 1e-3
    assert error() < 1e-6
