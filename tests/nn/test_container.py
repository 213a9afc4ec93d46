"""Containers: sequences and dicts of layers, their names, and what they refuse."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import weft as wf
from weft import nn


def kinds(container: nn.Module) -> list[type]:
    return [type(m) for m in container]


def names(container: nn.Module) -> list[str]:
    return [name for name, _ in container.named_children()]


@pytest.mark.parametrize(
    "make", [nn.Sequential, lambda *m: nn.ModuleList(m)], ids=["Sequential", "ModuleList"]
)
def test_a_sequence_of_layers_changes_as_a_list_does(make: type) -> None:
    a, b, c, d = nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.GELU()
    net = make(a, b)
    assert net.append(c) is net and list(net) == [a, b, c] and len(net) == 3
    assert net[0] is a and net[-1] is c and list(net[1:]) == [b, c] and type(net[1:]) is type(net)
    net.insert(1, d).extend([a, b])
    assert list(net) == [a, d, b, c, a, b] and names(net)[:4] == ["0", "1", "2", "3"]
    net[-2] = c
    del net[0], net[1:3]
    assert list(net) == [d, c, b] and names(net) == ["0", "1", "2"]
    net += [a]
    assert list(net + make(b)) == [d, c, b, a, b] and len(net) == 4
    assert net.pop() is a and net.pop(0) is d and list(net) == [c, b]


def test_sequential_calls_layers_by_the_names_of_a_dict() -> None:
    layers = OrderedDict(fc=nn.Linear(2, 3), act=nn.ReLU())
    net = nn.Sequential(layers)
    assert (
        names(net) == ["fc", "act"]
        and net.fc is net[0]
        and list(net.state_dict()) == ["fc.weight", "fc.bias"]
    )
    x = wf.tensor([[1.0, -2.0]])
    np.testing.assert_array_equal(net(x).numpy(), layers["fc"](x).relu().numpy())
    del net[0]
    assert names(net.append(nn.Tanh())) == ["act", "1"]


def test_a_slice_of_sequential_keeps_names_and_parameters() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    tail = net[1:]
    assert (
        names(tail) == ["1", "2"]
        and tail[1] is net[2]
        and list(tail.state_dict()) == ["2.weight", "2.bias"]
    )
    assert names(tail.append(nn.ReLU())) == ["1", "2", "3"] and len(net) == 3
    assert kinds(net[::-2]) == [nn.Linear, nn.Linear] and len(net[5:]) == 0


def test_a_module_list_is_not_called() -> None:
    layers = nn.ModuleList(nn.Linear(n, n) for n in (1, 2))
    assert names(nn.Sequential(layers)) == ["0"] and names(layers) == ["0", "1"]
    with pytest.raises(NotImplementedError, match=r"ModuleList defines no forward\(\)"):
        layers(1)


def test_layers_of_a_list_that_read_alike_share_a_row() -> None:
    block = [nn.Sequential(nn.Linear(2, 2), nn.ReLU()) for _ in range(3)]
    assert repr(nn.ModuleList([*block, nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)])) == (
        "ModuleList(\n"
        "  (0-2): 3 x Sequential(\n"
        "    (0): Linear(in_features=2, out_features=2, bias=True)  # 6 parameters\n"
        "    (1): ReLU()\n"
        "  )  # 6 parameters each\n"
        "  (3-4): 2 x ReLU()\n"
        "  (5): Linear(in_features=2, out_features=2, bias=True)  # 6 parameters\n"
        ")  # 24 parameters"
    )


def test_a_module_dict_is_a_dict_of_layers() -> None:
    a, b = nn.ReLU(), nn.Linear(1, 1)
    layers = nn.ModuleDict({"a": a})
    layers["b"] = b
    layers.update([("c", a)])
    assert (
        list(layers) == ["a", "b", "c"] and len(layers) == 3 and "b" in layers and "x" not in layers
    )
    assert list(layers.keys()) == ["a", "b", "c"] and list(layers.values()) == [a, b, a]
    assert dict(layers.items()) == {"a": a, "b": b, "c": a} and list(layers.state_dict()) == [
        "b.weight",
        "b.bias",
    ]
    assert layers.pop("a") is a and list(layers) == ["b", "c"]
    del layers["b"]
    layers.clear()
    assert len(layers) == 0


def test_a_parameter_list_learns() -> None:
    shared = nn.Parameter(wf.ones(2))
    values = nn.ParameterList([shared, wf.zeros(3)])
    values.append(np.ones(1, np.float32))
    assert [name for name, _ in values.named_parameters()] == ["0", "1", "2"] and values[
        0
    ] is shared
    assert all(isinstance(p, nn.Parameter) for p in values) and len(values[1:]) == 2
    sum((p * p).sum() for p in values).backward()
    assert values[0].grad.tolist() == [2.0, 2.0] and nn.Sequential(values).num_parameters() == 6
    values[1] = wf.ones(3)
    assert isinstance(values[1], nn.Parameter)


def test_a_parameter_dict_learns() -> None:
    shared = nn.Parameter(wf.ones(2))
    values = nn.ParameterDict({"a": shared, "b": np.zeros(3, np.float32)})
    values["c"] = [0.5]
    assert [*values.state_dict()] == ["a", "b", "c"] == [*values.keys()] and values["a"] is shared
    assert all(isinstance(p, nn.Parameter) for p in values.values())
    assert (
        repr(values) == "ParameterDict(a: float32[2], b: float32[3], c: float32[1])  # 6 parameters"
    )
    sum((p * p).sum() for _, p in values.items()).backward()
    assert (
        values["c"].grad.tolist() == [1.0] and values.get("x") is None and values.get("a") is shared
    )
    copied = nn.ParameterDict(values)
    assert values.pop("a") is shared and "a" not in values and copied["a"] is shared


def test_containers_refuse_what_is_no_layer_and_then_change_nothing() -> None:
    net, layers = nn.Sequential(nn.ReLU()), nn.ModuleDict()
    refused = [
        (
            lambda: nn.Sequential([nn.ReLU()]),
            "Sequential: layer 0 must be a Module, not list: give them one by one",
        ),
        (lambda: net.extend([nn.ReLU(), 3]), "Sequential: layer 1 must be a Module, not int"),
        (lambda: net.insert(0, None), "layer 1 must be a Module, not NoneType"),
        (lambda: net.append(wf.ones(1)), "layer 1 must be a Module, not Tensor"),
        (
            lambda: layers.update({"a": nn.ReLU(), "b": 1}),
            "ModuleDict: layer b must be a Module, not int",
        ),
        (
            lambda: nn.ModuleDict([1]),
            r"ModuleDict: the layers must be a dict or pairs \(name, Module\), not \[1\]",
        ),
        (
            lambda: nn.ParameterDict(3),
            r"ParameterDict: the parameters must be a dict or pairs \(name, Parameter\), not 3",
        ),
        (lambda: nn.ModuleList(3), "ModuleList: what is added must be a sequence, not 3"),
        (
            lambda: nn.ParameterList([wf.arange(3)]),
            "Parameter: the data must be floats, since it is learned, not int64",
        ),
        (lambda: net["0"], "Sequential: an index must be an int, not '0'"),
    ]
    for call, text in refused:
        with pytest.raises(wf.errors.DTypeError, match=text):
            call()
    for index in (1, -2):
        with pytest.raises(
            wf.errors.IndexError, match=f"Sequential: index {index} is out of range for 1 members"
        ):
            net[index]
    for name in ("a.b", "", "values"):
        with pytest.raises(wf.errors.ArgumentError, match="ModuleDict: "):
            layers[name] = nn.ReLU()
    with pytest.raises(KeyError, match="ModuleDict: there is no layer 'x'; there are none"):
        layers["x"]
    with pytest.raises(KeyError, match="ParameterDict: there is no parameter 'x'; there are a"):
        del nn.ParameterDict({"a": wf.ones(1)})["x"]
    assert len(net) == 1 and len(layers) == 0
