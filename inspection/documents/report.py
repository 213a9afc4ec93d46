"""`wf.report`. In: Tensors, functions or Modules. Out: one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import errors
from ...frontend.lazy.watchers import watching_calls
from ...ir.graph.brief import brief
from ..explain.explain import Subject, structure_behind
from ..summary.summary import Calls

if TYPE_CHECKING:
    from ...compiler.structure import Structure
    from ..names.naming import InputNames
    from .document import Entry


class ReportPath(type(Path())):  # type: ignore[misc]  # the class for paths of this system
    """Where a report is. A Path; in a notebook the page itself."""

    def _repr_html_(self) -> str | None:
        """A link and a frame; None where the notebook's server does not reach the file."""
        from html import escape
        from urllib.parse import quote

        try:
            address = quote(self.resolve().relative_to(Path.cwd()).as_posix())
        except ValueError:
            return None
        if not self.is_file():
            return None
        style = "width: 100%; height: 42em; border: 0"
        title = escape(self.name)
        frame = f'<iframe src="{address}" title="{title}" style="{style}"></iframe>'
        return f'<p><a href="{address}" target="_blank">{escape(str(self))}</a></p>{frame}'


def report(
    x: Subject, /, path: str | Path = "report.html", *args: Any, profile: bool = True, **kwargs: Any
) -> Path:
    """Writes a page that shows computing x: graph and kernels, lines, loops, machine code, times,
    memory. Returns its path.

    A notebook shows the page in a frame, if it was written to the notebook's folder or below, and a
    link to it.

    x and the arguments of a call are those of `explain`; they come after the path. The page is one
    file and needs no network. With profile=True x is measured as by `wf.profile`, unless the
    arguments of a call are missing; profile=False computes nothing. Raises what `explain` raises,
    and OSError where the file cannot be written.

    >>> wf.report((x @ x).softmax(axis=1), "report.html")
    ReportPath('report.html')
    """
    from ..names.naming import Names, owners_of
    from ..page import page
    from .collect import layouts_of, trees_of
    from .document import document

    try:
        path = Path(path)
    except TypeError:
        raise errors.DTypeError(
            f"report: path must be that of the file to write, not {brief(path)}"
        ) from None
    calls = Calls()
    with watching_calls(calls):
        structure = structure_behind("report", x, args, kwargs)
    names = Names()
    owners = owners_of(structure)
    modules = names.learn(owners)
    entries = (
        [_entry(structure, names.of_inputs(owners), x, args, kwargs, profile)]
        if structure.key[1]
        else []
    )
    title = entries[0].name if entries else "everything is in memory already"
    made = document(
        entries, title, None, trees_of(x, modules, calls), layouts_of([x, *args, *kwargs.values()])
    )
    path.write_text(page(made), encoding="utf-8")
    return ReportPath(path)


def _entry(
    structure: Structure, names: InputNames, x: Any, args: Any, kwargs: Any, profile: bool
) -> Entry:
    from ...compiler.compile import program_of
    from ..names.naming import program_name
    from ..profile.profile import profile as measured
    from .document import Entry

    name, compiled = program_name(structure), program_of(structure)
    try:
        p = measured(x, *args, **kwargs) if profile else None
    except errors.ArgumentError:  # the arguments of a function's last call are not known
        p = None
    if p is None:
        return Entry(name, structure.device, compiled, names)
    return Entry(
        name,
        structure.device,
        compiled,
        names,
        p.runs,
        p.seconds,
        p.cold,
        [k.measured or 0.0 for k in p.kernels],
    )
