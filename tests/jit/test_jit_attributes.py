"""wf.jit and attributes of Modules: what a function read is part of its signature, and numbers that
change become inputs."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from counted import Counted
from weft import nn, options
from weft.frontend.lazy.attributes import Attributes
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F

X = [[-2.0, -0.5, 0.75], [1.5, 3.0, -4.0]]


class Mode(Enum):
    PLAIN = 1
    SQUARED = 2


class Layer(nn.Module):
    """Attributes of every kind, a few of them read in forward()."""

    scale = 1.5

    def __init__(self) -> None:
        self.k, self.flag, self.name, self.mode, self.n = 2.0, True, "plus", Mode.PLAIN, 2
        self.shift: float | None = None
        self.sizes = (2, 3)
        self.act: Callable[[wf.Tensor], wf.Tensor] = F.relu
        self.calls = 0

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = self.act(x) * self.scale - x / self.k
        x = x + 1.0 if self.flag else x
        x = x if self.name == "plus" else -x
        x = x if self.mode is Mode.PLAIN else x * x
        x = x if self.shift is None else x - self.shift
        return (x.reshape(*self.sizes) * self.n).sum(axis=0)


class Owner:
    def __init__(self, model: nn.Module) -> None:
        self.model = model

    @wf.jit
    def call(self, x: wf.Tensor) -> wf.Tensor:
        return self.model(x)  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[nn.Module], Callable[[wf.Tensor], wf.Tensor]]] = {
    "argument": lambda model: partial(wf.jit(lambda model, x: model(x)), model),
    "captured": lambda model: wf.jit(lambda x: 1.0 * model.forward(x)),
    "method": lambda model: Owner(model).call,
    "nested": lambda model: partial(
        wf.jit(lambda a, x: a["layers"][1](x)), {"layers": [0, nn.Sequential(nn.Identity(), model)]}
    ),
}


def equal(a: Any, b: Any) -> None:
    np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    "changes",
    [
        {"k": [3.0, -0.5, math.inf]},
        {"k": [3, 2**60]},
        {"n": [3, 5, 0.5]},
        {"scale": [2.0, 3.0]},
        {"flag": [False, True]},
        {"name": ["minus", "plus"]},
        {"mode": [Mode.SQUARED]},
        {"shift": [0.25, 0.75, None]},
        {"sizes": [(3, 2), (6, 1)]},
        {"act": [wf.tanh, F.gelu]},
    ],
    ids=lambda changes: next(iter(changes)),
)
@pytest.mark.parametrize("way", WAYS)
def test_a_changed_attribute_is_noticed(changes: dict[str, list[Any]], way: str) -> None:
    model, x = Layer(), wf.tensor(X)
    call = WAYS[way](model)
    equal(call(x), model(x))
    for name, values in changes.items():
        for value in values:
            setattr(model, name, value)
            equal(call(x), model(x))
    if "scale" in changes:
        del model.scale
        equal(call(x), model(x))


class Open(nn.Module):
    """Attributes of the class, of which an instance may have its own, and one that it may have or
    not."""

    act = staticmethod(F.relu)
    scale: float | None = 2.0
    offset: float | None = None

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = self.act(x) * (10.0 if self.scale is None else self.scale)
        x = x if getattr(self, "extra", None) is None else x * self.extra
        return self.shifted(x) if hasattr(self, "shift") else self.moved(x)

    def moved(self, x: wf.Tensor) -> wf.Tensor:
        return x if self.offset is None else x + self.offset

    def shifted(self, x: wf.Tensor) -> wf.Tensor:
        return x - self.shift


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("act", [F.sigmoid, wf.tanh]),
        ("scale", [None, 3.0, 2.0]),
        ("offset", [1.5, None]),
        ("extra", [5.0, 6, None]),
        ("shift", [1.0, nn.Parameter(wf.ones(3))]),
        ("moved", [wf.exp]),
        ("forward", [wf.exp]),
    ],
)
@pytest.mark.parametrize("way", ["captured", "argument", "nested"])
def test_an_attribute_set_over_that_of_the_class_or_over_none_is_noticed(
    name: str, values: list[Any], way: str
) -> None:
    model, x = Open(), wf.tensor(X)
    call = WAYS[way](model)
    for _ in range(2):
        equal(call(x), model(x))
        for value in values:
            setattr(model, name, value)
            equal(call(x), model(x))
        delattr(model, name)
    equal(call(x), model(x))


def test_what_is_looked_for_costs_no_trace_while_it_stays_missing() -> None:
    """Names that a class of classes has, properties and what descriptors make among it."""

    class Made:
        def __get__(self, module: Any, kind: Any) -> float:
            return 3.0 if module is not None else 4.0

    class Asking(Open):
        made = Made()

        @property
        def lost(self) -> float:
            return self.nothing  # type: ignore[no-any-return]

        def forward(self, x: wf.Tensor) -> wf.Tensor:
            assert not any(
                hasattr(self, name) for name in ("mro", "__name__", "lost", "nothing", "kept")
            )
            self.kept = 1.0
            return super().forward(x) * self.made * self.k

    model, x = Asking(), wf.tensor(X)
    model.k = 1.0
    f = Counted(model)
    for k in (1.0, 2.0, 3.0, 4.0):
        model.k = k
        f(x)
        vars(model).pop("kept", None)
        model.extra = 3.0
        del model.extra
    assert f.traces == 2


LAYERS: list[tuple[nn.Module, str, list[float]]] = [
    (nn.Dropout(0.5), "p", [0.9, 0.1, 0.3]),
    (nn.Dropout1d(0.5), "p", [0.9, 0.1, 0.3]),
    (nn.AlphaDropout(0.5), "p", [0.9, 0.1, 0.3]),
    (nn.BatchNorm1d(3), "momentum", [0.9, 0.2, 0.3]),
    (nn.BatchNorm1d(3), "eps", [0.9, 0.0, 0.3]),
    (nn.LayerNorm(3), "eps", [0.9, 0.0, 0.3]),
    (nn.LeakyReLU(0.1), "negative_slope", [0.9, 0.0, -0.3]),
    (nn.ELU(), "alpha", [0.9, 0.1, 0.3]),
    (nn.CELU(), "alpha", [0.9, 0.1, 0.3]),
    (nn.Softplus(), "beta", [0.9, 0.1, 0.3]),
    (nn.Threshold(0.0, 1.0), "threshold", [0.9, -0.1, 0.3]),
    (nn.Threshold(0.0, 1.0), "value", [0.9, -0.1, 0.3]),
    (nn.Hardtanh(), "max_val", [0.9, 0.1, 0.3]),
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    ("layer", "name", "values"), LAYERS, ids=[f"{type(m).__name__}-{n}" for m, n, _ in LAYERS]
)
def test_numbers_of_layers_become_inputs(layer: nn.Module, name: str, values: list[float]) -> None:
    """The second trace is the last one, and later numbers compile nothing."""
    f, x = Counted(layer), wf.tensor(X)
    f(x)
    for i, value in enumerate(values):
        setattr(layer, name, value)
        before, draws, state = statistics["built"], wf.get_rng_state(), layer.state_dict()
        got, built, after = f(x), statistics["built"], layer.state_dict()
        assert built == before or not i
        wf.set_rng_state(draws)
        layer.load_state_dict({key: t.numpy() for key, t in state.items()})
        equal(got, layer(x))
        for key, t in layer.state_dict().items():
            equal(after[key], t)
    assert f.traces == 2


def test_what_is_computed_of_numbers_is_an_input_and_what_is_decided_by_them_is_not() -> None:
    model = nn.Module()
    model.epoch, model.start = 0, 0.5

    def weight(x: wf.Tensor) -> wf.Tensor:
        share = min(1.0, model.epoch / 10) * model.start
        return x * (1 - share) + (2 * share - share**2 if share > 0.2 else -share)

    f, x = Counted(weight), wf.tensor(X)
    for epoch in range(20):
        model.epoch = epoch
        equal(f(x), weight(x))
    assert f.traces == 4  # as it is at first; as an input; above 0.2; from 1.0 on
    model.start = 0.75
    for start in (0.625, 0.5, 0.375):
        model.start = start
        equal(f(x), weight(x))
    assert f.traces == 5
    model.start = 0.0
    equal(f(x), weight(x))
    with pytest.raises(ZeroDivisionError):
        g = wf.jit(lambda x: x / (1.0 / model.start))
        for start in (1.0, 2.0, 4.0, 0.0):
            model.start = start
            equal(g(x), x / (1.0 / start if start else 1.0))
    model.start = 8.0
    equal(g(x), x * 8.0)


USES: list[Callable[[Any, wf.Tensor], Any]] = [
    lambda k, x: x[:, : int(k)],
    lambda k, x: x * math.sqrt(k) + round(k / 3, 1),
    lambda k, x: x * np.float32(k),
    lambda k, x: np.float64(1.5) * k + x,
    lambda k, x: x + np.array([k, 1.0, k], "float32"),
    lambda k, x: x if f"{k:.1f}" in ("2.0", "2") else -x,
    lambda k, x: {2: x, 3: -x}.get(k, x * x),
    lambda k, x: x**k + 2.0**k,
    lambda k, x: x % k + x // k - k % 3,
    lambda k, x: wf.where(x > k, x, k).clip(-k, k),
    lambda k, x: (x.to(wf.int32) * k, x.to(wf.float64) + k, x.half() / k, k == x, (x > 0) + k),
    lambda k, x: wf.full((2, 3), k) + wf.full_like(x, k),
    lambda k, x: wf.tensor([k, 1.0, abs(-k)]) * x,
    lambda k, x: sum([k, k]) * x + max(k, 3) + divmod(k, 2)[1],
    lambda k, x: x * float(Decimal(k)),
    lambda k, x: (
        (x, k, [k * 2]) if isinstance(k, (int, float)) and not isinstance(k, bool) else None
    ),
    lambda k, x: wf.uniform(-abs(k), abs(k), (3,)) if k else x,
]
WHOLE: list[Callable[[int, wf.Tensor], Any]] = [
    lambda k, x: x.reshape(-1, k % 3 + 1),
    lambda k, x: x.sum(axis=k % 2),
    lambda k, x: [x] * k,
    lambda k, x: [x + i for i in range(k)],
    lambda k, x: x[k % 2] + (k << 1) + (k & 1),
    lambda k, x: wf.arange(k) + wf.zeros(k, k)[0],
    lambda k, x: x.to(wf.uint8) + k,
]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("use", range(len(USES) + len(WHOLE)))
def test_a_number_that_changes_is_one_to_python(use: int) -> None:
    """Whatever is done with it: the results are those of the function without jit."""
    function = [*USES, *WHOLE][use]
    model, x = nn.Module(), wf.tensor(X)
    numbers = [2, 3, 5, 2] if use >= len(USES) else [2.0, 3.0, 2.5, 0.5, 2, 3, 7]
    f = wf.jit(lambda x: function(model.k, x))
    for k in numbers:
        model.k = k
        draws = wf.get_rng_state()
        got = f(x)
        wf.set_rng_state(draws)
        wanted = function(k, x)
        pairs = (
            zip(got, wanted, strict=True) if isinstance(wanted, (tuple, list)) else [(got, wanted)]
        )
        for a, b in pairs:
            if isinstance(b, wf.Tensor):
                equal(a, b)
            else:
                assert a == b and type(a) is type(b)


def test_what_the_function_sets_itself_is_no_part_of_its_signature() -> None:
    class Counting(Layer):
        def forward(self, x: wf.Tensor) -> wf.Tensor:
            self.calls += 1
            self.last = self.k * 2
            return super().forward(x) * self.calls

    model, x = Counting(), wf.tensor(X)
    f = Counted(model)
    first = f(x)
    for _ in range(3):
        equal(f(x), first)
    assert (f.traces, model.calls, model.last) == (1, 1, 4.0)
    for k in (3.0, 4.0, 5.0):
        model.k = k
        f(x)
    assert f.traces == model.calls == 2 and type(model.last) is float
    model.calls = 100
    f(x)
    assert f.traces == 2, "the function sets it, so it does not matter who else does"


@pytest.mark.parametrize(
    "put", [lambda o, lr: setattr(o, "lr", lr), lambda o, lr: o.param_groups[0].update(lr=lr)]
)
def test_a_number_that_an_optimizer_is_given_is_one(
    put: Callable[[nn.optim.SGD, float], None],
) -> None:
    model = nn.Linear(1, 1, bias=False)
    optimizer = nn.optim.SGD(model.parameters(), lr=1.0)

    def step(x: wf.Tensor) -> None:
        optimizer.zero_grad()
        model(x).sum().backward()
        put(optimizer, model.rate)
        optimizer.step()

    f = wf.jit(step)
    for rate in (0.5, 0.25, 0.125, 0.0625):
        model.rate, before = rate, model.weight.item()
        f(wf.ones(1, 1))
        assert (
            model.weight.item() == before - rate
            and optimizer.lr == rate
            and type(optimizer.lr) is float
        )


def test_what_was_not_read_may_change_for_free() -> None:
    model, x = Layer(), wf.tensor(X)
    f = Counted(model)
    f(x)
    changes = wf.frontend.lazy.state.changes.count
    model.epoch, model.losses, model.k = 3, [0.5], 2.0
    model.extra = 4.0
    del model.extra
    assert wf.frontend.lazy.state.changes.count == changes
    f(x)
    assert f.traces == 1


@pytest.mark.slow
def test_a_retrace_names_the_attribute_and_the_module(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.inspection.dumps.shown._watched", []
    )  # no times at the end of the tests
    net = nn.Sequential(nn.Linear(3, 3), nn.ModuleDict({"drop": nn.Dropout(0.5)})["drop"], Layer())
    net[2].block = nn.Sequential(nn.ReLU())
    f = wf.jit(net)
    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: setattr(net[1], "p", 0.75),
        net[2].block.eval,
        lambda: setattr(net[2], "act", wf.tanh),
        lambda: setattr(net, "name", "unread"),
        lambda: setattr(net[0], "bias", None),
        lambda: setattr(net[1], "forward", nn.Identity()),
    ]
    with options.override(debug=True):
        for step in steps:
            step()
            f(wf.ones(2, 3))
    lines = [
        line.split(" traced: ")[1]
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("jit:") and " traced: " in line
    ]
    assert lines == [
        "this is the first call",
        "Dropout.p of Sequential.1 changed from 0.5 to 0.75",
        "Layer.act of Sequential.2 was set anew",
        "Linear.bias of Sequential.0 was set anew",
        "Dropout.forward of Sequential.1 was set anew",
    ]


def test_nothing_watches_modules_without_a_trace_and_nothing_keeps_them() -> None:
    def failing(model: Layer) -> None:
        assert model.k == 2.0 and "__getattribute__" in vars(Attributes)
        raise KeyError("inside")

    model = Layer()
    with pytest.raises(KeyError, match="inside"):
        wf.jit(failing)(model)
    assert "__getattribute__" not in vars(Attributes)
    f = wf.jit(lambda x: 1.0 * ref()(x))
    ref, x = weakref.ref(model), wf.tensor(X)
    for k in (2.0, 3.0, 4.0):
        model.k = k
        f(x)
    del model
    gc.collect()
    assert ref() is None


def test_steps_over_processes_notice_changes_too() -> None:
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(3, 2), Layer()))
    optimizer = nn.optim.SGD(model.parameters(), lr=0.0)
    step = nn.parallel.jit_step(model, optimizer, lambda x: model(x).sum())
    model.module[1].sizes = (3, 2)
    x = wf.ones(3, 3)
    for k in (2.0, 3.0, 4.0):
        model.module[1].k = k
        equal(step(x), model(x).sum())
