"""Units of time, as SMDebug names them."""
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
