"""System metrics and events as DataFrames."""
from __future__ import annotations

import datetime
import numbers
import os
from collections.abc import Iterable, Sequence
from typing import Any

from .... import _core, _tables
from .... import _pandas as pandas
from ...._tables import Table

Moment = str | datetime.datetime

__all__ = ["PandasFrame"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_ALWAYS = (-(2 ** 63), 2 ** 63 - 1)
_Query = tuple[int, int, bool, "list[str] | None", bool]


def microseconds(moment: Moment) -> int:
    """Convert a text in SMDebug's form, or a datetime, to microseconds since the epoch. Without a time zone it is UTC."""
    if isinstance(moment, str):
        moment = datetime.datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S:%f")
    if not isinstance(moment, datetime.datetime):
        raise ValueError(f"{moment!r} is not a time: give a datetime or a text such as 2020-01-31T12:00:00:000000")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return (moment - _EPOCH) // _MICROSECOND


def nanoseconds(us: float) -> int:
    """Convert microseconds to nanoseconds, limited to the range of times. Whole numbers are exact."""
    whole = int(us // 1)
    return min(max(whole * 1000 + round((us - whole) * 1000), _ALWAYS[0]), _ALWAYS[1])


def _given(value: Any, name: str) -> Any:
    """Return the value, or raise ValueError if it is None."""
    if value is None:
        raise ValueError(f"{name} is None")
    return value


def _bound(value: Any, name: str) -> int:
    """Convert a bound from microseconds to nanoseconds."""
    if not isinstance(_given(value, name), numbers.Real):
        raise ValueError(f"{name} {value!r} is not a number of microseconds")
    return nanoseconds(float(value) if not isinstance(value, numbers.Integral) else int(value))


def _names(given: Any) -> list[str]:
    """Return the selected names. A text is one name."""
    return [given] if isinstance(_given(given, "the list of selected metrics"), str) else list(given)


def _moments(given: Sequence[Moment] | None, name: str) -> list[int]:
    """Convert moments to nanoseconds since the epoch. An empty list is an error."""
    if not _given(given, name):
        raise ValueError(f"{name} is empty: give at least one moment")
    return [microseconds(moment) * 1000 for moment in given or ()]


def _query(start: int, end: int, names: Iterable[str], by_step: bool = False, are_patterns: bool = False) -> _Query:
    return start, end, by_step, _names(names) or None, are_patterns


class PandasFrame:
    """System metrics and framework events of a folder as DataFrames.

    Columns named `..._us` contain microseconds since the minute in the name of the first file of system metrics, or since the
    epoch without such a file. For traces of other tools, they count from the full second of their start (`start_time`). Equal
    rows are kept.

    Args:
        path: Folder, trace, profile or recording.
        use_in_memory_cache: Keep data in memory. By default, each call reads the files again and finds new files of a running job.
        scan_interval: Ignored. SMDebug reads this number of microseconds at a time.
    """

    def __init__(self, path: str | os.PathLike[str], use_in_memory_cache: bool = False,
                 scan_interval: int = 5000000000) -> None:
        self.path = os.fspath(path)
        if self.path.startswith("s3:"):
            raise ValueError(f"{self.path}: copy the folder first, for example with aws s3 sync")
        if scan_interval <= 0:
            raise ValueError(f"scan_interval {scan_interval} is not above 0")
        self.interval = scan_interval
        self._cached: _core.Handle | None = None
        self._keep = use_in_memory_cache
        self._queries: tuple[list[_Query], list[_Query]] = ([], [])
        self.start_time = _core.trace_origin(self._profile()) // 1000

    def _profile(self) -> _core.Handle:
        if self._cached is not None:
            return self._cached
        profile = _core.trace([self.path], {})
        if self._keep:
            self._cached = profile
        return profile

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> pandas.DataFrame:
        """Return all system metrics, sorted by time.

        Args:
            selected_system_metrics: Names or dimensions to include. Default: all.
        """
        return _tables.frame(self.get_all_system_metrics_table(selected_system_metrics))

    def get_all_system_metrics_table(self, selected_system_metrics: Sequence[str] = ()) -> Table:
        """Return the same as a `Table`, without pandas."""
        return _core.trace_samples(self._profile(), [_query(*_ALWAYS, selected_system_metrics)])

    def get_all_framework_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> pandas.DataFrame:
        """Return all events with a duration, sorted by start.

        Args:
            selected_framework_metrics: Names or processes to include. Default: all.
        """
        return _tables.frame(self.get_all_framework_metrics_table(selected_framework_metrics))

    def get_all_framework_metrics_table(self, selected_framework_metrics: Sequence[str] = ()) -> Table:
        """Return the same as a `Table`, without pandas."""
        return _core.trace_events(self._profile(), [_query(*_ALWAYS, selected_framework_metrics)])

    def get_all_dataloader_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> pandas.DataFrame:
        """Return events with values of the data loader: worker_id, num_workers, pin_memory.

        Args:
            selected_framework_metrics: Regular expressions for names or processes to include. Default: all.
        """
        return _tables.frame(self.get_all_dataloader_metrics_table(selected_framework_metrics))

    def get_all_dataloader_metrics_table(self, selected_framework_metrics: Sequence[str] = ()) -> Table:
        """Return the same as a `Table`, without pandas."""
        return _core.trace_loader_events(self._profile(), [_query(*_ALWAYS, selected_framework_metrics, are_patterns=True)])

    def convert_datetime_to_timestamp(self, timestamp: Moment) -> int:
        """Convert a text from a column of times, or a datetime, to microseconds since the epoch."""
        return microseconds(timestamp)

    def _overlaps(self, spans: list[tuple[int, int]], names: Sequence[str]) -> list[tuple[str, str, float]]:
        table = _core.trace_overlaps(self._profile(), spans, _names(names) or None)
        return list(zip(table["process"], table["framework_metric"], table["overlap_us"]))

    def get_framework_metrics_by_timesteps(
        self, timestep_list: Sequence[Moment] = (), selected_framework_metrics: Sequence[str] = ()
    ) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """Find events at given moments. Each event counts with its duration.

        Args:
            timestep_list: Moments in the form of the columns of times.
            selected_framework_metrics: Names or processes of events to include. Default: all.

        Return three dicts: processes, relative to the largest; events without steps, in microseconds; training phases, in
        microseconds.
        """
        moments = _moments(timestep_list, "timestep_list")
        rows = self._overlaps([(moment, moment) for moment in moments], selected_framework_metrics)
        by_process = _sums((process, us) for process, _, us in rows)
        return (_shares({key: us for key, us in by_process.items() if "Step" not in key}),
                _sums((name, us) for _, name, us in rows if "Step" not in name),
                {key: us for key, us in by_process.items() if "Step" in key})

    def get_framework_metrics_by_begin_and_end_timesteps(
        self, begin_timestep_list: Sequence[Moment], end_timestep_list: Sequence[Moment],
        selected_framework_metrics: Sequence[str] = ()
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Find events in given intervals. Each event counts with the duration of the overlap.

        Args:
            begin_timestep_list: Starts of the intervals.
            end_timestep_list: Ends of the intervals.
            selected_framework_metrics: Names or processes of events to include. Default: all.

        Return two dicts without steps: processes and events, both relative to the largest.
        """
        begins = _moments(begin_timestep_list, "begin_timestep_list")
        ends = _moments(end_timestep_list, "end_timestep_list")
        if len(begins) != len(ends):
            raise ValueError(f"begin_timestep_list and end_timestep_list have different lengths: {len(begins)} and {len(ends)}")
        spans = list(zip(begins, ends))
        rows = [row for row in self._overlaps(spans, selected_framework_metrics) if "Step" not in row[1]]
        return (_shares(_sums((process, us) for process, _, us in rows)),
                _shares(_sums((name, us) for _, name, us in rows)))

    def _tables(self, system: _Query | None, framework: _Query | None, cache: bool) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        tables: list[pandas.DataFrame] = []
        profile = self._profile()
        for query, known, read in zip((system, framework), self._queries, (_core.trace_samples, _core.trace_events)):
            if cache and query:
                known.append(query)
            wanted = known if cache else [query] if query else []
            tables.append(_tables.frame(read(profile, list(wanted) or [(1, 0, False, None, False)])))
        return tables[0], tables[1]

    def get_profiler_data_by_time(
        self, start_time_us: float, end_time_us: float, cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (), selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True, get_system_metrics: bool = True
    ) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Return system metrics in an interval and events that overlap it, ends included.

        Args:
            start_time_us: Start of the interval in microseconds since the epoch.
            end_time_us: End of the interval.
            cache_metrics: Also return rows of previous calls with this argument.
            selected_framework_metrics: Names or processes of events to include. Default: all.
            selected_system_metrics: Names or dimensions of system metrics to include. Default: all.
            get_framework_metrics: Return events.
            get_system_metrics: Return system metrics.
        """
        start, end = _bound(start_time_us, "start_time_us"), _bound(end_time_us, "end_time_us")
        if start > end:
            raise ValueError(f"start_time_us {start_time_us} is after end_time_us {end_time_us}")
        return self._tables(_query(start, end, selected_system_metrics) if get_system_metrics else None,
                            _query(start, end, selected_framework_metrics) if get_framework_metrics else None,
                            cache_metrics)

    def get_profiler_data_by_step(self, start_step: int, end_step: int,
                                  cache_metrics: bool = False) -> tuple[pandas.DataFrame, pandas.DataFrame]:
        """Return the events of steps, and the system metrics during these steps.

        Args:
            start_step: First step.
            end_step: Last step.
            cache_metrics: Also return rows of previous calls with this argument.
        """
        query = _query(int(_given(start_step, "start_step")), int(_given(end_step, "end_step")), (), by_step=True)
        return self._tables(query, query, cache_metrics)


def _sums(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums


def _shares(sums: dict[str, Any]) -> dict[str, float]:
    """Divide by the largest value. If it is 0, all shares are 0."""
    largest = max(sums.values(), default=0)
    return {key: value / largest if largest else 0.0 for key, value in sums.items()}
