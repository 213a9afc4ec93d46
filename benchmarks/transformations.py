"""Transformations beside those of torch.func and jax. In: LeNet, a small network. Out: milliseconds
of a call, from one run.

    python benchmarks/transformations.py    # beside what is installed

`gradients` are those of each of 64 examples of LeNet, `hessian` the second derivatives of a loss of
a network of 50 parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import weft as wf
from beside import Call, measured, print_head, print_rows
from weft import nn
from weft.nn import functional as F

Array = np.ndarray
TURN = 8  # calls
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((64, 1, 28, 28), dtype=np.float32), RNG.integers(0, 10, 64)
IN, OUT = (RNG.standard_normal((32, n), dtype=np.float32) for n in (4, 2))
WEIGHTS = 0.3 * RNG.standard_normal(50).astype(np.float32)


def lenet(nn: Any) -> Any:
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)),
    )


wf.manual_seed(0)
NET = lenet(nn)
STATE = {name: value.numpy().copy() for name, value in NET.state_dict().items()}


def gradients_with_weft() -> Call:
    parameters, x, y = dict(NET.named_parameters()), wf.tensor(X), wf.tensor(Y)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(nn.functional_call(NET, p, x[None]), y[None])

    each = wf.vmap(wf.value_and_grad(loss), in_axes=(None, 0, 0))
    f = wf.jit(lambda p, x, y: each(p, x, y)[1])
    return lambda: [g.numpy() for g in f(parameters, x, y).values()]


def gradients_with_torch() -> Call:
    torch = import_module("torch")
    func = import_module("torch.func")
    net = lenet(torch.nn)
    net.load_state_dict({name: torch.from_numpy(value) for name, value in STATE.items()})
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    x, y = torch.from_numpy(X), torch.from_numpy(Y)

    def loss(p: Any, x: Any, y: Any) -> Any:
        out = func.functional_call(net, p, (x[None],))
        return torch.nn.functional.cross_entropy(out, y[None])

    f = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return lambda: [g.numpy() for g in f(parameters, x, y).values()]


def gradients_with_jax() -> Call:
    jax, jnp = import_module("jax"), import_module("jax.numpy")

    def convolved(h: Any, kernel: Any, bias: Any, pad: Any) -> Any:
        h = jax.lax.conv_general_dilated(h, kernel, (1, 1), pad) + bias[:, None, None]
        window = (1, 1, 2, 2)
        return jax.lax.reduce_window(jax.nn.relu(h), -jnp.inf, jax.lax.max, window, window, "VALID")

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = convolved(x[None], p[0], p[1], [(2, 2), (2, 2)])
        h = convolved(h, p[2], p[3], "VALID").reshape(-1)
        h = jax.nn.relu(p[6] @ jax.nn.relu(p[4] @ h + p[5]) + p[7])
        return -jax.nn.log_softmax(p[8] @ h + p[9])[y]

    f = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
    parameters, x, y = [jnp.asarray(v) for v in STATE.values()], jnp.asarray(X), jnp.asarray(Y)
    return lambda: [np.asarray(g) for g in f(parameters, x, y)]


def loss_of(w: Any, x: Any, y: Any, tanh: Callable[[Any], Any]) -> Any:
    """Of a network 4 -> 6 -> 2, and a penalty of what is left of the weights."""
    hidden = tanh(x @ w[:24].reshape(4, 6) + w[24:30])
    out = hidden @ w[30:42].reshape(6, 2) + w[42:44]
    return ((out - y) ** 2).mean() + (w[44:] ** 2).sum()


def hessian_with_weft() -> Call:
    x, y, w = wf.tensor(IN), wf.tensor(OUT), wf.tensor(WEIGHTS)
    f = wf.jit(wf.hessian(lambda w: loss_of(w, x, y, wf.tanh)))
    return lambda: [f(w).numpy()]


def hessian_with_torch() -> Call:
    torch = import_module("torch")
    x, y, w = map(torch.from_numpy, (IN, OUT, WEIGHTS))
    f = import_module("torch.func").hessian(lambda w: loss_of(w, x, y, torch.tanh))
    return lambda: [f(w).numpy()]


def hessian_with_jax() -> Call:
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    x, y, w = map(jnp.asarray, (IN, OUT, WEIGHTS))
    f = jax.jit(jax.hessian(lambda w: loss_of(w, x, y, jnp.tanh)))
    return lambda: [np.asarray(f(w))]


CASES: dict[str, dict[str, Callable[[], Call]]] = {
    "gradients": {
        "weft": gradients_with_weft,
        "torch": gradients_with_torch,
        "jax": gradients_with_jax,
    },
    "hessian": {"weft": hessian_with_weft, "torch": hessian_with_torch, "jax": hessian_with_jax},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    o = parser.parse_args()
    print_head()
    for name, systems in CASES.items():
        print_rows(name, measured(systems, o.rounds, 1e-4, TURN))


if __name__ == "__main__":
    main()
