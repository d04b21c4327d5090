"""The data loader of PyTorch: what it does, and what stands out."""
from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .... import _core, _frames, _views
from .profiler_data_to_pandas import PandasFrame, microseconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["PT_dataloader_analysis", "WindowChart"]


class WindowChart:
    """Events over the use of resources. A notebook shows it by itself.

    Args:
        profile: Where the data are.
        start: Nanoseconds since the epoch.
        end: The same.
        events: Regular expressions on events and their processes.
        dimensions: Regular expressions on dimensions.
    """

    def __init__(self, profile: _core.Profile, start: int, end: int, events: Sequence[str],
                 dimensions: Sequence[str]) -> None:
        self._start = start
        self._report = profile.window(start, end, list(events), list(dimensions))
        self._events = profile.events([(start, end, False, list(events), True)])
        self._samples = profile.samples([(start, end, False, list(dimensions), True)])

    def __str__(self) -> str:
        """How often and how long which events ran."""
        return self._report.render("text").rstrip("\n")

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page of its own, which needs no network.

        Args:
            path: Also write it there.
        """
        page = self._report.render("html")
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(page)
        return page

    def _repr_html_(self) -> str:
        return _views.frame(self.to_html())

    def figure(self) -> Figure:
        """A figure of matplotlib: a panel for each dimension, and one with a lane for each event."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("this needs matplotlib: pip install matplotlib; to_html does without") from None
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
        """Times and values by dimension, and by node and device."""
        lines: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
        columns = ("dimension", "nodeID", "system_metric", "timestamp_us", "value")
        first = self._first_us()
        for dimension, node, device, us, value in zip(*(self._samples[name] for name in columns)):
            times, values = lines.setdefault(dimension, {}).setdefault(f"{node} {device}", ([], []))
            times.append((us - first) / 1e6)
            values.append(value)
        return lines

    def _lanes(self) -> dict[str, list[tuple[float, float]]]:
        """Start and length in seconds by event."""
        lanes: dict[str, list[tuple[float, float]]] = {}
        first = self._first_us()
        for name, start, end in zip(*(self._events[column] for column in (
                "framework_metric", "start_time_us", "end_time_us"))):
            lanes.setdefault(name, []).append(((start - first) / 1e6, (end - start) / 1e6))
        return lanes

    def _first_us(self) -> float:
        """The window's start in the columns' microseconds."""
        for table, text, number in ((self._samples, "timestamp", "timestamp_us"),
                                    (self._events, "start_time", "start_time_us")):
            if len(table):
                return float(table[number][0] - (microseconds(table[text][0]) - self._start // 1000))
        return 0.0


class PT_dataloader_analysis:
    """The data loader of PyTorch in a `PandasFrame`.

    An outlier takes at least twice the median of its node, which is not 0, and more than others vary (three deviations).

    Args:
        pandas_frame: Where the data are.
    """

    def __init__(self, pandas_frame: PandasFrame) -> None:
        self.pd_data_frame = pandas_frame
        self._profile = pandas_frame._profile()
        self._report = json.loads(self._profile.analyse("dataloader", {}).render("json"))

    def _tell(self, part: str, what: str) -> bool:
        """Print count, median and longest on each node; False when there is nothing."""
        rows = [row for row in self._report["dataloader"] if row["part"] == part]
        for row in rows:
            print(f"{row['node']}: {row['count']} {what}, median {row['p50_us']:g} us, longest {row['max_us']:g} us")
        if not rows:
            print(f"There are no events of {what}")
        return bool(rows)

    def _outliers(self, part: str, what: str, columns: dict[str, str]) -> DataFrame | None:
        if not self._tell(part, what):
            return None
        table = self._profile.loader_outliers(part)
        if not len(table):
            print(f"No {what} stand out")
            return None
        print(f"{len(table)} {what} stand out: at least twice the median")
        frame = _frames.frame(table)
        frame["BatchTime_in_seconds"] = frame["duration_us"] / 1e6
        return frame[list(columns)].rename(columns=columns)

    def analyze_dataloaderIter_initialization(self) -> DataFrame | None:
        """Iterators that took long to make: start_time, end_time, duration_us. Prints what there are; None: no outliers."""
        for row in self._report["iterators"]:
            print(f"{row['node']}: {row['iterator']} with pin_memory = {row['pin_memory']} and {row['num_workers']} "
                  "workers")
        return self._outliers("initialization", "iterators", _same("start_time", "end_time", "duration_us"))

    def analyze_dataloaderWorkers(self) -> DataFrame | None:
        """Workers that ran long: start_time, end_time, duration_us, worker_id, the longest first; None: no outliers."""
        return self._outliers("worker", "workers", _same("start_time", "end_time", "duration_us", "worker_id"))

    def analyze_dataloader_getnext(self) -> DataFrame | None:
        """Calls that waited long for data: start_time, end_time, duration_us, worker_id; None: no outliers."""
        return self._outliers("get_next", "GetNext calls",
                              _same("start_time", "end_time", "duration_us", "worker_id"))

    def analyze_batchtime(self) -> DataFrame | None:
        """Batches that took long: previous_batch_start, start_time, BatchTime_in_seconds, worker_id; None: no outliers.

        A batch lasts from the start of one GetNext to the start of the next of the same process. The pause in which a new
        iterator is made, between epochs, is none.
        """
        return self._outliers("batch", "batches", {
            "previous_start": "previous_batch_start",
            **_same("start_time", "BatchTime_in_seconds", "worker_id")})

    def plot_the_window(self, start_timestamp: int | str | datetime.datetime,
                        end_timestamp: int | str | datetime.datetime, select_events: Sequence[str] = (".*",),
                        select_dimensions: Sequence[str] = (".*",)) -> WindowChart:
        """A chart of events over the use of resources.

        Args:
            start_timestamp: Microseconds since the epoch, a text of a column of times, or a datetime.
            end_timestamp: The same.
            select_events: Regular expressions on events and their processes.
            select_dimensions: Regular expressions on dimensions.
        """
        bounds: list[Any] = [bound if isinstance(bound, int) else microseconds(bound)
                             for bound in (start_timestamp, end_timestamp)]
        return WindowChart(self._profile, bounds[0] * 1000, bounds[1] * 1000, select_events, select_dimensions)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}
