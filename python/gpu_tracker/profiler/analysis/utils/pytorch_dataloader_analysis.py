"""Analysis of PyTorch's data loader and its outliers."""
from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from typing import Any

from .... import _core, _tables, _views
from .... import _pandas as pandas
from .profiler_data_to_pandas import PandasFrame, microseconds

__all__ = ["PT_dataloader_analysis", "WindowChart"]


class WindowChart:
    """Chart of events and utilization of resources. Notebooks display it.

    Args:
        profile: Source of the data.
        start: Start in nanoseconds since the epoch.
        end: End in nanoseconds since the epoch.
        events: Regular expressions for events and their processes.
        dimensions: Regular expressions for dimensions.
    """

    def __init__(self, profile: _core.Handle, start: int, end: int, events: Sequence[str],
                 dimensions: Sequence[str]) -> None:
        self._start = start
        self._report = _core.trace_window(profile, start, end, list(events), list(dimensions))
        self._events = _core.trace_events(profile, [(start, end, False, list(events), True)])
        self._samples = _core.trace_samples(profile, [(start, end, False, list(dimensions), True)])

    def __str__(self) -> str:
        """Return count and duration of events as text."""
        return _core.report_text(self._report, "text").rstrip("\n")

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page.

        Args:
            path: Also write the page to this file.
        """
        page = _core.report_text(self._report, "html")
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        return _views.frame(self.to_html())

    def figure(self) -> Any:
        """Return a matplotlib figure: a panel for each dimension, and a panel with a lane for each event."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("this method needs matplotlib: pip install matplotlib, or use to_html") from None
        lines = self._lines()
        lanes = self._lanes()
        figure = Figure(figsize=(12, 2.2 * len(lines) + 1.5 + 0.22 * len(lanes)), layout="constrained")
        panels = figure.subplots(len(lines) + 1, 1, sharex=True, squeeze=False)[:, 0]
        for panel, (dimension, series) in zip(panels, lines.items()):
            for name, (times, values) in series.items():
                panel.plot(times, values, label=name)
            panel.set_ylabel(dimension)
            panel.legend(loc="upper right", fontsize="small")
        for number, (name, spans) in enumerate(lanes.items()):
            panels[-1].broken_barh(spans, (number - 0.4, 0.8), color=f"C{number % 10}", label=name)
        panels[-1].set_yticks(range(len(lanes)), list(lanes))
        panels[-1].set_xlabel("seconds")
        return figure

    def _lines(self) -> dict[str, dict[str, tuple[list[float], list[float]]]]:
        """Return times and values by dimension, node and device."""
        lines: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
        columns = ("dimension", "nodeID", "system_metric", "timestamp_us", "value")
        first = self._first_us()
        for dimension, node, device, us, value in zip(*(self._samples[name] for name in columns)):
            times, values = lines.setdefault(dimension, {}).setdefault(f"{node} {device}", ([], []))
            times.append((us - first) / 1e6)
            values.append(value)
        return lines

    def _lanes(self) -> dict[str, list[tuple[float, float]]]:
        """Return start and duration in seconds by event."""
        lanes: dict[str, list[tuple[float, float]]] = {}
        first = self._first_us()
        for name, start, end in zip(*(self._events[column] for column in (
                "framework_metric", "start_time_us", "end_time_us"))):
            lanes.setdefault(name, []).append(((start - first) / 1e6, (end - start) / 1e6))
        return lanes

    def _first_us(self) -> float:
        """Return the start of the window in the time base of the columns."""
        for table, text, number in ((self._samples, "timestamp", "timestamp_us"),
                                    (self._events, "start_time", "start_time_us")):
            if len(table):
                return float(table[number][0] - (microseconds(table[text][0]) - self._start // 1000))
        return 0.0


class PT_dataloader_analysis:
    """Analysis of PyTorch's data loader in a `PandasFrame`.

    An outlier takes at least twice the median of its node, and three deviations more. A median of 0 has no outliers.

    Args:
        pandas_frame: Source of the data.
    """

    def __init__(self, pandas_frame: PandasFrame) -> None:
        self.pd_data_frame = pandas_frame
        self._profile = pandas_frame._profile()
        self._report = json.loads(_core.report_text(_core.trace_analyse(self._profile, "dataloader", {}), "json"))

    def _tell(self, part: str, what: str) -> bool:
        """Print count, median and maximum of each node. Return False without events."""
        rows = [row for row in self._report["dataloader"] if row["part"] == part]
        for row in rows:
            print(f"{row['node']}: {row['count']} {what}, median {row['p50_us']:g} us, longest {row['max_us']:g} us")
        if not rows:
            print(f"No events of {what}")
        return bool(rows)

    def _outliers(self, part: str, what: str, columns: dict[str, str]) -> pandas.DataFrame | None:
        if not self._tell(part, what):
            return None
        table = _core.trace_loader_outliers(self._profile, part)
        if not len(table):
            print(f"No outliers among {what}")
            return None
        print(f"{len(table)} {what} are outliers: at least twice the median")
        frame = _tables.frame(table)
        frame["BatchTime_in_seconds"] = frame["duration_us"] / 1e6
        return frame[list(columns)].rename(columns=columns)

    def analyze_dataloaderIter_initialization(self) -> pandas.DataFrame | None:
        """Print iterators and return slow initializations: start_time, end_time, duration_us. Without outliers return None."""
        for row in self._report["iterators"]:
            print(f"{row['node']}: {row['iterator']} with pin_memory = {row['pin_memory']} and {row['num_workers']} "
                  "workers")
        return self._outliers("initialization", "iterators", _same("start_time", "end_time", "duration_us"))

    def analyze_dataloaderWorkers(self) -> pandas.DataFrame | None:
        """Return slow workers, slowest first: start_time, end_time, duration_us, worker_id. Without outliers return None."""
        return self._outliers("worker", "workers", _same("start_time", "end_time", "duration_us", "worker_id"))

    def analyze_dataloader_getnext(self) -> pandas.DataFrame | None:
        """Return slow GetNext calls: start_time, end_time, duration_us, worker_id. Without outliers return None."""
        return self._outliers("get_next", "GetNext calls",
                              _same("start_time", "end_time", "duration_us", "worker_id"))

    def analyze_batchtime(self) -> pandas.DataFrame | None:
        """Return slow batches: previous_batch_start, start_time, BatchTime_in_seconds, worker_id. Without outliers return None.

        A batch lasts from the start of a GetNext call to the start of the next call of the same process. The creation of an
        iterator between epochs is not a batch.
        """
        return self._outliers("batch", "batches", {
            "previous_start": "previous_batch_start",
            **_same("start_time", "BatchTime_in_seconds", "worker_id")})

    def plot_the_window(self, start_timestamp: int | str | datetime.datetime,
                        end_timestamp: int | str | datetime.datetime, select_events: Sequence[str] = (".*",),
                        select_dimensions: Sequence[str] = (".*",)) -> WindowChart:
        """Return a chart of events and utilization of resources.

        Args:
            start_timestamp: Microseconds since the epoch, a text from a column of times, or a datetime.
            end_timestamp: End in one of these forms.
            select_events: Regular expressions for events and their processes.
            select_dimensions: Regular expressions for dimensions.
        """
        bounds: list[Any] = [bound if isinstance(bound, int) else microseconds(bound)
                             for bound in (start_timestamp, end_timestamp)]
        return WindowChart(self._profile, bounds[0] * 1000, bounds[1] * 1000, select_events, select_dimensions)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}
