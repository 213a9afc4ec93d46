"""wf.dump and WEFT_DUMP: which files there are, what each says of itself, what happens to files
that were there before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import weft as wf
from weft import nn, options
from weft.inspection.dumps.artefacts import KINDS
from weft.inspection.dumps.program_text import timeline
from weft.ir.program.memory_report import Memory, MemoryBuffer

TOP = [
    "README.txt",
    "grad.txt",
    "graph.txt",
    "kernels.txt",
    "memory.txt",
    "passes.txt",
    "program.txt",
    "simplified.txt",
]


def randn(*shape):
    return wf.randn(*shape).realize()


def training(width=64):
    """A loss, the gradients of two weights, and all that is between."""
    a, b = randn(width, 32).requires_grad_(), randn(32, width).requires_grad_()
    hidden = (randn(16, width) @ a).relu()
    loss = (hidden @ b).exp().mean()
    return [loss, *wf.grad(loss, [a, b])]


def files_of(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def read(folder, name):
    return (folder / name).read_text(encoding="utf-8")


# ---------------------------------------------------------------- which files


def test_every_artefact_of_every_kernel_is_a_file(tmp_path):
    folder = wf.dump(training(), tmp_path / "d")
    names = [k.name for k in wf.explain(training()).kernels]
    assert len(names) > 2
    assert files_of(folder) == sorted(
        TOP + [f"kernels/{n}.{e}" for n in names for e in ("loops", "ll", "opt.ll", "s")]
    )


@pytest.mark.slow
def test_every_file_begins_with_what_it_is_in_a_comment_of_its_language(tmp_path):
    folder = wf.dump(training(), tmp_path)
    for name in files_of(folder):
        comment = KINDS[name.partition(".")[2]][1] if name.startswith("kernels/") else "#"
        first, *_ = read(folder, name).splitlines()
        assert first.startswith(f"{comment} weft dump: "), name


def test_files_of_a_kernel_say_which_lines_it_computes_and_what_its_buffers_are(tmp_path):
    x = randn(64, 100)
    y = x.softmax(axis=1)
    folder = wf.dump(y, tmp_path)
    for path in folder.glob("kernels/*"):
        text = path.read_text()
        assert re.search(
            r"^\S+ from +.*test_dump\.py:\d+  y = x\.softmax\(axis=1\)$", text, re.M
        ), path
        assert re.search(r"^\S+ in0 +reads +input 0 +float32\[64, 100\]$", text, re.M), path
        assert re.search(r"^\S+ out0 +writes +output 0 +float32\[64, 100\]", text, re.M), path


@pytest.mark.slow
def test_the_index_names_every_file_and_every_kernel(tmp_path):
    folder = wf.dump(training(), tmp_path)
    index = read(folder, "README.txt")
    for name in files_of(folder):
        if name != "README.txt":
            _, _, ending = name.partition(".")
            assert name in index or f"kernels/*.{ending}" in index, name
    for kernel in wf.explain(training()).kernels:
        assert re.search(rf"^    {kernel.name} +{kernel.kind}, writes ", index, re.M)


@pytest.mark.slow
def test_a_module_is_dumped_with_example_inputs(tmp_path):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    text = read(wf.dump(net, tmp_path, randn(3, 8)), "graph.txt")
    assert "# matmul 3x8x16" in text and "# matmul 3x16x4" in text


@pytest.mark.slow
def test_names_of_files_are_safe_on_any_system(tmp_path):
    x, table = randn(40, 30), wf.arange(30).realize()
    y = [
        wf.sort(x, axis=1),
        x.cumsum(axis=0),
        x[:, (table * 7) % 30],
        (x @ x.T).softmax(axis=1).float().pow(2.5),
    ]
    for name in files_of(wf.dump(y, tmp_path)):
        assert re.fullmatch(r"(kernels/)?[A-Za-z][A-Za-z0-9_]{0,80}(\.[a-z]+){1,2}", name), name


def test_what_lies_in_memory_needs_no_kernel(tmp_path):
    folder = wf.dump(randn(3), tmp_path)
    assert files_of(folder) == ["README.txt"] and "0 kernels: nothing to compute" in read(
        folder, "README.txt"
    )


def test_jitted_functions_are_dumped_for_arguments_and_for_their_last_call(tmp_path):
    @wf.jit
    def f(x):
        return (x * 2).exp()

    assert "[9]" in read(wf.dump(f, tmp_path / "a", wf.ones(9)), "graph.txt")
    f(wf.ones(7))
    assert "[7]" in read(wf.dump(f, tmp_path / "b"), "graph.txt")


@pytest.mark.slow
def test_a_module_called_on_its_inputs_is_dumped(tmp_path):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    assert "reduce_add" in read(wf.dump(net(randn(3, 8)), tmp_path), "graph.txt")


def test_the_dump_option_writes_each_program_that_is_built(tmp_path):
    x = randn(7, 13)
    with options.override(dump=tmp_path):
        (x.exp() + 41.0).realize()
    (program,) = tmp_path.iterdir()
    assert set(TOP) < set(files_of(program)) and list(program.glob("kernels/*.s"))


# ---------------------------------------------------------------- what was there before


def test_kernels_of_an_older_dump_are_removed(tmp_path):
    wf.dump(randn(64, 100).softmax(axis=1), tmp_path)
    folder = wf.dump(randn(64, 100).exp(), tmp_path)
    assert {p.name.split(".")[0] for p in folder.glob("kernels/*")} == {"k0_map_exp"}
    wf.dump(randn(3), tmp_path)
    assert files_of(tmp_path) == ["README.txt"]


def test_other_peoples_files_are_left_alone(tmp_path):
    (tmp_path / "kernels").mkdir()
    others = ["notes.txt", "kernels/mine.s", "kernels/k9_map.loops", "data.bin"]
    for name in others:
        (tmp_path / name).write_text("mine\n")
    wf.dump(randn(64, 100).exp(), tmp_path)
    wf.dump(randn(3), tmp_path)
    assert files_of(tmp_path) == sorted(["README.txt", *others])


@pytest.mark.parametrize("name", ["README.txt", "graph.txt", "kernels/k0_map_exp.s"])
def test_a_file_that_no_dump_has_made_is_not_overwritten(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("# a project of mine\n")
    with pytest.raises(
        wf.errors.ArgumentError,
        match=f"dump: .*{re.escape(name)} exists and was not made by a dump",
    ):
        wf.dump(randn(64, 100).exp(), tmp_path)
    assert files_of(tmp_path) == [name] and read(tmp_path, name) == "# a project of mine\n"


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "graph.txt").mkdir()
    with pytest.raises(wf.errors.ArgumentError, match=r"graph\.txt exists"):
        wf.dump(randn(3).exp(), tmp_path)


def test_a_link_is_not_written_through(tmp_path):
    target = tmp_path / "elsewhere"
    target.write_text("# weft dump: looks like one\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "graph.txt").symlink_to(target)
    with pytest.raises(wf.errors.ArgumentError, match=r"graph\.txt exists"):
        wf.dump(randn(3).exp(), tmp_path / "d")
    assert target.read_text() == "# weft dump: looks like one\n"


def test_a_folder_that_cannot_be_made_is_an_oserror(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        wf.dump(randn(3).exp(), tmp_path / "file" / "below")


def test_the_dump_option_names_itself_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        options.override(dump=tmp_path / "file"),
        pytest.raises(wf.errors.OptionError, match=r"WEFT_DUMP=.*cannot write there"),
    ):
        (randn(3).exp() * 47.0).realize()


# ---------------------------------------------------------------- graphs and passes


def test_gradients_stand_beside_forward_lines_and_name_the_forward_values_they_read(tmp_path):
    x = randn(50).requires_grad_()
    y = (x * x).exp()
    text = read(wf.dump(wf.grad(y.sum(), [x]), tmp_path), "grad.txt")
    forward, gradients = text.split("\ngradients\n")
    assert re.search(
        r"%\d+ = exp\(%\d+\)  float32\[50\] .*# test_dump\.py:\d+  y = \(x \* x\)\.exp\(\)", forward
    )
    assert re.search(
        r"%\d+ = mul\(.*# gradient of test_dump\.py:\d+  y = \(x \* x\)\.exp\(\)", gradients
    )


def test_a_program_without_gradients_says_so(tmp_path):
    assert "No value of this program belongs to a gradient." in read(
        wf.dump(randn(5).exp(), tmp_path), "grad.txt"
    )


def test_rewrites_are_listed_with_their_rule_line_before_and_after(tmp_path):
    x = randn(64, 100)
    y = x.softmax(axis=1)
    text = read(wf.dump(y, tmp_path), "simplified.txt")
    entry = (
        r"^1\. drop_detach: detach\(.*\) +# test_dump\.py:\d+  y = x\.softmax\(axis=1\)\n   "
        r" becomes %\d+  float32\[64\]$"
    )
    assert "\nsimplify: 1 rewrite\n" in text and re.search(entry, text, re.M)


@pytest.mark.slow
def test_sums_that_become_one_are_among_the_rewrites(tmp_path):
    x, weight = randn(2, 3, 12, 12).requires_grad_(), randn(4, 3, 3, 3)
    y = nn.functional.conv2d(x, weight).square().sum()
    text = read(wf.dump(wf.grad(y, [x]), tmp_path), "simplified.txt")
    assert re.search(r"^merge sums: \d rewrites?$", text, re.M)
    assert re.search(r"^1\. one_sum_of_products: reduce_add\(", text, re.M)


def test_every_pass_is_listed_with_its_time_and_what_it_did(tmp_path):
    text = read(wf.dump(randn(64, 100).softmax(axis=1), tmp_path), "passes.txt")
    lines = {line.split("  ")[0]: line for line in text.splitlines()[3:]}
    assert [*lines][3:6] == ["sums apart", "widen", "simplify"] and [*lines][-1] == "all"
    assert (
        "1 rewrite; removed 1 detach" in lines["simplify"]
        and "1 kernel of 5 computed values" in lines["fuse"]
    )
    assert all(re.search(r" \d+\.\d{3}\b", line) for line in lines.values())


def test_text_is_the_same_for_the_same_program_in_another_folder(tmp_path):
    x = randn(30, 40)
    y = x.softmax(axis=1)
    one, other = wf.dump(y, tmp_path / "one"), wf.dump(y, tmp_path / "other")
    same = [name for name in files_of(one) if name != "passes.txt"]
    assert all(read(one, name) == read(other, name) for name in same)


@pytest.mark.slow
def test_a_graph_of_many_values_is_dumped(tmp_path):
    x = randn(8)
    for i in range(500):
        x = x * 1.0001 + float(i)
    assert "return %" in read(wf.dump(x, tmp_path), "graph.txt")


# ---------------------------------------------------------------- program and memory


@pytest.mark.slow
def test_calls_name_their_buffers_phases_and_chunks(tmp_path):
    text = read(wf.dump(training(512), tmp_path), "program.txt")
    assert re.search(r"^step 1  k1_\w+$", text, re.M) and re.search(
        r"^    phase 0: \d+ chunks?, shared by threads$", text, re.M
    )
    assert re.search(r"^    in\d +reads +arena \+ \d+ +float32\[.*\]  k0_\w+/\w+$", text, re.M)


def test_outputs_that_may_be_written_in_place_say_of_which_input(tmp_path):
    weights = nn.Parameter(randn(64, 64))
    optimizer = nn.optim.SGD([weights], lr=0.1)

    @wf.jit
    def step(gradient):
        weights.grad = gradient
        optimizer.step()
        weights.grad = None

    step(randn(64, 64))
    assert re.search(
        r"^    output 0 .*may be written into input \d$",
        read(wf.dump(step, tmp_path), "program.txt"),
        re.M,
    )


def test_strides_of_an_input_view_are_shown(tmp_path):
    x = randn(40, 50)[:, :25]
    assert "float32[40, 25]  strides [50, 1]" in read(wf.dump(x.exp(), tmp_path), "program.txt")


def buffer(name, first, last):
    return MemoryBuffer(name, "float32", (1,), 4, "arena", None, 0, first, last)


def test_a_timeline_has_a_column_for_each_step():
    memory = Memory(
        steps=4, peak_step=2, peak_kernel="k2", buffers=(buffer("a", 0, 1), buffer("bb", 1, 3))
    )
    head, marks, first, second = timeline(memory)
    assert "a column is a step, of 4" in head and head.endswith("k2")
    assert [first.split()[:2], second.split()[:2]] == [["a", "##.."], ["bb", ".###"]]
    assert second.index(".###") + 2 == marks.index("v")


def test_a_timeline_of_many_steps_joins_them():
    _, _, row = timeline(Memory(steps=1000, buffers=(buffer("a", 990, 999),)))
    assert row.split()[1] == "." * 61 + "##" and len(row.split()[1]) == 63


def test_nothing_has_no_timeline():
    assert timeline(Memory()) == []


# ---------------------------------------------------------------- code


def test_notes_lead_from_the_listing_to_the_inner_loop_of_the_assembly(tmp_path):
    folder = wf.dump(randn(64, 1000).softmax(axis=1), tmp_path)
    (listing,) = (p.read_text() for p in folder.glob("kernels/*.loops"))
    found = re.findall(r"# inner loop (\d+)", listing)
    assert len(found) == 3
    (name,) = (p.stem for p in folder.glob("kernels/*.loops"))
    for ending, comment in (("ll", "; "), ("opt.ll", "; "), ("s", "# ")):
        text = read(folder, f"kernels/{name}.{ending}")
        assert all(f"{comment}inner loop {number}: " in text for number in found), ending


def test_the_files_are_what_llvm_takes(tmp_path):
    from weft.codegen.llvm.build import binding

    for path in Path(wf.dump(training(), tmp_path)).glob("kernels/*.ll"):
        binding().parse_assembly(path.read_text()).verify()
