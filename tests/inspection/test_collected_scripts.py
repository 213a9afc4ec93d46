"""What is collected of a script: its programs with times and names, its Modules and variables; and
names in general."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft.frontend.lazy import program_table
from weft.inspection.documents import collect
from weft.inspection.documents.collect import Collection
from weft.inspection.documents.running import Script
from weft.inspection.names import naming

TRAINING = """
import weft as wf

class Net(wf.nn.Module):
    def __init__(self):
        self.first = wf.nn.Linear(4, 3)

    def forward(self, x):
        return self.first(x).relu()

@wf.jit
def train_step(net, optimizer, x):
    optimizer.zero_grad()
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    return loss

def main():
    net = Net()
    optimizer = wf.nn.optim.Adam(net.parameters())
    x = wf.ones(5, 4).realize()
    for _ in range(3):
        train_step(net, optimizer, x)

main()
kept = wf.arange(6).reshape(2, 3).realize()
turned = kept.T
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Collection]]:
    """Runs a script's text in here, looked into."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    program_table._programs.clear()

    def collected(text: str) -> Collection:
        (tmp_path / "script.py").write_text(text)
        found = Collection()
        with found.collecting():
            Script(str(tmp_path / "script.py")).run()
        return found

    yield collected


def named(collection: Collection, start: str) -> collect.Seen:
    return next(
        s for s in collection.seen if naming.program_name(s.program.structure).startswith(start)
    )


@pytest.mark.slow
def test_programs_are_named_after_the_function_that_asks_for_them(
    run: Callable[[str], Collection],
) -> None:
    names = [e.name for e in run(TRAINING).entries(0)]
    assert "train_step (script.py:16)" in names


def test_runs_are_counted_and_timed(run: Callable[[str], Collection]) -> None:
    step = named(run(TRAINING), "train_step")
    assert step.runs == 3 and 0 < step.seconds < 1


@pytest.mark.slow
def test_kernels_have_times_that_add_up_to_a_run(run: Callable[[str], Collection]) -> None:
    text = (
        "import weft as wf\nx = wf.randn(400, 400).realize()\nfor i in range(9): ((x + i) @"
        " x).softmax(axis=1).tolist()\n"
    )
    entry = max(run(text).entries(9), key=lambda e: e.runs or 0)
    assert (
        entry.kernels
        and entry.compiled
        and len(entry.kernels) == len(entry.compiled.in_order()) > 1
    )
    assert entry.seconds == pytest.approx(sum(entry.kernels), rel=0.3)


def test_inputs_are_named_by_what_holds_them(run: Callable[[str], Collection]) -> None:
    names = {*named(run(TRAINING), "train_step").names.values()}
    assert names == {
        "x",
        *(f"{prefix}first.{what}" for what in ("weight", "bias") for prefix in ("", *STATES)),
    }


STATES = ("Adam exp_avg of ", "Adam exp_avg_sq of ")


def test_modules_are_described_though_they_are_gone_at_the_end(
    run: Callable[[str], Collection],
) -> None:
    (tree,) = run(TRAINING).modules
    assert (
        tree["kind"] == "Net"
        and [c["name"] for c in tree["children"]] == ["first"]
        and tree["count"] == 15
    )
    assert tree["output"] == tree["children"][0]["output"] == "(5, 3)"


def test_variables_that_share_memory_are_shown_together(run: Callable[[str], Collection]) -> None:
    (shown,) = run(TRAINING).layouts()
    assert [s["expression"] for s in shown["steps"]] == ["kept", "turned"] and shown["steps"][1][
        "shares"
    ]


def test_the_slowest_come_first_and_the_rest_is_listed(run: Callable[[str], Collection]) -> None:
    entries = run(TRAINING).entries(1)
    totals = [e.seconds * e.runs for e in entries if e.seconds is not None and e.runs is not None]
    assert totals == sorted(totals, reverse=True) and len(totals) == len(entries) > 1
    assert [e.compiled is not None for e in entries] == [True] + [False] * (len(entries) - 1)


def test_what_was_collected_of_a_script_that_fails_is_there(
    run: Callable[[str], Collection],
) -> None:
    found = run("import weft as wf\nwf.arange(7).exp().tolist()\n1 / 0\n")
    assert [e.name for e in found.entries(0)] == ["script.py:2"]


def test_programs_of_threads_are_collected(run: Callable[[str], Collection]) -> None:
    text = (
        "import threading, weft as wf\ndef work():"
        " wf.arange(11).exp().tolist()\nthreading.Thread(target=work).start()\n"
    )
    assert [e.name for e in run(text).entries(0)] == ["work (script.py:2)"]


def test_a_layer_that_cannot_describe_itself_breaks_no_script(
    run: Callable[[str], Collection],
) -> None:
    text = TRAINING.replace(
        "    def forward",
        "    def extra_repr(self):\n        raise RuntimeError('no')\n\n    def forward",
    )
    assert named(run(text), "train_step").runs == 3


def test_programs_beyond_a_number_are_counted(
    run: Callable[[str], Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "MOST", 3)
    found = run("import weft as wf\nfor n in range(1, 12): wf.arange(n).exp().tolist()\n")
    assert len(found.seen) <= 6 and len(found.seen) + found.forgotten == 11


def test_without_weft_nothing_is_collected(run: Callable[[str], Collection]) -> None:
    found = run("print('no tensors')\n")
    assert found.seen == found.modules == []


def test_programs_that_are_interpreted_are_listed_without_times(
    run: Callable[[str], Collection],
) -> None:
    with wf.options.override(interpret=True):
        (entry,) = run("import weft as wf\nwf.arange(5).exp().tolist()\n").entries(1)
    assert entry.runs is None and entry.seconds is None and entry.compiled is not None


# ---------------------------------------------------------------- names


def test_a_line_has_the_innermost_function_around_it(tmp_path: Path) -> None:
    file = tmp_path / "source.py"
    file.write_text(
        "x = 1\nclass A:\n    def f(self):\n        def g():\n            return 1\n       "
        " return g\n"
    )
    found = [naming.function_at(str(file), line) for line in range(1, 7)]
    assert found == ["", "", "A.f", "A.f.g", "A.f.g", "A.f"]


def test_lines_of_no_file_are_in_no_function() -> None:
    assert naming.function_at("<stdin>", 1) == ""


def test_equal_names_are_told_apart() -> None:
    assert naming.apart(["a", "b", "a", "a"]) == ["a", "b", "a #2", "a #3"]


def test_a_name_is_not_that_of_a_tensor_which_died() -> None:
    names = naming.Names()
    names.learn([wf.nn.Linear(2, 2).weight])
    other = wf.ones(2)
    names._names[id(other)] = next(iter(names._names.values()))
    assert names.of_inputs([other]) == {}


# ---------------------------------------------------------------- GPUs


@needs_compiler
def test_programs_of_a_gpu_are_timed_launch_by_launch(run: Callable[[str], Collection]) -> None:
    device()
    text = (
        "import weft as wf\nx = wf.ones(64, 300, device='cuda').realize()\nfor i in range(3): (x +"
        " i).exp().tolist()\n"
    )
    entry = max(run(text).entries(9), key=lambda e: e.runs or 0)
    assert entry.device == "cuda:0" and entry.kernels and entry.seconds
    assert entry.seconds == pytest.approx(sum(entry.kernels), rel=0.5)
