"""NVRTC through ctypes. In: CUDA C, headers, options. Out: a cubin or PTX, and the compiler's
log."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
from collections.abc import Iterable, Iterator
from functools import cache, partial

from . import toolkit
from .toolkit import Compiler, Output, Refused

MAJORS = (13, 12)  # of libnvrtc.so.<major>


@cache
def find() -> Compiler | None:
    """NVRTC, if a wheel, a toolkit or the loader's path has it."""
    library = _load()
    if library is None:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return Compiler("NVRTC", f"{major.value}.{minor.value}", partial(_run, library))


def _load() -> ctypes.CDLL | None:
    for major in MAJORS:
        for path in [*toolkit.libraries(f"libnvrtc.so.{major}"), f"libnvrtc.so.{major}"]:
            with contextlib.suppress(OSError):
                _load_builtins(os.path.dirname(path))
                return ctypes.CDLL(path)
    return None


def _load_builtins(folder: str) -> None:
    """NVRTC opens this library by its bare name, which finds it beside NVRTC only if it is loaded
    already."""
    for path in (
        glob.glob(os.path.join(glob.escape(folder), "libnvrtc-builtins.so.*")) if folder else ()
    ):
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def _run(
    library: ctypes.CDLL, text: str, headers: dict[str, str], options: list[str], output: Output
) -> tuple[bytes, str]:
    with _program(library, text, headers) as program:
        status = library.nvrtcCompileProgram(program, len(options), _strings(options))
        log = _take(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if status:
            raise Refused(log or _error(library, status))
        return _take(library, program, {"cubin": "CUBIN", "ptx": "PTX"}[output]), log


@contextlib.contextmanager
def _program(library: ctypes.CDLL, text: str, headers: dict[str, str]) -> Iterator[ctypes.c_void_p]:
    program = ctypes.c_void_p()
    given = len(headers), _strings(headers.values()), _strings(headers)
    _check(
        library,
        library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", *given),
    )
    try:
        yield program
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _strings(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def _take(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    """The result of nvrtcGet<what>, whose length nvrtcGet<what>Size gives."""
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _check(library: ctypes.CDLL, status: int) -> None:
    if status:
        raise Refused(_error(library, status))


def _error(library: ctypes.CDLL, status: int) -> str:
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return f"NVRTC: {library.nvrtcGetErrorString(status).decode()}"
