"""Kernels beside the limits of their device. In: a Report, seconds. Out: predictions; true limits.

A kernel that was faster than a limit allows shows that the limit was measured too low, as happens
on a busy machine. Then it is raised, kept and measured again, so that whoever asks later, of
whatever program, is told the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...runtime.memory.devices import CPU
from ..explain.kernel import KernelReport
from ..explain.report import Report
from .machine import machine, raise_to
from .roofline import Machine


def predicted(report: Report, m: Machine) -> Report:
    """With the seconds that the roofline predicts for each kernel, and what bounds it."""
    resident = m.fits(report.memory.peak_bytes)
    return replace(
        report, kernels=[_predicted(k, *m.seconds(k.demand, resident)) for k in report.kernels]
    )


def timed(report: Report, seconds: Sequence[float]) -> Report:
    """With the seconds that each kernel took."""
    return replace(
        report,
        kernels=[replace(k, measured=s) for k, s in zip(report.kernels, seconds, strict=True)],
    )


def judged(report: Report, whole: float | None = None) -> tuple[Report, Machine]:
    """A timed Report, with predictions that hold, and the limits of its device, which none of the
    kernels beats.

    `whole`: seconds of all kernels, if that was measured apart. Raises DeviceError.
    """
    total = report.measured or 0.0
    scale = min(1.0, whole / total) if whole is not None and total else 1.0
    least = [(k.measured or 0.0) * scale for k in report.kernels]
    m = known = machine(report.device)
    for k, seconds in zip(report.kernels, least, strict=True):
        m = _shown(m, k, seconds, report.device)
    if m is not known:
        m = raise_to(report.device, m)
    kernels = [
        _held(k, seconds, m) for k, seconds in zip(predicted(report, m).kernels, least, strict=True)
    ]
    return replace(report, kernels=kernels), m


def _shown(m: Machine, k: KernelReport, seconds: float, device: str) -> Machine:
    """The limits, as far as this kernel shows that they are higher."""
    if seconds <= 0:
        return m
    if device == CPU:  # a GPU multiplies matrices in units that are not measured
        m = m.computed_in(k.sure, seconds)
    return m.moved_in(k.sure, seconds)


def _held(k: KernelReport, seconds: float, m: Machine) -> KernelReport:
    """With a prediction that is not above what was measured: what was thought to be in memory may
    have been in a cache."""
    if k.predicted is None or k.predicted <= seconds:
        return k
    nearer, bound = m.seconds(k.demand, resident=True)
    return _predicted(k, min(nearer, seconds), bound)


def _predicted(k: KernelReport, seconds: float, bound: str) -> KernelReport:
    return replace(k, predicted=seconds, bound=bound)
