"""Three simulations: each gives what NumPy gives, and the script prints and draws it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import simulate
import weft as wf

# ---------------------------------------------------------------- life


def generation(cells: np.ndarray) -> np.ndarray:
    """The rule as Conway stated it, of the eight neighbours."""
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    neighbours = sum(np.roll(cells, shift, (0, 1)) for shift in shifts)
    return ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(np.uint8)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(17, 32), (3, 3), (2, 5), (1, 1)])
def test_generations_are_those_of_numpy(shape: tuple[int, int]) -> None:
    cells = (np.random.default_rng(0).random(shape) < 0.4).astype(np.uint8)
    first = wf.tensor(cells)
    for steps in range(6):
        last, alive = simulate.evolve(first, steps)
        assert (last.numpy() == cells).all() and alive.item() == cells.sum()
        cells = generation(cells)


def test_a_glider_moves_by_one_cell_in_four_generations_around_the_torus() -> None:
    cells = np.zeros((8, 8), np.uint8)
    cells[:3, :3] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    for moves in (1, 7, 8):
        last, _ = simulate.evolve(wf.tensor(cells), 4 * moves)
        assert (last.numpy() == np.roll(cells, (moves, moves), (0, 1))).all()


# ---------------------------------------------------------------- bodies


def acceleration(x: np.ndarray) -> np.ndarray:
    apart = x[:, None] - x[:, :, None]
    distance = np.sqrt((apart**2).sum(0) + simulate.SOFTENING**2)
    return (apart / distance**3).sum(2) / x.shape[1]


def leapfrog(x: np.ndarray, v: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    h = simulate.TIME_STEP
    for _ in range(steps):
        v = v + h / 2 * acceleration(x)
        x = x + h * v
        v = v + h / 2 * acceleration(x)
    return x, v


def stars(count: int) -> tuple[np.ndarray, np.ndarray]:
    x, v = np.random.default_rng(1).normal(size=(2, 3, count))
    return x.astype(np.float32), (0.3 * v).astype(np.float32)


def test_bodies_move_as_in_numpy_and_keep_their_energy() -> None:
    x, v = stars(20)
    last_x, last_v, drift = simulate.leapfrog(wf.tensor(x), wf.tensor(v), 100)
    right_x, right_v = leapfrog(x.astype(np.float64), v.astype(np.float64), 100)
    np.testing.assert_allclose(last_x.numpy(), right_x, atol=1e-4)
    np.testing.assert_allclose(last_v.numpy(), right_v, atol=1e-4)
    assert abs(drift.item()) < 1e-4


def test_the_energy_of_two_bodies_is_that_of_the_formula() -> None:
    x, v = wf.tensor([[0.0, 2.0], [0.0, 0.0], [0.0, 0.0]]), wf.zeros(3, 2)
    distance = np.sqrt(4 + simulate.SOFTENING**2)
    assert simulate.energy(x, v).item() == pytest.approx(-0.25 / distance, rel=1e-5)
    assert simulate.energy(x, v + 1).item() == pytest.approx(1.5 - 0.25 / distance, rel=1e-5)


# ---------------------------------------------------------------- mandelbrot


def moves(re: np.ndarray, im: np.ndarray, most: int) -> np.ndarray:
    """How often each point moves, in the same arithmetic."""
    x, y = np.zeros_like(re), np.zeros_like(im)
    count = np.zeros(re.shape, np.int32)
    for _ in range(most):
        moving = x * x + y * y <= 4
        count += moving
        x, y = np.where(moving, x * x - y * y + re, x), np.where(moving, 2 * x * y + im, y)
    return count


def test_points_move_as_often_as_in_numpy() -> None:
    re, im = simulate.plane(40)
    count, share, iterations = simulate.escape(re, im, 50)
    right = moves(re.numpy(), im.numpy(), 50)
    assert (count.numpy() == right).all() and iterations.item() == 50
    assert share.item() == pytest.approx((right == 50).mean(), abs=2 / right.size)


def test_the_loop_stops_when_all_points_have_left() -> None:
    re, im = wf.full((3, 4), 0.5), wf.full((3, 4), 0.5)
    count, share, iterations = simulate.escape(re, im, 1000)
    assert (count.numpy() == moves(re.numpy(), im.numpy(), 1000)).all()
    assert iterations.item() == count.numpy().max() < 10 and share.item() == 0


def test_a_point_of_the_set_stays() -> None:
    count, share, iterations = simulate.escape(wf.tensor([-1.0, 2.1]), wf.zeros(2), 100)
    assert count.tolist() == [100, 1] and share.item() == 0.5 and iterations.item() == 100


# ---------------------------------------------------------------- the script


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "name, ends",
    [
        ("life", ["cells alive at first", "a generation takes", " ms"]),
        ("bodies", ["relative energy drift", "a step takes", " us"]),
        ("mandelbrot", ["% of the points inside after", "iterations; one takes", " ms"]),
    ],
    ids=list(simulate.STEPS),
)
def test_each_says_what_it_does_and_ends_with_its_result(
    name: str, ends: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(simulate.main([name, "--size", "12", "--steps", "5"])) == [name]
    compiling, running, result = capsys.readouterr().out.splitlines()
    assert compiling.startswith(f"{name}: ") and compiling.endswith(": compiling ...")
    assert running.startswith(f"{name}: ") and running.endswith(" s, running ...")
    assert result.startswith(f"{name}: ") and all(text in result for text in ends)


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("size", ["1", "2"])
def test_all_run_at_the_smallest_sizes(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = simulate.main(["--size", size, "--steps", "3"])
    assert list(results) == list(simulate.STEPS) and np.isfinite(list(results.values())).all()
    assert len(capsys.readouterr().out.splitlines()) == 9


@pytest.mark.slow
def test_the_seed_decides_the_first_cells(capsys: pytest.CaptureFixture[str]) -> None:
    first, again, other = (
        simulate.main(["life", "--size", "64", "--steps", "3", "--seed", seed])
        for seed in ("1", "1", "2")
    )
    assert first == again != other


@pytest.mark.slow
def test_the_plot_shows_all_of_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    simulate.main(["--size", "20", "--steps", "4", "--plot", str(tmp_path / "all.png")])
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments, name",
    [
        (["death"], "simulation"),
        (["--size", "0"], "--size"),
        (["--size", "x"], "--size"),
        (["--steps", "0"], "--steps"),
        (["--seed", "-1"], "--seed"),
        (["--plot", "no/such/folder.png"], "--plot"),
    ],
)
def test_wrong_options_are_refused(
    arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        simulate.main(arguments)
    assert end.value.code == 2
    assert f"argument {name}: " in capsys.readouterr().err.splitlines()[-1]
