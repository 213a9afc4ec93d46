"""Kernels under ThreadSanitizer: python -m cuda_emulator.races -m cuda_emulator.race_cases. Out:
JSON, the error of each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cuda_emulator import samples
from cuda_emulator.driver import EmulatorDriver, EmulatorError
from cuda_emulator.launching import run

ROWS = np.ones((3, 1024), np.float32)
SQUARE = np.ones((32, 32), np.float32)
LINE = np.ones(2048, np.float32)
HALVES = np.ones((16, 32), np.uint16)
RIGHT: dict[str, tuple[Any, ...]] = {
    "softmax": (samples.SOFTMAX, 3, 256, [ROWS, ROWS, 1024]),
    "matmul": (samples.MATMUL, 4, 256, [SQUARE, SQUARE, SQUARE, 32], 2048),
    "pipeline": (samples.PIPELINE, 1, 128, [LINE, LINE, 4], 8192),
    "tile": (samples.tile("bf16"), 1, 32, [HALVES, HALVES[:, :16], SQUARE, 32], 768),
    "checks": (samples.CHECKS, 2, 64, [np.arange(128), LINE, 3]),
}
WRONG: dict[str, tuple[Any, ...]] = {
    **{
        f"matmul {n}": (samples.with_fault(samples.MATMUL, n), *RIGHT["matmul"][1:]) for n in (1, 2)
    },
    **{
        f"pipeline {n}": (samples.with_fault(samples.PIPELINE, n), *RIGHT["pipeline"][1:])
        for n in (1, 2)
    },
    **{
        f"tile {n}": (samples.with_fault(samples.tile("bf16"), n), *RIGHT["tile"][1:])
        for n in (1, 2)
    },
    "overlapping": (samples.OVERLAPPING, 2, 32, [LINE]),
}


def told(driver: EmulatorDriver, case: tuple[Any, ...]) -> str:
    """The error that a launch raised, or nothing."""
    try:
        run(driver, *case)
    except EmulatorError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    driver = EmulatorDriver()
    cases = RIGHT | WRONG
    driver.build_many([text for text, *_ in cases.values()])
    print(json.dumps({name: told(driver, case) for name, case in cases.items()}))
