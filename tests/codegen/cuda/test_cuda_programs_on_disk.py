"""Programs of a GPU in a later process: found on disk with their images, or built anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import weft as wf
from cuda_texts import TextDriver
from cudakit import needs_compiler
from weft import errors, options
from weft.codegen.cuda.toolchain import build
from weft.codegen.cuda.toolchain.toolkit import Compiler
from weft.compiler import compile as stages
from weft.frontend.lazy import program_table
from weft.ir.graph import graph
from weft.runtime.cuda import devices, images

pytestmark = needs_compiler


class Keeping(TextDriver):
    """A device whose images are kept as a GPU's are."""

    keeps_images = True


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """What is compiled for the GPU from here on, with a cache of its own. What other tests left
    waiting on the CPU does not count.
    """
    found: list[str] = []
    made, unit, used = stages.build, devices._gpus.get(0), {*graph.used}

    def noted(*args: Any) -> Any:
        found.extend(["program"] * (args[4].device != "cpu"))
        return made(*args)

    monkeypatch.setattr(stages, "build", noted)
    monkeypatch.setattr(build, "compiler", lambda: Compiler("stub", "1", lambda *_: (b"", "")))
    with options.override(cache_dir=tmp_path):
        yield found
    devices.uninstall()
    if unit is not None:
        devices._gpus[0] = unit
    graph.used.clear()
    graph.used.update(used)


def process(monkeypatch: pytest.MonkeyPatch) -> Keeping:
    """A device, and no program known, as in a new process."""
    driver = Keeping("sm_80")
    devices.install(driver)
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())
    return driver


def softmax() -> None:
    wf.ones(64, 300, device="cuda").softmax(axis=1).realize()


def test_a_later_process_builds_nothing(builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = process(monkeypatch)
    softmax()
    assert builds == ["program"] and len(first.texts) == 1
    second = process(monkeypatch)
    softmax()
    assert builds == ["program"] and not second.texts


def test_a_program_whose_image_is_gone_is_built_again(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    process(monkeypatch)
    softmax()
    monkeypatch.setattr(images, "find", lambda name, arch: None)
    second = process(monkeypatch)
    softmax()
    assert builds == ["program", "program"] and len(second.texts) == 1


def test_another_architecture_has_kernels_of_its_own(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    process(monkeypatch)
    softmax()
    other = process(monkeypatch)
    other.arch = "sm_90a"
    softmax()
    assert builds == ["program", "program"] and len(other.texts) == 1


def test_without_a_compiler_what_is_missing_is_named(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Compiler:
        raise errors.DeviceError(build.MISSING)

    process(monkeypatch)
    monkeypatch.setattr(build, "compiler", missing)
    with pytest.raises(errors.DeviceError, match="nvidia-cuda-nvrtc"):
        softmax()
