"""One error of every kind, as a user meets it: the class, the builtin, the whole text, and the line
that is to blame."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from weft import options

E = wf.errors
X, Y, N = wf.zeros(2, 3), wf.zeros(4, 5), wf.arange(6)


def leaf() -> wf.Tensor:
    return wf.tensor([1.0, 2.0], requires_grad=True)


def backward_twice() -> None:
    x = leaf()
    loss = (x * x).sum()
    loss.backward()
    loss.backward()  # to blame


def backward_through_a_replaced_parameter() -> None:
    x = leaf()
    x.name = "weight"
    loss = (x * x).sum()
    with wf.no_grad():
        x -= 1.0
    loss.backward()  # to blame


def in_place_on_a_leaf() -> None:
    x = leaf()
    x += 1.0  # to blame


def out_of_range_at_run_time() -> None:
    rows = X[wf.tensor([0, 5])]  # to blame
    (rows * 2).sum().item()


def singular() -> None:
    inverses = wf.linalg.inv(wf.zeros(2, 3, 3))  # to blame
    (inverses * 2).sum().item()


def two_kernels() -> None:
    with wf.one_kernel():
        X.cumsum(axis=0).cumsum(axis=1).numpy()


def log_of_zero() -> None:
    with wf.debug_nans():
        wf.tensor([1.0, 0.0]).log().numpy()


def scatter_out_of_range() -> None:
    sums = wf.scatter_add(X + 1, wf.tensor([0, 7]), wf.ones(2, 3))  # to blame
    sums.numpy()


SURFACE: dict[str, tuple[Callable[[], object], type[Exception], type[Exception], str]] = {
    "shapes": (
        lambda: X + Y,
        E.ShapeError,
        ValueError,
        "add: shapes (2, 3) and (4, 5) could not be broadcast together: axis -2 is 2 and 4",
    ),
    "contraction": (
        lambda: X @ Y,
        E.ShapeError,
        ValueError,
        "matmul: shapes (2, 3) and (4, 5) do not fit: 3 columns, 4 rows",
    ),
    "reshape": (
        lambda: X.reshape(4, 2),
        E.ShapeError,
        ValueError,
        "reshape: 6 elements of shape (2, 3) do not fit shape (4, 2)",
    ),
    "axis": (lambda: X.sum(2), E.AxisError, IndexError, "sum: axis 2 is out of range for 2 axes"),
    "axis twice": (
        lambda: X.mean((1, -1)),
        E.ShapeError,
        ValueError,
        "mean: an axis is named twice in (1, -1)",
    ),
    "nothing to reduce": (
        lambda: wf.zeros(0, 3).max(0),
        E.ShapeError,
        ValueError,
        "max: shape (0, 3) has no elements along axes (0,), and max of nothing is undefined",
    ),
    "dtype of an operation": (
        lambda: X & X,
        E.DTypeError,
        TypeError,
        "bitwise_and: defined for bool and integers, not for float32",
    ),
    "dtype of data": (
        lambda: wf.tensor(["a"]),
        E.DTypeError,
        TypeError,
        "tensor: element 'a' is no number",
    ),
    "dtype name": (
        lambda: X.astype("float8"),
        E.DTypeError,
        TypeError,
        "there is no dtype 'float8'; there are bool, int8",
    ),
    "function of NumPy": (
        lambda: np.linalg.tensorinv(X),
        E.CallError,
        TypeError,
        (
            "np.linalg.tensorinv is not a function of Weft: write np.linalg.tensorinv(x.numpy()) to"
            " compute it in NumPy, outside of the graph"
        ),
    ),
    "byte order": (
        lambda: wf.from_numpy(np.zeros(2, ">f4")),
        E.DTypeError,
        TypeError,
        "from_numpy: elements of type >f4 have a foreign byte order; wf.tensor converts them",
    ),
    "not a Tensor": (
        lambda: wf.explain("x"),  # type: ignore[arg-type]
        E.DTypeError,
        TypeError,
        "expected a Tensor, or lists, tuples and dicts of Tensors, got 'x'",
    ),
    "value read in a trace": (
        lambda: wf.jit(lambda x: x.item())(wf.ones(1)),
        E.JitError,
        RuntimeError,
        "the value of a Tensor float32[1] is read while <lambda> is traced",
    ),
    "several kernels": (
        two_kernels,
        E.FusionError,
        AssertionError,
        "one_kernel: this takes 2 kernels",
    ),
    "not a finite number": (
        log_of_zero,
        E.FloatingPointError,
        FloatingPointError,
        "log(0) gives -inf, at index (1,) of ",
    ),
    "index when built": (
        lambda: X[2],
        E.IndexError,
        IndexError,
        "index 2 is out of range for axis 0 of extent 2",
    ),
    "too many indices": (
        lambda: X[0, 0, 0],
        E.IndexError,
        IndexError,
        "3 indices for 2 axes of shape (2, 3)",
    ),
    "index when run": (
        out_of_range_at_run_time,
        E.IndexError,
        IndexError,
        "index 5 is out of range for axis 0 of extent 2, in ",
    ),
    "scatter when run": (
        scatter_out_of_range,
        E.IndexError,
        IndexError,
        "index 7 is out of range for axis 0 of extent 2, in ",
    ),
    "name in a module": (
        lambda: wf.nn.Linear(2, 1).get_parameter("scale"),
        E.AttributeError,
        AttributeError,
        "Linear has no parameter 'scale'; it has weight, bias",
    ),
    "device": (
        lambda: wf.zeros(2).to("mps"),
        E.DeviceError,
        RuntimeError,
        f"device 'mps': there is {', '.join(wf.devices())} (wf.devices())",
    ),
    "device of a function": (
        lambda: wf.ones(2, device="tpu"),
        E.DeviceError,
        RuntimeError,
        f"device 'tpu': there is {', '.join(wf.devices())} (wf.devices())",
    ),
    "backward of many": (
        (leaf() * 2).backward,
        E.GradientError,
        RuntimeError,
        "backward: shape (2,) is not a single element; sum it up, or give its cotangent",
    ),
    "backward of nothing": (
        lambda: X.sum().backward(),
        E.GradientError,
        RuntimeError,
        (
            "backward: this Tensor does not depend on anything that requires a gradient; to"
            " differentiate a gradient, take wf.grad(loss, x) in the place of x.grad"
        ),
    ),
    "backward twice": (
        backward_twice,
        E.GradientError,
        RuntimeError,
        (
            "backward: a backward() without retain_graph=True has used this value, and its history"
            " went with it"
        ),
    ),
    "stale parameter": (
        backward_through_a_replaced_parameter,
        E.StaleError,
        RuntimeError,
        (
            "backward: parameter 'weight' (float32[2]) was replaced by an update after this value"
            " was built from it; build it again"
        ),
    ),
    "leaf in place": (
        in_place_on_a_leaf,
        E.GradientError,
        RuntimeError,
        "a leaf that requires a gradient is changed in place: do it inside wf.no_grad()",
    ),
    "gradient of integers": (
        N.requires_grad_,
        E.DTypeError,
        TypeError,
        "only floats have gradients, this is int64",
    ),
    "unrelated gradient": (
        lambda: wf.grad(leaf().sum(), leaf()),
        E.GradientError,
        RuntimeError,
        "grad: the loss does not depend on wrt[0] (float32[2])",
    ),
    "integer overflow": (
        lambda: wf.tensor([1], dtype="int8") + 1000,
        E.OverflowError,
        OverflowError,
        "add: 1000 is out of bounds for int8",
    ),
    "overflow of data": (
        lambda: wf.tensor([300], dtype="uint8"),
        E.OverflowError,
        OverflowError,
        "tensor: Python integer 300 out of bounds for uint8",
    ),
    "negative power": (
        lambda: N**-1,
        E.ArgumentError,
        ValueError,
        "power: integers to the power -1 are not integers; convert to float first",
    ),
    "truth of many": (
        lambda: bool(X > 0),
        E.ShapeError,
        ValueError,
        (
            "a Tensor of shape (2, 3) has no single truth value: write x.all() or x.any(),"
            " wf.allclose(x, y) for x == y, & for `and`"
        ),
    ),
    "float as an index": (
        lambda: [1, 2][wf.tensor(1.0)],  # type: ignore[call-overload]
        E.DTypeError,
        TypeError,
        "only an integer can be an index, this is float32",
    ),
    "whole number": (
        lambda: int(wf.tensor(float("inf"))),
        E.OverflowError,
        OverflowError,
        "int: inf is not a whole number",
    ),
    "size": (
        lambda: wf.zeros(1 << 40, 1 << 40),
        E.ShapeError,
        ValueError,
        "zeros: shape (1099511627776, 1099511627776) has too many elements",
    ),
    "memory": (
        (wf.zeros(1 << 50) + 1).numpy,
        E.MemoryError,
        MemoryError,
        "4.0 PiB of memory are needed",
    ),
    "stream": (
        lambda: X.__dlpack__(stream=7),
        E.BufferError,
        BufferError,
        "__dlpack__: stream 7: the CPU has no streams",
    ),
    "singular matrix": (
        singular,
        E.LinAlgError,
        np.linalg.LinAlgError,
        "inv: matrix 0 of the batch is singular, in ",
    ),
    "option": (
        lambda: options.update(num_threads=0),
        E.OptionError,
        ValueError,
        "num_threads=0: allowed is an integer from 1 to 256",
    ),
    "wrong names in a state": (
        lambda: wf.nn.Linear(2, 1).load_state_dict({"weight": [[1, 2]], "scale": 1}),  # to blame
        E.StateError,
        KeyError,
        "load_state_dict: the state does not fit Linear: missing bias; unexpected scale",
    ),
    "unknown option": (
        lambda: options.update(threads=2),
        E.OptionError,
        ValueError,
        "unknown option 'threads': there are device",
    ),
}


@pytest.mark.parametrize("kind", SURFACE)
def test_text_class_and_line(kind: str) -> None:
    build, ours, builtin, text = SURFACE[kind]
    with pytest.raises(ours) as caught:
        build()
    assert issubclass(ours, E.WeftError) and isinstance(caught.value, builtin)
    message = str(caught.value)
    assert text in message
    lines, first = inspect.getsourcelines(build)
    marked = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# to blame")]
    if message.endswith(
        ".py:" + message.rsplit(":", 1)[-1]
    ):  # found while running: the text names the line that built it
        assert message.endswith(f"{Path(__file__).name}:{marked[0]}")
    elif marked:
        frames = [
            f.lineno
            for f in traceback.extract_tb(caught.value.__traceback__)
            if f.filename == __file__
        ]
        assert frames[-1] == marked[0]


@pytest.mark.parametrize("kind", SURFACE)
def test_no_error_shows_the_inside(kind: str) -> None:
    with pytest.raises(E.WeftError) as caught:
        SURFACE[kind][0]()
    assert (
        caught.value.__cause__ is None and caught.value.__suppress_context__
    ) or caught.value.__context__ is None
    assert not any(word in str(caught.value) for word in ("Node", "graph.py", "weft.ir", "Op."))


def test_every_class_of_error_is_met() -> None:
    elsewhere = {
        E.WeftError,
        E.MissingPackageError,
        E.CompileError,
    }  # the base; no ml_dtypes; a broken installation
    classes = {c for c in vars(E).values() if isinstance(c, type) and issubclass(c, E.WeftError)}
    assert classes == {ours for _, ours, _, _ in SURFACE.values()} | elsewhere


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    prelude = f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; import weft as wf; "
    env = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", prelude + code], capture_output=True, text=True, env=env, check=False
    )


LEVELS = "a level from 1 to 4, or one of true, yes, on, 0, false, no, off"


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("WEFT_NUM_THREADS", "many", "an integer from 1 to 256"),
        ("WEFT_CACHE_LIMIT", "-1", "a number of bytes like 500000, 200K, 64M or 2G"),
        ("WEFT_DEVICE", "tpu", "cpu, cuda or cuda:<number>"),
        ("WEFT_DEBUG", "perhaps", LEVELS),
    ],
)
def test_environment_variables_are_checked_by_name(variable: str, value: str, allowed: str) -> None:
    done = run("(wf.ones(2) + 1).numpy()", **{variable: value})
    assert done.stderr.strip().endswith(
        f"weft.errors.OptionError: {variable}='{value}': allowed is {allowed}"
    )


@pytest.mark.slow
def test_a_device_that_the_environment_names_but_that_is_not_there() -> None:
    done = run("(wf.ones(2) + 1).numpy()", WEFT_DEVICE="cuda:99")
    assert "weft.errors.DeviceError: " in done.stderr and "'cuda" in done.stderr


@pytest.mark.slow
def test_a_dump_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = run("(wf.ones(2) + 1).numpy()", WEFT_DUMP=str(file / "below"))
    assert (
        f"weft.errors.OptionError: WEFT_DUMP='{file / 'below'}': cannot write there: "
        in done.stderr
    )
