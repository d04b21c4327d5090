"""Units of time with SMDebug's names."""
from __future__ import annotations

import numbers
from enum import Enum

__all__ = ["TimeUnits"]


class TimeUnits(Enum):
    """Unit of a time."""

    SECONDS = 1
    MILLISECONDS = 2
    MICROSECONDS = 3
    NANOSECONDS = 4


_NANOSECONDS = {TimeUnits.SECONDS: 10**9, TimeUnits.MILLISECONDS: 10**6, TimeUnits.MICROSECONDS: 10**3,
                TimeUnits.NANOSECONDS: 1}


def in_microseconds(time: float, unit: TimeUnits) -> float:
    """Convert a time to microseconds."""
    if not isinstance(time, numbers.Real):
        raise ValueError(f"time {time!r} is not a number")
    factor = _NANOSECONDS[TimeUnits(unit)]
    if isinstance(time, int) and time * factor % 1000 == 0:
        return time * factor // 1000
    return time * factor / 1000


def interval_in_microseconds(start_time: float, end_time: float, unit: TimeUnits) -> tuple[float, float]:
    """Convert an interval to microseconds. Raise ValueError if it ends before its start."""
    start, end = in_microseconds(start_time, unit), in_microseconds(end_time, unit)
    if start > end:
        raise ValueError(f"start_time {start_time} is after end_time {end_time}")
    return start, end
