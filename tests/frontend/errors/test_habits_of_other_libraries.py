"""What users of MiniTorch and Norch carry over: one meaning a test. docs/from-minitorch.md and
docs/from-norch.md name them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import errors as E
from weft import nn

X = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
SQUARE = np.array([[3.0, 3.0], [1.0, 2.0]], np.float32)


def leaf(data: Any = X) -> wf.Tensor:
    return wf.tensor(data, requires_grad=True)


def gradient_of(loss: Callable[[wf.Tensor], wf.Tensor], data: Any = 3.0) -> Any:
    x = leaf(data)
    loss(x).backward()
    assert x.grad is not None
    return x.grad.tolist()


# ---------------------------------------------------------------- making Tensors


@pytest.mark.parametrize("make", [wf.rand, wf.randn, wf.zeros, wf.ones])
def test_a_new_tensor_can_require_a_gradient(make: Callable[..., wf.Tensor]) -> None:
    x = make((2, 3), requires_grad=True)
    (x * x).sum().backward()
    assert x.is_leaf and x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy(), rtol=1e-6)
    assert not make((2, 3)).requires_grad


def test_random_numbers_for_another_device_are_not_drawn() -> None:
    before = wf.get_rng_state()
    with pytest.raises(E.DeviceError, match="device 'cuda"):
        wf.rand(3, device="cuda:99")
    assert wf.get_rng_state() == before


def test_the_class_tensor_says_what_makes_one_of_data() -> None:
    with pytest.raises(
        E.CallError,
        match=r"^Tensor is not a constructor: write wf.tensor\(\[\[1, 2\], \[3, 4\]\]\)$",
    ):
        wf.Tensor([[1, 2], [3, 4]])  # type: ignore[arg-type]


# ---------------------------------------------------------------- devices


@pytest.mark.parametrize("device", ["cuda:99", "tpu", 99])
def test_to_a_device_says_why_it_cannot_and_moves_nothing(device: Any) -> None:
    x, model = leaf(), nn.Linear(4, 2)
    before = {name: p.numpy().copy() for name, p in model.state_dict().items()}
    for thing in (x, model):
        with pytest.raises(E.DeviceError, match=r"device '(cuda|tpu)"):
            thing.to(device)
    assert x.device == "cpu" and x.requires_grad and x.tolist() == X.tolist()
    assert all((p.numpy() == before[name]).all() for name, p in model.state_dict().items())


def test_to_the_device_where_it_is_changes_nothing() -> None:
    x, model = leaf(), nn.Linear(4, 2)
    assert x.to("cpu") is x and model.to("cpu") is model


# ---------------------------------------------------------------- reductions


@pytest.mark.thinned(to=8)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_reductions_keep_their_axes_where_asked(name: str, axis: Any) -> None:
    for keepdims in (False, True):
        got, expected = (
            getattr(leaf(), name)(axis, keepdims=keepdims),
            getattr(X, name)(axis, keepdims=keepdims),
        )
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_a_reduction_without_keepdims_drops_its_axis_and_without_axis_has_none() -> None:
    assert (
        leaf().sum(0).shape == (4,)
        and leaf().sum().shape == ()
        and leaf().sum(0, keepdims=True).shape == (1, 4)
    )
    with pytest.raises(
        E.IndexError,
        match=r"for 0 axes of shape \(\): this is a single number, which .item\(\) reads$",
    ):
        leaf().sum()[0]


def test_an_axis_that_is_not_there_is_named() -> None:
    with pytest.raises(E.AxisError, match="axis 2 is out of range for 2 axes"):
        leaf().sum(2)


def test_argmax_gives_the_first_of_equals() -> None:
    assert wf.tensor(SQUARE).argmax(axis=1).tolist() == [0, 1]


def test_equal_maxima_share_the_gradient() -> None:
    assert gradient_of(lambda x: x.max(axis=1).sum(), SQUARE) == [[0.5, 0.5], [0.0, 1.0]]


def test_the_one_hot_argmax_of_minitorch_marks_every_maximum() -> None:
    x = wf.tensor(SQUARE)
    assert (x == x.max(axis=1, keepdims=True)).float().tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert nn.functional.one_hot(x.argmax(axis=1), 2).tolist() == [[1, 0], [0, 1]]


# ---------------------------------------------------------------- shapes


def test_a_permuted_tensor_made_contiguous_takes_another_shape() -> None:
    assert wf.tensor(X).permute(1, 0).contiguous().view(2, 6).tolist() == X.T.reshape(2, 6).tolist()


VIEWS: dict[str, Callable[[wf.Tensor], wf.Tensor]] = {
    "permuted": lambda x: x.permute(1, 0),
    "permuted, of a value not computed yet": lambda x: (x * 1.5).permute(1, 0),
    "permuted, and computed": lambda x: x.permute(1, 0).realize(),
    "some columns": lambda x: x[:, :3],
    "repeated": lambda x: x.unsqueeze(1).expand(3, 2, 4).permute(1, 0, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_needs_contiguous_data_and_says_what_to_do(name: str) -> None:
    x = VIEWS[name](wf.tensor(X).realize())
    assert not x.is_contiguous()
    with pytest.raises(
        E.ShapeError,
        match=r"view: shape .* is not contiguous, .*: call \.contiguous\(\) first, or \.reshape\(",
    ):
        x.view(-1)
    assert x.contiguous().is_contiguous()
    assert x.contiguous().view(-1).tolist() == x.reshape(-1).tolist() == x.numpy().ravel().tolist()


def test_in_a_jitted_function_view_asks_for_the_same() -> None:
    flat = wf.jit(lambda x: x.T.view(-1))
    with pytest.raises(E.ShapeError, match="is not contiguous"):
        flat(wf.tensor(X))
    assert (
        wf.jit(lambda x: x.T.contiguous().view(-1))(wf.tensor(X)).tolist() == X.T.ravel().tolist()
    )


def test_view_takes_what_lies_in_that_shape() -> None:
    x = wf.tensor(X)
    assert x.view(2, 6).tolist() == x.view((2, -1)).tolist() == X.reshape(2, 6).tolist()
    assert x[1:].view(8).tolist() == X[1:].ravel().tolist() and x[:, :2].view(3, 2, 1).shape == (
        3,
        2,
        1,
    )
    assert (x.T + 1).view(12).tolist() == (X.T + 1).ravel().tolist() and wf.zeros(3, 4).view(
        12
    ).shape == (12,)


def test_strides_are_those_of_the_views() -> None:
    x = wf.tensor(X)
    assert x.strides == (4, 1) and x.T.strides == (1, 4) and x[::2, 1:].strides == (8, 1)
    assert x.unsqueeze(0).expand(5, 3, 4).strides == (0, 4, 1) and x.reshape(6, 2).T.strides == (
        1,
        2,
    )
    assert (
        x.T.reshape(6, 2).strides == (2, 1)
        and (x.T * 1).strides == (3, 1)
        and wf.ones(2, 3).strides == (3, 1)
    )


def test_a_shape_of_another_size_is_refused() -> None:
    with pytest.raises(
        E.ShapeError, match=r"view: 12 elements of shape \(3, 4\) do not fit shape \(5,\)"
    ):
        wf.tensor(X).view(5)


def test_iteration_gives_the_rows() -> None:
    assert [row.tolist() for row in wf.tensor(X)] == X.tolist() and len(wf.tensor(X)) == 3
    with pytest.raises(TypeError, match="0-d"):
        list(wf.tensor(1.0))


def test_indexing_takes_ints_slices_and_negative_numbers() -> None:
    x = wf.tensor(X)
    assert (
        x[1, 2].item() == 7
        and x[-1].tolist() == X[-1].tolist()
        and x[:, 1:3].tolist() == X[:, 1:3].tolist()
    )
    with pytest.raises(IndexError, match="index 3 is out of range for axis 0 of extent 3"):
        x[3]


def test_an_element_can_be_set() -> None:
    x = wf.tensor(X)
    x[0, 1] = 50.0
    assert x[0].tolist() == [1.0, 50.0, 3.0, 4.0]


OPERATORS = "add sub mul truediv floordiv mod pow lt le gt ge eq ne"
FUNCTIONS = (
    "maximum minimum fmax fmin fmod hypot atan2:arctan2 logaddexp copysign nextafter logical_and"
    " logical_xor"
)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "shapes", [((3, 1), (1, 4)), ((2, 1, 4), (3, 1)), ((4,), (2, 3, 1)), ((), (1, 2))]
)
def test_elementwise_operators_stretch_axes_of_one_element(
    shapes: tuple[tuple[int, ...], ...],
) -> None:
    a, b = (np.arange(1.0, 1.0 + np.prod(s), dtype=np.float32).reshape(s) for s in shapes)
    pairs = [
        (f"operator {name}", getattr(operator, name), getattr(operator, name))
        for name in OPERATORS.split()
    ]
    pairs += [
        (name, getattr(wf, name.split(":")[0]), getattr(np, name.split(":")[-1]))
        for name in FUNCTIONS.split()
    ]
    got = [ours(wf.tensor(a), wf.tensor(b)) for _, ours, _ in pairs]
    wf.realize(*got)
    for (name, _, theirs), out in zip(pairs, got, strict=True):
        np.testing.assert_allclose(out.numpy(), theirs(a, b), rtol=1e-6, err_msg=name)


def test_a_stretched_operand_gets_a_gradient_of_its_own_shape() -> None:
    a, b = leaf(np.ones((3, 1), np.float32)), leaf(np.full((1, 4), 2.0, np.float32))
    (a * b).sum().backward()
    assert a.grad is not None and b.grad is not None
    assert a.grad.tolist() == [[8.0]] * 3 and b.grad.tolist() == [[3.0] * 4]


def test_shapes_that_do_not_broadcast_are_named() -> None:
    with pytest.raises(
        E.ShapeError, match=r"shapes \(5, 2\) and \(5,\) could not be broadcast together"
    ):
        wf.broadcast_shapes((5, 2), (5,))
    assert wf.broadcast_shapes((5, 1, 5, 1), (1, 5, 1, 5)) == (5, 5, 5, 5)


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((2, 1, 4, 3), (5, 3, 2))],
)
def test_matrix_products_of_any_rank_stretch_their_batches(
    shapes: tuple[tuple[int, ...], ...],
) -> None:
    a, b = (np.random.default_rng(0).random(s, np.float32) for s in shapes)
    x, y = leaf(a), leaf(b)
    out = x @ y
    out.sum().backward()
    ones = np.ones_like(a @ b)
    np.testing.assert_allclose(out.detach().numpy(), a @ b, rtol=1e-5)
    for got, full in (
        (x.grad, ones @ np.swapaxes(b, -1, -2)),
        (y.grad, np.swapaxes(a, -1, -2) @ ones),
    ):
        assert got is not None
        lead = full.ndim - got.ndim
        stretched = [
            i for i in range(full.ndim) if i < lead or got.shape[i - lead] != full.shape[i]
        ]
        np.testing.assert_allclose(
            got.numpy(), full.sum(tuple(stretched), keepdims=True).reshape(got.shape), rtol=1e-5
        )


# ---------------------------------------------------------------- numbers


def test_a_single_element_is_a_number() -> None:
    x = wf.tensor([2.5])
    assert float(x) == 2.5 and int(x) == 2 and x.item() == 2.5 and bool(x > 1) and not bool(x == 1)
    with pytest.raises(E.ShapeError, match="only a single element"):
        float(wf.tensor(X))


def test_a_comparison_gives_bools_that_count() -> None:
    x = wf.tensor(X)
    assert (x > 4).sum().item() == 8 and ((x > 4) * 1.0).mean().item() == pytest.approx(8 / 12)


# ---------------------------------------------------------------- gradients


def test_both_ways_of_a_diamond_count() -> None:
    def diamond(x: wf.Tensor) -> wf.Tensor:
        y = x * x
        return y * 2 + y * x

    assert gradient_of(diamond) == 4 * 3 + 3 * 9


def test_a_tensor_that_is_used_many_times_gets_every_part() -> None:
    assert gradient_of(lambda x: sum((x for _ in range(50)), x * 0.0)) == 50.0


def test_doubling_again_and_again_is_linear_work() -> None:
    def doubled(x: wf.Tensor) -> wf.Tensor:
        for _ in range(60):  # 2**60 paths
            x = x + x
        return x

    assert gradient_of(doubled) == 2.0**60


@pytest.mark.slow
def test_a_transposed_tensor_times_itself() -> None:
    """Norch lists this as a known problem: a tensor reaches the product on two ways, one through a
    view."""
    a = np.random.default_rng(1).random((3, 3), np.float32)
    x = leaf(a)
    (x.T @ x).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(
        x.grad.numpy(), 2 * np.tile(a.sum(1, keepdims=True), (1, 3)), rtol=1e-5
    )


def test_an_operator_in_place_changes_the_tensor_and_not_what_was_made_of_it() -> None:
    x = leaf(X)
    y = same = x * 2
    before = y * 1.0
    y += x
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == np.full_like(X, 3.0).tolist()
    assert same is y and same.tolist() == (3 * X).tolist() and before.tolist() == (2 * X).tolist()


def test_a_leaf_that_learns_is_changed_only_without_gradients() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(E.GradientError, match=r"wf.no_grad\(\)"):
        x += 1
    with wf.no_grad():
        x += 1
    assert x.tolist() == [2.0, 3.0] and x.requires_grad  # an update, as that of an optimiser


def test_requires_grad_can_be_set_later() -> None:
    x = wf.tensor([1.0, 2.0])
    assert x.requires_grad_() is x and x.requires_grad and x.is_leaf
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(E.DTypeError, match="only floats have gradients"):
        wf.tensor([1, 2]).requires_grad_()


def test_gradients_add_up_until_they_are_forgotten() -> None:
    model = nn.Linear(2, 1)
    optimizer = nn.optim.SGD(model.parameters(), 0.5)
    for expected in (1.0, 2.0):
        model(wf.ones(1, 2)).sum().backward()
        assert model.bias.grad is not None and model.bias.grad.tolist() == [expected]
    optimizer.zero_grad()
    assert model.bias.grad is None
    model(wf.ones(1, 2)).sum().backward()
    model.zero_grad()
    assert model.bias.grad is None


def test_backward_of_several_elements_takes_a_gradient() -> None:
    x = leaf([3.0, 4.0])
    with pytest.raises(
        E.GradientError,
        match=r"shape \(2,\) is not a single element; sum it up, or give its cotangent",
    ):
        (x * x).backward()
    (x * x).backward(wf.tensor([1.0, 10.0]))
    assert x.grad is not None and x.grad.tolist() == [6.0, 80.0]
    with pytest.raises(E.ShapeError, match=r"cotangent of shape \(1,\) does not fit shape \(2,\)"):
        (x * x).backward(wf.tensor([1.0]))


def test_a_second_backward_needs_the_graph() -> None:
    x = leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad is not None and x.grad.item() == 12.0
    with pytest.raises(E.GradientError, match="without retain_graph=True has used this value"):
        y.backward()


def test_backward_of_what_needs_no_gradient_says_so() -> None:
    with pytest.raises(
        E.GradientError, match="does not depend on anything that requires a gradient"
    ):
        wf.tensor(X).sum().backward()


# ---------------------------------------------------------------- layers


def test_dropout_is_off_in_eval_in_the_whole_tree() -> None:
    model = nn.Sequential(nn.Sequential(nn.Dropout(0.5)))
    x = wf.ones(64)
    assert set(model(x).tolist()) == {0.0, 2.0}
    assert model.eval()(x).tolist() == x.tolist()
    assert set(model.train()(x).tolist()) == {0.0, 2.0}


def test_parameters_in_lists_are_found() -> None:
    class Linear(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = [[nn.Parameter(0.5) for _ in range(3)] for _ in range(2)]
            self.register_parameter("bias_0", nn.Parameter(1.0))

    model = Linear()
    assert [name for name, _ in model.named_parameters()][-2:] == [
        "weights.1.2",
        "bias_0",
    ] and model.num_parameters() == 7
    assert model.bias_0.item() == 1.0
