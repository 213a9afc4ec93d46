"""The common part of the schedules of both targets: axes, stages, problems taken apart."""
