"""The names of what kernels read: parameters, arguments, states of optimisers, in every
presentation of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from weft import nn
from weft.inspection.explain.kernel import MOST_READS, KernelReport, inputs_read
from weft.inspection.explain.report import Report


def values(*shape: int) -> wf.Tensor:
    return wf.tensor(np.ones(shape, np.float32))


def two_layers() -> tuple[nn.Sequential, wf.Tensor]:
    """A Module whose products stand on one line."""
    return nn.Sequential(nn.Linear(300, 200), nn.ReLU(), nn.Linear(200, 100)), values(64, 300)


def report() -> Report:
    model, image = two_layers()
    return wf.explain(model, image)


@pytest.mark.slow
def test_kernels_on_one_line_name_the_parameters_that_they_read() -> None:
    first, second = report().kernels
    assert set(first.reads) == {"image", "0.weight", "0.bias"} and set(second.reads) == {
        "2.weight",
        "2.bias",
    }
    assert first.lines == second.lines


def test_tensors_without_a_name_are_left_out() -> None:
    (kernel,) = wf.explain(values(8, 8).exp()).kernels
    assert kernel.reads == () and "\n    reads " not in str(kernel)


def test_arguments_of_a_jitted_function_are_named() -> None:
    x = values(64, 64)
    (kernel,) = wf.explain(wf.jit(lambda t: t.tanh()), x).kernels
    assert kernel.reads == ("x",)


@pytest.mark.slow
def test_state_of_an_optimiser_is_named_after_its_parameter() -> None:
    layer = nn.Linear(64, 64)
    optimizer = nn.optim.Adam(layer.parameters())

    @wf.jit
    def step(x: wf.Tensor) -> None:
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()

    step(values(16, 64))
    assert {"Adam exp_avg of weight", "weight"} <= {
        name for k in wf.explain(step).kernels for name in k.reads
    }


def test_of_many_names_the_first_are_told() -> None:
    found = tuple(f"p{i}" for i in range(MOST_READS + 3))
    k = KernelReport("k0", "map", (), (), (), 0, 0, "", False, reads=found)
    assert inputs_read(k).startswith("p0, p1, ") and inputs_read(k).endswith(
        f"p{MOST_READS - 1}, 3 more"
    )
    assert k.to_dict()["reads"] == [*found]


class Half(nn.Module):
    """It is never made to the end."""

    def __init__(self) -> None:
        raise ValueError("half")


class Odd(nn.Module):
    """It does not say what is in it."""

    def children(self) -> Any:
        raise ValueError("odd")


class Empty(nn.optim.Optimizer):
    """It has no parameters yet."""

    def __init__(self) -> None:
        pass


def test_what_was_never_made_to_the_end_keeps_no_name_from_others() -> None:
    alive = [Half.__new__(Half), Odd(), Empty()]
    assert len(alive) == 3 and "2.weight" in report().kernels[1].reads


# ---------------------------------------------------------------- presentations


def told(r: Any) -> str:
    return str(r)


def shown_by_rich(r: Any) -> str:
    console = pytest.importorskip("rich.console").Console(width=120)
    with console.capture() as capture:
        console.print(r)
    return str(capture.get())


def html(r: Any) -> str:
    return str(r._repr_html_())


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("presentation", [told, shown_by_rich, html])
def test_every_presentation_of_a_report_tells_what_is_read(presentation: Any) -> None:
    text = presentation(report())
    assert "reads" in text and "2.weight, 2.bias" in text


@pytest.mark.slow
def test_the_files_of_a_kernel_tell_what_it_reads(tmp_path: Path) -> None:
    model, image = two_layers()
    folder = wf.dump(model, tmp_path, image)
    heads = [path.read_text() for path in sorted(folder.glob("kernels/*.loops"))]
    assert (
        len(heads) == 2
        and "# reads     image, 0.weight, 0.bias\n" in heads[0]
        and "2.weight" in heads[1]
    )


@pytest.mark.slow
def test_a_profile_and_the_document_of_a_report_tell_what_is_read(tmp_path: Path) -> None:
    model, image = two_layers()
    assert "2.weight" in wf.profile(model, image, repeat=1).kernels[1].reads
    page = wf.report(model, tmp_path / "r.html", image, profile=False).read_text()
    assert '"reads":["2.weight","2.bias"]' in page.replace(" ", "")
