"""A tour of expressions. In: nothing. Out: what is lazy, derivatives, kernels, and at last a
minimum found by their help.

python examples/expressions.py
python examples/expressions.py --plot wave.png    # a function with its first two derivatives
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import common
import weft as wf

ROUNDS = 20  # of Newton's method, at most


def wave(x: wf.Tensor) -> wf.Tensor:
    return (3 * x).sin() * (-x * x / 2).exp()


def valley(p: wf.Tensor) -> wf.Tensor:
    """Rosenbrock's function: a curved valley whose lowest point is (1, 1)."""
    x, y = p[0], p[1]
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def title(text: str) -> None:
    print(f"\n--- {text}")


# ---------------------------------------------------------------- the tour


def laziness() -> None:
    title("Nothing runs before a value is asked for")
    x = wf.linspace(0, 1, 1_000_000)
    mean = (x * x).mean()
    print("repr says what is known:", repr(mean))
    print("item() computes it:     ", mean.item())
    print("and then it is there:   ", repr(mean))


def broadcasting() -> None:
    title("Axes of extent 1, and axes that are missing, stretch")
    rows, columns = wf.arange(1, 4).reshape(3, 1), wf.arange(1, 6)
    print(f"{rows.shape} * {columns.shape} -> {(rows * columns).shape}")
    print((rows * columns).cpu().numpy())


def gradients() -> None:
    title("Derivatives are expressions, too: of any order, and as lazy")
    x = wf.tensor([0.0, 0.5, 1.0], requires_grad=True)
    first = wf.grad(wave(x).sum(), x)
    second = wf.grad(first.sum(), x)
    print("wave:  ", wave(x).cpu().numpy())
    print("wave': ", first.cpu().numpy())
    print("wave'':", second.cpu().numpy())


def directions() -> None:
    title("A Jacobian from both sides, and a Hessian, without the matrices")

    def polar(p: wf.Tensor) -> wf.Tensor:
        x, y = p[0], p[1]
        return wf.stack([(x * x + y * y).sqrt(), wf.atan2(y, x)])

    p = wf.tensor([3.0, 4.0])
    value, pull = wf.vjp(polar, p)
    print("polar([3, 4]):              ", value.cpu().numpy())
    print("vjp, the radius's gradient: ", pull(wf.tensor([1.0, 0.0]))[0].cpu().numpy())
    print(
        "jvp, along [1, 0]:          ",
        wf.jvp(polar, (p,), (wf.tensor([1.0, 0.0]),))[1].cpu().numpy(),
    )
    print(
        "Hessian of valley @ [1, 0]: ",
        wf.hessian_vector_product(valley, p, wf.tensor([1.0, 0.0])).cpu().numpy(),
    )


def kernels() -> None:
    title("wf.explain shows what would run: a softmax is one kernel")
    x, w = wf.randn(64, 100).realize(), wf.randn(100, 50).realize()
    print(wf.explain((2 * x + 1).softmax(axis=1)).kernels[0])
    title("... and why neighbours stay apart: two products are two kernels")
    for kernel in wf.explain((x @ w).relu() @ w.T).kernels:
        print(kernel.name, *kernel.boundaries, sep="\n    apart ")
    title(
        "wf.dump writes what every stage made of it; WEFT_DUMP=folder does so for each program of a"
        " script"
    )
    with tempfile.TemporaryDirectory() as folder:
        wf.dump((2 * x + 1).softmax(axis=1), folder)
        print(
            *sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*.*")), sep="\n"
        )


@wf.jit
def newton_step(p: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
    """(the next point, the slope at this one): solves the 2x2 system that two Hessian-vector
    products give."""
    slope = wf.value_and_grad(valley)(p)[1]
    (a, b), (_, d) = (wf.hessian_vector_product(valley, p, v) for v in wf.eye(2))
    determinant = a * d - b * b
    step = wf.stack([d * slope[0] - b * slope[1], a * slope[1] - b * slope[0]]) / determinant
    return p - step, (slope * slope).sum().sqrt()


def minimum() -> wf.Tensor:
    """Where Newton's method arrives."""
    title("wf.jit traces a function once; then each call is one native call: Newton's method")
    p = wf.tensor([-1.2, 1.0], dtype=wf.float64)
    for step in range(ROUNDS):
        print(f"step {step}: ({p[0].item():.6f}, {p[1].item():.6f})")
        p, slope = newton_step(p)
        if slope.item() < 1e-9:
            break
    print(f"{len(wf.explain(newton_step).kernels)} kernels a step")
    return p


def plot(path: Path) -> None:
    """The wave and its first two derivatives."""
    figure, (axes,) = common.new_figure("sin(3x) exp(-x²/2) and its derivatives", 1)
    x = wf.linspace(-3, 3, 400).requires_grad_()
    curve = wave(x)
    for label in ("wave", "wave'", "wave''"):
        axes.plot(x.cpu().numpy(), curve.cpu().numpy(), label=label)
        curve = wf.grad(curve.sum(), x)
    axes.set_xlabel("x")
    axes.grid(alpha=0.3)
    axes.legend()
    common.save_figure(figure, path)


def main(argv: Sequence[str] | None = None) -> tuple[float, float]:
    """Prints the tour; returns the minimum that it finds."""
    parser = argparse.ArgumentParser(description="A tour of expressions, derivatives and kernels.")
    common.add_plot(parser, "draw a function and its first two derivatives there")
    args = parser.parse_args(argv)
    for stop in (laziness, broadcasting, gradients, directions, kernels):
        stop()
    x, y = minimum().tolist()
    print(f"\nminimum of the valley: ({x:.6f}, {y:.6f})")
    if args.plot:
        plot(args.plot)
    return x, y


if __name__ == "__main__":
    common.run(main)
