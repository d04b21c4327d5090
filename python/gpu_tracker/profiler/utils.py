"""Units of time, as SMDebug names them."""
from __future__ import annotations

import numbers
from enum import Enum

__all__ = ["TimeUnits"]


class TimeUnits(Enum):
    """What a time is told in."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


_NANOSECONDS = {TimeUnits.SECONDS: 10**9, TimeUnits.MILLISECONDS: 10**6, TimeUnits.MICROSECONDS: 10**3,
                TimeUnits.NANOSECONDS: 1}


def in_microseconds(time: float, unit: TimeUnits) -> float:
    """A time in microseconds."""
    if not isinstance(time, numbers.Real):
        raise ValueError(f"time {time!r}: it is a number")
    factor = _NANOSECONDS[TimeUnits(unit)]
    if isinstance(time, int) and time * factor % 1000 == 0:
        return time * factor // 1000
    return time * factor / 1000


def interval_in_microseconds(start_time: float, end_time: float, unit: TimeUnits) -> tuple[float, float]:
    """Both ends of an interval in microseconds; ValueError where it ends before its start."""
    start, end = in_microseconds(start_time, unit), in_microseconds(end_time, unit)
    if start > end:
        raise ValueError(f"start_time {start_time} is after end_time {end_time}")
    return start, end
