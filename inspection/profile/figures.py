"""Figures of a measured run. In: seconds. Out: phases, rates, a verdict on the measuring."""

from __future__ import annotations

from dataclasses import dataclass

DISTURBED = (
    1.15  # times a run: kernels that take longer together were not measured on an idle machine
)


def is_disturbed(kernels: float, run: float) -> bool:
    """Do the kernels of a run take much longer together than the run did, measured apart."""
    return kernels > DISTURBED * run


@dataclass(frozen=True)
class Span:
    """A phase of a run: of which kernel, and from when to when, in seconds from the start."""

    kernel: int
    begin: float
    end: float


@dataclass(frozen=True)
class Rates:
    """What a kernel reached.

    Attributes: bytes and operations a second; `of_bandwidth` and `of_flops`, their fractions of
    what its threads can do at most, where the bytes lie; `of_roofline`, the time that the roofline
    predicts as a fraction of the measured one.
    """

    bandwidth: float
    flops: float
    of_bandwidth: float
    of_flops: float
    of_roofline: float
