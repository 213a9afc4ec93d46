"""float16 and bfloat16 as a user meets them: dtypes, promotion, memory, printing, random numbers,
training."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from optable import HALVES
from weft import errors
from weft.nn import functional as F

of_each_half = pytest.mark.parametrize("half", HALVES, ids=[d.name for d in HALVES])


def rounded(x: np.ndarray, half: wf.DType) -> np.ndarray:
    """float64 values of x in a 16-bit dtype."""
    return x.astype(half.numpy).astype(np.float64)


# ---------------------------------------------------------------- dtypes


@pytest.mark.parametrize(
    "other", [np.dtype("int8"), "float32", None, 3, float, np.float32, object(), [], wf.float16]
)
def test_a_dtype_equals_itself_alone(other: Any) -> None:
    assert (wf.float32 == other) is False and (wf.float32 != other) is True
    assert wf.float32 == wf.float32 and {wf.float32: 1}[wf.float32] == 1


@of_each_half
def test_promotion(half: wf.DType) -> None:
    x = wf.ones(3, dtype=half)
    for same in (
        x + 1,
        x + 1.5,
        x * True,
        x + wf.arange(3),
        x + wf.ones(3, dtype="bool"),
        x / 3,
        x // 2,
        x**3,
        -x,
        2 - x,
    ):
        assert same.dtype is half
    assert (x + wf.ones(3)).dtype is wf.float32 and (
        x + wf.ones(3, dtype=wf.float64)
    ).dtype is wf.float64
    assert (
        wf.result_type(half, 1.0) is half
        and wf.can_cast(half, wf.float32)
        and not wf.can_cast(wf.float32, half)
    )
    assert wf.result_type(wf.float16, wf.bfloat16) is wf.float32


@of_each_half
def test_limits(half: wf.DType) -> None:
    info, largest = wf.finfo(half), wf.full((1,), wf.finfo(half).max, dtype=half)
    assert info.bits == 16 and wf.isfinite(largest).all() and wf.isinf(largest * 1.01).all()
    assert (wf.tensor([1 + info.eps], dtype=half) > 1).all() and (
        wf.tensor([1 + info.eps / 2], dtype=half) == 1
    ).all()


# ---------------------------------------------------------------- values in and out


@of_each_half
def test_memory_is_shared_with_numpy(half: wf.DType) -> None:
    array = np.arange(12).reshape(3, 4).astype(half.numpy)
    x = wf.from_numpy(array)
    assert (
        x.dtype is half
        and x.numpy().dtype == array.dtype
        and x.numpy().ctypes.data == array.ctypes.data
    )
    assert not x.numpy().flags.writeable
    assert (x.T[1] + 1).tolist() == [2.0, 6.0, 10.0]
    assert np.asarray(x, dtype=np.float32).tolist() == array.astype(np.float32).tolist()
    assert (
        wf.tensor(array).dtype is half
        and wf.tensor(array, dtype=wf.int64).tolist() == array.astype(int).tolist()
    )


@of_each_half
def test_data_rounds_once(half: wf.DType) -> None:
    above = (
        1 + 2.0**-half.digits + 2.0**-40
    )  # just above the middle of two neighbours; float32 would forget by how much
    for data in (above, [above], np.float64(above), np.array([above])):
        assert wf.tensor(data, dtype=half).reshape(1).tolist() == [1 + 2.0 ** (1 - half.digits)]
    assert wf.full((2,), above, dtype=half).tolist() == [1 + 2.0 ** (1 - half.digits)] * 2


@of_each_half
def test_printing_and_python_numbers(half: wf.DType) -> None:
    x = wf.tensor([[1.5, -2.0], [np.inf, 0.0]], dtype=half)
    assert repr(x) == f"tensor([[ 1.5, -2. ],\n        [ inf,  0. ]], dtype={half.name})"
    assert (
        x[0, 1].item() == -2.0
        and float(x[0, 0]) == 1.5
        and f"{x[0, 0]:.2f}" == "1.50"
        and bool(x[0, 1])
    )
    assert (
        int(x[0, 1]) == -2
        and x.float().dtype is wf.float32
        and wf.ones(1).half().dtype is wf.float16
    )
    assert wf.ones(1).bfloat16().dtype is wf.bfloat16


@of_each_half
def test_pickle_and_copies_keep_the_bits(half: wf.DType) -> None:
    x = wf.tensor([0.1, -0.0, np.nan, 1e-7], dtype=half, requires_grad=True)
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone()):
        assert other.dtype is half
        assert (
            other.detach().numpy().view(np.uint16).tolist()
            == x.detach().numpy().view(np.uint16).tolist()
        )
    assert pickle.loads(pickle.dumps(wf.bfloat16)) is wf.bfloat16


@of_each_half
def test_creation(half: wf.DType) -> None:
    assert wf.arange(5, dtype=half).tolist() == [0, 1, 2, 3, 4]
    assert wf.linspace(0, 1, 5, dtype=half).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert wf.eye(2, dtype=half).tolist() == [[1, 0], [0, 1]]
    assert (
        wf.zeros((2,), dtype=half).dtype is wf.ones_like(wf.zeros((2,), dtype=half)).dtype is half
    )


@of_each_half
def test_indexing_moves_values(half: wf.DType) -> None:
    array = np.random.default_rng(0).standard_normal((9, 7)).astype(half.numpy)
    x, at = wf.tensor(array), np.array([3, 1, 8])
    wide = array.astype(np.float32)
    assert (
        x[wf.tensor(at)].tolist() == wide[at].tolist()
        and x[1:8:3, ::-1].tolist() == wide[1:8:3, ::-1].tolist()
    )
    x[2] = 0.1
    assert x[2].tolist() == [rounded(np.array(0.1), half)] * 7
    assert wf.sort(x, axis=0).tolist() == np.sort(x.float().numpy(), axis=0).tolist()


# ---------------------------------------------------------------- functions


COMPOSITES: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "softmax": wf.Tensor.softmax,
    "log_softmax": wf.Tensor.log_softmax,
    "mean": wf.Tensor.mean,
    "var": wf.Tensor.var,
    "std": wf.Tensor.std,
    "gelu": wf.Tensor.gelu,
    "silu": wf.Tensor.silu,
    "sigmoid": wf.Tensor.sigmoid,
    "softplus": wf.Tensor.softplus,
    "logsumexp": wf.Tensor.logsumexp,
    "sum": wf.Tensor.sum,
    "cube": lambda t: t**3,
    "floor division": lambda t: t // 0.3,
    "layer norm": lambda t: F.layer_norm(t, 60),
    "rsqrt": lambda t: t.abs().rsqrt(),
}


@pytest.mark.thinned(to=2)
@of_each_half
@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_round_once(name: str, half: wf.DType) -> None:
    array = np.random.default_rng(1).standard_normal((40, 60)).astype(half.numpy)
    x, wide = wf.tensor(array), wf.tensor(array.astype(np.float32))
    got, want = COMPOSITES[name](x), COMPOSITES[name](wide)
    assert got.dtype is half
    assert (got == want.astype(half)).all()


@of_each_half
def test_a_given_dtype_of_the_mean_is_kept(half: wf.DType) -> None:
    x = wf.tensor([1.0, 2.0, 2.0], dtype=half)
    assert (
        x.mean(dtype=wf.float32).dtype is wf.float32 and x.sum(dtype=wf.float32).dtype is wf.float32
    )


@pytest.mark.thinned(to=1)
@of_each_half
def test_uniform_numbers_fill_the_dtype_below_one(half: wf.DType) -> None:
    wf.manual_seed(0)
    x = wf.rand(200_000, dtype=half).numpy()
    assert x.dtype == half.numpy and x.min() == 0.0 and x.max() == 1 - 2.0**-half.digits
    assert len(np.unique(x)) == 2**half.digits
    y = wf.randn(200_000, dtype=half).numpy().astype(np.float32)
    assert abs(y.mean()) < 0.01 and abs(y.std() - 1) < 0.01


# ---------------------------------------------------------------- training


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@of_each_half
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_model_of_16_bit_parameters_learns(half: wf.DType, optimizer: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((128, 8))
    x, labels = wf.tensor(data, dtype=half), wf.tensor((data[:, 0] > data[:, 1]).astype(np.int64))
    params = [
        wf.tensor(rng.standard_normal(s) * 0.3, dtype=half, requires_grad=True)
        for s in ((16, 8), (16,), (2, 16))
    ]
    opt = getattr(wf.nn.optim, optimizer)(params, lr=0.2 if optimizer == "SGD" else 0.01)
    losses = []
    for _ in range(40):
        opt.zero_grad()
        hidden = F.layer_norm(F.gelu(F.linear(x, params[0], params[1])), 16)
        loss = F.cross_entropy(F.linear(hidden, params[2]), labels)
        loss.backward()
        assert all(p.grad is not None and p.grad.dtype is half for p in params)
        opt.step()
        losses.append(loss.item())
    assert loss.dtype is half and all(p.dtype is half for p in params)
    assert losses[-1] < 0.35 * losses[0]


def test_small_steps_of_an_average_are_not_lost() -> None:
    p = wf.tensor(np.ones(3), dtype=wf.bfloat16, requires_grad=True)
    opt = wf.nn.optim.Adam([p], lr=1e-3)
    for _ in range(50):
        opt.zero_grad()
        (p * 2.0).sum().backward()
        opt.step()
    assert opt.state[0]["exp_avg_sq"].dtype is wf.float32
    np.testing.assert_allclose(opt.state[0]["exp_avg_sq"].numpy(), 4 * (1 - 0.999**50), rtol=1e-3)


def test_a_parameter_is_updated_in_place() -> None:
    from weft.frontend.lazy.program_table import statistics

    p = wf.tensor(np.ones(1000), dtype=wf.float16, requires_grad=True)
    opt = wf.nn.optim.SGD([p], lr=0.5)
    before = statistics["donated"]
    for _ in range(4):
        opt.zero_grad()
        (p * p).sum().backward()
        opt.step()
    assert statistics["donated"] > before


# ---------------------------------------------------------------- without ml_dtypes

WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, pickle, weft as wf
x = wf.tensor([[1.5, 2.5], [0.1, 3.0]], dtype=wf.bfloat16, requires_grad=True)
y = (x @ x.T).softmax() + wf.full((2, 2), 0.25, dtype=wf.bfloat16)
y.sum().backward()
assert x.grad.dtype is wf.bfloat16
assert x[0].tolist() == [1.5, 2.5] and x[0, 0].item() == 1.5 and "0.10009766" in str(x.detach())
assert x.float().numpy().dtype == np.float32
assert pickle.loads(pickle.dumps(x))[0].tolist() == [1.5, 2.5]
wf.nn.optim.Adam([x]).step()
wf.rand(3, dtype=wf.bfloat16).realize(); wf.sort(x.detach()).tolist()
try:
    x.numpy()
except wf.errors.MissingPackageError as e:
    assert isinstance(e, ImportError)
    print(e)
"""


@pytest.mark.slow
def test_bfloat16_computes_without_ml_dtypes() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "pip install ml_dtypes" in run.stdout


@pytest.mark.slow
def test_importing_weft_does_not_import_ml_dtypes() -> None:
    code = (
        "import sys, weft as wf; (wf.ones(3, dtype=wf.bfloat16) * 2).tolist(); print('ml_dtypes' in"
        " sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


def test_the_error_is_one_of_wefts() -> None:
    assert issubclass(errors.MissingPackageError, errors.WeftError)


def test_a_sum_of_products_that_varies_along_no_axis_of_its_result() -> None:
    """Copies of one vector multiplied and summed: neither factor has an axis of the result, so
    there is no matrix product."""
    x = wf.tensor(np.arange(16, dtype="float16") / 8)
    rows = x.reshape(1, 16).expand(16, 16)
    np.testing.assert_array_equal(
        (rows @ rows.T).numpy(),
        np.full((16, 16), float((x.numpy().astype("float32") ** 2).sum()), "float16"),
    )
