"""Machines whose limits are round numbers. In: those numbers. Out: a Machine that reads and writes
alike."""

from __future__ import annotations

from weft.inspection.machine.roofline import Figure, Machine, Place


def place(size: int, rate: float, private: bool = False) -> Place:
    return Place(size, *[Figure(rate, 2, 2)] * 3, private)


def machine_of(
    name: str,
    threads: int,
    bandwidth: float,
    cache_bandwidth: float,
    cache_bytes: int,
    flops: dict[str, float],
    launch: float,
    inner: tuple[tuple[int, float], ...] = (),
) -> Machine:
    """`inner`: the nearer caches, of which each core has its own."""
    near = [place(size, rate, private=True) for size, rate in inner]
    peaks = {dtype: Figure(rate, 2, 2) for dtype, rate in flops.items()}
    places = (*near, place(cache_bytes, cache_bandwidth), place(0, bandwidth))
    return Machine(name, threads, places, peaks, Figure(1 / launch, 2, 2))
