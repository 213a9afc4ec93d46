"""CUDA images, compiled once. In: the text of kernels, an architecture. Out: a Built, from the disk where it has one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict

from ...codegen.cuda import build
from ...codegen.cuda.built import Built, Usage
from ...codegen.cuda.compiler import options
from .. import cache

FORMAT = "CUDA image 1"


def cached(text: str, arch: str) -> Built:
    """`build.compile_text`, with its errors, unless the disk has what it would give."""
    compiler = build.compiler()
    key = _key(text, arch, f"{compiler.name} {compiler.version}")
    stored = cache.default().get(key)
    if stored is not None:
        return _unpacked(stored)
    built = build.compile_text(text, arch, compiler)
    cache.default().put(key, _packed(built), "cuda")
    return built


def _key(text: str, arch: str, compiler: str) -> str:
    material = [FORMAT, text, build.headers(), options(arch, "cubin"), compiler]
    return hashlib.sha256(repr(material).encode()).hexdigest()


def _packed(built: Built) -> bytes:
    report = {name: asdict(usage) for name, usage in built.report.items()}
    return json.dumps(report).encode() + b"\n" + built.image


def _unpacked(data: bytes) -> Built:
    report, _, image = data.partition(b"\n")
    return Built(image, {name: Usage(**figures) for name, figures in json.loads(report).items()})
