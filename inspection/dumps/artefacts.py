"""Artefacts of a dump. In: a Compiled program. Out: paths, titles, texts with a header."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...codegen.kernels.lower_program import LoweredKernel
from ...compiler.compile import Compiled
from ...wording import plural
from ..explain.build import report
from ..explain.kernel import KernelReport, inputs_read
from ..names.naming import InputNames
from .graph_text import gradient_text, graph_text, passes_text, rewrites_text
from .program_text import arguments, memory_text, program_text


class Artefact(NamedTuple):
    """A file: where it goes, in a few words what it is, what stands in it."""

    path: str
    title: str
    body: str
    about: tuple[str, ...] = ()
    comment: str = "#"

    @property
    def text(self) -> str:
        """All of the file."""
        lines = (f"weft dump: {self.title}", *self.about)
        return "\n".join(f"{self.comment} {line}".rstrip() for line in lines) + f"\n\n{self.body}"


KINDS = {  # of the files of a kernel: what they are, and a line comment in their language
    "loops": ("loops", "#"),
    "ll": ("LLVM IR as it is written", ";"),
    "opt.ll": ("LLVM IR after LLVM's passes", ";"),
    "s": ("assembly", "#"),
    "cu": ("CUDA C", "//"),
    "ptx": ("PTX", "//"),
    "sass": ("assembly of the GPU", "//"),
}

GRAPH = (
    "A line is a value: its name, the operation and what it takes, dtype and shape, "
    "then the line of yours that asked for it.",
    "Nothing here is computed yet. Views (reshape, permute, expand ..) move no data: "
    "they vanish in the indices of the loops.",
)


def artefacts(c: Compiled, names: InputNames) -> list[Artefact]:
    """Every file of a program whose inputs have these names, README.txt first."""
    kernels = report(c, names=names)
    texts = {
        "graph.txt": ("the graph as it came in: what to compute", graph_text(c.graph), GRAPH),
        "grad.txt": (
            "what computes gradients, each value beside the line that it is the gradient of",
            gradient_text(c.graph),
            GRAPH[:1],
        ),
        "simplified.txt": (
            "the graph after the rules of `simplify`, then the rewrites of it and of later passes",
            f"{graph_text(c.roots_behind('simplify'))}\n{_rewrites(c)}",
            (
                "Rules are exact in IEEE arithmetic, up to the order of sums. "
                "Later passes: passes.txt.",
            ),
        ),
        "kernels.txt": (
            "the kernels in the order they run, as wf.explain prints them",
            f"{kernels}\n",
            (),
        ),
        "program.txt": (
            "which kernels run, in which order, on which buffers",
            program_text(c),
            (
                "A phase is cut into chunks, which threads take one after the other; "
                "phases of a kernel wait for each other.",
            ),
        ),
        "memory.txt": ("which memory a run needs, and when", memory_text(c.memory()), ()),
        "passes.txt": (
            "the passes of the compiler in order, and what each did",
            passes_text(c),
            (),
        ),
    }
    top = [Artefact(path, title, body, about) for path, (title, body, about) in texts.items()]
    memory = c.memory()
    below = [
        a
        for step, (k, call, r) in enumerate(
            zip(c.in_order(), c.program.calls, kernels.kernels, strict=True)
        )
        for a in _of_kernel(c, k, r, arguments(call, memory, step))
    ]
    return [_index(c, top, below, kernels.kernels), *top, *below]


def _rewrites(c: Compiled) -> str:
    return "\n".join(rewrites_text(p) for p in c.passes if p.rewrites) or "0 rewrites\n"


def _of_kernel(
    c: Compiled, k: LoweredKernel, r: KernelReport, buffers: Iterable[str]
) -> Iterator[Artefact]:
    """A file for each stage of one kernel."""
    about = [f"computes  {' '.join(r.nodes) or 'whether indices are in range'}"]
    about += [f"from      {source}" for source in r.sources]
    about += [f"reads     {inputs_read(r)}"] * bool(r.reads)
    about += [f"schedule  {r.schedule}", *(f"launch    {launch}" for launch in r.launches)]
    about += buffers
    texts = c.texts(k)
    for ending, body in texts.items():
        what, comment = _kind(ending)
        others = ", ".join(f".{other}" for other in texts if other != ending)
        lines = (*about, f"its other files: {others}", *READING.get(ending, ()))
        yield Artefact(
            f"kernels/{k.name}.{ending}", f"{k.name}: {what}", body, lines, _comment(comment, body)
        )


def _kind(ending: str) -> tuple[str, str]:
    """What a file is; a back end may have others than those of KINDS."""
    return KINDS.get(ending, (f"its .{ending}", "#"))


def _comment(sign: str, body: str) -> str:
    """Assembly of an ARM processor has other comments than that of x86."""
    return "//" if sign == "#" and "// %bb.0" in body else sign


LOOPS = "Comments at loops give their numbers in the .loops file."
READING = {  # how to
    "loops": (
        "An index counts elements. A grid has a chunk for a thread, or a block of a GPU; "
        "lanes are those of vectors, or threads",
        "of a GPU, x4: four steps at a time, mod 64: term i of a sum goes to partial sum i mod 64; "
        "an unrolled loop is none in",
        "the code. reg and thread are registers, scratch is memory of a chunk or block.",
    ),
    "ll": (
        "%ctx has the addresses of the buffers, then the params. "
        "A loop over c is the block c.loop, counts in %c and ends in",
        f"c.end; what is loaded from a buffer in0, and its addresses, are %in0.<number>. {LOOPS}",
    ),
    "opt.ll": (LOOPS,),
    "s": (f"Labels name the blocks of the .opt.ll file. {LOOPS}",),
    "cu": (f"weft.cuh of the package, in codegen/cuda, says what weft_<name> is. {LOOPS}",),
}


# ---------------------------------------------------------------- README.txt


def _index(
    c: Compiled, top: list[Artefact], below: list[Artefact], kernels: list[KernelReport]
) -> Artefact:
    lines = [f"{plural(len(kernels), 'kernel')} for {c.backend.device}", "", "Your lines"]
    sources = dict.fromkeys(str(s) for k in kernels for s in k.sources)
    lines += [f"    {source}" for source in sources] or ["    none that can be named"]
    lines += ["", "Files, in the order in which to read them"]
    lines += [f"    {a.path:16} {a.title}" for a in top]
    endings = dict.fromkeys(a.path.partition(".")[2] for a in below)
    lines += [f"    kernels/*.{ending:7} of each kernel: {_kind(ending)[0]}" for ending in endings]
    for ending, how in c.backend.missing().items():
        lines += ["", f"Without kernels/*.{ending}, {_kind(ending)[0]}: {how}"]
    lines += ["", "Kernels, in the order they run"]
    width = max((len(k.name) for k in kernels), default=0)
    lines += [f"    {k.name:{width}}  {kernel_line(k)}" for k in kernels]
    return Artefact("README.txt", "what is in this folder", "\n".join(lines) + "\n")


def kernel_line(k: KernelReport) -> str:
    """What one kernel writes, and for which lines."""
    places = ", ".join(dict.fromkeys(s.where for s in k.sources))
    origin = f", from {places}" if places else ""
    return f"{k.kind}, writes {', '.join(k.outputs) or 'the status only'}{origin}"
