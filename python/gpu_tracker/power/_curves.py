"""Curves: conversion between the library and AIPowerMeter's drivers, and arithmetic.

Points of a curve are ``{"date": seconds, "value": number or None}``, linear between them.
"""
import bisect
import datetime
import json
import math
from collections.abc import Sequence
from typing import Any

from .. import _core

GROUPS = ("CPU", "GPU", "Experiment", "wattmeter")

Points = list[dict[str, Any]]
Segments = list[list[dict[str, float]]]


class Cards(dict[Any, Any]):
    """Values by the number of the GPU. ``cards["0"]`` is ``cards[0]``, because programs that read JSON use text."""

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, str) and key.isdigit() and int(key) in self:
            return self[int(key)]
        raise KeyError(key)


def card(device: str | None) -> Any:
    """Return the number of a GPU; other names are unchanged."""
    return int(device) if device is not None and device.isdigit() else device


def keyed(text: str) -> Any:
    """Parse JSON and convert numeric keys (processes, GPUs) to numbers."""
    return json.loads(text, object_hook=lambda found: Cards((card(key), value) for key, value in found.items()))


def text_of(value: Any) -> str:
    """Return JSON of a program's values: arrays of one number become numbers, NaN becomes null."""
    return json.dumps(_plain(value))


def record_of(metrics: dict[str, Any]) -> str:
    """Return a line of a folder: metrics with the present date."""
    date = datetime.datetime.now().astimezone().isoformat(" ", "microseconds")
    return json.dumps({"date": date, "metrics": _plain(metrics)}) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    number = float(value)
    return number if number - number == 0 else None  # neither NaN nor infinite


def sources_of(metric: str, root: str | None) -> tuple[bool, str]:
    """Return whether this machine has a metric, and a description of its sources."""
    tree = json.loads(_core.report_text(_core.doctor(root), "json"))
    found = next(row for row in tree["metrics"] if row["metric"] == metric)
    rows = [row for row in tree["sources"] if row["source"] in found["sources"].split(", ")]
    return found["state"] == "ready", "; ".join(
        row["interface"] + (f": {row['reason']}" if row["reason"] else "") + (f" ({row['remedy']})" if row["remedy"] else "")
        for row in rows)


def as_metrics(recording: _core.Handle, wanted: str) -> dict[str, Any] | None:
    """Return the curves of a group as ``{name: {"dates": [...], "values": [...]}}``, GPU curves by GPU; None if empty."""
    metrics: dict[str, Any] = {}
    for index, (group, name, device) in enumerate(_core.experiment_curves(recording)):
        if group != wanted:
            continue
        points = [point for segment in _core.experiment_points(recording, index) for point in segment]
        dates: list[Any] = [point["date"] for point in points]
        if group != "wattmeter":
            dates = [datetime.datetime.fromtimestamp(date) for date in dates]
        curve = {"dates": dates, "values": [point["value"] for point in points]}
        if device is None:
            metrics[name] = curve
        else:
            metrics.setdefault(name, Cards())[card(device)] = curve
    return metrics or None


def segment_ends(recording: _core.Handle) -> list[datetime.datetime]:
    """Return the last dates of all segments except the last segment."""
    groups = [group for group, _, _ in _core.experiment_curves(recording)]
    curves = (_core.experiment_points(recording, i) for i, group in enumerate(groups) if group in GROUPS[:2])
    longest: Segments = max(curves, key=len, default=[])
    return [datetime.datetime.fromtimestamp(points[-1]["date"]) for points in longest[:-1]]


def seconds_of(date: Any) -> float:
    """Convert a datetime to seconds since the epoch. A number is returned as it is."""
    return float(date.timestamp() if hasattr(date, "timestamp") else date)


def of_driver(driver: Any) -> _core.Handle:
    """Return the curves of a user's driver as a recording."""
    ends = [seconds_of(date) for date in driver.get_segments()] if hasattr(driver, "get_segments") else []
    curves: list[tuple[str, str, str | None, Segments]] = []

    def take(group: str, name: str, device: str | None, metric: dict[str, Sequence[Any]]) -> None:
        dates = [seconds_of(date) for date in metric["dates"]]
        curves.append((group, name, device, split(dates, list(metric["values"]), ends)))

    for group, metrics in zip(GROUPS, driver.load_metrics()):
        for name, metric in (metrics or {}).items():
            if "dates" in metric:
                take(group, name, None, metric)
            else:
                for device, of_device in metric.items():
                    take(group, name, str(device), of_device)
    return of_curves(curves)


def of_curves(curves: list[tuple[str, str, str | None, Segments]]) -> _core.Handle:
    """Return curves (group, name, device, segments) as a recording."""
    return _core.experiment_of_points([
        (group, name, device, number, date, value) for group, name, device, segments in curves
        for number, points in enumerate(segments) for date, value in pairs_of(points)])


# ---- arithmetic ----

def pairs_of(points: Points) -> list[tuple[float, float]]:
    """Return dates and values, with NaN for None."""
    return [(float(point["date"]), math.nan if (value := point["value"]) is None else float(value)) for point in points]


def known(value: float) -> float | None:
    return None if math.isnan(value) else value


def integrate(points: Points, start: float | None, end: float | None) -> list[float | None]:
    """Return the integral from the first point in the bounds to each point. Next to a missing value it is None and adds 0."""
    kept = [(date, value) for date, value in pairs_of(points)
            if (start is None or date >= start) and (end is None or date <= end)]
    sums: list[float | None] = [0.0] if kept else []
    total = 0.0
    for (begin, before), (date, value) in zip(kept, kept[1:]):
        part = (date - begin) * (value + before) / 2
        total += 0.0 if math.isnan(part) else part
        sums.append(None if math.isnan(part) else total)
    return sums


def value_at(pairs: list[tuple[float, float]], dates: list[float], moment: float) -> float:
    after = bisect.bisect_left(dates, moment)
    if after in (0, len(dates)) or dates[after] == moment:
        return pairs[min(after, len(dates) - 1)][1]
    (begin, before), (end, value) = pairs[after - 1 : after + 1]
    return before + (value - before) * (moment - begin) / (end - begin)


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


def scaled(values: Any, factor: float, divisor: float) -> Any:
    """Multiply a number, a sequence or the values of a dict by factor / divisor."""
    if isinstance(values, dict):
        return {key: float(value) * factor / divisor for key, value in values.items()}
    try:
        return [float(value) * factor / divisor for value in values]
    except TypeError:
        return float(values) * factor / divisor
