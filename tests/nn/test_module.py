"""nn.Module and the layers: registration, names, modes, state, repr, and torch's layouts and
default initial values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn
from weft.frontend.lazy.program_table import statistics
from weft.runtime.buffer import memory, size_class


class Net(nn.Module):
    def __init__(self) -> None:
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.heads = [nn.Linear(2, 1, bias=False), nn.Dropout(0.5)]
        self.table: dict[str, Any] = {"scale": nn.Parameter(np.ones(2, np.float32))}
        self.note = "not a layer"

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.heads[1](self.heads[0](self.body(x) * self.table["scale"]))


NAMES = [
    "table.scale",
    "body.0.weight",
    "body.0.bias",
    "body.2.weight",
    "body.2.bias",
    "heads.0.weight",
]


def test_parameters_have_dotted_names() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [p.shape for p in net.parameters()] == [(2,), (4, 3), (4,), (2, 4), (2,), (1, 2)]
    assert all(p.requires_grad for p in net.parameters())
    assert [name for name, _ in net.named_modules()] == [
        "",
        "body",
        "body.0",
        "body.1",
        "body.2",
        "heads.0",
        "heads.1",
    ]


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


class NamedNet(nn.Module, Named):
    def __init__(self, explicit: bool) -> None:
        if explicit:
            nn.Module.__init__(self)
        else:
            super().__init__()
        Named.__init__(self, "net")
        self.layer = nn.Linear(2, 1)


@pytest.mark.parametrize("explicit", [False, True])
def test_a_class_beside_a_module_has_an_init_of_its_own(explicit: bool) -> None:
    net = NamedNet(explicit)
    assert net.name == "net" and [name for name, _ in net.named_parameters()] == [
        "layer.weight",
        "layer.bias",
    ]


def test_a_shared_parameter_is_listed_once() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "1.bias"]


def test_errors_name_the_parameter() -> None:
    net = nn.Sequential(nn.Linear(2, 1))
    optimizer = nn.optim.SGD(net.parameters(), lr=0.1)
    stale = net(wf.ones(1, 2)).sum()
    net(wf.ones(1, 2)).sum().backward()
    optimizer.step()
    with pytest.raises(wf.errors.StaleError, match=r"parameter '0\.(weight|bias)'"):
        stale.backward()


def test_looking_at_a_part_does_not_rename_its_parameters() -> None:
    net = nn.Sequential(nn.Linear(2, 1))
    names = [p.name for p in net.parameters()]
    repr(net), net[0].state_dict(), net[0].get_parameter("bias"), net[0].num_parameters()
    assert [p.name for p in (net[0].weight, net[0].bias)] == names == ["0.weight", "0.bias"]


def test_names_take_a_prefix_and_leave_out_what_is_below() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.table.scale"]
    assert [name for name, _ in net.body.named_modules("body")] == [
        "body",
        "body.0",
        "body.1",
        "body.2",
    ]
    assert [p.shape for p in net.parameters(recurse=False)] == [(2,)]
    assert [name for name, _ in net.named_children()] == ["body", "heads.0", "heads.1"]
    assert list(net.children()) == [net.body, *net.heads]


def test_a_shared_layer_has_several_names() -> None:
    layer = nn.Linear(1, 1, bias=False)
    net = nn.Sequential(layer, nn.Sequential(layer))
    assert [name for name, _ in net.named_modules()] == ["", "0", "1"]
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1", "1.0"]
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)] == [
        "0.weight",
        "1.0.weight",
    ]


def test_parts_are_found_by_name() -> None:
    net = Net()
    assert net.get_submodule("") is net and net.get_submodule("heads.0") is net.heads[0]
    assert (
        net.get_submodule("body.2") is net.body[2]
        and net.get_parameter("body.2.bias") is net.body[2].bias
    )
    assert (
        net.get_parameter("table.scale") is net.table["scale"]
        and Counting().get_buffer("calls").item() == 0
    )
    with pytest.raises(
        AttributeError,
        match=r"Net has no layer 'body\.7'; it has body, body\.0, body\.1, body\.2, heads",
    ):
        net.get_submodule("body.7")
    with pytest.raises(wf.errors.AttributeError, match="Net has no buffer 'x'; it has none"):
        net.get_buffer("x")
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'tail'"):
        _ = net.tail


def test_attributes_are_listed_and_deleted() -> None:
    net = Net()
    net.add_module("extra", nn.ReLU())
    assert {"body", "heads", "extra", "named_modules"} <= set(dir(net))
    del net.extra, net.table
    assert [name for name, _ in net.named_children()] == ["body", "heads.0", "heads.1"] and NAMES[
        1:
    ] == list(net.state_dict())
    with pytest.raises(
        wf.errors.DTypeError, match="add_module: 'x' must be a Module or None, not 3"
    ):
        net.add_module("x", 3)


def test_a_copy_has_parameters_and_buffers_of_its_own() -> None:
    net = nn.Sequential(Counting(), nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)).eval()
    net[2].weight = net[1].weight
    net[1].weight.requires_grad_(False)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert (
            not twin[0].training
            and twin[2].weight is twin[1].weight
            and not twin[1].weight.requires_grad
        )
        assert list(twin.state_dict()) == list(net.state_dict()) and not twin[0].table.persistent
        before = net.state_dict()
        for t in [*twin.parameters(), twin[0].mean]:
            t.assign(t + 1)
        (twin[0](wf.ones(1, 2)) * 2).backward()
        assert twin[0].scale.grad is not None and net[0].scale.grad is None
        for name, value in net.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), before[name].numpy())
        np.testing.assert_array_equal(twin[1].weight.numpy(), net[1].weight.numpy() + 1)


def test_hooks_see_and_replace_arguments_and_results() -> None:
    layer, seen = nn.Sequential(), []  # which returns what it gets
    remove = [
        layer.register_forward_pre_hook(lambda m, args: args[0] + 1),
        layer.register_forward_hook(lambda m, a, y: y * 10),
    ]
    remove.append(layer.register_forward_hook(lambda m, args, y: seen.append((m, args, y))))
    assert layer(2) == 30 and seen == [(layer, (3,), 30)]
    for r in remove:
        r()
    assert layer(2) == 2 and len(seen) == 1
    with pytest.raises(
        wf.errors.DTypeError, match="register_forward_hook: a hook must be a function, not 1"
    ):
        layer.register_forward_hook(1)


class Doubled(nn.Module):
    """As a hook: twice the result."""

    def __init__(self) -> None:
        self.factor = nn.Parameter(wf.full((), 2.0))

    def forward(self, module: nn.Module, args: tuple[Any, ...], result: wf.Tensor) -> wf.Tensor:
        return result * self.factor


def test_a_module_that_is_a_hook_is_no_part_of_the_tree() -> None:
    layer = nn.Linear(2, 2)
    plain = layer(wf.ones(1, 2)).numpy()
    layer.register_forward_hook(Doubled())
    assert list(layer.state_dict()) == ["weight", "bias"] and list(layer.children()) == []
    np.testing.assert_array_equal(layer(wf.ones(1, 2)).numpy(), 2 * plain)


def test_requires_grad_of_all_parameters() -> None:
    net = Net()
    assert net.requires_grad_(False) is net and not any(p.requires_grad for p in net.parameters())
    assert all(p.requires_grad for p in net.requires_grad_().parameters())


def test_train_and_eval_reach_every_module() -> None:
    net = Net()
    assert all(m.training for m in net.modules())
    assert net.eval() is net and not any(m.training for m in net.modules())
    x = wf.ones(1, 3)
    np.testing.assert_array_equal(net(x).numpy(), net(x).numpy())
    assert net.train() is net and all(m.training for m in net.modules())


def test_apply_visits_children_first() -> None:
    seen: list[str] = []
    nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()), nn.SiLU()).apply(
        lambda m: seen.append(type(m).__name__)
    )
    assert seen == ["ReLU", "Tanh", "Sequential", "SiLU", "Sequential"]


def test_zero_grad() -> None:
    layer = nn.Linear(2, 1)
    layer(wf.ones(1, 2)).sum().backward()
    assert layer.weight.grad is not None
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.tolist() == [[0.0, 0.0]]
    layer.zero_grad()
    assert layer.weight.grad is None


def test_state_round_trip() -> None:
    wf.manual_seed(1)
    a, b = Net(), Net()
    state = a.state_dict()
    assert list(state) == NAMES
    b.load_state_dict({name: value.numpy() for name, value in state.items()})
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        np.testing.assert_array_equal(p.numpy(), q.numpy())
    assert all(p.requires_grad for p in b.parameters())


def test_a_state_is_a_snapshot() -> None:
    layer = nn.Linear(2, 1)
    before = layer.weight.numpy().copy()
    state = layer.state_dict()
    layer.load_state_dict({"weight": before + 1, "bias": np.zeros(1)})
    np.testing.assert_array_equal(state["weight"].numpy(), before)
    np.testing.assert_array_equal(layer.weight.numpy(), before + 1)
    assert layer.bias.dtype is layer.weight.dtype and layer.bias.numpy()[0] == 0


def loaded(state: dict[str, Any]) -> tuple[nn.Linear, int, int]:
    """A layer with this state, the bytes that it takes beyond those of the state, and how many
    programs ran."""
    layer = nn.Linear(300, 200)
    before, runs = memory.allocated_bytes, statistics["runs"]
    layer.load_state_dict(state)
    return layer, memory.allocated_bytes - before, statistics["runs"] - runs


def test_arrays_are_copied_once() -> None:
    state = {
        "weight": np.random.default_rng(0).normal(size=(200, 300)).astype(np.float32),
        "bias": np.ones(200, np.float32),
    }
    layer, nbytes, runs = loaded(state)
    assert nbytes <= size_class(4 * 200 * 300) + size_class(4 * 200) and runs == 0
    state["bias"][:] = 2
    (layer(wf.ones(1, 300)).sum()).backward()
    nn.optim.SGD(layer.parameters(), lr=1.0).step()
    np.testing.assert_array_equal(layer.bias.numpy(), np.zeros(200))
    np.testing.assert_array_equal(layer.weight.numpy(), state["weight"] - 1)


def test_tensors_are_shared_until_one_changes() -> None:
    state = {
        "weight": wf.tensor(np.ones((200, 300), np.float32)),
        "bias": wf.tensor(np.ones(200, np.float32)),
    }
    (first, nbytes, runs), (second, _, _) = loaded(state), loaded(state)
    assert nbytes <= 0 and runs == 0
    for _ in range(3):
        first(wf.ones(1, 300)).sum().backward()
        nn.optim.SGD(first.parameters(), lr=1.0).step()
        first.zero_grad()
    state["bias"] += 5
    assert (first.bias == -2).all() and (second.bias == 1).all() and (state["bias"] == 6).all()
    assert (
        (first.weight == -2).all() and (second.weight == 1).all() and (state["weight"] == 1).all()
    )


def test_load_state_refuses_wrong_names_and_shapes_and_then_changes_nothing() -> None:
    layer = nn.Linear(2, 1)
    before = layer.bias.numpy().copy()
    with pytest.raises(wf.errors.StateError, match="missing weight; unexpected scale"):
        layer.load_state_dict({"bias": np.ones(1), "scale": np.ones(1)})
    with pytest.raises(
        wf.errors.StateError,
        match=r"fit Linear: missing weight; unexpected scale; bias has shape \(1,\), but",
    ):
        layer.load_state_dict({"bias": np.ones(3), "scale": np.ones(1)})
    with pytest.raises(
        wf.errors.ShapeError,
        match=r"weight has shape \(1, 2\), .* \(2,\); bias has shape \(1,\), .* \(3,\)",
    ):
        layer.load_state_dict({"bias": np.ones(3), "weight": np.ones(2)})
    with pytest.raises(
        wf.errors.DTypeError,
        match="fit Linear: weight: the value must be a Tensor, an array or a number",
    ):
        layer.load_state_dict({"bias": np.ones(1), "weight": "x"})
    out_of_range = wf.ones(1, 2)[wf.tensor([5])]
    with pytest.raises(wf.errors.IndexError):
        layer.load_state_dict({"bias": np.ones(1), "weight": out_of_range})
    with pytest.raises(wf.errors.DTypeError, match=r"the state must be a dict .* not \[1\]"):
        layer.load_state_dict([1])
    with pytest.raises(
        wf.errors.ShapeError, match=r"weight has shape \(1, 2\), but the state has \(2, 1\)"
    ):
        layer.load_state_dict({"bias": np.ones(1), "weight": np.ones((2, 1))})
    np.testing.assert_array_equal(layer.bias.numpy(), before)
    found = layer.load_state_dict({"bias": np.ones(1), "scale": np.ones(1)}, strict=False)
    assert layer.bias.item() == 1
    assert (
        found == (["weight"], ["scale"])
        and found.missing_keys == ["weight"]
        and found.unexpected_keys == ["scale"]
    )
    assert layer.load_state_dict(layer.state_dict()) == ([], [])


def test_a_shared_parameter_is_loaded_from_any_of_its_names() -> None:
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    for names in (["0.weight"], ["1.weight"], ["0.weight", "1.weight"]):
        value = np.random.default_rng(len(names)).random((2, 2), np.float32)
        net.load_state_dict(dict.fromkeys(names, value))
        np.testing.assert_array_equal(net[0].weight.numpy(), value)
    assert list(net.state_dict()) == ["0.weight"]
    with pytest.raises(wf.errors.StateError, match=r"missing 0\.weight$"):
        net.load_state_dict({})


def test_parameter_takes_arrays_and_tensors() -> None:
    for value in (np.ones((2, 3), np.float32), wf.ones(2, 3), [[1.0] * 3] * 2):
        p = nn.Parameter(value)
        assert isinstance(p, wf.Tensor) and p.requires_grad and p.shape == (2, 3)
        (p * 2).sum().backward()
        np.testing.assert_array_equal(p.grad.numpy(), np.full((2, 3), 2))


def test_initial_values_follow_the_seed_and_torchs_bounds() -> None:
    wf.manual_seed(3)
    first = nn.Linear(64, 50)
    wf.manual_seed(3)
    second = nn.Linear(64, 50)
    np.testing.assert_array_equal(first.weight.numpy(), second.weight.numpy())
    for layer, fan_in in (
        (first, 64),
        (nn.Conv2d(4, 40, 3, groups=2), 18),
        (nn.Conv1d(8, 40, 2), 16),
    ):
        bound = fan_in**-0.5
        w, b = layer.weight.numpy(), layer.bias.numpy()
        assert 0.9 * bound < np.abs(w).max() <= bound and 0.7 * bound < np.abs(b).max() <= bound
        assert abs(w.mean()) < 0.1 * bound and w.dtype == np.float32


def test_layers_compute_what_their_functions_compute() -> None:
    F = nn.functional
    x = wf.tensor(np.random.default_rng(0).standard_normal((2, 4, 6, 6)).astype(np.float32))
    conv = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2)
    pairs = [
        (conv(x), F.conv2d(x, conv.weight, conv.bias, 2, 1, 1, 2)),
        (nn.MaxPool2d(2)(x), F.max_pool2d(x, 2)),
        (nn.AvgPool2d(3, 1)(x), F.avg_pool2d(x, 3, 1)),
        (nn.LayerNorm(6)(x), F.layer_norm(x, 6)),
        (nn.Flatten()(x), x.reshape(2, -1)),
        (nn.GELU()(x), F.gelu(x)),
        (nn.Tanh()(x), x.tanh()),
        (nn.Sigmoid()(x), x.sigmoid()),
        (nn.ReLU()(x), x.relu()),
    ]
    for got, expected in pairs:
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)
    emb = nn.Embedding(7, 3)
    np.testing.assert_array_equal(emb(wf.tensor([6, 0])).numpy(), emb.weight.numpy()[[6, 0]])


def test_repr_shows_the_tree_and_counts_parameters() -> None:
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.Sequential(nn.Linear(400, 120), nn.MaxPool2d(2)),
    )
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Conv2d(1, 6, kernel_size=(5, 5), padding=2, bias=True)  # 156 parameters\n"
        "  (1): ReLU()\n"
        "  (2): Sequential(\n"
        "    (0): Linear(in_features=400, out_features=120, bias=True)  # 48,120 parameters\n"
        "    (1): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1)\n"
        "  )  # 48,120 parameters\n"
        ")  # 48,276 parameters"
    )
    net[0].requires_grad_(False)
    assert repr(net).endswith("# 48,276 parameters, 48,120 of them trainable")
    assert repr(nn.Linear(1, 1, bias=False)).endswith("# 1 parameter")


def test_a_layer_that_holds_its_parent_is_no_endless_tree() -> None:
    net = nn.Sequential(nn.Linear(1, 1))
    net[0].parent = net
    assert [name for name, _ in net.named_modules(remove_duplicate=False)] == ["", "0"]
    assert list(net.eval().state_dict()) == ["0.weight", "0.bias"] and "..." in repr(net)


def test_num_parameters_counts_shared_ones_once() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(3, 4))
    net[1].weight = net[0].weight
    net[0].bias.requires_grad_(False)
    assert (net.num_parameters(), net.num_parameters(trainable_only=True)) == (20, 16)


def test_layers_say_what_they_expect() -> None:
    with pytest.raises(
        wf.errors.ShapeError, match="linear: the last axis of x must be in_features=3"
    ):
        nn.Linear(3, 4)(wf.zeros(2, 5))
    with pytest.raises(
        wf.errors.ShapeError, match=r"conv2d: expected x of shape \(N, C, H, W\) or \(C, H, W\)"
    ):
        nn.Conv2d(1, 6, 5)(wf.zeros(28, 28))
    with pytest.raises(ValueError, match="groups=3 must divide"):
        nn.Conv2d(4, 6, 5, groups=3)
    with pytest.raises(TypeError, match="layer 1 must be a Module"):
        nn.Sequential(nn.ReLU(), wf.zeros(1))
    with pytest.raises(NotImplementedError, match="Module defines no forward"):
        nn.Module()(1)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", [wf.float16, wf.bfloat16, wf.float64])
@pytest.mark.parametrize("lazy", [False, True])
def test_another_dtype_keeps_the_parameters(dtype: wf.DType, lazy: bool) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1, bias=False))
    before = list(net.parameters())
    if not lazy:
        wf.realize(*before)
        net(wf.ones(5, 3)).sum().backward()
    before[0].requires_grad_(False)
    values = [p.detach().astype(dtype) for p in before]
    assert net.to(dtype) is net
    for p, q, value in zip(net.parameters(), before, values, strict=True):
        assert p is q and p.dtype is dtype and p.is_leaf and p.name
        assert p.tolist() == value.tolist()
        assert p.grad is None if lazy else p.grad.dtype is dtype
    assert [p.requires_grad for p in net.parameters()] == [False, True, True]


def test_a_converted_model_is_trained() -> None:
    net = nn.Linear(3, 1)
    optimizer = nn.optim.SGD(net.parameters(), lr=0.5)
    net.double()
    before = net.weight.numpy(copy=True)
    net(wf.ones(2, 3, dtype="float64")).sum().backward()
    optimizer.step()
    np.testing.assert_array_equal(net.weight.numpy(), before - 1.0)


def test_what_was_built_before_a_conversion_is_stale() -> None:
    net = nn.Linear(3, 1)
    lazy, computed = net(wf.ones(1, 3)).sum(), net(wf.zeros(1, 3)).sum().realize()
    net.half().float()
    for loss in (lazy, computed):
        with pytest.raises(wf.errors.StaleError, match=r"parameter '(weight|bias)'"):
            loss.backward()


def test_conversions_are_to_floats_on_this_device() -> None:
    net = nn.Linear(3, 1)
    dtypes = [
        net.half().weight.dtype,
        net.double().weight.dtype,
        net.bfloat16().weight.dtype,
        net.float().weight.dtype,
    ]
    assert dtypes == [wf.float16, wf.float64, wf.bfloat16, wf.float32]
    assert (
        net.to("cpu").to(None).weight.dtype is wf.float32
        and net.to("cpu", dtype="float64").weight.dtype is wf.float64
    )
    with pytest.raises(
        wf.errors.DTypeError, match=r"Linear\.to: parameters are floats, which int32 is not"
    ):
        net.to(wf.int32)
    assert net.cpu() is net
    for move in (lambda: net.to("cuda:99"), lambda: net.to(99), lambda: net.to(device="cuda:99")):
        with pytest.raises(wf.errors.DeviceError, match="'cuda"):
            move()


# ---------------------------------------------------------------- buffers


class Counting(nn.Module):
    """A mean over all that it has seen while training, a count of calls, and a table that no state
    holds."""

    def __init__(self) -> None:
        self.scale = nn.Parameter(wf.ones(2))
        self.register_buffer("mean", wf.zeros(2))
        self.register_buffer("calls", 0)
        self.register_buffer("table", np.arange(2), persistent=False)
        self.register_buffer("nothing", None)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        if self.training:
            self.calls.assign(self.calls + 1)
            self.mean.assign(self.mean + (x.mean(axis=0) * self.scale - self.mean) / self.calls)
        return (x * self.scale - self.mean).sum()


BATCHES = np.arange(24, dtype=np.float32).reshape(4, 3, 2)


def test_buffers_are_state_that_is_not_learned() -> None:
    m = Counting()
    assert [name for name, _ in m.named_buffers()] == ["mean", "calls", "table"]
    assert [name for name, _ in m.named_parameters()] == ["scale"]
    assert list(m.state_dict()) == ["scale", "mean", "calls"]
    assert not any(b.requires_grad for b in m.buffers()) and m.nothing is None
    assert m.calls.dtype is wf.int64 and m.calls.shape == ()
    assert [name for name, _ in nn.Sequential(m).named_buffers("net")] == [
        "net.0.mean",
        "net.0.calls",
        "net.0.table",
    ]
    assert list(nn.Sequential(m).buffers(recurse=False)) == []


@pytest.mark.parametrize("jitted", [False, True], ids=["lazy", "jit"])
@pytest.mark.parametrize("grad", [False, True], ids=["no_grad", "grad"])
def test_a_forward_updates_its_buffers_at_every_call(jitted: bool, grad: bool) -> None:
    m = Counting()

    def loss(x: wf.Tensor) -> wf.Tensor:
        with wf.enable_grad() if grad else wf.no_grad():
            return m(x)

    f = wf.jit(loss) if jitted else loss
    losses = [f(wf.tensor(x)).item() for x in BATCHES]
    assert m.calls.item() == len(BATCHES)
    np.testing.assert_allclose(m.mean.numpy(), BATCHES.mean(axis=(0, 1)))
    means = [BATCHES[: i + 1].mean(axis=(0, 1)) for i in range(len(BATCHES))]
    np.testing.assert_allclose(
        losses, [(x - mean).sum() for x, mean in zip(BATCHES, means, strict=True)], atol=1e-5
    )
    m.eval()
    f(wf.tensor(BATCHES[0])).item()
    assert m.calls.item() == len(BATCHES)


def test_a_buffers_update_joins_the_training_step() -> None:
    m = Counting()
    optimizer = nn.optim.SGD(m.parameters(), lr=0.1)
    program_table = wf.frontend.lazy.program_table
    for i, x in enumerate(BATCHES):
        before = dict(program_table.statistics)
        optimizer.zero_grad()
        m(wf.tensor(x)).backward()
        optimizer.step()
        if i > 1:
            assert (
                program_table.statistics["runs"] == before["runs"] + 1
                and program_table.statistics["built"] == before["built"]
            )
            assert m.calls._stored() is not None and m.mean._stored() is not None
    assert m.calls.item() == len(BATCHES)


def test_no_gradient_reaches_a_buffer() -> None:
    m = Counting()
    m(wf.tensor(BATCHES[0])).backward()
    assert m.mean.grad is None and m.scale.grad.tolist() == [6.0, 9.0]


def test_a_buffer_takes_the_value_of_an_operator_or_of_a_tensor_set_over_it() -> None:
    m = Counting()
    mean, calls = m.mean, m.calls
    m.calls += 2
    m.mean = m.mean + 1.0
    m.mean[0] = 5.0
    assert m.calls is calls and calls.item() == 2 and m.mean is mean and mean.tolist() == [5.0, 1.0]
    m.mean = wf.zeros(3)
    assert isinstance(m.mean, nn.Buffer) and m.mean is not mean and m.mean.shape == (3,)
    m.mean = None
    assert list(m.state_dict()) == ["scale", "calls"]


def test_a_buffer_made_of_memory_shares_it_until_it_changes() -> None:
    value = wf.tensor([1.0, 2.0])
    b = nn.Buffer(value)
    assert b._stored().address == value._stored().address
    b += 1
    assert b.tolist() == [2.0, 3.0] and value.tolist() == [1.0, 2.0]


def test_a_state_holds_persistent_buffers_in_their_dtype() -> None:
    a, b = Counting(), Counting()
    a(wf.tensor(BATCHES[0]))
    state = a.state_dict()
    a(wf.tensor(BATCHES[1]))
    b.load_state_dict(state)
    assert b.calls.item() == 1 and b.calls.dtype is wf.int64 and not b.calls.requires_grad
    np.testing.assert_array_equal(b.mean.numpy(), BATCHES[0].mean(axis=0))


def test_a_conversion_leaves_buffers_of_integers() -> None:
    m = Counting().half()
    assert [t.dtype for t in (m.scale, m.mean, m.calls, m.table)] == [
        wf.float16,
        wf.float16,
        wf.int64,
        wf.int64,
    ]
    assert not m.mean.requires_grad and m.mean.is_leaf


def test_a_tensor_set_over_a_parameter_is_refused() -> None:
    layer = nn.Linear(2, 1)
    with pytest.raises(
        wf.errors.DTypeError,
        match=r"Linear\.weight is a Parameter: set another one or None, or assign",
    ):
        layer.weight = wf.zeros(1, 2)
    layer.weight = nn.Parameter(wf.zeros(1, 2))
    layer.bias = None
    assert list(layer.state_dict()) == ["weight"] and layer(wf.ones(1, 2)).item() == 0
    layer.bias = nn.Parameter(wf.ones(1))
    assert layer(wf.ones(1, 2)).item() == 1


def test_registration_checks_names_and_kinds() -> None:
    layer = nn.Linear(2, 1)
    layer.register_parameter("scale", nn.Parameter(wf.ones(1)))
    layer.register_parameter("bias", None)
    assert list(layer.state_dict()) == ["weight", "scale"]
    with pytest.raises(
        wf.errors.DTypeError, match="register_parameter: 'x' must be a Parameter or None"
    ):
        layer.register_parameter("x", wf.zeros(1))
    for name in ("a.b", "", 3):
        with pytest.raises(
            wf.errors.ArgumentError, match="register_buffer: a name must be a string without dots"
        ):
            layer.register_buffer(name, wf.zeros(1))
    with pytest.raises(
        wf.errors.ArgumentError, match="'forward' is an attribute that every Linear has"
    ):
        layer.register_buffer("forward", wf.zeros(1))
