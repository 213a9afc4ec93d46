"""One safetensors file. In: Tensors by name and a text. Out: the file, whole or not at all; and
from a file what it holds.

The format (github.com/huggingface/safetensors): the length of a header, the header in JSON, the
elements of all Tensors.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..frontend import ops
from ..frontend.lazy.realize import value
from ..frontend.tensor.tensor import Tensor, wrap
from ..ir.graph import dtype as dt
from ..ir.graph.dtype import DType
from ..runtime.memory import storage
from ..runtime.memory.storage import Storage

Array = np.ndarray[Any, np.dtype[Any]]

# of checksum and text, in the header's metadata: one key, since safetensors writes several in no
# fixed order
KEY = "weft"
NAMES = {
    **{
        "BOOL": dt.bool_,
        "I8": dt.int8,
        "I16": dt.int16,
        "I32": dt.int32,
        "I64": dt.int64,
        "U8": dt.uint8,
        "U16": dt.uint16,
    },
    **{
        "U32": dt.uint32,
        "U64": dt.uint64,
        "F16": dt.float16,
        "BF16": dt.bfloat16,
        "F32": dt.float32,
        "F64": dt.float64,
        "C64": dt.complex64,
    },
}
OTHERS = {  # by their first bytes
    b"PK\x03\x04": "a zip file, as torch.save and np.savez write",
    **dict.fromkeys(
        (b"\x80\x02\x8a", b"\x80\x04\x95", b"\x80\x05\x95"),
        "a pickle, as torch.save wrote in earlier versions",
    ),
    b"\x93NUMPY": "an array, as np.save writes",
    b"\x89HDF": "an HDF5 file, as Keras writes",
}
OTHERS_ADVICE = (
    "write it with safetensors.torch.save_file(model.state_dict(), path), or load arrays with"
    " load_state_dict"
)


class CheckpointError(errors.WeftError, ValueError):
    """A checkpoint that is damaged, of another kind, or does not fit what it is loaded into.

    >>> nn.save("step.safetensors", weight=wf.ones(3))
    >>> try:
    ...     nn.load("step.safetensors", weight=wf.ones(4))
    ... except nn.CheckpointError as error:
    ...     print(error)
    step.safetensors: weight: it has shape (4,), but the state has (3,)
    """


class CheckpointFileError(CheckpointError, OSError):
    """A checkpoint that cannot be read or written: it is not there, or the disk is full.

    >>> try:
    ...     nn.load("missing.safetensors")
    ... except OSError as error:
    ...     print(error)
    missing.safetensors: cannot be read: No such file or directory
    """


def safetensors(version: str = "0.8") -> Any:
    """The package. Raises MissingPackageError where there is none, or an older one."""
    try:
        package = import_module("safetensors")
        if hasattr(package, "TensorSpec"):
            return package
    except ImportError:
        pass
    raise errors.MissingPackageError(
        f"checkpoints need safetensors {version} or later: pip install 'safetensors>={version}'"
    )


# ---------------------------------------------------------------- to a file


def realized(tensors: Mapping[str, Tensor]) -> dict[str, Storage]:
    """Each one's memory, in row-major order; all that is lazy is computed by one program."""
    ops.realize(*tensors.values())
    dense = {name: t if value(t).is_contiguous else t.contiguous() for name, t in tensors.items()}
    ops.realize(*dense.values())
    return {name: value(t) for name, t in dense.items()}


def write(path: Path, parts: Mapping[str, Storage], text: str) -> None:
    """Replaces the file. Raises CheckpointFileError, and leaves the old one, if it cannot be
    written to the end."""
    package = safetensors()
    for name, s in parts.items():
        if s.dtype not in NAMES.values():
            raise CheckpointFileError(
                f"{path}: cannot be written: safetensors has no {s.dtype.name}, which {name} is:"
                " save x.real and x.imag, or complex64"
            )
    parts = {name: storage.on_host(s) for name, s in parts.items()}
    specs = {
        name: package.TensorSpec(
            dtype=s.dtype.name,
            shape=s.shape,
            data_ptr=s.address,
            data_len=s.dtype.itemsize * prod(s.shape),
        )
        for name, s in parts.items()
    }
    try:
        with _replacing(path) as temporary:
            package.serialize_file(
                specs, temporary, {KEY: f"{checksum(_elements(parts), text)} {text}"}
            )
    except (OSError, ValueError, package.SafetensorError) as error:
        raise CheckpointFileError(f"{path}: cannot be written: {_reason(error)}") from error


def _elements(parts: Mapping[str, Storage]) -> dict[str, tuple[DType, Array]]:
    return {name: (s.dtype, s.peek_raw()) for name, s in parts.items()}


def checksum(elements: Mapping[str, tuple[DType, Array]], text: str) -> str:
    """The CRC-32 of a file's content: names, dtypes, shapes and elements in the order of the names,
    then the text."""
    checksum = 0
    for name, (dtype, array) in sorted(elements.items()):
        checksum = zlib.crc32(f"{name} {dtype.name} {array.shape}".encode(), checksum)
        checksum = zlib.crc32(array.reshape(-1).view(np.uint8).data, checksum)
    return f"{zlib.crc32(text.encode(), checksum):08x}"


def _reason(error: Exception) -> str:
    """What the system says, or safetensors."""
    plain = re.sub(
        r"^Error while (de)?serializing: (I/O error: )?| \(os error \d+\)$", "", str(error)
    )
    return getattr(error, "strerror", None) or plain


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when it is complete and on the disk, and is removed
    if that fails."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.touch(exist_ok=False)
        rights = (target if target.exists() else temporary).stat().st_mode
        yield temporary
        temporary.chmod(rights)  # safetensors leaves its files to their owner alone
        _flush(temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    with suppress(
        OSError
    ):  # the file is complete; what may be lost with the power is that it is the new one
        _flush(target.parent)


def _flush(path: Path) -> None:
    """To the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ---------------------------------------------------------------- from a file


def read(path: Path) -> tuple[dict[str, tuple[DType, Array]], str | None]:
    """(elements by name, the text or None). Raises CheckpointError for anything but a whole
    safetensors file."""
    package = safetensors()
    try:
        data = path.read_bytes()
        parts = dict(package.deserialize(data))
    except (OSError, ValueError) as error:
        raise CheckpointFileError(f"{path}: cannot be read: {_reason(error)}") from error
    except package.SafetensorError as error:
        kind = next((text for start, text in OTHERS.items() if data.startswith(start)), None)
        what = (
            "not a safetensors file, or damaged"
            if kind is None
            else f"this is {kind}, not a safetensors file"
        )
        raise CheckpointError(
            f"{path}: {what}: {_reason(error) if kind is None else OTHERS_ADVICE}"
        ) from None
    elements = {name: _part(path, name, **part) for name, part in parts.items()}
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    kept = (header.get("__metadata__") or {}).get(KEY)
    if kept is None:
        return elements, None
    written, _, text = kept.partition(" ")
    if written != checksum(elements, text):
        raise CheckpointError(f"{path}: damaged: its content is not what was written")
    return elements, text


def _part(
    path: Path, name: str, dtype: str, shape: list[int], data: bytearray
) -> tuple[DType, Array]:
    if dtype not in NAMES:
        raise CheckpointError(
            f"{path}: {name} has elements of type {dtype}; Weft has {', '.join(NAMES)}"
        )
    known = NAMES[dtype]
    try:
        return known, np.frombuffer(data, known.carrier).reshape(shape)
    except ValueError as error:  # too many axes, or no elements but a size beyond all memory
        raise CheckpointError(
            f"{path}: {name} has shape {tuple(shape)}, which no array has ({error})"
        ) from None


def as_tensor(dtype: DType, array: Array) -> Tensor:
    """A Tensor of a copy of these elements."""
    return wrap(storage.leaf(storage.from_raw(array, dtype, array.shape)))
