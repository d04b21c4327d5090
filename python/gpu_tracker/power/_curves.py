"""Conversion of curves between the library and AIPowerMeter's drivers."""
import datetime
import json
from collections.abc import Sequence
from typing import Any

from .. import _core
from . import _points

GROUPS = ("CPU", "GPU", "Experiment", "wattmeter")

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


def as_metrics(recording: _core.Experiment, wanted: str) -> dict[str, Any] | None:
    """Return the curves of a group as ``{name: {"dates": [...], "values": [...]}}``, GPU curves by GPU; None if empty."""
    metrics: dict[str, Any] = {}
    for index, (group, name, device) in enumerate(recording.curves()):
        if group != wanted:
            continue
        points = [point for segment in recording.points(index) for point in segment]
        dates: list[Any] = [point["date"] for point in points]
        if group != "wattmeter":
            dates = [datetime.datetime.fromtimestamp(date) for date in dates]
        curve = {"dates": dates, "values": [point["value"] for point in points]}
        if device is None:
            metrics[name] = curve
        else:
            metrics.setdefault(name, Cards())[card(device)] = curve
    return metrics or None


def segment_ends(recording: _core.Experiment) -> list[datetime.datetime]:
    """Return the last dates of all segments except the last segment."""
    curves = (recording.points(index) for index, (group, _, _) in enumerate(recording.curves()) if group in GROUPS[:2])
    longest: Segments = max(curves, key=len, default=[])
    return [datetime.datetime.fromtimestamp(points[-1]["date"]) for points in longest[:-1]]


def seconds_of(date: Any) -> float:
    """Convert a datetime to seconds since the epoch. A number is returned as it is."""
    return float(date.timestamp() if hasattr(date, "timestamp") else date)


def of_driver(driver: Any) -> _core.Experiment:
    """Return the curves of a user's driver as a recording."""
    ends = [seconds_of(date) for date in driver.get_segments()] if hasattr(driver, "get_segments") else []
    curves: list[tuple[str, str, str | None, Segments]] = []

    def take(group: str, name: str, device: str | None, metric: dict[str, Sequence[Any]]) -> None:
        dates = [seconds_of(date) for date in metric["dates"]]
        curves.append((group, name, device, _points.split(dates, list(metric["values"]), ends)))

    for group, metrics in zip(GROUPS, driver.load_metrics()):
        for name, metric in (metrics or {}).items():
            if "dates" in metric:
                take(group, name, None, metric)
            else:
                for device, of_device in metric.items():
                    take(group, name, str(device), of_device)
    return _core.Experiment(curves)
