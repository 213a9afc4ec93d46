"""wf.profile: where the time goes, and that nothing else changes."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler
from effort import rarely
from machinekit import machine_of
from weft import errors, options
from weft.frontend.lazy import program_table, realize
from weft.inspection.explain.report import Report
from weft.inspection.machine.roofline import Figure
from weft.inspection.profile import measure
from weft.inspection.profile.data import Profile, doubts, is_disturbed
from weft.inspection.profile.measure import session, workload
from weft.nn import functional as F
from weft.nn import optim
from weft.runtime.buffer import memory
from weft.wording import duration

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((400, 320)).astype(np.float32)
SQUARE = RNG.standard_normal((320, 320)).astype(np.float32)


class Training:
    """A step that changes parameters, the state of Adam, statistics and the random state."""

    def __init__(self) -> None:
        wf.manual_seed(3)
        self.net = wf.nn.Sequential(
            wf.nn.Linear(20, 64), wf.nn.BatchNorm1d(64), wf.nn.Dropout(0.3), wf.nn.Linear(64, 5)
        )
        self.opt = optim.Adam(self.net.parameters(), lr=1e-2)
        self.x = wf.tensor(RNG.standard_normal((32, 20)).astype(np.float32))
        self.labels = wf.tensor(np.arange(32) % 5)
        self.step = wf.jit(self._step)

    def _step(self, x: wf.Tensor, labels: wf.Tensor, weight: float) -> wf.Tensor:
        loss = F.cross_entropy(self.net(x), labels) * weight
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def state(self) -> list[Any]:
        tensors = [*self.net.state_dict().values()]
        moments = [
            np.array(v) for entry in self.opt.state_dict()["state"].values() for v in entry.values()
        ]
        return [t.numpy().copy() for t in tensors] + moments + [np.array(wf.get_rng_state())]


def attention() -> wf.Tensor:
    q, k, v = (wf.tensor(RNG.standard_normal((2, 4, 64, 32)).astype(np.float32)) for _ in range(3))
    return F.scaled_dot_product_attention(q, k, v)


LAZY: dict[str, Callable[[], Any]] = {
    "attention": attention,
    "elementwise": lambda: wf.exp(wf.tensor(ROWS) * 2 + 1),
    "softmax": lambda: F.softmax(wf.tensor(ROWS), axis=1),
    "products": lambda: (wf.tensor(ROWS) @ wf.tensor(SQUARE)).relu() @ wf.tensor(SQUARE),
    "layer norm": lambda: F.layer_norm(wf.tensor(ROWS), (320,)).sum(axis=0),
}


def add_up(make: Callable[[], Profile]) -> None:
    """On a machine that others use: one profile of several is enough. One thread needs no second
    processor at the same time."""
    ratios = []
    with options.override(num_threads=1):
        for _ in range(12):
            p = make()
            ratios.append(p.measured / p.seconds)
            if abs(ratios[-1] - 1) < 0.1:
                return
    pytest.fail(f"the kernels take {ratios} of a run")


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "name", ["layer norm", "products", *rarely("attention", "elementwise", "softmax")]
)
def test_the_kernels_add_up_to_the_run(name: str) -> None:
    add_up(partial(wf.profile, LAZY[name](), repeat=40))


@pytest.mark.slow
def test_runs_share_the_memory_of_all_programs_for_intermediates() -> None:
    @wf.jit
    def f(x: wf.Tensor) -> wf.Tensor:
        return ((x @ x).exp() @ x).sum(axis=1)

    x = wf.zeros(500, 500).realize()
    f(x).numpy()
    held = memory.allocated_bytes + memory.cached_bytes
    wf.profile(f, x, repeat=1)
    assert memory.allocated_bytes + memory.cached_bytes - held < 500 * 500


@pytest.mark.slow
def test_the_kernels_of_a_training_step_add_up() -> None:
    training = Training()
    add_up(lambda: wf.profile(training.step, training.x, training.labels, 0.5, repeat=40))


@pytest.mark.slow
def test_its_kernels_are_those_of_explain() -> None:
    explained = partial(wf.explain, LAZY["products"]())
    found = wf.profile(LAZY["products"](), repeat=2)
    assert [k.name for k in found.kernels] == [k.name for k in explained().kernels]

    def predicts_alike() -> bool:
        before, found, after = explained(), wf.profile(LAZY["products"](), repeat=2), explained()
        for k, *limits in zip(found.kernels, before.kernels, after.kernels, strict=True):
            least, most = sorted(min(k.measured or 0.0, limit.predicted or 0.0) for limit in limits)
            if not 0.9 * least <= (k.predicted or 0.0) <= 1.1 * most:
                return False
        return True

    # a fast kernel raises the limits, on a busy machine more than once
    assert any(predicts_alike() for _ in range(4))
    assert all(k.measured is not None and k.measured > 0 for k in found.kernels)
    assert found.measured == pytest.approx(sum(k.measured or 0 for k in found.kernels))
    assert len(found.cold_kernels) == len(found.kernels) and found.cold == pytest.approx(
        sum(found.cold_kernels)
    )


@pytest.mark.slow
def test_tensors_stay_lazy() -> None:
    x = LAZY["products"]()
    before = program_table.statistics["runs"]
    wf.profile(x, repeat=2)
    assert x._storage is None and program_table.statistics["runs"] == before


def test_several_tensors_are_one_program() -> None:
    x = wf.tensor(ROWS)
    both = [x.softmax(axis=1), x.exp()]
    assert [k.name for k in wf.profile(both, repeat=1).kernels] == [
        k.name for k in wf.explain(both).kernels
    ]


def test_a_step_changes_nothing() -> None:
    """Parameters and moments, which it writes in place, statistics, and the random state."""
    training = Training()
    training.step(training.x, training.labels, 1.0)
    before = training.state()
    wf.profile(training.step, training.x, training.labels, 1.0, repeat=3)
    for a, b in zip(training.state(), before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_training_goes_on_as_if_nothing_had_been() -> None:
    losses = []
    for profiled in (False, True):
        training = Training()
        training.x = wf.tensor(np.ones((32, 20), np.float32))
        losses.append([])
        for number in range(2):
            if profiled:
                wf.profile(training.step, training.x, training.labels, 1.0, repeat=2)
            losses[-1].append(training.step(training.x, training.labels, 1.0 + number).item())
    assert losses[0] == losses[1]


@pytest.mark.slow
def test_what_is_written_in_place_is_a_copy() -> None:
    training = Training()
    training.step(training.x, training.labels, 1.0)
    with realize.lock:
        work = workload("profile", training.step, (training.x, training.labels, 1.0), {})
        found = session(work)
    donations = found.compiled.donations
    assert donations
    for o, i in donations.items():
        assert found.inputs[i] == found.outputs[o].address != work.inputs[i]


@pytest.mark.slow
def test_restoring_gives_the_same_run_again() -> None:
    training = Training()
    training.step(training.x, training.labels, 1.0)
    with realize.lock:
        found = session(workload("profile", training.step, (training.x, training.labels, 1.0), {}))
    results = []
    for _ in range(2):
        found.restore()
        found.first()
        results.append([o.peek_raw().copy() for o in found.outputs])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_it_runs_what_the_call_would() -> None:
    """Arguments, captured Tensors and numbers have their values of now."""
    scale = wf.tensor(3.0)
    step = wf.jit(lambda x, number: x * scale + number)
    x = wf.tensor([1.0, 2.0])
    step(x, 1.0)
    scale.assign(5.0)
    with realize.lock:
        found = session(workload("profile", step, (x, 7.0), {}))
        found.first()
    np.testing.assert_array_equal(found.outputs[0].peek_raw(), [12.0, 17.0])


@pytest.mark.slow
def test_programs_of_others_are_not_timed() -> None:
    program_table._programs.clear()
    step = wf.jit(lambda x: x.softmax(axis=1))
    wf.profile(step, wf.tensor(ROWS), repeat=1)
    step(wf.tensor(ROWS))
    LAZY["products"]().realize()
    assert all(p.executable.timings is None for p in program_table._programs.values())


# ---------------------------------------------------------------- what can be profiled


@pytest.mark.slow
def test_modules_methods_and_compiled_graphs_are_profiled() -> None:
    class Scaled(wf.nn.Module):
        def __init__(self) -> None:
            self.factor = wf.nn.Parameter(wf.ones(320))

        def forward(self, x: wf.Tensor) -> wf.Tensor:
            return (x * self.factor).softmax(axis=1)

        @wf.jit
        def step(self, x: wf.Tensor) -> wf.Tensor:
            return self(x) + 1

    x, module = wf.tensor(ROWS), Scaled()
    compiled = wf.compile(x.softmax(axis=1), inputs=[x])
    for subject in (module, module.step, compiled):
        assert wf.profile(subject, x, repeat=1).measured > 0


def test_arrays_and_keywords_are_arguments() -> None:
    step = wf.jit(lambda x, scale=1.0: x * scale)
    assert wf.profile(step, ROWS, scale=2.0, repeat=1).measured > 0


def test_a_function_that_is_not_jitted_is_refused() -> None:
    with pytest.raises(errors.ArgumentError, match=r"profile: .* is not jitted"):
        wf.profile(lambda x: x, wf.tensor(ROWS))


def test_missing_arguments_are_named() -> None:
    step = wf.jit(lambda x: x * 2)
    with pytest.raises(errors.ArgumentError, match="has not been called"):
        wf.profile(step)
    step(wf.tensor(ROWS))
    with pytest.raises(errors.ArgumentError, match="pass the arguments of a call"):
        wf.profile(step)


def test_arguments_of_a_tensor_are_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="profile: more arguments"):
        wf.profile(wf.tensor(ROWS).exp(), 1)


def test_what_is_in_memory_has_nothing_to_run() -> None:
    with pytest.raises(errors.ArgumentError, match="nothing to run"):
        wf.profile(wf.tensor(ROWS))
    with pytest.raises(errors.ArgumentError, match="nothing to run"):
        wf.profile(wf.zeros(0, 3) * 2)


def test_nothing_is_profiled_inside_a_jitted_function() -> None:
    """There are no values to run on."""

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        wf.profile(x * 2)
        return x

    with pytest.raises(errors.JitError, match=r"wf\.profile"):
        step(wf.tensor(ROWS))


@pytest.mark.parametrize("repeat", [0, -1, 1.5, True, "3"])
def test_a_repeat_that_is_no_number_of_runs_is_refused(repeat: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="repeat must be a number of runs"):
        wf.profile(wf.tensor(ROWS).exp(), repeat=repeat)


@pytest.mark.parametrize("repeat", [1, 2, 50])
def test_it_runs_as_often_as_it_is_told(repeat: int) -> None:
    assert wf.profile(LAZY["softmax"](), repeat=repeat).runs >= repeat


def test_an_index_out_of_range_raises_as_the_call_does() -> None:
    places = wf.tensor(np.array([1, 400]))
    with pytest.raises(
        errors.IndexError, match=r"index 400 is out of range .* of extent 400, in .*test_profile.py"
    ):
        wf.profile(wf.tensor(ROWS)[places] * 2, repeat=1)


# ---------------------------------------------------------------- what it says


@pytest.fixture(scope="module")
def found() -> Profile:
    with options.override(num_threads=2):
        return wf.profile((wf.tensor(ROWS) @ wf.tensor(SQUARE)).softmax(axis=1), repeat=5)


class Disturbed(SimpleNamespace):
    """A session of one kernel in runs of a second, in which it seems to take as long as `kernel`
    says next."""

    device = "a stub"
    timings = SimpleNamespace(restart=lambda: None)

    def first(self) -> None: ...

    restore = first

    def plain(self, count: int, skip: int = 0) -> float:
        return 1.0

    def timed(self, count: int, skip: int = 0) -> None:
        self.timings = SimpleNamespace(
            restart=lambda: None, history=[[next(self.kernel)]], last=[1.0], chunks=[]
        )


def test_kernels_that_take_longer_than_their_run_are_measured_again() -> None:
    busy, quiet = [1.6] * measure.FEWEST, [1.0] * measure.FEWEST
    for kernel, tries, disturbed in (
        (quiet, 1, False),
        (busy + quiet, 2, False),
        (3 * busy, measure.TRIES, True),
    ):
        session = Disturbed(kernel=iter([*kernel, 9.0]))
        rounds = measure._rounds(session, None)
        assert len(rounds.timed) == tries * measure.FEWEST
        assert is_disturbed(sum(rounds.phases), rounds.seconds) == disturbed


def test_a_busy_machine_is_named(found: Profile) -> None:
    sure = replace(
        found,
        machine=machine_of("m", 2, 1e9, 1e10, 1 << 20, {"float32": 1e9, "float64": 5e8}, 1e-9),
    )
    assert doubts(replace(sure, seconds=1.0)) == []
    (line,) = doubts(replace(sure, seconds=found.measured / 1.63))
    assert (
        "upper bounds" in line
        and line in str(replace(sure, seconds=found.measured / 1.63)).splitlines()
    )
    unsure = replace(sure.machine, flops={"float32": Figure(1e9), "float64": Figure(5e8)})
    assert "bench measures them again" in doubts(replace(sure, seconds=1.0, machine=unsure))[0]


def test_the_text_names_each_kernel_its_time_and_its_line(found: Profile) -> None:
    lines = str(found).splitlines()
    assert lines[0].startswith("cpu: ") and "a run" in lines[1] and "compiled in" in lines[-1]
    for k in found.kernels:
        (row,) = (line for line in lines if f" {k.name} " in line)
        assert duration(k.measured or 0) in row and "test_profile.py:" in row


def test_threads_work_no_longer_than_the_run(found: Profile) -> None:
    assert len(found.threads) == 2
    assert all(0 <= busy <= found.spans[-1].end + 1e-6 * len(found.spans) for busy in found.threads)


def test_spans_follow_each_other(found: Profile) -> None:
    assert [s.kernel for s in found.spans] == sorted(s.kernel for s in found.spans)
    assert {s.kernel for s in found.spans} == {*range(len(found.kernels))}
    ends = [0.0, *(s.end for s in found.spans)]
    assert [s.begin for s in found.spans] == pytest.approx(ends[:-1], abs=1e-12) and ends == sorted(
        ends
    )


def test_the_passes_of_the_compiler_are_timed(found: Profile) -> None:
    names = [name for name, _ in found.passes]
    assert {"simplify", "fuse", "lower", "plan", "link"} <= {*names} and all(
        seconds >= 0 for _, seconds in found.passes
    )


def test_rates_follow_from_bytes_operations_and_seconds() -> None:
    (report,) = wf.explain(wf.tensor(ROWS) * 2).kernels  # of float32
    machine = machine_of("m", 1, 1e9, 1e10, 1 << 40, {"float32": 1e9, "float64": 5e8}, 1e-9)
    kernel = replace(report, measured=1e-3, bytes=10**6, flops=10**5, predicted=1e-4)
    rates = Profile(Report([kernel]), machine, 1, 1e-3, 1e-3).rates(kernel)
    assert (rates.bandwidth, rates.flops) == (pytest.approx(1e9), pytest.approx(1e8))
    assert (rates.of_bandwidth, rates.of_flops) == (
        pytest.approx(0.1),
        pytest.approx(0.1),
    )  # all lies in the last cache
    assert rates.of_roofline == pytest.approx(0.1)


def test_the_dict_is_json(found: Profile) -> None:
    data = json.loads(json.dumps(found.to_dict()))
    assert {
        "device",
        "kernels",
        "memory",
        "machine",
        "runs",
        "seconds",
        "cold",
        "threads",
        "passes",
        "spans",
        "chunks",
    } < {*data}
    assert data["measured"] == pytest.approx(found.measured)
    assert [k["measured"] for k in data["kernels"]] == [k.measured for k in found.kernels]
    assert all({"cold", "rates", "lines", "predicted"} <= {*k} for k in data["kernels"])


def test_a_notebook_shows_a_table(found: Profile) -> None:
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + len(found.kernels) and all(
        k.name in html for k in found.kernels
    )


@pytest.mark.parametrize(("columns", "shown"), [(200, True), (80, False)])
def test_rich_shows_a_table_that_fits(
    found: Profile,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    shown: bool,
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", str(columns))
    found.show()
    out = capsys.readouterr().out
    assert (
        "reached" in out
        and ("roofline" in out) == shown
        and max(map(len, out.splitlines())) <= columns
    )


def test_without_rich_the_text_is_plain(
    found: Profile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return imports(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    found.show()
    assert capsys.readouterr().out == f"{found}\n"


# ---------------------------------------------------------------- a GPU


@needs_compiler
def test_a_gpu_program_is_profiled() -> None:
    device()
    x, w = (wf.tensor(a[:40, :40].copy(), device="cuda") for a in (ROWS, SQUARE))
    y = ((x @ w).relu() @ w).softmax(axis=1).sum(axis=0)
    p = wf.profile(y, repeat=2)
    assert p.report.device == "cuda:0" and p.threads == () and p.chunks == ()
    assert all(k.measured is not None and k.measured > 0 and k.launches for k in p.kernels)
    assert y._storage is None and "cuda:0: " in str(p)


@pytest.mark.slow
@needs_compiler
def test_a_step_on_a_gpu_changes_nothing() -> None:
    device()
    weight = wf.nn.Parameter(wf.ones(64, device="cuda"))
    opt = optim.SGD([weight], lr=0.1)

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        opt.zero_grad()
        loss = (x * weight).sum()
        loss.backward()
        opt.step()
        return loss

    x = wf.ones(64, device="cuda").realize()
    step(x)
    before = weight.cpu().numpy().copy()
    assert wf.profile(step, x, repeat=2).measured > 0
    np.testing.assert_array_equal(weight.cpu().numpy(), before)
