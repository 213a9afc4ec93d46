"""Methods of nn.Module that a subclass defines itself: the tree around honours them as torch does,
which runs beside if there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="could not import 'torch'")
LIBRARIES = [pytest.param(wf, id="weft"), pytest.param(torch, id="torch", marks=needs_torch)]


def frozen(library: Any) -> Any:
    """A layer of the library's whose batch norm never trains."""

    class Frozen(library.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.rest = library.nn.BatchNorm1d(3), library.nn.Dropout(0.5)

        def train(self, mode: bool = True) -> Any:
            super().train(mode)
            self.norm.eval()
            return self

        def forward(self, x: Any) -> Any:
            return self.norm(x)

    return Frozen()


def hiding(library: Any) -> Any:
    """A layer that lists but one of its parameters, drops a name from its state, and is passed over
    by apply()."""

    class Hiding(library.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = library.nn.Linear(2, 2), library.nn.Linear(2, 2)
            self.register_buffer("seen", library.zeros(2))

        def parameters(self, recurse: bool = True) -> Any:
            return iter([self.first.weight])

        def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
            return iter([("first.weight", self.first.weight)])

        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            found = super().state_dict(*args, **kwargs)
            for name in [name for name in found if name.endswith("second.bias")]:
                del found[name]
            return found

        def apply(self, fn: Callable[[Any], Any]) -> Any:
            return self

        def extra_repr(self) -> str:
            return "a part"

    return Hiding()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_layer_decides_how_its_part_of_the_tree_trains(library: Any) -> None:
    stubborn = library.nn.Linear(3, 3)
    stubborn.train = lambda mode=True: stubborn  # as many freeze a part
    net = library.nn.Sequential(library.nn.Sequential(frozen(library)), stubborn)
    net.eval()
    stubborn.training = False
    net.train()
    layer = net[0][0]
    assert [m.training for m in (net, net[0], layer, layer.norm, layer.rest, stubborn)] == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]
    net(library.ones(8, 3) * 5)
    assert layer.norm.running_mean.tolist() == [0.0, 0.0, 0.0]
    net.eval()
    assert not layer.training and not layer.rest.training


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("nested", [False, True])
def test_a_conversion_reaches_what_parameters_do_not_list(library: Any, nested: bool) -> None:
    layer = hiding(library)
    net = library.nn.Sequential(layer) if nested else layer
    for convert, dtype in (
        ("double", library.float64),
        ("float", library.float32),
        ("half", library.float16),
    ):
        assert getattr(net, convert)() is net
        dtypes = [
            t.dtype for t in (layer.first.weight, layer.first.bias, layer.second.weight, layer.seen)
        ]
        assert dtypes == [dtype] * 4
    assert net.to(library.float64) is net and layer.second.bias.dtype is library.float64


@pytest.mark.parametrize("library", LIBRARIES)
def test_parameters_that_are_listed_are_those_that_learn(library: Any) -> None:
    """requires_grad_ and zero_grad go by parameters(), of the layer itself alone."""
    layer = hiding(library)
    layer.requires_grad_(False)
    every = [layer.first.weight, layer.first.bias, layer.second.weight, layer.second.bias]
    assert [p.requires_grad for p in every] == [False, True, True, True]
    net = library.nn.Sequential(layer).requires_grad_(False)
    assert not any(p.requires_grad for p in every) and len([*net.parameters()]) == 4
    net.requires_grad_()
    layer.second(layer.first(library.ones(1, 2))).sum().backward()
    layer.zero_grad()
    assert [p.grad is None for p in every] == [True, False, False, False]
    net.zero_grad()
    assert all(p.grad is None for p in every)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_state_holds_what_a_layer_gives_for_itself(library: Any) -> None:
    net = library.nn.Sequential(library.nn.Sequential(hiding(library)), library.nn.Linear(2, 1))
    names = {
        "0.0.seen",
        "0.0.first.weight",
        "0.0.first.bias",
        "0.0.second.weight",
        "1.weight",
        "1.bias",
    }
    assert set(net.state_dict()) == names
    keys = net.load_state_dict(net.state_dict(), strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["0.0.second.bias"], [])


@pytest.mark.parametrize("library", LIBRARIES)
def test_apply_goes_through_the_layers_own_and_texts_too(library: Any) -> None:
    net, seen = library.nn.Sequential(library.nn.ReLU(), hiding(library), frozen(library)), []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["ReLU", "BatchNorm1d", "Dropout", "Frozen", "Sequential"]
    assert "a part" in repr(net)


def test_a_state_of_several_processes_is_that_of_the_module() -> None:
    layer = hiding(wf)
    assert set(nn.parallel.DistributedDataParallel(layer).state_dict()) == set(layer.state_dict())


def test_a_layer_that_holds_its_parent_is_entered_once() -> None:
    net = nn.Sequential(nn.ReLU(), nn.Dropout(0.5))
    net[0].parent, seen = net, []
    net.eval().apply(seen.append)
    assert not net[1].training and seen == [net[0], net[1], net]


VIEWS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], bool]] = {
    "itself": (lambda x: x, (3, 1), True),
    "transposed": (lambda x: x.permute(1, 0), (1, 3), False),
    "sliced": (lambda x: x[:, 1:], (3, 1), False),
    "transposed and sliced": (lambda x: x.permute(1, 0)[1:], (1, 3), False),
    "a row": (lambda x: x[1], (1,), True),
}


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_view_that_becomes_a_leaf_keeps_its_strides(library: Any, view: str) -> None:
    make, strides, is_row_major = VIEWS[view]
    x = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for p in (make(x).requires_grad_(), library.nn.Parameter(make(x))):
        found = p.strides if library is wf else p.stride()
        assert (tuple(found), p.is_contiguous()) == (strides, is_row_major)
        if is_row_major:
            assert p.view(-1).shape == (np.prod(p.shape),)
        else:
            with pytest.raises(RuntimeError if library is torch else wf.errors.ShapeError):
                p.view(-1)
        if library is wf:
            assert p.realize().strides == strides
        assert (p * 2).sum().item() == 2 * sum(np.ravel(p.tolist()))
