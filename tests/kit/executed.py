"""Pages whose examples are run. In: Markdown with blocks of code and marked outputs. Out: the page
with the outputs of now.

A comment before a block of output says what it holds:

    <!-- prints -->          what the code has printed since the last output
    <!-- prints: EXPR -->    the text of an expression
    <!-- differs -->         either, but it differs between machines or runs: it is made anew and
                             never compared

Code is what stands in blocks of `python`, as if all of a page were one script of that name, and the
lines of blocks of `sh` that call the command line, `python -m weft`. A comment `<!-- target: avx512
-->` sets WEFT_TARGET. `python tests/kit/executed.py docs/tutorial.md` writes pages anew.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import weft as wf
from weft import options
from weft.__main__ import main as command_line

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>prints|differs)(?:: (?P<what>.+?))? -->\n+)?"
    r"^(?P<fence>```(?P<language>\w+)[^\n]*\n)(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Output:
    """A block of output: its line in the page, what stands there, what there should be, and whether
    that is for sure."""

    line: int
    shown: str
    found: str
    compared: bool


class Run:
    """A page on its way. Attributes: `outputs`, those met so far."""

    def __init__(self, script: Path, helpers: dict[str, Callable[..., str]]) -> None:
        self.script, self.names = script, {"__name__": "__main__", **helpers}
        self.printed = io.StringIO()
        self.lines = 0  # of code that has run
        self.outputs: list[Output] = []

    def block(self, found: re.Match[str]) -> str:
        """What stands in the place of a block."""
        if found["mark"]:
            return self._output(found)
        with redirect_stdout(self.printed):
            if found["language"] == "python":
                self._code(found["text"])
            if found["language"] == "sh":
                self._commands(found["text"])
        return found[0]

    def _output(self, found: re.Match[str]) -> str:
        text = (
            self.printed.getvalue()
            if found["what"] is None
            else str(eval(found["what"], self.names))
        )
        self.printed = io.StringIO()
        line = found.string.count("\n", 0, found.start("text")) + 1
        text = text.replace(f"{self.script.parent}/", "")  # a folder that is different at each run
        text = "\n".join(each.rstrip() for each in text.strip("\n").splitlines()) + "\n"
        self.outputs.append(Output(line, found["text"], text, found["mark"] == "prints"))
        return found[0].removesuffix(found["text"] + "```") + text + "```"

    def _code(self, text: str) -> None:
        exec(compile("\n" * self.lines + text, self.script, "exec"), self.names)
        self.lines += text.count("\n")

    def _commands(self, text: str) -> None:
        for line in text.splitlines():
            if line.startswith("python -m weft "):
                check(line, shlex.split(line, comments=True)[3:])


def check(line: str, arguments: list[str]) -> None:
    """Runs a command. Raises RuntimeError where it fails."""
    try:
        status = command_line(arguments)
    except SystemExit as end:  # --help, wrong usage
        status = int(end.code or 0)
    if status:
        raise RuntimeError(f"{line}: exit status {status}")


def run(
    page: Path, helpers: dict[str, Callable[..., str]] | None = None
) -> tuple[str, list[Output]]:
    """The page with the outputs of now, and each of them."""
    text = page.read_text()
    settings = options.override(num_threads=2, target=target(text))
    with TemporaryDirectory() as folder, inside(Path(folder)), gpu(text), settings:
        script = Path(folder) / f"{page.stem}.py"
        script.write_text(
            "".join(
                b["text"]
                for b in BLOCK.finditer(text)
                if b["language"] == "python" and not b["mark"]
            )
        )
        wf.manual_seed(0)
        started = Run(script, HELPERS if helpers is None else helpers)
        return BLOCK.sub(started.block, text), started.outputs


def gpu(text: str) -> AbstractContextManager[Any]:
    """In which a page that names a GPU finds one, whose kernels are texts."""
    if "cuda" not in text:
        return nullcontext()
    from cuda_texts import collecting

    return collecting("sm_90a")


def target(text: str) -> str:
    """What a page compiles for: the processor at hand, unless it says otherwise."""
    found = re.search(r"^<!-- target: (\S+) -->$", text, re.MULTILINE)
    return found[1] if found else "host"


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """The working folder, for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# ---------------------------------------------------------------- what pages may say in their
# comments


def body(file: str) -> str:
    """A file without the comments at its beginning; its name is a pattern, which matches one."""
    (path,) = Path().glob(file)
    return re.sub(r"\A(?:[#;/].*\n)*\n?", "", path.read_text())


def inner_loop(file: str, instruction: str) -> str:
    """The innermost loop with an instruction, of assembly or LLVM IR: from its label to the jump
    back."""
    (path,) = Path().glob(file)
    for block in re.split(r"\n(?=[.\w]+:)", path.read_text()):
        label = block.split(":")[0]
        jumps = [
            m.end()
            for m in re.finditer(
                rf"^\s+(?:j|br ).*[%\s]{re.escape(label)}\b.*$", block, re.MULTILINE
            )
        ]
        if instruction in block and jumps:
            return block[: jumps[-1]]
    raise LookupError(f"no inner loop of {path} holds {instruction}")


HELPERS: dict[str, Callable[..., Any]] = {"body": body, "inner_loop": inner_loop}


def main(arguments: list[str]) -> int:
    """Writes pages anew, or tells with --compare what would change. Each has a process of its own:
    Nodes are shared in one."""
    pages = [a for a in arguments if a != "--compare"]
    if len(pages) > 1:
        flags = [a for a in arguments if a not in pages]
        return max(
            subprocess.run([sys.executable, __file__, *flags, page], check=False).returncode
            for page in pages
        )
    page = Path(pages[0])
    text, outputs = run(page)
    if "--compare" not in arguments:
        page.write_text(text)
        return 0
    wrong = [o for o in outputs if o.compared and o.shown != o.found]
    for o in wrong:
        changed = (
            line for line in ndiff(o.shown.splitlines(), o.found.splitlines()) if line[0] in "+-"
        )
        print(f"{page}:{o.line}", *changed, sep="\n")
    return 1 if wrong or not outputs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
