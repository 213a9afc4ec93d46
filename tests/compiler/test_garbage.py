"""Collections of garbage while a program is compiled: paused, and as before when it ends."""

from __future__ import annotations

import gc

import pytest
from weft.compiler.garbage import without_collections


@pytest.mark.parametrize("on", [True, False])
def test_collections_are_as_before_however_a_compilation_ends(on: bool) -> None:
    @without_collections
    def ends(error: BaseException | None) -> bool:
        if error is not None:
            raise error
        return gc.isenabled()

    try:
        (gc.enable if on else gc.disable)()
        assert ends(None) is False and gc.isenabled() is on
        for error in (ValueError(), KeyboardInterrupt()):
            with pytest.raises(type(error)):
                ends(error)
            assert gc.isenabled() is on
    finally:
        gc.enable()
