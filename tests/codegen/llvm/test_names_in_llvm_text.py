"""What blocks and values of LLVM IR are called, and where notes of loops stand: for readers,
machine code stays the same."""

from __future__ import annotations

import re

import pytest
from loopkit import Op, Reduce, Store, Var, argument, f32, kernel, lanes, load, op, serial, var
from weft.codegen.llvm.build import compile_text
from weft.codegen.llvm.emit import emit
from weft.codegen.llvm.naming import marked, noted
from weft.codegen.llvm.target import named
from weft.ir.loops.listing import numbered
from weft.ir.loops.loop import REG, SCRATCH, Alloc, Buf

AVX2 = named("avx2")
IN, OUT, C, R = argument("in0"), argument("out0"), Var("c", 1000), Var("row", 9)


def rows():
    """out[row] = sum_c in[row, c]."""
    total = Buf("sum0", f32, 1, REG)
    inner = lanes(C, Reduce(total, var(C) * 0, "add", load(IN, var(R) * 1000 + var(C))))
    return kernel([IN, OUT], serial(R, Alloc(total, 0.0), inner, Store(OUT, var(R), load(total))))


def noted_rows():
    return numbered(rows(), lambda loop: True)


def test_blocks_and_counters_are_called_after_their_loop():
    text = emit(rows(), AVX2)
    for name in ("row", "c"):
        assert f"\n{name}.loop:\n  %{name} = phi i64" in text and f"br label %{name}.again" in text
    assert "%c.next = add nuw nsw i64 %c, 8" in text


def test_buffers_are_called_as_in_the_loops():
    text = emit(noted_rows(), AVX2)
    assert (
        "%in0 = load ptr, ptr %ctx" in text
        and "%sum0 = alloca" in text
        and "%sum0.parts = alloca" in text
    )
    assert re.search(r"%in0\.\d+ = load <8 x float>, ptr %in0\.\d+", text)


def test_two_loops_of_one_variable_have_different_blocks():
    twice = [
        lanes(C, Store(OUT, var(C), op(Op.NEG, load(IN, C)))),
        lanes(C, Store(IN, var(C), load(OUT, C))),
    ]
    text = emit(kernel([IN, OUT], *twice), AVX2)
    assert "\nc.loop:" in text and "\nc.loop.1:" in text


@pytest.mark.parametrize(
    "name", ["t1", "then9", "start", "ctx", "chunk", "a b", "1st", "c.loop", "t1.2", "naïve"]
)
def test_any_name_gives_code(name):
    buf, at = Buf(name, f32, 40, SCRATCH), Var(name, 40)
    fill = [Alloc(buf), lanes(at, Store(buf, var(at), load(IN, at)))]
    use = lanes(C, Store(OUT, var(C), load(buf, 3)))
    assert compile_text(emit(kernel([IN, OUT], *fill, use), AVX2), AVX2)


def test_a_note_stands_at_the_block_of_its_loop():
    text = emit(noted_rows(), AVX2)
    assert "\nrow.loop:  ; loop 1\n" in text and "\nc.loop:  ; inner loop 2: sum0 += in0\n" in text


def test_code_without_notes_has_no_comments():
    assert ";" not in emit(rows(), AVX2)


def test_notes_do_not_change_the_machine_code():
    assert compile_text(emit(noted_rows(), AVX2), AVX2) == compile_text(emit(rows(), AVX2), AVX2)


def test_what_is_left_of_a_loop_names_it():
    odd = Var("odd", 1003)
    text = emit(
        numbered(
            kernel([IN, OUT], lanes(odd, Store(OUT, var(odd), load(IN, odd)))), lambda loop: True
        ),
        AVX2,
    )
    assert "  ; loop 1, its rest\n" in text


def test_optimised_code_and_assembly_have_the_notes_of_blocks():
    keep = {}
    compile_text(emit(noted_rows(), AVX2), AVX2, keep)
    assert re.search(r"^c\.loop:.*\n  ; inner loop 2: sum0 \+= in0\n", keep["opt.ll"], re.M)
    _, _, inside = keep["s"].partition("# inner loop 2: sum0 += in0\n")
    assert inside and "vaddps" in inside.partition("\tj")[0]


def test_assembly_is_marked_in_the_comment_syntax_of_its_processor():
    arm = ".LBB0_1:        // %c.loop\n                // =>This Inner Loop\n\tldr q0\n"
    assert marked(arm, {"c.loop": "inner loop 1"}).splitlines()[2] == "\t// inner loop 1"


def test_blocks_that_llvm_made_stay_without_a_note():
    assert (
        noted("c.loop.preheader:\n  br label %c.loop\n", {"c.loop": "loop 1"})
        == "c.loop.preheader:\n  br label %c.loop\n"
    )
