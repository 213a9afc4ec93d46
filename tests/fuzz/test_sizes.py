"""Random expressions and networks at several sizes: a program that serves many has the bits of
those that serve one."""

from __future__ import annotations

import cudakit
import fuzz_sizes
import pytest
from effort import rarely
from random_networks import Network
from sized_calls import CASES, Call

SEEDS = 42
OFTEN = ("batch norm",)  # of the calls


@pytest.mark.parametrize("first", [0, *rarely(*range(3, SEEDS, 3))])
def test_bits_are_those_of_a_program_of_each_size(first: int) -> None:
    assert fuzz_sizes.failing(range(first, first + 3)) == {}


@pytest.mark.parametrize("first", [32, *rarely(*range(0, 30, 2))])
def test_bits_of_networks_are_those_of_a_program_of_each_size(first: int) -> None:
    assert fuzz_sizes.failing(range(first, first + 2), Network) == {}


@pytest.mark.parametrize("name", [*OFTEN, *rarely(*(name for name in CASES if name not in OFTEN))])
def test_bits_of_calls_are_those_of_a_program_of_each_size(name: str) -> None:
    assert fuzz_sizes.differing(Call(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, 1042, 100))
def test_bits_of_a_thousand_more(first: int) -> None:
    assert fuzz_sizes.failing(range(first, first + 100)) == {}


@cudakit.needs_compiler
@pytest.mark.parametrize("first", [0, *rarely(*range(2, 20, 2))])
def test_bits_on_a_gpu_are_those_of_a_program_of_each_size(first: int) -> None:
    cudakit.device()
    assert fuzz_sizes.failing(range(first, first + 2), device="cuda") == {}
