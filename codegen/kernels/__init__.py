"""The common part of the schedules of both targets: axes, frames, stages, problems taken apart."""
