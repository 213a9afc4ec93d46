"""`python -m weft devices`: facts that are true, on any machine, with or without GPUs and
packages."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import weft as wf
from cudakit import device, needs_compiler
from machinekit import machine_of
from weft import options
from weft.__main__ import main
from weft.codegen.cuda.toolchain import nvcc, nvrtc
from weft.inspection.machine import machine as machines
from weft.inspection.machine import surroundings
from weft.runtime import cache, processor
from weft.runtime.cuda import devices

FAST = machine_of("a machine", 4, 40e9, 200e9, 1 << 25, {"float32": 5e11, "float64": 2.5e11}, 3e-9)


@pytest.fixture(autouse=True)
def _nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "machine", lambda device, again=False: FAST)
    monkeypatch.setattr(machines, "known", lambda device: None)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        assert main(["devices", *arguments]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        return said.out

    return run


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that tells nothing and has nothing."""

    def no_package(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    for place in ("_PAGES", "_MEMORY", "_QUOTA", "_LEAST"):
        monkeypatch.setattr(surroundings, place, tmp_path / "nothing")
    monkeypatch.setattr(processor, "_cpuinfo", list)
    monkeypatch.setattr(importlib.metadata, "version", no_package)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    for compiler in (nvrtc, nvcc):
        monkeypatch.setattr(compiler, "find", lambda: None)
    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setattr("weft.inspection.machine.surroundings._browser", lambda: None)
    monkeypatch.delattr("os.sched_getaffinity", raising=False)


def facts(printed: Callable[..., str], *arguments: str) -> dict[str, Any]:
    return json.loads(printed("--json", *arguments))


def test_the_processor_is_the_one_that_code_is_made_for(printed: Callable[..., str]) -> None:
    target = processor.host()
    with options.override(target="host"):
        cpu = facts(printed)["cpu"]
    assert (cpu["target"]["cpu"], cpu["target"]["vector_bits"]) == (target.cpu, target.vector_bits)
    assert cpu["caches"] == {"l1": target.l1, "l2": target.l2, "l3": target.l3}


def test_another_target_is_named(printed: Callable[..., str]) -> None:
    with options.override(target="sse2"):
        assert "x86-64, as WEFT_TARGET says: 16 registers of 128 bits; sse2" in " ".join(
            printed().split()
        )


@pytest.mark.parametrize(
    ("used", "mine", "cores", "limit"),
    [
        *((8, 8, 8, "cores"), (4, 4, 8, "affinity"), (2, 4, 8, "WEFT_NUM_THREADS")),
        *((8, None, 8, "cores"), (2, None, 8, "WEFT_NUM_THREADS")),
    ],
)
def test_what_limits_the_threads_is_told(
    used: int,
    mine: int | None,
    cores: int,
    limit: str,
    monkeypatch: pytest.MonkeyPatch,
    printed: Callable[..., str],
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    if mine is None:
        monkeypatch.delattr("os.sched_getaffinity", raising=False)
    else:
        monkeypatch.setattr("os.sched_getaffinity", lambda pid: range(mine), raising=False)
    with options.override(num_threads=used):
        assert surroundings.threads() | {"quota": None} == {
            "used": used, "allowed": mine, "cores": cores, "limit": limit, "quota": None,
        }  # fmt: skip
        assert f"threads      {used}" in printed()


def test_a_quota_of_the_container_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(surroundings, "_QUOTA", tmp_path / "cpu.max")
    with options.override(num_threads=2):
        assert "the container gives the time of 1.5 cores" in " ".join(printed().split())
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert surroundings.threads()["quota"] is None


def test_memory_and_large_pages_are_those_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meminfo").write_text(
        "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n"
    )
    (tmp_path / "enabled").write_text("always [madvise] never\n")
    (tmp_path / "memory.max").write_text("max\n")
    for place, name in (("_MEMORY", "meminfo"), ("_PAGES", "enabled"), ("_LEAST", "memory.max")):
        monkeypatch.setattr(surroundings, place, tmp_path / name)
    assert surroundings.memory() == {"total": 1024000, "available": 614400, "container": None}
    assert surroundings.large_pages() == "madvise"


def test_figures_are_shown_where_they_are_known(
    monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    assert "not yet; python -m weft devices --measure" in printed()
    monkeypatch.setattr(machines, "known", lambda device: FAST)
    assert "40 GB/s from memory, 200 GB/s from the last cache; 500 Gflop/s in float32" in " ".join(
        printed().split()
    )


def test_figures_are_measured_when_asked_for(printed: Callable[..., str]) -> None:
    assert facts(printed, "--measure")["cpu"]["machine"]["bandwidth"] == 40e9


def test_known_figures_are_those_that_were_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(machines, "_known", {})
    monkeypatch.setitem(
        machines.MEASURING,
        "cpu",
        lambda _: ("a machine of a test", lambda: nullcontext(lambda: FAST)),
    )
    store = cache.DiskCache(tmp_path)
    monkeypatch.setattr(cache, "default", lambda: store)
    assert machines.known() is None
    measured = machines.machine()
    assert measured == machines.known() and measured.memory.read.rate == 40e9
    machines._known.clear()
    assert machines.known() == measured, "from the disk"


def test_what_is_missing_is_listed_with_its_command(
    monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    versions = {"safetensors": None, "tqdm": None}
    monkeypatch.setattr(surroundings, "_version", lambda name: versions.get(name, "1.2.3"))
    behind = printed().split("missing, and how to install it\n")[1]
    assert (
        "pip install safetensors" in behind
        and "pip install tqdm" in behind
        and "pip install numpy" not in behind
    )


def test_one_compiler_for_gpus_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def names(**versions: str) -> set[str]:
        rows = [{"name": name, "version": versions.get(name)} for name in ("NVRTC", "nvcc", "tqdm")]
        return {p["name"] for p in surroundings.missing(rows)}

    assert names() == {"NVRTC", "nvcc", "tqdm"} and names(nvcc="13.0") == names(NVRTC="13.0") == {
        "tqdm"
    }


def test_versions_are_those_of_the_installed_packages(printed: Callable[..., str]) -> None:
    found = {p["name"]: p["version"] for p in facts(printed)["packages"]}
    assert found["numpy"] == importlib.metadata.version("numpy") and found[
        "llvmlite"
    ] == importlib.metadata.version("llvmlite")


@pytest.mark.usefixtures("_bare")
@pytest.mark.parametrize("arguments", [(), ("--json",), ("--measure",)], ids=" ".join)
def test_a_machine_with_nothing_is_described(
    arguments: tuple[str, ...], printed: Callable[..., str]
) -> None:
    text = printed(*arguments)
    assert "pip install numpy" in text and "pip install nvidia-cuda-nvrtc" in text


@needs_compiler
def test_a_gpu_is_listed_with_what_it_has(printed: Callable[..., str]) -> None:
    driver = device()
    found = facts(printed)
    (gpu,) = (gpu for gpu in found["gpus"] if gpu["device"] == "cuda:0")
    assert (gpu["name"], gpu["arch"], gpu["memory"]) == (
        driver.name,
        driver.arch,
        driver.total_memory,
    )
    assert found["no_gpu"] is None
    assert (
        f"cuda:0: {driver.name}\n  architecture {driver.arch}, {driver.multiprocessors}"
        " multiprocessors" in printed()
    )


def test_the_version_of_a_driver_is_that_of_cuda(
    monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    cuda = SimpleNamespace(get_driver_version=lambda: 13010)
    h100 = SimpleNamespace(
        cuda=cuda,
        name="H100",
        arch="sm_90",
        total_memory=85e9,
        multiprocessors=132,
        shared_limit=232448,
    )
    monkeypatch.setattr(surroundings.devices, "available", lambda: (0,))
    monkeypatch.setattr(surroundings.devices, "driver", lambda number: h100)
    assert (
        facts(printed)["gpus"][0]["driver"] == "13.1" and "driver       for CUDA 13.1" in printed()
    )


def test_without_a_gpu_it_says_why(
    monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setattr(
        devices,
        "_pycuda",
        [wf.errors.DeviceError(f"device 'cuda' needs PyCUDA. {devices.USE_CPU}")],
    )
    assert "no GPU\n  why          device 'cuda' needs PyCUDA\n" in printed()


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, printed: Callable[..., str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, printed("--measure").splitlines())) <= columns


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["devices", "--help"])
    text = capsys.readouterr().out
    assert all(
        word in text
        for word in ("--measure", "--json", "WEFT_NUM_THREADS", "WEFT_TARGET", "exit status")
    )
