"""wf.explain: kernels and reasons; and that every workload's hot loops are vector code."""

import json
import re
import zlib

import numpy as np
import pytest
import weft as wf
from effort import rarely
from machinekit import machine_of
from weft.codegen.kernels.loop_axes import TINY_WORK
from weft.codegen.llvm.target import host
from weft.frontend.lazy import program_table
from weft.inspection.explain import build as report_module

F = wf.nn.functional


def randn(*shape):
    seed = zlib.crc32(repr(shape).encode())
    return wf.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_explain_computes_nothing_and_lists_kernels():
    x = randn(512, 300)
    y = x.softmax(axis=-1)
    report = wf.explain(y)
    assert "lazy" in repr(y)
    assert [k.kind for k in report.kernels] == ["rows"]
    (kernel,) = report.kernels
    assert kernel.outer == (512,)
    assert kernel.bytes == 2 * 512 * 300 * 4
    assert "exp" in kernel.nodes and "rows" in kernel.schedule
    assert kernel.lines == (
        (__file__, test_explain_computes_nothing_and_lists_kernels.__code__.co_firstlineno + 2),
    )


def test_explain_names_the_reason_of_every_boundary():
    q, k, v = randn(2, 4, 64, 32), randn(2, 4, 64, 32), randn(2, 4, 64, 32)
    weights = (q @ k.transpose(-1, -2)).softmax(axis=-1)
    report = wf.explain([weights, weights @ v])
    assert len(report.kernels) == 3
    assert all(kernel.boundaries for kernel in report.kernels[1:])
    assert "prologue" in str(report)


def test_explain_says_why_it_is_no_other_schedule():
    x, y = (
        wf.explain(randn(300, 40).exp()).kernels[0],
        wf.explain(randn(40, 300).exp().sum(axis=1)).kernels[0],
    )
    assert (
        "    not       tiny: 144000 operations, from 2048 on vectors pay; lines: memory walks all"
        " axes as one;" in str(x)
    )
    (choice,) = y.choices
    assert choice.schedule == "rows" == y.schedule.split(":")[0] and "columns" in choice.others
    assert re.search(
        r" not tiny: .* columns: about [\d.]+ cycles a vector, rows [\d.]+",
        " ".join(str(y).split()),
    )


def test_equal_reasons_of_parts_stand_once():
    """Residue classes of a strided convolution's input gradient."""
    x, w = randn(2, 8, 12, 12).requires_grad_(), randn(16, 8, 3, 3)
    y = F.conv2d(x, w, stride=2, padding=1)
    (kernel,) = [
        k
        for k in wf.explain(wf.grad((y * randn(*y.shape)).sum(), [x])).kernels
        if len(k.choices) > 1
    ]
    names = re.findall(r"^    not +\(part in (\w+)\) ", str(kernel), re.MULTILINE)
    assert (
        names == [*dict.fromkeys(c.schedule for c in kernel.choices)]
        and len(names) < len(kernel.choices) == 4
    )


KERNEL_FIELDS = {
    *("name", "kind", "nodes", "outer", "reads", "outputs", "bytes", "flops", "intensity",
        "predicted", "bound", "schedule"),
    *("written", "floats", "sure_bytes", "sure_flops", "times"),
    *("parallel", "threads", "lines", "sources", "gradient", "boundaries", "launches", "measured",
        "choices"),
}  # fmt: skip


def test_a_report_is_json():
    q, k, v = randn(2, 4, 64, 32).requires_grad_(), randn(2, 4, 64, 32), randn(2, 4, 64, 32)
    weights = (q @ k.transpose(-1, -2)).softmax(axis=-1)
    report = wf.explain([weights, *wf.grad((weights @ v).sum(), [q])])
    found = json.loads(json.dumps(report.to_dict()))
    assert found["device"] == "cpu" and found["memory"]["peak_bytes"] == report.memory.peak_bytes
    assert found["memory"]["alive_at_peak"] == [b.name for b in report.memory.at_peak]
    for kernel, told in zip(report.kernels, found["kernels"], strict=True):
        assert set(told) == KERNEL_FIELDS
        assert told["nodes"] == list(kernel.nodes) and told["lines"] == [
            list(line) for line in kernel.lines
        ]
    (last,) = report.kernels[-1].boundaries[:1]
    assert found["kernels"][-1]["boundaries"][0] == {
        "other": last.other,
        "rule": last.rule,
        "detail": last.detail,
    }
    assert last.other in {k.name for k in report.kernels} and last.detail


def test_what_computes_gradients_is_marked():
    x = randn(300, 40).requires_grad_()
    y = x.softmax(axis=-1)
    first, last = wf.explain(y).kernels[0], wf.explain(wf.grad((y * y).sum(), [x])).kernels[-1]
    assert not first.gradient and last.gradient
    line = test_what_computes_gradients_is_marked.__code__.co_firstlineno + 2
    assert [(s.line, s.gradient, s.text) for s in first.sources] == [
        (line, False, "y = x.softmax(axis=-1)")
    ]
    assert (line, True) in [(s.line, s.gradient) for s in last.sources]


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    ("build", "flops"),
    [
        (lambda: randn(30, 50) @ randn(50, 70), 2 * 30 * 50 * 70),
        (
            lambda: F.conv2d(randn(2, 3, 12, 12), randn(8, 3, 3, 3)),
            2 * (2 * 8 * 10 * 10) * (3 * 3 * 3),
        ),
        (lambda: randn(1000) / randn(1000) + 1.0, 2 * 1000),
        (lambda: randn(40, 50).sum(axis=1), 40 * 50),
        (
            lambda: randn(40, 50)[wf.tensor([1, 3])],
            3 * 2,
        ),  # negative indices count from the end: a comparison, an add, a choice
        (lambda: randn(40, 50).T + 0.0, 40 * 50),
    ],
    ids=["matmul", "convolution", "map", "sum", "gather", "transposed"],
)
def test_flops_are_the_arithmetic(build, flops):
    assert sum(k.flops for k in wf.explain(build()).kernels) == flops


def of_transposed(channels, size, stride, **settings):
    """The flops of the transposed convolution of 8 x 8 places, and its output's places."""
    groups = settings.get("groups", 1)
    y = F.conv_transpose2d(
        randn(2, channels, 8, 8),
        randn(channels, 6 // groups, size, size),
        stride=stride,
        **settings,
    )
    (kernel,) = wf.explain(y).kernels
    return kernel.flops, y.shape[2] * y.shape[3]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 3), (3, 2), (4, 2), (2, 3)])
def test_terms_that_are_left_out_are_no_flops(size, stride):
    """Each input element is multiplied by each weight once, but for the terms beyond the edges,
    which are computed as zeros."""
    flops, places = of_transposed(5, size, stride)
    least = 2 * (2 * 5 * 8 * 8) * (6 * size * size)
    most = 2 * (2 * 5 * 6) * places * (-(-size // stride)) ** 2
    assert least <= flops <= most < 2 * (2 * 5 * 6) * places * size * size


def test_terms_of_a_depthwise_sum_that_are_left_out_are_no_flops():
    flops, places = of_transposed(6, 4, 2, groups=6)
    assert flops == 2 * (2 * 6) * places * 2 * 2


def test_an_equal_expression_that_is_alive_elsewhere_lends_no_lines():
    x = randn(70)
    elsewhere = x.exp() * 2.0
    here = x.exp() * 2.0
    assert here.node is elsewhere.node, "one Node"
    line = (
        test_an_equal_expression_that_is_alive_elsewhere_lends_no_lines.__code__.co_firstlineno + 3
    )
    for _ in range(2):  # explaining asks for no Node again
        assert wf.explain(here).kernels[0].lines == ((__file__, line),)


def test_a_wrong_index_is_named_with_the_line_that_asked_last():
    table, rows = randn(40, 50), wf.tensor([1, 40])
    elsewhere = F.embedding(rows, table)
    line = test_a_wrong_index_is_named_with_the_line_that_asked_last.__code__.co_firstlineno + 5
    with pytest.raises(IndexError, match=f"test_explain.py:{line}"):
        F.embedding(rows, table).numpy()
    del elsewhere


def test_a_check_comes_from_the_line_that_indexes():
    rows, table = wf.tensor([1, 3]), randn(40, 50)
    y = F.embedding(rows, table)
    check, _ = wf.explain(y).kernels
    line = test_a_check_comes_from_the_line_that_indexes.__code__.co_firstlineno + 2
    assert check.kind == "check" and check.lines == ((__file__, line),)


@pytest.mark.slow
def test_flops_of_a_transcendental_are_those_of_its_polynomial():
    x = randn(1000)
    for op, least, most in (
        ("exp", 20, 40),
        ("log", 25, 50),
        ("tanh", 30, 60),
        ("sin", 20, 80),
        ("erf", 40, 80),
    ):
        (kernel,) = wf.explain(getattr(wf, op)(x)).kernels
        assert least * 1000 <= kernel.flops <= most * 1000, op
        (double,) = wf.explain(getattr(wf, op)(x.to(wf.float64))).kernels
        assert double.flops != kernel.flops, "another polynomial"
    assert wf.explain(x.half().exp()).flops <= wf.explain(x.exp()).flops + 2 * 1000, (
        "in float32, and two casts"
    )


def test_a_gather_moves_no_more_than_it_reads():
    table, rows = randn(5000, 64), wf.tensor(np.arange(10))
    kernel = wf.explain(table[rows]).kernels[-1]
    assert kernel.bytes == 2 * 10 * 64 * 4 + 10 * 8


def test_what_is_read_of_a_small_part_is_no_more_than_that():
    @wf.jit
    def part(table, small):
        return table[7, 3:4] + small

    assert wf.explain(part, randn(5000, 64), randn(100)).kernels[0].bytes == (1 + 2 * 100) * 4


X = 32 * 32 * 4  # bytes of a matrix


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize(
    ("make", "nbytes", "flops"),
    [
        (lambda x, y: x + 1, 2 * X, 0),
        (lambda x, y: x + y, 2 * X, 0),  # they may be views of the same memory
        (lambda x, y: x.softmax(axis=1), 2 * X, 0),
        (lambda x, y: x @ y, 2 * X, 2 * 32**3),
        (
            lambda x, y: (x @ y).relu() @ y,
            3 * X,
            2 * 32**3,
        ),  # the second kernel reads the result of the first, too
        (lambda x, y: x[wf.tensor([1, 1, 1])] + 1, 0, 0),
        (lambda x, y: wf.pad(x, (1, 1)) + 1, 0, 0),
        (lambda x, y: x.to(wf.int8) @ y.to(wf.int8), X + X // 4, 0),
        (lambda x, y: x.cumsum(axis=0), 0, 0),
    ],
)
def test_a_kernel_cannot_do_without_what_is_sure(make, nbytes, flops):
    kernel = wf.explain(wf.jit(make), randn(32, 32), randn(32, 32)).kernels[-1]
    assert (kernel.sure_bytes, kernel.sure_flops) == (nbytes, flops)


def test_a_kernel_that_threads_share_names_how_many():
    with wf.options.override(num_threads=2):
        large, small = (
            wf.explain(randn(1000, 1000).exp()).kernels[0],
            wf.explain(randn(10).exp()).kernels[0],
        )
    assert (large.parallel, large.threads) == (True, 2) and (small.parallel, small.threads) == (
        False,
        1,
    )


@pytest.mark.parametrize("look", [wf.explain, wf.profile])
def test_what_is_no_tensor_is_refused_by_name(look):
    with pytest.raises(
        wf.errors.DTypeError, match=f"^{look.__name__}: expected a Tensor, .* got 3$"
    ):
        look([wf.ones(2), 3])


def test_explain_of_what_is_in_memory_is_empty():
    assert wf.explain(randn(3)).kernels == []
    said = str(wf.explain([randn(3), randn(4)]))
    assert "0 kernels" in said and "nothing to compute" in said and "measured" not in said


@pytest.mark.slow
def test_a_jitted_function_is_explained_by_what_its_last_call_ran(tmp_path):
    f = wf.jit(lambda x: (x @ x).softmax(axis=-1))
    with pytest.raises(wf.errors.ArgumentError, match="has not been called"):
        wf.explain(f)
    for n in (64, 96, 64):
        x = randn(n, n)
        f(x)
        assert [k.outputs for k in wf.explain(f).kernels] == [
            k.outputs for k in wf.explain((x @ x).softmax(axis=-1)).kernels
        ]
    assert (wf.dump(f, tmp_path) / "graph.txt").read_text()


def adam_step():
    """A jitted training step, its model and optimiser, a batch."""
    wf.manual_seed(3)
    model = wf.nn.Sequential(
        wf.nn.Linear(20, 30), wf.nn.ReLU(), wf.nn.Dropout(0.3), wf.nn.Linear(30, 5)
    )
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=0.01)

    @wf.jit
    def step(x, y, scale=1.0):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) * scale
        loss.backward()
        optimizer.step()
        return loss

    return step, model, optimizer, (randn(16, 20), wf.tensor(np.arange(16) % 5))


@pytest.mark.slow
def test_a_call_of_a_jitted_function_is_explained_without_running():
    results = []
    for explains in (False, True):
        step, model, optimizer, batch = adam_step()
        if explains:
            before, runs = (
                [p.numpy().copy() for p in model.parameters()],
                program_table.statistics["runs"],
            )
            report = wf.explain(step, *batch, scale=2.0)
            assert (
                report.in_place >= 8 and report.memory.peak_bytes > 0 and optimizer.steps == [0] * 4
            )
            assert program_table.statistics["runs"] <= runs + 1, (
                "the optimiser's state alone is computed"
            )
            assert all(
                (p.numpy() == b).all() and p.grad is None
                for p, b in zip(model.parameters(), before, strict=True)
            )
        losses = [step(*batch, scale=2.0).item() for _ in range(3)]
        results.append([losses, *(p.tolist() for p in model.parameters())])
        if explains:
            assert [k.name for k in wf.explain(step).kernels] == [k.name for k in report.kernels]
    assert results[0] == results[1]


def test_a_call_that_was_explained_is_not_traced_again():
    traced = []
    f = wf.jit(lambda x: (traced.append(x.shape), x.exp() + 3.0)[1])
    x = randn(40)
    assert len(wf.explain(f, x).kernels) == 1 and traced == [(40,)]
    f(x)
    assert len(wf.explain(f, randn(41)).kernels) == 1 and traced == [(40,), (41,)]
    assert wf.explain(f).kernels[0].outputs == ("float32[40]",), (
        "the call that ran, not the one that was explained"
    )


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    @wf.jit
    def times(self, x):
        return x * self.factor

    @wf.jit
    def nothing(self):
        return wf.ones(3) * self.factor


def test_jitted_methods_are_explained_each_for_its_instance(tmp_path):
    a, b = Scaled(2.0), Scaled(3.0)
    a.times(randn(50))
    assert wf.explain(a.times).kernels[0].outputs == ("float32[50]",)
    with pytest.raises(
        wf.errors.ArgumentError, match=r"times has not been called.*wf\.explain\(times, \.\.\.\)"
    ):
        wf.explain(b.times)
    assert wf.explain(b.times, randn(7)).kernels[0].outputs == ("float32[7]",)
    assert len(wf.explain(a.nothing).kernels) <= 1
    assert "[9]" in (wf.dump(b.times, tmp_path, randn(9)) / "graph.txt").read_text()


def test_a_compiled_graph_is_explained(tmp_path):
    x = randn(60)
    f = wf.compile(x.exp() * 2.0, [x])
    for report in (wf.explain(f), wf.explain(f, randn(60))):
        assert [k.outputs for k in report.kernels] == [("float32[60]",)]
    assert (wf.dump(f, tmp_path) / "memory.txt").read_text()
    with pytest.raises(wf.errors.ShapeError, match=r"inputs\[0\] has shape"):
        wf.explain(f, randn(61))
    with pytest.raises(wf.errors.ArgumentError, match="the inputs must be 1 Tensors"):
        wf.explain(f, randn(60), randn(60))
    with pytest.raises(wf.errors.ArgumentError, match="have no names, got x"):
        wf.explain(f, x=randn(60))


@pytest.mark.slow
def test_a_module_is_explained_with_example_inputs(tmp_path):
    model = wf.nn.Sequential(wf.nn.Linear(20, 30), wf.nn.BatchNorm1d(30), wf.nn.Dropout(0.5))
    before = {name: t.numpy().copy() for name, t in model.state_dict().items()}
    wf.manual_seed(7)
    expected = wf.rand(3).tolist()
    wf.manual_seed(7)
    report = wf.explain(model, randn(16, 20))
    assert "float32[16, 30]" in report.kernels[-1].outputs and not any(
        k.gradient for k in report.kernels
    )
    assert all(np.array_equal(t.numpy(), before[name]) for name, t in model.state_dict().items()), (
        "nothing has changed"
    )
    assert wf.rand(3).tolist() == expected
    assert len(wf.explain(model.eval(), randn(16, 20)).kernels) < len(report.kernels)
    assert "[9,20]" in (wf.dump(model, tmp_path, randn(9, 20)) / "graph.txt").read_text()


def test_a_module_without_inputs_says_which_to_give():
    with pytest.raises(
        wf.errors.ArgumentError,
        match=r"MultiheadAttention.*inputs.*wf\.explain\(model, query, key, value\)",
    ):
        wf.explain(wf.nn.MultiheadAttention(4, 2))

    class Constant(wf.nn.Module):
        def forward(self):
            return wf.ones(3).exp() + wf.arange(3)

    assert len(wf.explain(Constant()).kernels) == 1


def test_the_prediction_is_the_roofline_of_the_machine(monkeypatch):
    m = machine_of("a machine", 4, 1e9, 1e10, 1 << 20, {"float32": 1e9, "float64": 5e8}, 1e-6)
    monkeypatch.setattr(report_module, "machine", lambda device: m)
    a = randn(200, 200).to(wf.float64)
    with wf.options.override(num_threads=4):
        large, double = wf.explain(randn(1000, 1000) + 1.0), wf.explain(a @ a)
        serial = wf.explain(randn(100) + 1.0)
    (k,) = large.kernels
    assert (k.predicted, k.bound) == (
        pytest.approx(8e6 / 1e9),
        "memory",
    ) and large.predicted == k.predicted
    (k,) = double.kernels
    assert (k.predicted, k.bound) == (
        pytest.approx(k.flops / 5e8),
        "compute",
    ), "as fast as floats of 64 bits"
    (k,) = serial.kernels
    assert (k.predicted, k.bound) == (1e-6, "launch")


def test_without_figures_of_the_machine_nothing_is_predicted(monkeypatch):
    def fails(device):
        raise wf.errors.DeviceError("no such machine")

    monkeypatch.setattr(report_module, "machine", fails)
    report = wf.explain(randn(30).exp())
    assert (report.predicted, report.kernels[0].predicted, report.kernels[0].bound) == (
        None,
        None,
        None,
    )


def test_what_cannot_be_explained_is_named():
    x = randn(4)
    f = wf.jit(lambda x: x @ x.reshape(2, 2))
    for wrong, args, match in [
        (lambda x: x, (x,), "is not jitted: give wf.jit of it"),
        (x.exp(), (x,), "those of a call of a jitted function"),
        (f, (x,), "matmul"),
    ]:
        with pytest.raises(wf.errors.WeftError, match=match):
            wf.explain(wrong, *args)
    with pytest.raises(TypeError, match="argument"):
        wf.explain(f, x, x)
    with pytest.raises(wf.errors.JitError, match=r"wf\.explain in the jitted function"):
        wf.jit(lambda x: (wf.explain(f, x), x)[1])(x)


# ---------------------------------------------------------------- vector code


def train_step(loss, params):
    grads = wf.grad(loss, params)
    return [loss, *[p - 0.01 * g for p, g in zip(params, grads, strict=True)]]


def lenet():
    p = [
        randn(6, 1, 5, 5),
        randn(6),
        randn(16, 6, 5, 5),
        randn(16),
        randn(120, 400),
        randn(120),
        randn(84, 120),
        randn(84),
        randn(10, 84),
    ]
    for t in p:
        t.requires_grad_()
    h = F.max_pool2d(F.conv2d(randn(16, 1, 28, 28), p[0], p[1], padding=2).relu(), 2)
    h = F.max_pool2d(F.conv2d(h, p[2], p[3]).relu(), 2).flatten(1)
    h = F.linear(F.linear(h, p[4], p[5]).relu(), p[6], p[7]).relu()
    labels = wf.tensor(np.arange(16) % 10)
    return train_step(F.cross_entropy(F.linear(h, p[8]), labels), p)


def mlp():
    p = [randn(512, 784), randn(512), randn(10, 512), randn(10)]
    for t in p:
        t.requires_grad_()
    h = F.linear(randn(128, 784), p[0], p[1]).relu()
    return train_step(F.cross_entropy(F.linear(h, p[2], p[3]), wf.tensor(np.arange(128) % 10)), p)


def layer_norm_with_gradients():
    x, w, b, g = (
        randn(64, 1024).requires_grad_(),
        randn(1024).requires_grad_(),
        randn(1024).requires_grad_(),
        randn(64, 1024),
    )
    y = F.layer_norm(x, (1024,), w, b)
    return [y, *wf.grad((y * g).sum(), [x, w, b])]


def chain():
    a, b, c = (randn(1 << 16) for _ in range(3))
    return (a * b + c).tanh() * a.sigmoid() - b.relu() / (1.0 + c.abs())


def convolution_with_gradients():
    p = [randn(16, 3, 3, 3).requires_grad_(), randn(10, 16 * 14 * 14).requires_grad_()]
    h = F.max_pool2d(F.conv2d(randn(16, 3, 28, 28), p[0], padding=1).relu(), 2).flatten(1)
    return train_step(F.cross_entropy(F.linear(h, p[1]), wf.tensor(np.arange(16) % 10)), p)


WORKLOADS = {
    "E1": chain,
    "E2": lambda: (
        randn(64, 1024).gelu() * wf.tensor(np.arange(64 * 1024).reshape(64, 1024) % 7 > 0) * 1.1
        + randn(64, 1024)
    ),
    "R1": lambda: [
        randn(256, 1024).sum(axis=-1),
        randn(256, 1024).sum(axis=0),
        randn(256, 1024).sum(),
    ],
    "R2": lambda: [randn(256, 1024).mean(axis=-1), randn(256, 1024).var(axis=-1)],
    "S1": lambda: randn(64, 1024).softmax(axis=-1),
    "L1": layer_norm_with_gradients,
    "M1": lambda: randn(256, 256) @ randn(256, 256),
    "M2": lambda: F.linear(randn(64, 256), randn(512, 256), randn(512)).gelu(),
    "M3": lambda: randn(16, 64, 64) @ randn(16, 64, 64),
    "M4": lambda: randn(1, 1024) @ randn(1024, 1024),
    "A1": lambda: F.scaled_dot_product_attention(
        randn(2, 2, 64, 64), randn(2, 2, 64, 64), randn(2, 2, 64, 64)
    ),
    "C2": lambda: F.conv2d(randn(2, 16, 28, 28), randn(16, 16, 3, 3), randn(16), padding=1),
    "C3": convolution_with_gradients,
    "T1": lenet,
    "T3": mlp,
}
LARGE = ["C3", "T1", "T3"]
VECTOR = re.compile(r"^\s+v\w+\s.*%[yz]mm", re.M)


@pytest.mark.thinned(to=3)
@pytest.mark.skipif(host().vector_bits < 256, reason="needs AVX2")
@pytest.mark.parametrize("name", [*(n for n in WORKLOADS if n not in LARGE), *rarely(*LARGE)])
def test_hot_loops_are_vector_code(name, tmp_path):
    """The block with the most floating-point arithmetic of every kernel that has real work uses
    vector registers."""
    y = WORKLOADS[name]()
    folder = wf.dump(y, tmp_path)
    busy = [k for k in wf.explain(y).kernels if k.flops >= TINY_WORK]
    assert busy
    for kernel in busy:
        assembly = (folder / "kernels" / f"{kernel.name}.s").read_text()
        blocks = re.split(r"^\.L\w+:", assembly, flags=re.M)
        hot = max(
            blocks,
            key=lambda b: len(
                re.findall(
                    r"^\s+v?(?:add|sub|mul|div|max|min|fn?madd|sqrt|rnd)\w*[sp][sd]\s", b, re.M
                )
            ),
        )
        assert VECTOR.search(hot), f"{kernel.name} runs scalar code:\n{hot[:2000]}"
