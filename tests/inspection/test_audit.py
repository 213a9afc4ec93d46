"""wf.audit: kernels by lost time, and every way to run them computes the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft import errors
from weft.codegen.cpu.candidates import candidates
from weft.compiler.backends.cpu import CpuBackend
from weft.compiler.compile import Compiled, program_of
from weft.frontend.lazy import realize
from weft.inspection.audit import audit as audit_module
from weft.inspection.audit.alone import Alone, Memory
from weft.inspection.audit.audit import Audit
from weft.ir.kernels.kernel import Kernel
from weft.nn import functional as F


def whole(*shape: int) -> wf.Tensor:
    """Small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(sum(shape))
    return wf.tensor(rng.integers(-4, 5, shape).astype(np.float32))


def images_gradient() -> wf.Tensor:
    weight = whole(16, 8, 3, 3).requires_grad_()
    y = F.conv2d(whole(4, 8, 20, 20), weight, padding=1)
    return wf.grad((y * whole(4, 16, 20, 20)).sum(), [weight])[0]


CASES: dict[str, tuple[Callable[[], wf.Tensor], set[str]]] = {
    "rows": (lambda: whole(64, 300).sum(axis=1), {"rows", "columns"}),
    "product": (lambda: whole(70, 96) @ whole(96, 130), {"packed"}),
    "product_of_few_rows": (lambda: whole(4, 512) @ whole(512, 300), {"stream", "packed"}),
    "product_along_k": (lambda: whole(4, 512) @ whole(300, 512).T, {"dot", "packed"}),
    "convolution": (
        lambda: F.conv2d(whole(4, 8, 20, 20), whole(16, 8, 3, 3), padding=1),
        {"windows", "packed"},
    ),
    "gradient_of_weights": (images_gradient, {"windows", "packed"}),
}


def first_of(c: Compiled) -> tuple[Kernel, str]:
    """The first contraction, else the first kernel, and what is said of its schedule."""
    kernels = sorted(c.lowered.kernels, key=lambda k: k.kernel.kind != "contraction")
    assert kernels[0].kernel is not None
    return kernels[0].kernel, kernels[0].lowered.schedule


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CASES)
def test_every_way_computes_the_same(name: str) -> None:
    build, schedules = CASES[name]
    c = program_of(realize.structure_of(build()))
    kernel, schedule = first_of(c)
    assert isinstance(c.backend, CpuBackend)
    found = candidates(kernel, c.strides, c.backend.lowering.settings)
    assert {w.schedule for w in found} >= schedules and len(found) > 1
    assert found[0].lowered.schedule == schedule
    rng, expected = np.random.default_rng(0), None
    numbers = [rng.integers(-4, 5, n.size).astype(np.float32) for n in kernel.inputs]
    for way in found:
        memory = Memory(kernel, c.strides)
        for place, given in zip(memory.inputs, numbers, strict=True):
            place.view(np.float32)[: given.size] = given[: place.size // 4]
        Alone(kernel, way.lowered, memory, c.backend).seconds()
        result = memory.outputs[0].view(np.float32).copy()
        expected = result if expected is None else expected
        np.testing.assert_array_equal(result, expected, err_msg=way.name)
    assert expected is not None and expected.any()


@pytest.mark.slow
def test_kernels_are_told_by_lost_time_with_their_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "LEAST", 0.0)
    x, w = whole(64, 300), whole(300, 500)
    found = wf.audit((x @ w).softmax(axis=1))
    assert isinstance(found, Audit) and len(found.kernels) == 2
    lost = [k.lost for k in found.kernels]
    assert lost == sorted(lost, reverse=True)
    assert found.seconds == pytest.approx(sum(k.report.measured or 0 for k in found.kernels))
    by_kind = {k.report.kind: k for k in found.kernels}
    product = by_kind["contraction"]
    assert {w.name.split()[0] for w in product.ways} == {"packed"} and len(product.ways) > 2
    assert product.ways[0].why == "" and all(w.why and w.seconds > 0 for w in product.ways[1:])
    assert product.gain >= 1
    text = str(found)
    assert "beyond the roofline" in text and "fastest other way" in text
    assert found.to_dict()["kernels"][0]["ways"] is not None


def test_a_faster_way_is_told_with_what_spoke_against_it() -> None:
    (kernel,) = wf.audit(whole(64, 300).sum(axis=1)).kernels
    slow, fast = kernel.ways[0], kernel.ways[1]
    swapped = (audit_module.Way("rows", 1.0, ""), audit_module.Way("columns", 0.25, fast.why))
    assert slow.why == "" and "cycles a vector" in fast.why
    told = str(Audit((audit_module.Audited(kernel.report, 0.5, swapped),), 1.0))
    assert "rows took 1 s" in told and f"columns 250 ms: {fast.why}" in told


def test_nothing_changes_and_nothing_else_is_taken() -> None:
    x = whole(8, 8) + 1
    wf.audit(x)
    assert "lazy" in repr(x)
    with pytest.raises(errors.ArgumentError, match=r"^audit: .*not jitted"):
        wf.audit(lambda: x)  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match=r"^audit: there is nothing to run"):
        wf.audit(whole(3))
    with pytest.raises(errors.ArgumentError, match=r"^audit: repeat must be"):
        wf.audit(x, repeat=0)


@pytest.mark.slow
def test_a_training_step_is_audited_and_not_made() -> None:
    net = wf.nn.Sequential(wf.nn.Linear(300, 200), wf.nn.ReLU(), wf.nn.Linear(200, 10))
    optimizer = wf.nn.optim.Adam(net.parameters(), lr=0.1)

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    x = whole(64, 300)
    step(x).item()
    before = [p.numpy(copy=True) for p in net.parameters()]
    found = wf.audit(step, x, repeat=2)
    assert any(len(k.ways) > 1 for k in found.kernels)
    for p, old in zip(net.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), old)
