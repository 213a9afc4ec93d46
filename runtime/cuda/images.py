"""CUDA images on disk. In: the name of a kernel, an architecture, a Built. Out: the same Built in a
later process."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from ...codegen.cuda.toolchain import build
from ...codegen.cuda.toolchain.build import Built, Usage
from ...codegen.cuda.toolchain.toolkit import flags
from .. import cache

FORMAT = "CUDA image 1"


def find(name: str, arch: str) -> Built | None:
    """What was kept under the name: a hash of all that the kernel's text depends on."""
    stored = cache.default().get(_key(name, arch))
    return None if stored is None else _unpacked(stored)


def keep(name: str, arch: str, built: Built) -> None:
    """Leaves it to later processes that have the same compiler and headers."""
    cache.default().put(_key(name, arch), _packed(built), "cuda")


def _key(name: str, arch: str) -> str:
    compiler = build.compiler()
    material = [
        FORMAT,
        name,
        build.headers(),
        flags(arch, "cubin"),
        compiler.name,
        compiler.version,
    ]
    return hashlib.sha256(repr(material).encode()).hexdigest()


def _packed(built: Built) -> bytes:
    report = {name: asdict(usage) for name, usage in built.report.items()}
    return json.dumps(report).encode() + b"\n" + built.image


def _unpacked(data: bytes) -> Built:
    report, _, image = data.partition(b"\n")
    return Built(image, {name: Usage(**figures) for name, figures in json.loads(report).items()})
