"""Experiments: curves of power and use, read from folders, tracking files and drivers, and their figures over time.

A value with a window is the mean over that time before its date, so an interval gets the share that overlaps, and integrals are exact.
Without windows, as in AIPowerMeter's recordings, a curve is linear between its points.
"""
from __future__ import annotations

import bisect
import csv
import datetime
import itertools
import json
import math
import operator
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

from .. import _core
from . import _curves

SEGMENT_END = "END OF RECORDING SEGMENT"

_LONGEST = 64 << 20  # characters of a line
_BLANKS = re.compile(r"\s*")

# Other curves are rates, the means over their windows.
_STATES = {"per_process_mem_use_abs", "per_process_mem_use_percent", "per_process_mem_use_uss", "mem_use_abs", "mem_use_percent",
           "mem_use_uss", "total_mem_use", "temperature"}
_AMOUNT = "absolute_cpu_time_per_pid"  # the sum over its window

# Names of one figure in different versions. A recording with one offers the other, too.
_ALIASES = [("nvidia_power", "nvidia_draw_absolute"), ("per_gpu_nvidia_power", "per_gpu_power_draw"),
            ("per_gpu_attributable_mem_use", "nvidia_mem_use"), ("per_gpu_absolute_percent_usage", "nvidia_sm_use"),
            ("per_process_mem_use_abs", "mem_use_abs"), ("per_process_mem_use_percent", "mem_use_percent"),
            ("per_process_mem_use_uss", "mem_use_uss"), ("per_process_cpu_uses", "cpu_uses")]
_OTHER_NAME = dict(_ALIASES) | {other: name for name, other in _ALIASES}

# Of the summary: key, title, curve, figure, unit.
_CPU_ROWS = [
    ("total_psys_power", "Platform", "psys_power", "total", "joules"),
    ("total_intel_power", "Processor packages", "intel_power", "total", "joules"),
    ("rel_intel_power", "Processor packages, this experiment", "rel_intel_power", "total", "joules"),
    ("total_dram_power", "Memory", "total_dram_power", "total", "joules"),
    ("total_cpu_power", "Cores", "total_cpu_power", "total", "joules"),
    ("rel_dram_power", "Memory, this experiment", "per_process_dram_power", "total", "joules"),
    ("rel_cpu_power", "Cores, this experiment", "per_process_cpu_power", "total", "joules"),
    ("cpu_time", "CPU time", _AMOUNT, "total", "seconds"),
    ("mem_use_abs", "Average RAM", "per_process_mem_use_abs", "average", "bytes"),
    ("mem_use_uss", "Average RAM, unshared", "per_process_mem_use_uss", "average", "bytes"),
]
_GPU_ROWS = [
    ("abs_nvidia_power", "GPUs", "nvidia_power", "total", "joules"),
    ("rel_nvidia_power", "GPUs, this experiment", "nvidia_attributable_power", "total", "joules"),
    ("nvidia_memory", "Average GPU RAM", "nvidia_memory", "average", "bytes"),
    ("nvidia_use_rate", "Average GPU utilization", "nvidia_use_rate", "average", "percent"),
    ("nvidia_mem_use_abs", "Max GPU RAM", "nvidia_mem_use", "maximum", "bytes"),
    ("nvidia_average_sm", "Average SM use", "nvidia_sm_use", "average", ""),
    ("per_gpu_attributable_power", "Each GPU, this experiment", "per_gpu_attributable_power", "total", "joules"),
]
_MODEL_ROWS = [("total_params", "Parameters"), ("trainable_params", "Trainable parameters"),
               ("total_mult_adds", "Multiplications and additions of a forward pass")]


class Figures(NamedTuple):
    """Figures of a curve in an interval. Times are in seconds; missing figures are NaN."""

    duration: float
    start: float
    end: float
    total: float  # the integral over time: joules of watts. CPU seconds are added up
    average: float
    maximum: float


class _Piece(NamedTuple):
    """What a point is about: the time from `begin` to its date, over which the curve goes from `before` to the value."""

    begin: float
    date: float
    before: float
    value: float
    window: float  # NaN: unknown


class Curve:
    """Values over time. Each segment is a list of points (date, value, window) by date."""

    def __init__(self, group: str, name: str, device: str | None = None) -> None:
        self.group, self.name, self.device = group, name, device
        self._segments: dict[int, list[tuple[float, float, float]]] = {}

    def renamed(self, name: str, device: str | None) -> Curve:
        """Return the same values under another name."""
        curve = Curve(self.group, name, device)
        curve._segments = self._segments
        return curve

    def add(self, segment: int, date: float, value: float, window: float = math.nan) -> None:
        """Add a point. A date or value of NaN is left out."""
        if math.isnan(date) or math.isnan(value):
            return
        points = self._segments.setdefault(segment, [])
        points.append((date, value, window))
        if len(points) > 1 and date < points[-2][0]:  # the clock was set back
            points.sort(key=operator.itemgetter(0))

    def segments(self) -> list[_curves.Points]:
        """Return the segments as lists of ``{"date": seconds, "value": v}``."""
        return [[{"date": date, "value": value} for date, value, _ in points] for points in self._segments.values()]

    def _pieces(self) -> Iterator[_Piece]:
        is_state = self.group == "Experiment" or self.name in _STATES
        for points in self._segments.values():
            begin, before, _ = points[0]
            for date, value, window in points:
                if is_state or math.isnan(window):
                    yield _Piece(begin, date, before, value, math.nan)
                else:
                    yield _Piece(date - window, date, value, value, window)
                begin, before = date, value

    def _amount(self, piece: _Piece, start: float, end: float) -> tuple[float, float]:
        """Return the seconds of a piece in an interval, and the integral over them."""
        begin, date, before, value, window = piece
        start, end, low, high = min(max(start, begin), date), min(max(end, begin), date), start, end
        seconds = end - start
        if self.name == _AMOUNT and self.group != "Experiment":
            if date > begin:
                return seconds, value * seconds / (date - begin)
            return seconds, value if low <= date <= high else 0.0
        if not seconds > 0:
            return seconds, 0.0
        if (start, end) == (begin, date) and not math.isnan(window):
            return seconds, value * window  # dates are coarser
        slope = (value - before) / (date - begin)
        return seconds, seconds * (before + slope * ((start + end) / 2 - begin))

    def figures(self, start: float | None = None, end: float | None = None) -> Figures:
        """Return the figures between two dates; None: no bound."""
        low, high = -math.inf if start is None else start, math.inf if end is None else end
        duration = total = 0.0
        first, last, maximum = math.inf, -math.inf, math.nan
        inside: list[float] = []
        for piece in self._pieces():
            if piece.begin > high or piece.date < low:
                continue
            seconds, amount = self._amount(piece, low, high)
            duration += seconds
            total += amount
            first, last = min(first, max(piece.begin, low)), max(last, min(piece.date, high))
            if piece.date <= high:
                inside.append(piece.value)
                maximum = maximum if maximum >= piece.value else piece.value
        if first > last:
            return Figures(*[math.nan] * 6)
        # One point alone, or several at one moment, have no time to divide by.
        average = total / duration if duration > 0 else sum(inside) / len(inside) if inside else math.nan
        return Figures(duration, first, last, total, average, maximum)

    def interpolate(self, times: list[float], cumulative: bool) -> list[float]:
        """Return values at given moments, or totals up to them; NaN before the first and after the last.

        A total stays the same between segments, where values are NaN.
        """
        pieces = sorted(self._pieces(), key=operator.attrgetter("date"))
        dates = [piece.date for piece in pieces]
        totals = [0.0, *itertools.accumulate(self._amount(piece, -math.inf, math.inf)[1] for piece in pieces)]
        first = min((piece.begin for piece in pieces), default=math.inf)

        def value_at(time: float) -> float:
            piece = pieces[bisect.bisect_left(dates, time)]
            if piece.begin > time:
                return math.nan
            return piece.value if time == piece.date else (
                piece.before + (piece.value - piece.before) * (time - piece.begin) / (piece.date - piece.begin))

        def total_at(time: float) -> float:
            whole = bisect.bisect_right(dates, time)
            has_more = whole < len(pieces) and pieces[whole].begin < time
            return totals[whole] + (self._amount(pieces[whole], -math.inf, time)[1] if has_more else 0.0)

        return [math.nan if not first <= time <= dates[-1] else (total_at if cumulative else value_at)(time) for time in times]


class Experiment:
    """The curves of a recording."""

    def __init__(self) -> None:
        self.curves: list[Curve] = []
        self.model: dict[str, Any] = {}

    def _add(self, group: str, name: str, device: str | None, segment: int, date: float, value: float,
             window: float = math.nan) -> None:
        if math.isnan(date) or math.isnan(value):
            return
        key = (group, name, device)
        curve = next((curve for curve in self.curves if (curve.group, curve.name, curve.device) == key), None)
        if curve is None:
            curve = Curve(*key)
            self.curves.append(curve)
        curve.add(segment, date, value, window)

    def _complete(self, origin: str) -> Experiment:
        """Offer figures under the names of other versions, too."""
        if not self.curves:
            raise ValueError(f"{origin} has no recording of power")
        names = {curve.name for curve in self.curves}
        for curve in list(self.curves):
            other = _OTHER_NAME.get(curve.name)
            if other is not None and other not in names:
                self.curves.append(curve.renamed(other, curve.device))
            is_sum = (curve.name, curve.device) == ("per_gpu_attributable_power", "all")  # a figure of no single GPU
            if is_sum and "nvidia_attributable_power" not in names:
                self.curves.append(curve.renamed("nvidia_attributable_power", None))
        return self

    # ---- readers ----

    @classmethod
    def of_path(cls, path: str) -> Experiment:
        """Read a folder, ours or AIPowerMeter's, or a tracking file."""
        experiment = cls()
        if os.path.isdir(path):
            experiment._read_power(os.path.join(path, "power_metrics.json"))
            experiment._read_results(os.path.join(path, "results_exp.json"))
            experiment._read_meter(os.path.join(path, "omegawatt.csv"))
        else:
            os.stat(path)
            experiment._read_recording(path)
        return experiment._complete(path)

    @classmethod
    def of_driver(cls, driver: Any) -> Experiment:
        """Read the curves of a user's driver. A date after the end of segment i is in segment i + 1 or later."""
        experiment = cls()
        ends = [_curves.seconds_of(date) for date in driver.get_segments()] if hasattr(driver, "get_segments") else []
        for group, metrics in zip(_curves.GROUPS, driver.load_metrics()):
            for name, metric in (metrics or {}).items():
                for device, one in [(None, metric)] if "dates" in metric else metric.items():
                    number = 0
                    for date, value in zip(map(_curves.seconds_of, one["dates"]), one["values"]):
                        while number < len(ends) and date > ends[number]:
                            number += 1
                        if value is not None:
                            experiment._add(group, name, None if device is None else str(device), number, date, float(value))
        return experiment._complete("the driver")

    def _read_power(self, path: str) -> None:
        """Read a JSON value a line: records, and marks of the end of a segment."""
        segment = records = others = 0
        for line in _lines(path):
            value = _json(line)
            segment += value == SEGMENT_END
            if value == SEGMENT_END or self._take_record(value, segment):
                records += 1
            else:
                others += 1
        if others and not records:
            raise ValueError(f"{path}: not one line is a record of AIPowerMeter")

    def _take_record(self, record: Any, segment: int) -> bool:
        metrics = record.get("metrics") if isinstance(record, dict) else None
        date = _date(record.get("date")) if isinstance(metrics, dict) else math.nan
        if not isinstance(metrics, dict) or math.isnan(date):
            return False
        window = _number(record.get("window"))

        def add(group: str, name: str, device: str | None, value: float) -> None:
            self._add(group, name, device, segment, date, value, window)

        for name, value in _items(metrics.get("cpu")):
            if name != "psys_power" or _figure(value) >= 0:  # -1 without such a counter
                add("CPU", name, None, _figure(value))
        for chip, sensors in _items(metrics.get("temperature")):  # {chip: [[label, current, ...], ...]}
            for number, sensor in enumerate(sensors if isinstance(sensors, list) else [], 1):
                if isinstance(sensor, list) and len(sensor) > 1:
                    label = sensor[0] if isinstance(sensor[0], str) and sensor[0] else number
                    add("CPU", "temperature", f"{chip}: {label}", _number(sensor[1]))
        for name, value in _items(metrics.get("gpu")):
            if name == "time":  # of the reading
                continue
            if isinstance(value, dict):
                for card, of_card in value.items():
                    add("GPU", name, card, _figure(of_card))
            else:
                add("GPU", name, None, _figure(value))
        return True

    def _read_results(self, path: str) -> None:
        """Read figures of the program: JSON values, one after another.

        They are ``[{"end_training_epoch": date, "accuracy": 0.9}, ...]``, an object of such objects, or
        ``{"date": date, "metrics": {...}}``.
        """
        text, at, values = "".join(_lines(path)).rstrip(), 0, 0
        while at < len(text):
            try:
                value, at = json.JSONDecoder().raw_decode(text, _BLANKS.match(text, at).end())  # type: ignore[union-attr]
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}: value {values + 1} is not JSON: {error}") from None
            values += 1
            if isinstance(value, dict) and "metrics" in value:
                results = [(value.get("date"), value["metrics"])]
            else:
                entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
                results = [(entry.get("end_training_epoch"), entry) for entry in entries if isinstance(entry, dict)]
            for date, metrics in results:
                for name, result in _items(metrics):
                    self._add("Experiment", name, None, 0, _date(date), _number(result))

    def _read_meter(self, path: str) -> None:
        """Read a power meter: a line of its own, then a header, #timestamp, #frame_is_ok, and the watts of its channels."""
        rows = csv.reader(line for line in _lines(path) if line.endswith("\n"))  # the last line may be cut off
        if next(rows, None) is None:
            return
        names = next(rows, None)
        if names is None:
            raise ValueError(f"{path} has no header in its second line")
        if "#timestamp" not in names:
            raise ValueError(f'{path} has no column "#timestamp"')
        for row in rows:
            fields = dict(zip(names, row))
            date = _number_in(fields.pop("#timestamp", ""))
            if len(row) == len(names) and fields.pop("#frame_is_ok", "true").lower() == "true":
                for name, text in fields.items():
                    self._add("wattmeter", name, None, 0, date, _number_in(text))

    def _read_recording(self, path: str) -> None:
        table = _core.power_table(path)
        dates, windows, *names = table.column_names
        rows = list(zip(table[dates], table[windows]))
        for name in names:
            group = "GPU" if name.startswith("nvidia") else "CPU"
            for (date, window), value in zip(rows, table[name]):
                if value is not None:
                    self._add(group, name, None, 0, date, value, window)

    # ---- figures ----

    def metrics(self, group: str) -> dict[str, Any] | None:
        """Return the curves of a group as ``{name: {"dates": [...], "values": [...]}}``, GPU curves by GPU; None if empty."""
        metrics: dict[str, Any] = {}
        for curve in self.curves:
            if curve.group != group:
                continue
            points = [point for segment in curve.segments() for point in segment]
            dates: list[Any] = [point["date"] for point in points]
            if group != "wattmeter":
                dates = [datetime.datetime.fromtimestamp(date) for date in dates]
            values = {"dates": dates, "values": [point["value"] for point in points]}
            if curve.device is None:
                metrics[curve.name] = values
            else:
                metrics.setdefault(curve.name, _curves.Cards())[_curves.card(curve.device)] = values
        return metrics or None

    def segment_ends(self) -> list[datetime.datetime]:
        """Return the last dates of all segments except the last segment."""
        curves = (curve.segments() for curve in self.curves if curve.group in _curves.GROUPS[:2])
        longest: list[_curves.Points] = max(curves, key=len, default=[])
        return [datetime.datetime.fromtimestamp(points[-1]["date"]) for points in longest[:-1]]

    def span(self, start: float | None, end: float | None) -> tuple[float, float, float]:
        """Return duration, start and end of the longest curve, of processors and GPUs if there are any."""
        for groups in (_curves.GROUPS[:2], _curves.GROUPS):
            found = [curve.figures(start, end)[:3] for curve in self.curves if curve.group in groups]
            known = [figures for figures in found if not math.isnan(figures[0])]
            if known:
                return max(known, key=operator.itemgetter(0))
        return math.nan, math.nan, math.nan

    def total_power(self, start: float | None, end: float | None) -> float:
        """Return the joules of the machine's processors and GPUs, as far as measured; NaN without any."""
        totals = [curve.figures(start, end).total for curve in self.curves
                  if curve.name in ("intel_power", "nvidia_power") and curve.device is None]
        known = [total for total in totals if not math.isnan(total)]
        return sum(known) if known else math.nan

    def names(self) -> dict[str, list[str]]:
        """Return the names of the curves by group."""
        return {group: list(dict.fromkeys(curve.name for curve in self.curves if curve.group == group))
                for group in _curves.GROUPS}

    def listing(self) -> str:
        """Return the names of the curves as text."""
        return "".join(f"{group}\n  {', '.join(names) or 'not available'}\n" for group, names in self.names().items())

    def summary(self, start: float | None, end: float | None) -> _core.Handle:
        """Return the report, under AIPowerMeter's names: joules for power, means and maxima for the rest."""
        groups = {curve.group for curve in self.curves}
        duration, *dates = self.span(start, end)
        rows: list[tuple[str, str, Any, str]] = [("duration", "Duration", duration, "seconds")]
        rows += [(key, key.capitalize(), None if math.isnan(date) else _date_text(date), "") for key, date in zip(("start", "end"), dates)]
        counts = [(key, title, count, "") for key, title in _MODEL_ROWS
                  if isinstance(count := self.model.get(key), (int, float)) and not isinstance(count, bool)]
        if counts:
            rows.append(("model", "Model", [(key, title, int(count), unit) for key, title, count, unit in counts], ""))
        for group, of_group in (("CPU", _CPU_ROWS), ("GPU", _GPU_ROWS)):
            if group in groups:
                rows.append((group.lower(), group, [self._summary_row(*row, start, end) for row in of_group], ""))
        if "wattmeter" in groups:
            rows.append(("wattmeter", "Power meter", [(curve.name, curve.name, curve.figures(start, end).total, "joules")
                                                      for curve in self.curves if curve.group == "wattmeter"], ""))
        return _core.report_of_rows("experiment", [("experiment", "Experiment", rows, "")])

    def _summary_row(self, key: str, title: str, name: str, figure: str, unit: str, start: float | None,
                     end: float | None) -> tuple[str, str, Any, str]:
        found = [(curve.device, getattr(curve.figures(start, end), figure)) for curve in self.curves if curve.name == name]
        devices = [(device, device, value, unit) for device, value in found if device is not None]
        if devices and name in ("nvidia_mem_use", "nvidia_sm_use", "per_gpu_attributable_power"):
            return key, title, devices, ""
        return key, title, found[-1][1] if found else math.nan, unit


# ---- values ----

def _lines(path: str) -> Iterator[str]:
    """Yield the lines of a file; none if it is missing. A pipe without a writer is empty."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    opened: TextIO
    with open(file, encoding="utf-8", errors="replace") as opened:
        while (line := opened.readline(_LONGEST)):
            if len(line) == _LONGEST:
                raise ValueError(f"{path}: a line is longer than {_LONGEST >> 20} MiB")
            if line.strip():
                yield line


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else ()


def _number(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        return float(value) if is_number else math.nan
    except OverflowError:
        return math.nan


def _number_in(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _figure(value: Any) -> float:
    """Return a number, the sum of ``{pid: number}``, or the number of a list of one, which some versions write."""
    if isinstance(value, dict):
        known = [number for number in map(_number, value.values()) if not math.isnan(number)]
        return sum(known) if known else math.nan
    return _number(value[0] if isinstance(value, list) and len(value) == 1 else value)


def _date(text: Any) -> float:
    """Return the seconds since the epoch of a date, which is local without a zone."""
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if isinstance(text, str) else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _date_text(date: float) -> str:
    return datetime.datetime.fromtimestamp(date).astimezone().isoformat(" ", "microseconds")
