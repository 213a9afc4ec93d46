"""The schedule that is chosen for kernels of real networks is as fast as any other, by times that
benchmarks/schedules.py has recorded on some processors."""

from __future__ import annotations

import json

import pytest
import real_kernels as real
from weft.codegen.cpu.candidates import Candidate
from weft.codegen.cpu.lowering import lower_kernel
from weft.codegen.cpu.settings import Settings
from weft.codegen.llvm.target import Target

MOST = 1.25  # times as long as the fastest
RECORDS = {path.stem: json.loads(path.read_text()) for path in real.RECORDS.glob("*.json")}


@pytest.mark.thinned(to=15)
@pytest.mark.parametrize("name", real.CASES)
@pytest.mark.parametrize("cpu", RECORDS)
def test_the_chosen_way_is_among_the_fastest(cpu: str, name: str) -> None:
    target, seconds = Target(**RECORDS[cpu]["target"]), RECORDS[cpu]["seconds"][name]
    kernel, strides = real.heaviest(name, target)
    lowered = lower_kernel(kernel, strides, Settings(target))
    chosen = real.key(Candidate(lowered.choices[0].schedule, 0, lowered))
    assert chosen in seconds, f"{chosen} has no time: benchmarks/schedules.py records it"
    best = min(seconds, key=seconds.get)
    assert seconds[chosen] <= MOST * seconds[best], f"{chosen} is slower than {best}"


def test_there_are_sixty_cases_and_a_record() -> None:
    assert len(real.CASES) == 60 and RECORDS
