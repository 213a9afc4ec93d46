"""Simulates with loops inside the program. In: a size and a number of steps. Out: what became of
cells, bodies or points, and the time of a step.

    python examples/simulate.py
    python examples/simulate.py bodies --size 1000 --plot bodies.png    # where they are at last

`life` is Conway's game of life, `bodies` are stars that attract each other, and `mandelbrot` moves
the points of the complex plane until all that leave have left. Each run is one native call.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import common
import weft as wf

STEPS = {"life": 1000, "bodies": 1000, "mandelbrot": 200}  # by default
ALIVE = 0.3  # of the cells at first
TIME_STEP = 0.01
SOFTENING = 0.05  # a length: bodies nearer than that hardly attract each other more
LEFT, RIGHT, BOTTOM, TOP = -2.2, 0.8, -1.5, 1.5  # of the complex plane
Count = int | wf.Tensor  # passed as an int; a Tensor where the function is traced


@dataclass(frozen=True)
class Outcome:
    """What a simulation ends with: a number, a line about it, and how to draw it."""

    number: float
    line: str
    draw: Callable[[Any], object]


def timed(
    what: str, function: Callable[..., Any], *state: wf.Tensor, steps: int
) -> tuple[Any, float]:
    """(the results, the seconds that they took). A call of no steps compiles the program, which is
    that of any number of them."""
    print(f"{what}: compiling ...", flush=True)
    start = perf_counter()
    function(*state, 0)
    print(f"{what}: compiled in {perf_counter() - start:.2f} s, running ...", flush=True)
    start = perf_counter()
    *results, last = function(*state, steps)
    number = last.item()  # waits for a GPU
    return (*results, number), perf_counter() - start


# ---------------------------------------------------------------- life


def generation(cells: wf.Tensor) -> wf.Tensor:
    """The next one, on a torus. A cell lives if three of the nine around and in it do, or if it
    does and four do."""
    wide = cells.pad(1, mode="wrap")
    rows = wide[:-2] + wide[1:-1] + wide[2:]
    nine = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    return ((nine == 3) | ((nine == 4) & (cells == 1))).to(wf.uint8)


@wf.jit
def evolve(cells: wf.Tensor, steps: Count) -> tuple[wf.Tensor, wf.Tensor]:
    """(the last generation, how many of it are alive)."""
    cells = wf.fori_loop(0, steps, lambda _, cells: generation(cells), cells)
    return cells, cells.sum()


def life(size: int, steps: int) -> Outcome:
    cells = (wf.rand(size, size) < ALIVE).to(wf.uint8).realize()
    what = f"life: {steps} generations of {size} x {size} cells"
    (last, alive), seconds = timed(what, evolve, cells, steps=steps)
    return Outcome(
        alive,
        f"{cells.sum().item()} cells alive at first, {alive} at last; a generation takes"
        f" {1e3 * seconds / steps:.3f} ms",
        lambda axes: axes.imshow(last.cpu().numpy(), cmap="binary", interpolation="nearest"),
    )


# ---------------------------------------------------------------- bodies


def separations(x: wf.Tensor) -> tuple[list[wf.Tensor], wf.Tensor]:
    """Of each pair: its difference along each axis, and its squared distance, softened."""
    apart = [p[None] - p[:, None] for p in x]
    dx, dy, dz = apart
    return apart, dx * dx + dy * dy + dz * dz + SOFTENING**2


def acceleration(x: wf.Tensor) -> wf.Tensor:
    """Of each body, of shape (3, bodies) as x: the mass of all together is 1, and so is the
    constant of gravity."""
    apart, squared = separations(x)
    weight = 1 / (squared * squared.sqrt())
    return wf.stack([(d * weight).sum(1) for d in apart]) / x.shape[1]


def energy(x: wf.Tensor, v: wf.Tensor) -> wf.Tensor:
    """Kinetic and potential; a body does not attract itself."""
    bodies = x.shape[1]
    pairs = (1 / separations(x)[1].sqrt()).sum() - bodies / SOFTENING
    return (v * v).sum() / (2 * bodies) - pairs / (2 * bodies**2)


@wf.jit
def leapfrog(x: wf.Tensor, v: wf.Tensor, steps: Count) -> tuple[wf.Tensor, wf.Tensor, wf.Tensor]:
    """(positions, velocities, the relative change of the energy) after so many steps: kick, drift,
    kick."""

    def step(_: wf.Tensor, state: tuple[wf.Tensor, ...]) -> tuple[wf.Tensor, ...]:
        x, v, a = state
        v = v + TIME_STEP / 2 * a
        x = x + TIME_STEP * v
        a = acceleration(x)
        return x, v + TIME_STEP / 2 * a, a

    first = energy(x, v)
    x, v, _ = wf.fori_loop(0, steps, step, (x, v, acceleration(x)))
    return x, v, energy(x, v) / first - 1


def bodies(size: int, steps: int) -> Outcome:
    """A ball of stars, fast enough not to collapse."""
    x, v = wf.randn(3, size).realize(), (0.3 * wf.randn(3, size)).realize()
    what = f"bodies: {steps} steps of {size} bodies"
    (x, v, drift), seconds = timed(what, leapfrog, x, v, steps=steps)
    return Outcome(
        drift,
        f"relative energy drift {drift:+.1e}; a step takes {1e6 * seconds / steps:.0f} us",
        lambda axes: draw_bodies(axes, x),
    )


def draw_bodies(axes: Any, x: wf.Tensor) -> None:
    """As seen along the third axis."""
    axes.plot(*x[:2].cpu().numpy(), "k.", markersize=2)
    axes.set_aspect("equal")


# ---------------------------------------------------------------- mandelbrot


def near(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
    """Which points may still stay: one that is farther than 2 from 0 leaves for good."""
    return x * x + y * y <= 4


@wf.jit
def escape(re: wf.Tensor, im: wf.Tensor, most: Count) -> tuple[wf.Tensor, wf.Tensor, wf.Tensor]:
    """(how often each point moved, the share that is left, the iterations): z = z^2 + c, from 0,
    until no point is near or all moved `most` times."""

    def more(state: tuple[wf.Tensor, ...]) -> wf.Tensor:
        x, y, _, iterations = state
        return (iterations < most) & near(x, y).any()

    def move(state: tuple[wf.Tensor, ...]) -> tuple[wf.Tensor, ...]:
        x, y, moves, iterations = state
        moving = near(x, y)
        moves = moves + moving.to(wf.int32)
        new_x, new_y = x * x - y * y + re, 2 * x * y + im
        return wf.where(moving, new_x, x), wf.where(moving, new_y, y), moves, iterations + 1

    zero = wf.zeros_like(re)
    first = (zero, zero, wf.zeros_like(re, dtype=wf.int32), wf.tensor(0))
    x, y, moves, iterations = wf.while_loop(more, move, first)
    return moves, near(x, y).float().mean(), iterations


def plane(size: int) -> tuple[wf.Tensor, wf.Tensor]:
    """Real and imaginary parts of size x size points."""
    re, im = wf.meshgrid(
        wf.linspace(LEFT, RIGHT, size), wf.linspace(BOTTOM, TOP, size), indexing="xy"
    )
    return re.realize(), im.realize()


def mandelbrot(size: int, steps: int) -> Outcome:
    what = f"mandelbrot: at most {steps} iterations of {size} x {size} points"
    (moves, share, iterations), seconds = timed(what, escape, *plane(size), steps=steps)
    share = share.item()
    return Outcome(
        share,
        f"{100 * share:.2f} % of the points inside after {iterations} iterations; one takes"
        f" {1e3 * seconds / iterations:.3f} ms",
        lambda axes: draw_moves(axes, moves),
    )


def draw_moves(axes: Any, moves: wf.Tensor) -> None:
    """The set in the last colour."""
    axes.imshow(
        moves.float().log().cpu().numpy(),
        origin="lower",
        extent=(LEFT, RIGHT, BOTTOM, TOP),
        cmap="magma_r",
    )


# ---------------------------------------------------------------- the script

SIMULATIONS = {"life": life, "bodies": bodies, "mandelbrot": mandelbrot}


def plot(path: Path, outcomes: dict[str, Outcome]) -> None:
    """A panel for each simulation."""
    figure, panels = common.new_figure("Loops inside a program", len(outcomes))
    for axes, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        outcome.draw(axes)
        axes.set_title(name)
    common.save_figure(figure, path)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Simulate with loops inside the program.")
    parser.add_argument(
        "simulation",
        nargs="?",
        choices=[*SIMULATIONS, "all"],
        default="all",
        help="which one (default: all)",
    )
    parser.add_argument(
        "--size",
        type=common.positive,
        metavar="N",
        default=512,
        help="cells or points on a side, or bodies (default: 512)",
    )
    parser.add_argument(
        "--steps",
        type=common.positive,
        metavar="N",
        help=f"to simulate, at most (default: {', '.join(f'{n} {s}' for s, n in STEPS.items())})",
    )
    parser.add_argument(
        "--seed",
        type=common.not_negative,
        metavar="N",
        default=0,
        help="of the first cells and bodies (default: 0)",
    )
    common.add_plot(parser, "draw what each simulation ends with there")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Simulates and reports; returns the cells alive, the change of the energy and the share of
    points inside, as far as simulated."""
    args = arguments(argv)
    outcomes = {}
    for name in SIMULATIONS if args.simulation == "all" else [args.simulation]:
        wf.manual_seed(args.seed)
        outcomes[name] = SIMULATIONS[name](args.size, args.steps or STEPS[name])
        print(f"{name}: {outcomes[name].line}", flush=True)
    if args.plot:
        plot(args.plot, outcomes)
    return {name: outcome.number for name, outcome in outcomes.items()}


if __name__ == "__main__":
    common.run(main)
