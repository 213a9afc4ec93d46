"""`python -m weft show`: what it prints, the files it writes, what it says of a wrong expression,
and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from weft.__main__ import main
from weft.inspection.drawing.expression import ExpressionError, evaluate

MINITORCH = ("(x*y).log() + (x*y).exp()", "x=2", "y=3")


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_each_step_is_a_line_forward_and_backward(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, *MINITORCH).split("\n┌")[0].strip().splitlines() == [
        "(x*y).log() + (x*y).exp()",
        "",
        "forward",
        "  v1  = x        = 2",
        "  v2  = y        = 3",
        "  v3  = v1 * v2  = 6         x*y",
        "  v4  = log(v3)  = 1.791759  (x*y).log()",
        "  v5  = exp(v3)  = 403.4288  (x*y).exp()",
        "  v6  = v4 + v5  = 405.2206  (x*y).log() + (x*y).exp()",
        "",
        "backward: g is the derivative of the result by v",
        "  g6  = 1        = 1          the result itself",
        "  g5  = g6       = 1          d(a + b)/db = 1",
        "  g4  = g6       = 1          d(a + b)/da = 1",
        "  g3  = g4 / v3  = 0.1666667  d log(a)/da = 1 / a",
        "      + g5 * v5  + 403.4288   d exp(a)/da = exp(a)",
        "                 = 403.5955",
        "  g2  = g3 * v1  = 807.1909   d(a * b)/db = a",
        "  g1  = g3 * v2  = 1210.786   d(a * b)/da = b",
    ]


def test_the_graph_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, *MINITORCH)
    assert text.count("▶│") == 6 and "│ 4  (x*y).log() │" in text


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize(
    "text", ["(x @ w + b).relu().mean()", "softmax(x @ w, axis=1)", "x[1:].T.reshape(6) * 2"]
)
def test_lines_fit_the_terminal(
    columns: int, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = shown(capsys, text, "x=randn(3,3)", "w=randn(3,2)", "b=zeros(2)")
    assert max(map(len, out.splitlines())) <= columns


def test_arrays_that_a_line_cuts_short_are_shown_whole_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = shown(capsys, "x * 2", "x=arange(12).reshape(3,4)*1.5")
    assert (
        "the result\n[[ 0.  3.  6.  9.]\n" in out
        and "g1, the derivative by x\n[[2. 2. 2. 2.]\n" in out
    )


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("2", np.float32(2)),
        ("[1,2,3]", np.array([1, 2, 3], "f4")),
        ("2.5:float64", np.float64(2.5)),
        ("[1,2]:int64", np.array([1, 2])),
        ("arange(4).reshape(2,2)", np.arange(4).reshape(2, 2)),
        ("ones(2):float64", np.ones(2)),
        ("np.eye(2)", np.eye(2)),
        ("True", np.bool_(True)),
        ("{1: 2}[1]", np.float32(2)),
    ],
)
def test_a_value_has_the_dtype_that_it_is_given(value: str, wanted: np.ndarray) -> None:
    found = evaluate("x", {"x": value}).result.numpy()
    assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


@pytest.mark.parametrize("value", ["True", "[1,2]:int64", "arange(3) > 1", "2"])
def test_a_value_is_an_input_of_its_own(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = shown(capsys, "x + y", f"x={value}", "y=x").split("\n\n")[1].splitlines()[1:3]
    assert [line.split()[:3] for line in (first, second)] == [["v1", "=", "x"], ["v2", "=", "y"]]


def test_a_value_may_use_those_before_it() -> None:
    assert evaluate("x + y", {"x": "[1,2]", "y": "x * 10"}).result.tolist() == [11.0, 22.0]


@pytest.mark.parametrize(
    "text",
    ["softmax(x)", "wf.softmax(x)", "x.softmax()", "F.softmax(x, axis=0)", "nn.Softmax(0)(x)"],
)
def test_functions_are_known_by_each_of_their_names(text: str) -> None:
    np.testing.assert_allclose(
        evaluate(text, {"x": "[1,2]"}).result.tolist(), [0.268941, 0.731059], rtol=1e-5
    )


def test_parts_are_called_as_they_are_written() -> None:
    texts = [text for text, _ in evaluate("( x  +1 ) * -x[0]", {"x": "[1,2]"}).parts]
    assert texts == ["x", "x  +1", "x", "x[0]", "-x[0]", "( x  +1 ) * -x[0]"]


def test_random_numbers_in_an_expression_are_values() -> None:
    wf.manual_seed(0)
    found = evaluate("randn(3) * x", {"x": "2"})
    assert found.parts[0][0] == "randn(3)" and len(wf.draw(found.result).steps) == 4


def test_python_has_its_whole_language() -> None:
    assert (
        evaluate(
            "sum([x * k for k in range(3)]) if x.ndim == 0 else (lambda y: y)(x)", {"x": "2"}
        ).result.item()
        == 6.0
    )


def test_a_layout_shows_each_view(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "--layout", "x.permute(1,0)[1:]", "x=arange(6).reshape(2,3)")
    heads = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert heads == ["x", "x.permute(1,0)", "x.permute(1,0)[1:]"]
    assert "[i, j] is at 1 + i + 3*j" in out


def test_the_picture_as_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *MINITORCH, "--svg", str(tmp_path / "graph.svg"))
    assert out == f"wrote {tmp_path / 'graph.svg'}\n" and (
        tmp_path / "graph.svg"
    ).read_text().startswith("<svg ")


def test_a_file_that_cannot_be_written_has_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", *MINITORCH, "--svg", str(tmp_path / "no" / "graph.svg")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_a_page_tells_of_the_program_with_its_gradients(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, values = (
        "(x * w).sum() + (x.T[1:] * n).exp().mean()",
        ("x=arange(6).reshape(2,3)*0.5", "w=ones(3)", "n=2:int32"),
    )
    shown(capsys, text, *values, "--html", str(tmp_path / "page.html"))
    found = re.search(
        r'<script type="application/json"[^>]*>(.*?)</script>',
        (tmp_path / "page.html").read_text(),
        re.S,
    )
    assert found is not None
    told = json.loads(found[1])
    (program,) = told["programs"]
    assert {i["name"] for i in program["inputs"]} >= {"x", "w"} and any(
        k["gradient"] for k in program["kernels"]
    )
    assert told["sources"]["<expression>"]["lines"] == [text]
    assert [s["expression"] for s in told["tensors"][0]["steps"]] == [
        "x",
        "w",
        "x.T",
        "x.T[1:]",
        "n",
    ]
    assert told["command"].startswith("python -m weft show '(x * w)")


def test_text_for_graphviz(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *MINITORCH, "--dot")
    assert out.startswith("digraph {") and out.endswith("}\n")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (
            ("softmx(x)", "x=1"),
            "there is no softmx; do you mean softmax or log_softmax?\n    softmx(x)\n    ^^^^^^",
        ),
        (
            ("x*z", "x=1"),
            "there is no z; give it a value: z=2, or z='randn(3, 4)'\n    x*z\n      ^",
        ),
        (
            ("1 + (x @ y)", "x=ones(3)", "y=ones(4)"),
            "do not fit: 3 columns, 4 rows\n    1 + (x @ y)\n         ^^^^^",
        ),
        (("x.qux() + 1", "x=1"), "has no attribute 'qux'\n    x.qux() + 1\n    ^^^^^"),
        (("x.numel()", "x=1"), "write x.size\n    x.numel()\n    ^^^^^^^"),
        (("x +* y", "x=1"), "invalid syntax\n    x +* y\n       ^"),
        (("ä + x.nö", "x=1", "ä=2"), "'nö'\n    ä + x.nö\n        ^^^^"),
        (("1/0", "x=1"), "ZeroDivisionError: division by zero\n    1/0\n    ^^^"),
        (("3 + 4", "x=1"), "the expression gives 7, which is not a Tensor: use x in it"),
        (("3 + 4",), "give it values: x=2"),
        (("await x", "x=1"), "'await' outside function"),
        (("+".join(["x"] * 100_000), "x=1"), "weft: "),
        (("x", "x=1", "x=2"), "x is given twice"),
        (("x", "x"), "'x' is not a value: write name=value"),
        (("x", "x="), "'x=' is not a value"),
        (("x", "2=x"), "'2' is not a name"),
        (("x", "x='word'"), "this is not a value for a Tensor"),
        (("x", "x=[[1],[2,3]]"), "this is not a value for a Tensor"),
        (("x", "x=y"), "there is no y"),
        (("x", "x=0.5", "y=x:"), "invalid syntax"),
        (
            ("reduce(lambda a, k: (a + k).sin(), range(300), x)", "x=1", "reduce=1"),
            "'Tensor' object is not callable",
        ),
        (("[x := (x + k).sin() for k in range(300)][-1]", "x=1"), "draw: the graph has"),
    ],
    ids=lambda case: case if isinstance(case, str) else " ".join(case)[:40],
)
def test_a_wrong_expression_is_shown_with_its_place(
    arguments: tuple[str, ...], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *arguments)
    assert wanted in said and said.startswith("weft: ") and "Traceback" not in said


def test_a_long_expression_is_cut_in_what_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "1 + " * 100 + "z" + " + 1" * 100, "x=1")
    assert (
        max(map(len, said.splitlines())) <= 100
        and "z" in said.splitlines()[1]
        and said.splitlines()[2].strip() == "^"
    )


def test_an_expression_that_looks_like_an_option_is_told_to_stand_in_brackets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["show", "-x.exp()", "x=1"])
    assert 'must stand in brackets: python -m weft show "(-x.exp())"' in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["show", "x", "x=1", "--layuot"])
    assert "brackets" not in capsys.readouterr().err


def test_an_error_is_one_of_weft() -> None:
    with pytest.raises(ExpressionError) as raised:
        evaluate("x +", {"x": "1"})
    assert isinstance(raised.value, wf.errors.WeftError) and isinstance(raised.value, ValueError)


@pytest.mark.slow
def test_as_a_command_it_prints_ascii_where_the_terminal_has_no_more() -> None:
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONIOENCODING": "ascii",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        [sys.executable, "-m", "weft", "show", *MINITORCH],
        env=env,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"") and b">| 3  x*y" in done.stdout


def in_ascii(*line: str | Path) -> subprocess.CompletedProcess[bytes]:
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONIOENCODING": "ascii",
    }
    return subprocess.run([sys.executable, *line], env=env, capture_output=True, check=False)


@pytest.mark.slow
def test_names_that_the_output_cannot_show_are_escaped() -> None:
    done = in_ascii("-m", "weft", "show", "ß*2", "ß=3")
    assert (done.returncode, done.stderr) == (0, b"") and b"\\xdf*2" in done.stdout


@pytest.mark.slow
def test_names_of_a_report_that_the_output_cannot_show_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import weft as wf\nß = wf.ones(3) * 2\nwf.explain(ß).show()\n", encoding="utf-8"
    )
    done = in_ascii(tmp_path / "script.py")
    assert (done.returncode, done.stderr) == (0, b"") and b"script.py:2  \\xdf = " in done.stdout


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["show", "--help"])
    text = capsys.readouterr().out
    assert raised.value.code == 0
    assert all(
        word in text
        for word in ("x=2", "randn", ":int64", "--layout", "evaluated by Python", "exit status")
    )
