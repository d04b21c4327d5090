"""Arithmetic of curves: lists of ``{"date": seconds, "value": number or None}``, linear between points."""
import bisect
import math
from typing import Any

Points = list[dict[str, Any]]

_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")


def _pairs(points: Points) -> list[tuple[float, float]]:
    """Return dates and values, with NaN for None."""
    return [(float(point["date"]), math.nan if (value := point["value"]) is None else float(value)) for point in points]


def known(value: float) -> float | None:
    return None if math.isnan(value) else value


def integrate(points: Points, start: float | None, end: float | None) -> list[float | None]:
    """Return the integral from the first point in the bounds to each point. Next to a missing value it is None and adds 0."""
    kept = [(date, value) for date, value in _pairs(points)
            if (start is None or date >= start) and (end is None or date <= end)]
    sums: list[float | None] = [0.0] if kept else []
    total = 0.0
    for (begin, before), (date, value) in zip(kept, kept[1:]):
        part = (date - begin) * (value + before) / 2
        total += 0.0 if math.isnan(part) else part
        sums.append(None if math.isnan(part) else total)
    return sums


def _at(pairs: list[tuple[float, float]], dates: list[float], moment: float) -> float:
    after = bisect.bisect_left(dates, moment)
    if after in (0, len(dates)) or dates[after] == moment:
        return pairs[min(after, len(dates) - 1)][1]
    (begin, before), (end, value) = pairs[after - 1 : after + 1]
    return before + (value - before) * (moment - begin) / (end - begin)


def align(first: Points, second: Points) -> tuple[Points, Points]:
    """Return both curves at the dates of both curves."""
    curves = [sorted(_pairs(points)) for points in (first, second)]
    if not all(curves):
        raise ValueError("cannot interpolate a curve without points")
    moments = sorted({date for pairs in curves for date, _ in pairs})
    aligned = []
    for pairs in curves:
        dates = [date for date, _ in pairs]
        aligned.append([{"date": moment, "value": known(_at(pairs, dates, moment))} for moment in moments])
    return aligned[0], aligned[1]


def running_sums(points: Points) -> list[Any]:
    """Return the sum of the values up to each point."""
    total = 0.0
    sums = []
    for _, value in _pairs(points):
        total += value
        sums.append(known(total))
    return sums


def split(dates: list[float], values: list[Any], ends: list[float]) -> list[Points]:
    """Split a curve into segments: a date after ``ends[i]`` is in segment i + 1 or later. Values of None are left out."""
    segments: dict[int, Points] = {}
    number = 0
    for date, value in zip(dates, values):
        while number < len(ends) and date > ends[number]:
            number += 1
        if value is not None:
            segments.setdefault(number, []).append({"date": date, "value": value})
    return list(segments.values())


def bytes_text(number: float, suffix: str) -> str:
    """Return bytes as text: "4.6GiB"."""
    unit = 0
    while abs(number) >= 1024 and unit + 1 < len(_UNITS):
        number /= 1024
        unit += 1
    return f"{number:.1f}{_UNITS[unit]}{suffix}"


def scaled(values: Any, factor: float, divisor: float) -> Any:
    """Multiply a number, a sequence or the values of a dict by factor / divisor."""
    if isinstance(values, dict):
        return {key: float(value) * factor / divisor for key, value in values.items()}
    try:
        return [float(value) * factor / divisor for value in values]
    except TypeError:
        return float(values) * factor / divisor
