"""What WEFT_DUMP and WEFT_DEBUG show. In: the Structure of a program that is new. Out: files, and text on stderr."""

from __future__ import annotations

import sys

from .. import errors, options
from ..frontend import compile
from ..frontend.structure import Structure
from . import files
from .report import report


def show(structure: Structure, number: int) -> None:
    """Raises OptionError for a folder that cannot be written."""
    asked = options.current()
    compiled = compile.program_of(structure)
    if asked.dump:
        try:
            files.write(compiled, asked.dump / f"program{number}")
        except OSError as error:
            raise errors.OptionError(f"WEFT_DUMP={str(asked.dump)!r}: cannot write there: {error}") from None
    if asked.debug:
        print(report(compiled), file=sys.stderr)
