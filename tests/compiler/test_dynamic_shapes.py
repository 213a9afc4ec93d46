"""One program for many sizes: how often something is compiled, the same bits as programs of one
size, guards, constants that follow sizes, errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import weft as wf
import weft.nn.functional as F
from weft import options
from weft.codegen.llvm.emit import emit
from weft.compiler import compile as compile_module
from weft.compiler.programs import on_disk
from weft.compiler.structure import Structure
from weft.compiler.symbolic.extents import apart, together
from weft.compiler.symbolic.formulas import formulas
from weft.compiler.symbolic.generic import Generic, generic
from weft.frontend.lazy import program_table
from weft.frontend.lazy.program_table import statistics
from weft.frontend.lazy.realize import structure_of
from weft.ir.graph.op import Op
from weft.ir.program import region_step
from weft.ir.program.step import Step
from weft.ir.symbolic.integer import NotSymbolic
from weft.runtime.processor import host

RNG = np.random.default_rng(0)
Case = Callable[[int], wf.Tensor]
Sized = Callable[[Any], wf.Tensor]
SIZES = (64, 67, 2, 3, 5, 16, 33, 100, 257, 1000)


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> program_table.Programs:
    """None is there, nor on disk, and nothing is pending."""
    (wf.zeros(1) + 1).realize()
    made = program_table.Programs()
    monkeypatch.setattr(program_table, "_programs", made)
    monkeypatch.setattr(on_disk, "load_program", lambda key, structure: None)
    return made


def random(*shape: int) -> wf.Tensor:
    return wf.tensor(RNG.normal(size=shape).astype(np.float32)).realize()


def normalised(x: wf.Tensor) -> wf.Tensor:
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


ROW, KERNEL = random(48), random(6, 1, 5, 5)
CASES: dict[str, Case] = {
    "map": lambda n: (random(n, 48) * 2 + random(n, 48)).relu(),
    "vector": lambda n: random(n).exp() * 2,
    "repeated": lambda n: random(n, 48) * ROW + random(n)[:, None],
    "rows": lambda n: (random(n, 48) - 1).sum(1),
    "softmax": lambda n: random(n, 48).softmax(1),
    "normalised": lambda n: normalised(random(n, 48)),
    "flat": lambda n: random(n, 48).reshape(-1) + 1,
    "counted": lambda n: wf.arange(n) + random(n, 48)[:, 0],
    "divided": lambda n: random(n, 48).mean(1) / n,
    "joined": lambda n: wf.concat([random(n, 48), random(n, 48) * 2], 1),
    "chosen": lambda n: random(9, 48)[wf.tensor(RNG.integers(0, 9, n)).realize()] * 2,
    "sum of columns": lambda n: (random(n, 300) * 2).sum(0),
    "narrow columns": lambda n: (random(n, 10) * 2).sum(0),
    "channels": lambda n: (random(n, 6, 28, 28) * 2).sum((0, 2, 3)),
    "turned": lambda n: random(n, 48).T + 1,
    "part": lambda n: random(n + 3, 48)[1 : n + 1] * 2,
    "padded": lambda n: wf.pad(random(n, 48), ((2, 3), (0, 0))) + 1,
    "convolution": lambda n: F.conv2d(random(n, 1, 12, 12), KERNEL, padding=2).relu(),
    "pooled": lambda n: F.max_pool2d(random(n, 3, 12, 12), 2) + 1,
    "compared": lambda n: wf.where(random(n, 48) > 0, random(n, 48), 1),
    "in order": lambda n: wf.sort(random(5, n), 1),
    "first greatest": lambda n: random(n, 24).argmax(0),
    "pooled along": lambda n: F.max_pool2d(random(2, 3, 2 * n, 8), 2) + 1,
    "part of joined": lambda n: wf.concat([random(n, 48), random(5, 48)])[:n] * 2,
    "spectra": lambda n: wf.fft.rfft(random(n, 16)).abs(),
    "singular values": lambda n: wf.linalg.svdvals(random(n, 5, 4)),
    "determinants": lambda n: wf.linalg.det(random(n, 12, 12)),
}


# What the default run tries of each table.
OFTEN = {
    "repeated", "rows", "softmax", "normalised", "counted", "joined", "chosen", "sum of columns",
    "part", "padded", "convolution", "in order", "first greatest", "spectra", "singular values",
    "wide, with an epilogue", "steps of sequences", "the gradient of weights",
    "causal", "the gradients of other keys",
    "forwards", "nested", "branches", "means", "written in place", "gradients",
    "images",
}  # fmt: skip


def some_of(table: Iterable[str]) -> list[Any]:
    return [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in table]


def alone(case: Sized, n: Any) -> np.ndarray[Any, Any]:
    """By a program for this size alone."""
    with (
        options.override(dynamic_shapes=False),
        mock.patch.object(program_table, "_programs", program_table.Programs()),
    ):
        return case(n).numpy()


def both(case: Sized, n: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Of the same random numbers: as it comes, and by a program for this size alone."""
    state = RNG.bit_generator.state
    made = case(n).numpy()
    RNG.bit_generator.state = state
    return made, alone(case, n)


def compiled(case: Sized, sizes: Iterable[Any]) -> int:
    """How many programs are compiled for these sizes, whose bits are those of their own."""
    count = 0
    for n in sizes:
        before = statistics["built"]
        made, own = both(case, n)
        count += statistics["built"] - before - 1
        assert made.tobytes() == own.tobytes(), n
    return count


WEIGHT = random(16, 16)
NARROW, WIDE, SQUARE, SHORT = random(784, 10), random(784, 300), random(300, 300), random(5, 784)
OF_ROWS, FAR = random(300, 784), random(784, 1024)
PRODUCTS: dict[str, Case] = {
    "narrow": lambda n: random(n, 784) @ NARROW,
    "wide, with an epilogue": lambda n: (random(n, 784) @ WIDE).relu() + 1,
    "a residual": lambda n: (random(n, 300) @ SQUARE + random(n, 300)).relu(),
    "with a prologue": lambda n: (random(n, 784) * 2).relu() @ WIDE,
    "few steps": lambda n: random(n, 5) @ SHORT,
    "a batch": lambda n: random(n, 24, 32) @ random(n, 32, 40),
    "steps of sequences": lambda n: random(3, n, 96) @ random(3, 96, n),
    "heads": lambda n: random(n, 2, 20, 32) @ random(n, 2, 20, 32).transpose(2, 3),
    "a far matrix, in another order for few rows": lambda n: random(n, 784) @ FAR,
    "the gradient of weights": lambda n: random(n, 784).T @ random(n, 300),
    "of few": lambda n: random(n, 784).T @ random(n, 10),
}


@pytest.mark.parametrize("name", some_of(PRODUCTS))
def test_two_programs_multiply_matrices_of_all_sizes(name: str) -> None:
    """Where few rows are added up in another order, kernels of the second are compiled again."""
    assert compiled(PRODUCTS[name], (64, 67, 2, 3, 5, 10, 16, 33, 100, 257, 784, 1000)) == 2


@pytest.mark.parametrize(
    "case",
    [
        lambda n: random(60, n).sum(1),
        lambda n: random(60, n).softmax(1),
        lambda n: normalised(random(60, n)),
        lambda n: random(60, n).max(1),
    ],
)
def test_rows_of_few_vectors_have_the_bits_of_longer_ones(case: Case) -> None:
    """Their loops are others: of one vector, of two, of four, of any number."""
    assert compiled(case, (40, 23, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130)) == 2


def test_short_lines_do_not_choose_the_tiles_of_long_ones() -> None:
    laid_out, filters = Generic.laid_out, random(24, 20, 5)

    def kernels(*sizes: tuple[int, int]) -> list[str]:
        """Of the program of the last size."""
        made = []

        def keep(program: Generic, values: Any) -> Any:
            made.append(laid_out(program, values))
            return made[-1]

        with (
            mock.patch.object(program_table, "_programs", program_table.Programs()),
            mock.patch.object(Generic, "laid_out", keep),
        ):
            for batch, length in sizes:
                F.conv1d(random(batch, 20, length), filters).numpy()
        return made[-1].kernel_keys

    assert kernels((60, 6), (62, 7), (64, 50)) == kernels((60, 60), (62, 70), (64, 50))


def test_panels_of_weight_gradients_fit_at_all_sizes() -> None:
    vectors, filters = random(200, 50), random(100, 50, 3).requires_grad_()

    def case(n: tuple[int, int]) -> wf.Tensor:
        texts = vectors[wf.tensor(RNG.integers(0, 200, n)).realize()].transpose(1, 2)
        return wf.grad((F.conv1d(texts, filters) ** 2).sum(), filters).detach()

    assert compiled(case, ((131, 368), (15, 477), (40, 300))) == 2


def test_rows_and_batch_are_independent() -> None:
    def case(n: int) -> wf.Tensor:
        return random(n, n * n % 50 + 17, 48) @ random(n, 48, 40)

    assert compiled(case, (20, 31, 12, 49, 100)) == 2


def test_products_along_k_share_a_program() -> None:
    def case(n: int) -> wf.Tensor:
        return (random(n, 784) @ OF_ROWS[:10].T).relu()

    assert compiled(case, (64, 67, 17, 18, 33, 100, 1000)) == 2
    assert compiled(case, (2, 3, 15, 16, 257, 300)) == 0


def attention(t: int, s: int, **how: Any) -> wf.Tensor:
    q, k, v = (random(2, 4, n, 20) for n in (t, s, s))
    return F.scaled_dot_product_attention(q, k, v, **how)


def slopes(t: int, s: int, **how: Any) -> wf.Tensor:
    """The gradients of attention, as one value."""
    q, k, v = (random(2, 4, n, 32).requires_grad_() for n in (t, s, s))
    (F.scaled_dot_product_attention(q, k, v, **how) * random(2, 4, t, 32)).sum().backward()
    assert q.grad is not None and k.grad is not None and v.grad is not None
    return q.grad.sum(2, keepdims=True) + wf.concat([k.grad, v.grad], 2)


def some(*shape: int) -> wf.Tensor:
    """A mask; no place of the first rows is in it."""
    mask = RNG.random(shape) > 0.2
    mask[:3] = False
    return wf.tensor(mask).realize()


ATTENTION: dict[str, Case] = {
    "of sequences": lambda n: attention(n, n),
    "causal": lambda n: attention(n, n, is_causal=True),
    "of other keys": lambda n: attention(n, n * 2 // 3 + 9),
    "of few queries": lambda n: attention(7, n),
    "of few keys": lambda n: attention(n, 40),
    "with a mask, none of which are left in some rows": lambda n: attention(
        n, n, attn_mask=some(n, n)
    ),
    "with weights": lambda n: attention(n, n, attn_mask=random(n, n)),
    "the gradients": lambda n: slopes(n, n),
    "the gradients, causal": lambda n: slopes(n, n, is_causal=True),
    "the gradients of other keys": lambda n: slopes(n, n * 2 // 3 + 9),
}


@pytest.mark.parametrize("name", some_of(ATTENTION))
def test_two_programs_attend_to_sequences_of_all_lengths(name: str) -> None:
    """Blocks of rows and of columns, whole and cut; several blocks of columns from 1025 on."""
    sizes = (64, 67, 7, 257, 1025)
    assert compiled(ATTENTION[name], sizes) == 2


def test_few_keys_of_any_width_have_gradients_of_the_same_bits() -> None:
    """Products along few steps are straight-line code where their number is known; chunks of rows,
    whose sums are partial ones, have as many rows as their sums are long."""

    def case(n: int) -> wf.Tensor:
        key = random(3, n).requires_grad_()
        F.scaled_dot_product_attention(random(n, n), key, random(3, n)).sum().backward()
        assert key.grad is not None
        return key.grad

    assert compiled(case, (48, 40, 31)) == 3
    assert compiled(case, (7, 6, 5)) == 1


def test_gradients_of_few_and_of_many_windows_share_a_program() -> None:
    """Those of weights and biases are added up image by image, whatever their number is."""
    kernel, bias = random(16, 8, 3).requires_grad_(), random(16).requires_grad_()

    def case(size: tuple[int, int]) -> wf.Tensor:
        answers = F.conv1d(random(size[0], 8, size[1]), kernel, bias).relu()
        found = wf.grad((answers * answers).sum(), [kernel, bias])
        return wf.concat([g.reshape(-1) for g in found])

    assert compiled(case, ((33, 20), (69, 40), (231, 34), (3, 48), (2, 10), (2800, 12))) == 2


def test_sums_over_windows_in_any_number_of_parts_share_a_program() -> None:
    """Those of many products are added up in parts of several images, of which the last may have
    fewer; those of few in two."""
    kernel = random(96, 32, 3).requires_grad_()

    def case(size: tuple[int, int]) -> wf.Tensor:
        (found,) = wf.grad(F.conv1d(random(size[0], 32, size[1]), kernel).tanh().sum(), [kernel])
        return found

    assert compiled(case, ((40, 300), (97, 200), (64, 258), (3, 12), (2, 20), (200, 9))) == 2


def test_products_of_what_was_flat_are_cut_at_the_sizes_at_which_they_are_cut_alone() -> None:
    """To both sides of 8,192 results."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        m, n = size
        flat = random(n, m).reshape(-1) * 0.5
        wf.realize(flat, product := flat.reshape(n, m).mT @ random(n, n))
        return product

    assert compiled(case, ((65, 65), (5, 64), (65, 257), (129, 7), (33, 256))) <= 3


def test_lanes_run_over_any_number_of_terms_of_windows() -> None:
    """As where a gradient of weights has few channels."""
    kernel = random(12, 8, 3).requires_grad_()

    def case(size: tuple[int, int]) -> wf.Tensor:
        (found,) = wf.grad(F.conv1d(random(size[0], 8, size[1]), kernel).tanh().sum(), [kernel])
        return found

    assert compiled(case, ((12, 200), (9, 333), (5, 150), (20, 257))) == 2


def test_convolutions_of_one_place_share_a_program_for_all_batches_and_sizes() -> None:
    kernel = random(32, 16, 1, 1)
    sizes = [(10, 7, 7), (16, 7, 7), (64, 7, 7), (3, 7, 7), (5, 20, 9), (12, 30, 17), (2, 5, 31)]
    assert compiled(lambda n: F.conv2d(random(n[0], 16, *n[1:]), kernel), sizes) <= 4


def test_windows_in_steps_share_programs_for_all_sizes() -> None:
    weight = random(12, 8, 3, 3)

    def slopes(n: Any) -> wf.Tensor:
        x = random(n[0], 8, *n[1:]).requires_grad_()
        y = F.conv2d(x, weight, stride=2, padding=1).tanh()
        (found,) = wf.grad((y * y).sum(), [x])
        return found

    sizes = [(10, 20, 12), (12, 31, 17), (31, 36, 46), (5, 25, 12), (25, 64, 60), (17, 53, 39)]
    assert compiled(slopes, sizes) <= 4  # one for each kind of odd and even


def test_gradients_of_steps_share_programs_for_all_even_and_for_all_odd_sizes() -> None:
    """Behind the last element of a step there are no or one more."""

    def slopes(n: int) -> wf.Tensor:
        x = random(8, n).requires_grad_()
        (found,) = wf.grad((x[:, ::2].tanh() ** 2).sum(), [x])
        return found

    assert compiled(slopes, (10, 12, 25, 100, 33, 64, 7, 18, 41)) == 4


def test_extents_that_only_odd_sizes_make_equal_are_one_in_a_kernel() -> None:
    """Of the gradient of a step, 2*((n + 1) // 2) - 1, and of what it is added to, n."""

    def slopes(n: int) -> wf.Tensor:
        x = random(n).requires_grad_()
        y, z = x @ random(n, n), (x * random(n))[::2]
        (found,) = wf.grad((y * y).sum() + (z * z).sum(), [x])
        wf.realize(found, y, z)
        return found

    assert compiled(slopes, (257, 9, 33, 101)) == 2


def test_a_sum_over_rows_that_formulas_write_in_two_ways_is_left_whole() -> None:
    """The gradient of weights, where outputs have 3*n lines at both sizes, by chance."""
    weight = random(1, 8, 3, 3).requires_grad_()

    def case(size: tuple[int, int]) -> wf.Tensor:
        n, m = size
        y = F.conv2d(random(n, 8, m, m), weight, dilation=2, padding=(1, 0)).tanh()
        (found,) = wf.grad((y * y).mean(), [weight])
        return found

    assert compiled(case, ((3, 11), (4, 14))) == 2


def test_windows_of_a_flat_transpose_are_added_up_in_the_order_of_memory() -> None:
    """Whether a window stays within a row of n is not known of all sizes, but where n = 2*m."""

    def case(n: int) -> wf.Tensor:
        turned = (random(n, n).T.reshape(-1) * 0.5).reshape(1, 1, n, n)
        return F.avg_pool2d(turned, 3, 2) * 1.5

    assert compiled(case, (64, 17, 20, 18, 40)) == 3


def test_indices_of_a_step_of_three_are_divided_in_the_code() -> None:
    """At sizes 3*m - 2, where 2*m + 1 of them is no multiple of three."""

    def slopes(n: int) -> wf.Tensor:
        x = random(n, 5).requires_grad_()
        y = x @ random(5, n)
        (found,) = wf.grad((y[::3] ** 2).sum() + (y.max(1) ** 2).sum(), [x])
        return found

    assert compiled(slopes, (31, 16, 7, 100)) <= 3


def test_sums_over_few_rows_join_a_kernel_at_the_sizes_at_which_they_do_alone() -> None:
    def case(n: int) -> wf.Tensor:
        x = random(n, n, 33)
        thirds = (F.avg_pool2d(x.reshape(n, 1, n, 33), 1, 1) * 1.5)[:, :, :, ::3]
        wf.realize(total := x.sum(0), thirds)
        return total

    assert compiled(case, (4, 17, 31, 12, 24)) <= 3


def test_maps_of_rows_of_few_elements_join_where_they_do_alone() -> None:
    """Before the sums over rows that they follow, so that these join other kernels."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        m, n = size
        x, weights = random(m, n).requires_grad_(), random(m, n)
        normalised = F.layer_norm(x.T, (m,)).T
        total = F.avg_pool1d(normalised, 2).max(-1) @ weights
        (slopes,) = wf.grad((total * total).sum(), [x])
        wf.realize(total, slopes)
        return slopes

    assert compiled(case, ((31, 3), (64, 65), (64, 100), (257, 5))) <= 4


def test_rows_that_a_pool_skips_at_some_sizes_alone_are_added_up_as_there() -> None:
    """Of 33 rows, every third of which a pool reads, batch and rows are one axis."""

    def case(size: tuple[int, int, int]) -> wf.Tensor:
        n, m, k = size
        x = random(n, 1, m, k)
        return F.avg_pool2d(x * (wf.arange(k) % 3 + 1), 2, 3) * 1.5

    assert compiled(case, ((65, 8, 9), (300, 8, 9), (9, 33, 129), (9, 31, 17))) <= 4


def test_pools_behind_convolutions_along_an_axis_of_any_length() -> None:
    """One kernel each, whose results are reduced before they are stored."""
    kernel = random(4, 1, 5)

    def case(n: int) -> wf.Tensor:
        return F.max_pool1d(F.conv1d(random(1, 1, n), kernel, padding=2), 2)

    assert compiled(case, (40, 65, 33, 100)) <= 4
    assert [k.kind for k in wf.explain(case(100)).kernels] == ["contraction"]


def test_merges_that_save_as_much_come_in_one_order_for_all_sizes() -> None:
    """Not in one that follows from what merged before, as larger values do."""

    def case(n: int) -> wf.Tensor:
        x, y, w = random(30, 3).requires_grad_(), random(3, 16), random(16, n)
        made = x @ y
        out, mapped = made @ w, wf.fft.fft(made.reshape(3, 10, 16)).abs()
        (slopes,) = wf.grad((out * out).sum() + (mapped * mapped).sum(), [x])
        wf.realize(out, mapped, slopes)
        return slopes

    assert compiled(case, (300, 9, 129, 100)) <= 3


def test_a_slice_of_one_element_is_none_of_several() -> None:
    def case(size: tuple[int, int]) -> wf.Tensor:
        n, m = size
        x = random(n, 2).requires_grad_()
        shifted = wf.pad(x, ((1, 0), (0, 0)))[:-1]
        made, total = shifted @ random(2, m), x.sum()
        (slopes,) = wf.grad((total * total) + (made * made).sum(), [x])
        wf.realize(total, made, slopes)
        return slopes

    assert compiled(case, ((7, 9), (2, 16), (16, 64), (65, 31))) <= 4


def test_sums_over_rows_merge_first_with_what_saves_most_at_each_size() -> None:
    """With what reads the rows, too, or with the slopes of another maximum of the columns."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        m, n = size
        x, rows = random(n).requires_grad_(), random(n, m)
        a, b = wf.maximum(rows.T @ x, random(m)), wf.maximum(x, random(n))
        (slopes,) = wf.grad((a * a).sum() + (b * b).sum(), [x])
        wf.realize(a, b, slopes)
        return slopes

    assert compiled(case, ((8, 129), (300, 8), (48, 64), (64, 48), (33, 200))) <= 4


def test_places_of_unrolled_loops_are_divided_in_the_code() -> None:
    """By a length that is not known, in the epilogue of a product that reads a flat transpose."""

    def case(n: int) -> wf.Tensor:
        x, y, w = random(5, n, n), random(5, n, n), random(n, 5)
        flat = (x.mT.reshape(-1) * 0.5).reshape(5, n, n).detach()
        again = ((flat + flat).reshape(-1) * 0.5).reshape(5, n, n)
        product = (y @ w).detach()
        return (product * 2) @ w.T + again.mT

    assert compiled(case, (5, 31, 65, 4)) <= 4


@pytest.mark.parametrize(
    "case",
    [
        lambda n: random(3, *n)[..., ::2].sum(),
        lambda n: random(3, *n)[..., ::2].mean(axis=(1, 2)),
        lambda n: F.avg_pool2d(random(3, 1, *n), 2).sum(axis=(0, 2, 3)),
    ],
)
def test_rows_that_are_one_at_even_sizes_are_added_up_so_there(case: Sized) -> None:
    sizes = [(9, 17), (13, 20), (21, 10), (17, 14), (17, 13), (8, 15), (9, 24), (30, 31)]
    assert compiled(case, sizes) < len(sizes)


def test_what_joins_a_kernel_first_at_one_size_does_so_at_all_that_it_serves() -> None:
    """Whether the gradient of the weights is summed in the kernel of rows that makes what it sums,
    or with what it is added to, depends on which saves more."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        width, rows = size
        weight = (random(width, width).tanh() * 0.1).requires_grad_()

        def step(carry: wf.Tensor, now: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
            carry = (carry @ weight + now).tanh()
            return carry, carry.softmax(-1)

        last, stacked = wf.scan(step, random(rows, width), random(5, rows, width))
        (found,) = wf.grad((stacked * stacked).sum() + last.sum(), [weight])
        return found

    assert compiled(case, ((100, 48), (64, 16), (7, 5), (2, 16))) == 4


def test_systems_of_any_size_have_gradients_and_say_which_matrix_is_singular() -> None:
    def case(n: int) -> wf.Tensor:
        matrix = (random(n, n) + 40 * wf.eye(n)).requires_grad_()
        wf.linalg.solve(matrix, random(n, 2)).sum().backward()
        assert matrix.grad is not None
        return matrix.grad

    def inverse(stack: Any) -> wf.Tensor:
        return wf.linalg.inv(wf.tensor(stack).realize() + 40 * wf.eye(20))

    assert compiled(case, (40, 33, 64, 57)) == 2
    assert compiled(lambda n: inverse(RNG.random((n, 20, 20), np.float32)), (4, 7, 3, 9)) == 2
    assert (
        compiled(lambda n: wf.linalg.solve(wf.eye(2) * 2, random(3, 2, n)), (17, 16, 32, 48)) <= 3
    )
    stack, before = np.zeros((6, 20, 20), np.float32), statistics["built"]
    stack[4] = -40 * np.eye(20)
    with pytest.raises(ValueError, match="matrix 4 of the batch is singular"):
        inverse(stack).realize()
    assert statistics["built"] == before, "a program of many sizes says it"


def test_batches_of_one_have_a_program_for_all_lengths() -> None:
    """From the first on: what else varies is known from other batches."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        x = random(*size, 16)
        return ((x @ WEIGHT).softmax(1) * x.shape[0]).sum(2)

    assert compiled(case, ((8, 20), (5, 13), (3, 40))) == 2
    assert compiled(case, ((1, 9), (1, 30), (1, 17))) == 1
    assert compiled(case, ((4, 1), (6, 1))) == 1
    assert compiled(case, ((1, 1), (2, 2))) == 1


def test_products_added_an_unknown_number_of_elements_apart_are_fused_too() -> None:
    """Lanes that lie so many columns apart take turns."""

    def case(n: int) -> wf.Tensor:
        key = random(5, n).requires_grad_()
        F.scaled_dot_product_attention(random(n, n).mT, key, random(5, 16)).sum().backward()
        assert key.grad is not None
        return key.grad

    assert compiled(case, (9, 2, 7, 6, 5)) <= 4


@pytest.mark.parametrize("name", some_of(CASES))
def test_two_programs_serve_all_sizes_with_the_bits_of_their_own(name: str) -> None:
    assert compiled(CASES[name], SIZES) == 2


# ---------------------------------------------------------------- loops and branches


def stepped(t: int, n: int, reverse: bool = False) -> wf.Tensor:
    """A carry, what is stacked, slices and a captured value."""
    by = random(n, 1)

    def step(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        return (h * by + x).tanh(), h.softmax(1)

    h, ys = wf.scan(step, random(n, 7), random(t, n, 7), reverse=reverse)
    return wf.concat([h[None], ys])


def nested_loops(t: int, n: int) -> wf.Tensor:
    """Over both axes, whose inner carries take turns."""

    def step(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        a, (b, ys) = wf.scan(lambda c, v: ((c[1], c[0] * 0.5 + v), c[0]), (h, h * 2), x)[0], (h, x)
        return a[0] + a[1].flip(0), ys.cumsum(0) + b

    h, ys = wf.scan(step, random(5), random(t, n, 5))
    return wf.concat([h.expand(1, n, 5), ys])


def branches(t: int, n: int) -> wf.Tensor:
    """A choice in each iteration."""

    def step(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        h = wf.cond(x.sum() > 0, lambda: h + x, lambda: (h * x).cumsum(1))
        return h, h.sum(1)

    return wf.scan(step, random(n, 3), random(t, n, 3))[1]


def until(t: int, n: int) -> wf.Tensor:
    """A condition, whose gradient is bounded by a length."""
    x = random(n, 40).requires_grad_()

    def more(c: tuple[wf.Tensor, wf.Tensor]) -> wf.Tensor:
        return c[1].abs().max() < 50

    def grown(c: tuple[wf.Tensor, wf.Tensor]) -> tuple[wf.Tensor, wf.Tensor]:
        return c[0] + 1, c[1] * 1.5 + x.sin()

    steps, y = wf.while_loop(more, grown, (wf.tensor(0), x), max_steps=t)
    (found,) = wf.grad(y.sum(), [x])
    return wf.concat([found, y, y * steps])


def centred(t: int, n: int) -> wf.Tensor:
    """By means, which are made of floats that follow the size, in a loop and one inside it."""

    def step(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        inner = wf.scan(lambda c, v: (c * 0.5 + v.mean(), None), h.mean(0), x.T)[0]
        return h + x.mean(0), (x - x.mean(0)) * inner.mean()

    return wf.scan(step, random(n, 5), random(t, n, 5))[1]


def written(t: int, n: int) -> wf.Tensor:
    """A part of the carry, at an index, in place."""

    def body(i: wf.Tensor, c: wf.Tensor) -> wf.Tensor:
        c[i] = c.max(0) + i
        return c

    return wf.fori_loop(0, t, body, random(t, n))


def looked_up(t: int, n: int) -> wf.Tensor:
    table, places = random(n, 8), wf.tensor(RNG.integers(0, n, (t, 3))).realize()
    return wf.scan(lambda h, i: (h + table[i], h * 2), wf.zeros(3, 8), places)[1]


def slopes_of_steps(t: int, n: int) -> wf.Tensor:
    """What the loop keeps, products that leave it, sums in the loop backwards."""
    w, by = random(24, 24).requires_grad_(), random(24).requires_grad_()
    first = random(n, 24).requires_grad_()

    def step(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        h = (h @ w + x * by).tanh()
        return h, h * h

    h, ys = wf.scan(step, first, random(t, n, 24))
    found = wf.grad(h.sum() + ys.mean(), [w, by, first])
    return wf.concat([found[0], found[1][None], found[2].sum(0)[None]])


def slopes_in_pieces(t: int, n: int) -> wf.Tensor:
    """Of which the loop backwards computes some again."""
    by, first = random(1, 9).requires_grad_(), random(n, 9)

    @wf.checkpoint
    def piece(h: wf.Tensor, xs: wf.Tensor) -> wf.Tensor:
        return wf.scan(lambda h, x: ((h * by + x).sin(), None), h, xs)[0]

    h, sums = wf.scan(lambda h, xs: (piece(h, xs), h.sum()), first, random(3, t, n, 9))
    return wf.concat(wf.grad(h.sum() + sums.sum(), [by]))


STEPS: dict[str, Callable[[int, int], wf.Tensor]] = {
    "forwards": stepped,
    "backwards": lambda t, n: stepped(t, n, True),
    "a map": lambda t, n: wf.map(lambda x: x.softmax(0) * 2, random(t, n)),
    "counted": lambda t, n: wf.fori_loop(0, t, lambda i, x: x * 0.5 + i, random(n, 3)),
    "nested": nested_loops,
    "branches": branches,
    "a condition": until,
    "means": centred,
    "written in place": written,
    "looked up": looked_up,
    "gradients": slopes_of_steps,
    "gradients in pieces": slopes_in_pieces,
}
LENGTHS = [(20, 30), (13, 33), (2, 17), (64, 24)]


@pytest.mark.parametrize("name", some_of(STEPS))
def test_two_programs_run_loops_of_all_lengths_over_all_batches(name: str) -> None:
    """Even and odd numbers of iterations, after which carries that take turns lie elsewhere."""
    assert compiled(lambda size: STEPS[name](*size), LENGTHS) == 2


def sequences(t: int, n: int) -> wf.Tensor:
    """Whose labels are aligned with any number of times, and the slopes of that."""
    scores = random(t, n, 9).requires_grad_()
    labels = wf.tensor(RNG.integers(1, 9, (n, 4)))
    loss = F.ctc_loss(scores.log_softmax(-1), labels, wf.full((n,), t), wf.full((n,), 2))
    return wf.grad(loss, [scores])[0]


def bags(t: int, n: int) -> wf.Tensor:
    """Means of rows, as many as a bag is long."""
    return F.embedding_bag(wf.tensor(RNG.integers(0, 20, (n, t))), random(20, 12))


OTHERS: dict[str, Callable[[int, int], wf.Tensor]] = {
    "sequences": sequences,
    "bags": bags,
    "on a diagonal": lambda t, n: wf.diag(random(n)) * 2.0,
}


@pytest.mark.parametrize("name", OTHERS)
def test_two_programs_serve_what_counts_its_size(name: str) -> None:
    sizes = [(20, 30), (13, 33), (6, 17), (64, 24)]
    assert compiled(lambda size: OTHERS[name](*size), sizes) == 2


def test_as_many_positions_by_chance_are_no_program_of_their_own() -> None:
    """Of rows, and of the 24 columns."""

    def case(n: int) -> wf.Tensor:
        return random(n, 24) + wf.arange(24) * wf.arange(n)[:, None]

    assert compiled(case, (30, 33, 24, 57)) == 2


def test_what_followed_sizes_before_follows_them_in_all_programs() -> None:
    """Of the second pair of sizes, which are as many elements, the divisor is the same."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        return (random(*size, 64) ** 2).mean()

    assert compiled(case, ((10, 20), (14, 30), (70, 6), (50, 5))) == 3


def test_a_length_alone_is_a_symbol() -> None:
    def case(n: int) -> wf.Tensor:
        return wf.fori_loop(0, n, lambda i, x: x * 0.5 + i, random(7))

    assert compiled(case, (5, 8, 100, 2, 3)) == 2
    assert wf.explain(case(20)).note == "a program of float32[7], n iterations serves n >= 2"


def test_a_guard_is_told_once_and_only_where_memory_could_break_it() -> None:
    def case(n: int) -> wf.Tensor:
        places = wf.arange(n).flip(0)
        return (random(n, 4)[places] * wf.arange(n)[:, None]).mean(0) / random(n, 4).var(0)

    assert compiled(case, (16, 20, 31)) == 2
    note = wf.explain(case(20)).note
    assert "9223372036854775807" not in note and note.count("4 sums of n terms") == 1


def test_what_windows_ask_of_a_length_is_one_guard() -> None:
    windows = [random(16, 8, reach) for reach in (3, 4)]

    def case(size: tuple[int, int]) -> wf.Tensor:
        x = random(size[0], 8, size[1])
        return wf.concat([F.conv1d(x, w).relu().max(2) for w in windows], 1)

    assert compiled(case, ((12, 20), (9, 33), (40, 10), (20, 6))) == 2
    note = wf.explain(case((40, 10))).note
    assert [g for g in note.split(" where ")[1].split(", ") if g.startswith("m ")] == ["m > 4"]


def test_a_bad_index_in_a_loop_is_named_with_its_iteration() -> None:
    for t, n in ((6, 64), (9, 67), (7, 33)):
        table, places = random(n, 8), np.zeros((t, 4), np.int64)
        places[t - 2, 1] = n
        where = wf.tensor(places).realize()
        with pytest.raises(wf.errors.IndexError, match=rf"index {n} is out of .*{n}"):
            wf.scan(lambda h, i, x=table: (h + x[i], None), wf.zeros(4, 8), where)[0].numpy()


def test_deviations_of_a_few_vectors_are_squared_as_in_rows_of_that_length() -> None:
    """With FMAs the number of partial sums would matter, of which short rows have fewer: where a
    vector has 16 floats, from 33 terms on."""
    sizes = [(12, 20), (7, 31), (33, 48), (9, 33), (40, 63), (20, 64), (8, 65), (5, 130)]
    assert compiled(lambda size: random(*size).var(1), sizes) <= 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_program_adds_up_few_and_many_terms_of_a_row(dtype: str) -> None:
    """In steps of several vectors, then vector by vector, then under a mask; in blocks, of which
    the last may have a single term. Cheap terms and costly ones."""

    def case(n: int) -> wf.Tensor:
        x = random(5, n).to(getattr(wf, dtype))
        return wf.concat([(x * 2).sum(1), x.softmax(1).reshape(-1)])

    few = (3, 8, 12, 16, 24, 29, 32, 40, 60, 90, 100, 128, 200)
    assert compiled(case, (64, 67, *few, 1024, 1025, 2048, 2049, 2100, 4097)) == 2


def test_a_kernel_that_was_begun_when_a_layout_failed_is_compiled_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That of rows in blocks, for which the program has no code until one comes."""
    fails: list[NotSymbolic] = []

    def anew(steps: list[Step]) -> list[Step]:
        made = region_step.anew(steps)
        if fails:
            raise fails.pop()
        return made

    def case(n: int) -> wf.Tensor:
        return (random(5, n) * 2).sum(1)

    monkeypatch.setattr(compile_module, "anew", anew)
    assert compiled(case, (64, 67)) == 2
    fails.append(NotSymbolic("a later kernel has to know its sizes"))
    assert compiled(case, (2049,)) == 1
    assert compiled(case, (2100,)) == 0


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool_"])
def test_lines_end_at_any_place_of_a_vector(dtype: str) -> None:
    """What is behind their end, the next line, is not written."""

    def case(n: int) -> wf.Tensor:
        x = random(300, n)
        return wf.where(x > random(n), x * 8, x).to(getattr(wf, dtype))

    assert compiled(case, (40, 25, *range(2, 20))) == 2


def test_neighbouring_terms_that_share_an_element_are_added_up_as_at_that_size_alone() -> None:
    """Rows of 2 or 4 are one axis with those before them, if what they read or a mask of them is
    one value for each: longer rows are not."""

    def case(n: int) -> wf.Tensor:
        x = random(48)[:, None] * random(48, n)
        return wf.concat([x.sum()[None], x.reshape(-1)])

    assert compiled(case, (31, 48, 100, 4, 2, 9)) == 4


@pytest.mark.slow
def test_a_kernel_of_rows_sums_over_them_whatever_their_length() -> None:
    def case(n: int) -> wf.Tensor:
        x = random(300, n).softmax(1)
        return wf.concat([x.sum(0), (x * x).sum(1)])

    assert compiled(case, (100, 200, 64, 128)) == 2


def test_a_size_that_guards_exclude_has_a_program_of_its_own() -> None:
    """Sums of squares of millions of elements are cut in other ways."""

    def case(n: int) -> wf.Tensor:
        return normalised(random(n, 48))

    assert compiled(case, (64, 67, 100)) == 2
    assert compiled(case, (50_000, 60_000, 200)) == 1, "one for all large sizes"


@pytest.mark.parametrize("n", [0, 1])
def test_axes_of_no_or_one_element_are_compiled_apart(n: int) -> None:
    assert compiled(CASES["softmax"], (64, n, 67, n, 33)) == 3


def test_independent_sizes_are_independent_symbols() -> None:
    def case(n: int) -> wf.Tensor:
        return wf.concat([random(n, 7) * 2, random(n * n % 50 + 2, 7)])

    assert compiled(case, (20, 31, 12, 49, 100)) == 2


def test_jitted_functions_and_lazy_expressions_share_them() -> None:
    f = wf.jit(lambda x: (x * 2).softmax(1))
    want = statistics["built"] + 2
    for n in SIZES[:6]:
        x = random(n, 48)
        assert (f(x).numpy() == (x * 2).softmax(1).numpy()).all()
        assert (f(x).numpy() == f(x).numpy()).all()
    assert statistics["built"] == want


def test_gradients_and_updates_in_place() -> None:
    scale = random(48).requires_grad_()
    for n in SIZES[:6]:
        x = random(n, 48)
        loss = (x * scale).sigmoid().mean(1).sum()
        loss.backward()
        want = loss.numpy()
        np.testing.assert_allclose(
            want, (1 / (1 + np.exp(-x.numpy() * scale.numpy()))).mean(1).sum(), rtol=1e-5
        )
        scale.grad = None


def test_a_bad_index_is_named_with_the_sizes_of_this_time() -> None:
    for n in (64, 67, 33):
        table, places = random(n, 8), wf.tensor([0, n - 1, n, 1]).realize()
        with pytest.raises(wf.errors.IndexError, match=rf"index {n} is out of .*{n}"):
            (table[places] * 2).numpy()
        assert (table[wf.tensor([0, n - 1, 2, 1])] * 2).shape == (4, 8)


def test_the_option_turns_it_off() -> None:
    before = statistics["laid_out"]
    with options.override(dynamic_shapes=False):
        for n in SIZES[:4]:
            CASES["map"](n).numpy()
    assert statistics["laid_out"] == before


def sums_of_sums(n: int) -> wf.Tensor:
    x = random(n, 300)
    return (x * x.sum(0)).sum(1) + (x.T + x.sum(1)).sum(0)


@pytest.mark.parametrize("case", [sums_of_sums, lambda n: slopes_of_steps(n // 3, n)])
def test_the_arena_is_that_of_a_program_of_one_size(
    case: Case, programs: program_table.Programs
) -> None:
    sizes: list[int] = []
    for n in (64, 67, 100):
        case(n).numpy()
        with mock.patch.object(program_table, "_programs", program_table.Programs()) as fresh:
            alone(case, n)
            case(n).numpy()
            (own,) = (p.executable.arena_bytes for p in fresh.values() if p.executable.arena_bytes)
        sizes.append(own)
        assert [*programs.values()][-1].executable.arena_bytes == own


# ---------------------------------------------------------------- keys and formulas


@pytest.mark.parametrize("name", CASES)
def test_keys_come_together_again(name: str) -> None:
    key = structure_of(CASES[name](64)).key
    parts = apart(key)
    assert together(parts.rest, parts.extents) == key
    assert parts.rest == apart(structure_of(CASES[name](65)).key).rest


@pytest.mark.parametrize(
    ("extents", "sizes"),
    [
        (lambda n, m: (n * m, n + 3, 5, n), (4, 9)),
        (lambda n, m: (n * m * 8, m * m, 2 * n - 1, (n - 3) // 2 + 1), (6, 11)),
        (lambda n, m: (m // 4, 3 * m + 2, n * n), (5, 33)),
    ],
)
def test_formulas_are_found_from_two_sizes(
    extents: Callable[[int, int], tuple[int, ...]], sizes: tuple[int, int]
) -> None:
    def parts(n: int, m: int, more: int = 0) -> Any:
        *first, last = extents(n, m)
        entries = ((wf.float32, (n, m), ()), (Op.RESHAPE, (*first, last + more), 0))
        return apart((entries, (), (), "cpu"))

    found = formulas(parts(17, 31), parts(12, 44))
    assert found is not None and found.values_of(parts(12, 44).extents) == (12, 44)
    assert found.values_of(parts(*sizes).extents) == sizes
    assert found.values_of(parts(*sizes, more=1).extents) is None


def test_formulas_fit_all_sizes_that_were_seen() -> None:
    """31 of 64 and 13 of 28 are half of these less 1; by the first two, and n - 15, n - 33."""

    def parts(n: int, m: int) -> Any:
        return apart(
            (((wf.float32, (n, m), ()), (Op.RESHAPE, ((m - 1) // 2, n), 0)), (), (), "cpu")
        )

    first, second, third = parts(17, 64), parts(35, 28), parts(19, 40)
    for others in ((), (third,)):
        found = formulas(first, second, None, others)
        assert found is not None and found.values_of(third.extents) == (19, 40)


def test_simple_formulas_go_before_others_that_fit_two_sizes() -> None:
    """300 - m of a table of 300 rows, where 47*n - 166 fits the first sizes, too."""

    def parts(n: int, m: int) -> Any:
        return apart((((wf.float32, (n, m), ()), (Op.RESHAPE, (300 - m, n), 0)), (), (), "cpu"))

    found = formulas(parts(8, 90), parts(9, 43))
    assert found is not None and found.values_of(parts(33, 50).extents) == (33, 50)


def test_formulas_of_a_residue_serve_its_sizes_alone() -> None:
    def parts(n: int) -> Any:
        return apart(
            (((wf.float32, (n, 8), ()), (Op.RESHAPE, ((n + 1) // 2, n), 0)), (), (), "cpu")
        )

    found = formulas(parts(30), parts(17))
    assert found is not None
    (symbol,) = found.scope.values
    odd = found.of_residue(symbol, 2, 1)
    assert odd is not None and [odd.values_of(parts(n).extents) for n in (17, 41)] == [(9,), (21,)]
    assert odd.values_of(parts(30).extents) is None and found.of_residue(symbol, 32, 15) is None


def test_no_symbol_is_one_where_another_is() -> None:
    def parts(n: int, m: int) -> Any:
        return apart((((wf.float32, (n, m), ()), (Op.RESHAPE, (n + m, n), 0)), (), (), "cpu"))

    found = formulas(parts(10, 4), parts(17, 6))
    assert found is not None and found.narrowed(parts(17, 6).extents) is None
    narrow = found.narrowed(parts(7, 1).extents)
    assert narrow is not None and narrow.values_of(parts(9, 1).extents) == (9,)
    assert narrow.values_of(parts(9, 2).extents) is None
    assert found.narrowed(parts(1, 1).extents) is None


def test_pools_of_a_mean_add_up_as_at_that_size_where_its_divisor_is_a_power_of_two() -> None:
    """There a mean is a product by a constant, which a contraction could take."""

    def case(size: tuple[int, int]) -> wf.Tensor:
        n, rows = size
        return F.avg_pool2d(random(n, rows, 33).mean(0).reshape(1, 1, rows, 33), 3, 1)

    assert compiled(case, ((9, 5), (3, 33), (64, 9), (32, 40))) <= 3


def test_rows_of_a_number_that_tiles_never_divide_are_all_multiplied() -> None:
    """12*n + 3 of them: of tiles of any height three or fewer are always left over."""
    weight, few = random(20, 80), random(3, 20)

    def case(n: int) -> wf.Tensor:
        return wf.concat([random(n, 12, 20).reshape(-1, 20), few]) @ weight

    assert compiled(case, (9, 16, 5, 30, 12)) <= 2


def test_many_independent_sizes_are_given_up_at_once() -> None:
    def parts(first: int) -> Any:
        shapes = [(wf.float32, (first * k % 997 + 2,), (1,)) for k in range(1, 200)]
        return apart((tuple(shapes), (), (), "cpu"))

    assert formulas(parts(31), parts(57)) is None


def test_explaining_in_another_thread_changes_no_sizes() -> None:
    """Symbols have values while a program is laid out, and while it is asked what it serves."""
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            wf.explain(CASES["softmax"](40))

    compiled(CASES["softmax"], (64, 67))
    other = threading.Thread(target=look)
    other.start()
    try:
        for n in range(3, 60):
            x = np.random.default_rng(n).normal(size=(n, 48)).astype(np.float32)
            made = wf.tensor(x).realize().softmax(1).numpy()
            assert made.shape == (n, 48) and np.allclose(made.sum(1), 1, atol=1e-5)
    finally:
        done.set()
        other.join()


# ---------------------------------------------------------------- training


class Small(wf.nn.Module):
    """Convolutions, pooling, layers and a loss, as in LeNet."""

    def __init__(self) -> None:
        self.first = wf.nn.Conv2d(1, 6, 5, padding=2)
        self.second = wf.nn.Conv2d(6, 8, 5)
        self.third = wf.nn.Linear(8 * 5 * 5, 10)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = F.max_pool2d(self.first(x).relu(), 2)
        x = F.max_pool2d(self.second(x).relu(), 2)
        return self.third(x.reshape(x.shape[0], 200))


class Sentences(wf.nn.Module):
    """A small network for sentences: windows of 3 and 4 words, their strongest answers."""

    def __init__(self) -> None:
        self.words = wf.nn.Embedding(50, 12)
        self.windows = wf.nn.ModuleList(wf.nn.Conv1d(12, 16, reach) for reach in (3, 4))
        self.out = wf.nn.Linear(32, 10)

    def forward(self, tokens: wf.Tensor) -> wf.Tensor:
        x = self.words(tokens).transpose(1, 2)
        return self.out(wf.concat([w(x).relu().max(axis=2) for w in self.windows], axis=1))


class Writer(wf.nn.Module):
    """A small GPT: characters (batch, length) -> scores of the ones after them."""

    def __init__(self) -> None:
        self.token, self.position = wf.nn.Embedding(30, 64), wf.nn.Embedding(300, 64)
        self.norm1, self.norm2 = wf.nn.LayerNorm(64), wf.nn.LayerNorm(64)
        self.attention = wf.nn.MultiheadAttention(64, 4, batch_first=True)
        self.first, self.second = wf.nn.Linear(64, 128), wf.nn.Linear(128, 64)
        self.output = wf.nn.Linear(64, 60)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = self.token(x) + self.position.weight[: x.shape[1]]
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False, is_causal=True)[0]
        x = x + self.second(F.gelu(self.first(self.norm2(x))))
        return self.output(x)


@pytest.mark.slow
def test_two_programs_run_an_encoder_over_any_batch_of_any_length() -> None:
    wf.manual_seed(0)
    layer = wf.nn.TransformerEncoderLayer(64, 4, 128).eval()
    wf.realize(*layer.parameters())

    def case(size: Any) -> wf.Tensor:
        with wf.no_grad():
            return layer(random(*size, 64))

    sizes = [(8, 40), (5, 33), (2, 512), (64, 6), (33, 257)]
    assert compiled(case, sizes) == 2


class Reader(wf.nn.Module):
    """Words (batch, length) -> scores of the ones after them, by recurrent layers."""

    def __init__(self, layer: Any) -> None:
        self.words = wf.nn.Embedding(30, 64)
        self.layers = layer(64, 64, num_layers=2, batch_first=True)
        self.output = wf.nn.Linear(64, 60)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.output(self.layers(self.words(x))[0])


def test_a_cache_of_keys_grows_without_programs_of_its_own() -> None:
    """A token attends to those before; its key and value join theirs."""
    weights = [random(32, 32) for _ in range(3)]

    def step(x: wf.Tensor, keys: wf.Tensor, values: wf.Tensor) -> tuple[wf.Tensor, ...]:
        query, key, value = ((x @ w).reshape(1, 2, 1, 16) for w in weights)
        keys, values = wf.concat([keys, key], 2), wf.concat([values, value], 2)
        attended = F.scaled_dot_product_attention(query, keys, values)
        return attended.reshape(1, 32), keys, values

    before, jitted = statistics["built"], wf.jit(step)
    states = [(wf.ones(1, 32), wf.zeros(1, 2, 1, 16), wf.zeros(1, 2, 1, 16))]
    for _ in range(40):
        states.append(jitted(*states[-1]))
    assert statistics["built"] - before <= 6, "few for 40 lengths"
    for n in (1, 2, 5, 16, 17, 40):
        own = alone(lambda n: step(*states[n - 1])[0], n)
        assert own.tobytes() == states[n][0].numpy().tobytes(), n


Batches = Iterable[tuple[Any, Any]]


def trained(model: wf.nn.Module, batches: Batches) -> list[bytes]:
    """The losses, then the weights, of a step for each batch."""
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=0.01)

    @wf.jit
    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    out = [step(wf.tensor(x), wf.tensor(y)).numpy().tobytes() for x, y in batches]
    return [*out, *(p.numpy().tobytes() for p in model.parameters())]


def images(*sizes: int) -> Batches:
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=(n, 1, 28, 28)).astype(np.float32), rng.integers(0, 10, n)) for n in sizes
    ]


def sentences(*sizes: tuple[int, int]) -> Batches:
    rng = np.random.default_rng(0)
    return [(rng.integers(0, 50, s), rng.integers(0, 10, s[0])) for s in sizes]


def texts(*sizes: tuple[int, int]) -> Batches:
    rng = np.random.default_rng(0)
    return [(rng.integers(0, 30, s), rng.integers(0, 60, s)) for s in sizes]


TRAINING: dict[str, tuple[Callable[[], wf.nn.Module], Batches]] = {
    "images": (Small, images(64, 67, 20)),
    "sentences": (Sentences, sentences((64, 20), (60, 23), (33, 17), (17, 60))),
    "texts": (Writer, texts((8, 90), (9, 43), (33, 50))),
    "an LSTM": (lambda: Reader(wf.nn.LSTM), texts((24, 30), (31, 19), (64, 100), (40, 2), (29, 7))),
    "a GRU": (lambda: Reader(wf.nn.GRU), texts((24, 30), (31, 19), (64, 100), (40, 2), (29, 7))),
}


LAYERS: dict[str, Callable[[], wf.nn.Module]] = {
    "linear": lambda: wf.nn.Sequential(
        wf.nn.Linear(40, 120),
        wf.nn.ReLU(),
        wf.nn.Linear(120, 84),
        wf.nn.ReLU(),
        wf.nn.Linear(84, 10),
    ),
    "encoder": lambda: wf.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True),
}


@pytest.mark.parametrize(
    ("layers", "sizes"),
    [
        (LAYERS["linear"], [(n, 40) for n in (198, 216, 20, 64, 150, 257)]),
        pytest.param(
            LAYERS["encoder"],
            [(54, 34, 64), (49, 267, 64), (61, 40, 64), (26, 17, 64)],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["linear", "encoder"],
)
def test_chains_that_are_none_exclude_no_size(
    layers: Callable[[], wf.nn.Module], sizes: list[tuple[int, ...]]
) -> None:
    """Their sizes, too, would be worth a kernel here and not there."""
    network = layers()
    wf.realize(*network.parameters())

    def case(shape: tuple[int, ...]) -> wf.Tensor:
        loss = (network(random(*shape)) ** 2).mean()
        slopes = wf.grad(loss, [*network.parameters()])
        return wf.concat([g.reshape(-1) for g in (loss, *slopes)])

    assert compiled(case, sizes) == 2


@pytest.mark.parametrize("name", some_of(TRAINING))
def test_batches_of_any_size_train_with_the_same_bits(name: str) -> None:
    network, batches = TRAINING[name]
    wf.manual_seed(0)
    model = network()
    wf.realize(*model.parameters())
    start = {k: v.numpy() for k, v in model.state_dict().items()}
    before = statistics["built"]
    made = trained(model, batches)
    assert statistics["built"] - before == 2, "a step of one size, a step of many"
    model.load_state_dict(start)
    with (
        options.override(dynamic_shapes=False),
        mock.patch.object(program_table, "_programs", program_table.Programs()),
    ):
        assert trained(model, batches) == made


def test_scratch_of_any_size_is_taken_once_a_call() -> None:
    """Before any branch or loop, in which it would grow the stack."""

    def structure(length: int) -> Structure:
        return structure_of(F.conv1d(random(6, 20, length), random(24, 20, 3)).relu().max(2))

    first, second = structure(40), structure(33)
    parts = apart(second.key)
    found = formulas(apart(first.key), parts)
    assert found is not None
    taken = 0
    for kernel in generic(first, second, parts, found).compiled.lowered.kernels:
        for text in emit(kernel.step.loops, host()).split("define ")[1:]:
            entry, *others = text.split("\n  br ", 1)
            taken += entry.count("alloca float, i64")
            assert not any("alloca" in other for other in others)
    assert taken


# ---------------------------------------------------------------- other processes

PROCESS = """
import numpy as np, weft as wf
for n in (64, 67, 33):
    x = wf.tensor(np.arange(n * 6, dtype="float32").reshape(n, 6))
    print((x.softmax(1).sum(0) / n).tolist())
import sys
print("weft.compiler.compile" in sys.modules)
"""


@pytest.mark.slow
def test_a_later_process_finds_all_sizes_on_disk(tmp_path: Path) -> None:
    environment = {**os.environ, "WEFT_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", PROCESS],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert first[:3] == second[:3] and (first[-1], second[-1]) == ("True", "False")
