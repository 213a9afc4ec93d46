"""What schedules of both targets share: axes, frames, stages, problems taken apart."""
