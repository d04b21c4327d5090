"""System metrics and events as DataFrames."""
from __future__ import annotations

import datetime
import numbers
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .... import _core, _frames
from ...._core import Table

if TYPE_CHECKING:
    from pandas import DataFrame

Moment = str | datetime.datetime

__all__ = ["PandasFrame"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_ALWAYS = (-(2 ** 63), 2 ** 63 - 1)
_Query = tuple[int, int, bool, "list[str] | None", bool]


def microseconds(moment: Moment) -> int:
    """A moment as SMDebug writes it, or a datetime, in microseconds since the epoch. Without a time zone it is UTC."""
    if isinstance(moment, str):
        moment = datetime.datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S:%f")
    if not isinstance(moment, datetime.datetime):
        raise ValueError(f"{moment!r} is no moment: it is a datetime, or a text such as 2020-01-31T12:00:00:000000")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return (moment - _EPOCH) // _MICROSECOND


def nanoseconds(us: float) -> int:
    """Microseconds in nanoseconds; whole ones exactly, and what is beyond all times at the ends of time."""
    whole = int(us // 1)
    return min(max(whole * 1000 + round((us - whole) * 1000), _ALWAYS[0]), _ALWAYS[1])


def _given(value: Any, name: str) -> Any:
    """The value, which is not None."""
    if value is None:
        raise ValueError(f"{name} is None")
    return value


def _bound(value: Any, name: str) -> int:
    """A bound of time in nanoseconds, which was given in microseconds."""
    if not isinstance(_given(value, name), numbers.Real):
        raise ValueError(f"{name} {value!r}: it is a number of microseconds")
    return nanoseconds(float(value) if not isinstance(value, numbers.Integral) else int(value))


def _names(given: Any) -> list[str]:
    """The names that were selected; a text is one name."""
    return [given] if isinstance(_given(given, "the list of selected metrics"), str) else list(given)


def _moments(given: Sequence[Moment] | None, name: str) -> list[int]:
    """At least one moment, in nanoseconds since the epoch."""
    if not _given(given, name):
        raise ValueError(f"{name} is empty: it takes at least one moment")
    return [microseconds(moment) * 1000 for moment in given or ()]


def _query(start: int, end: int, names: Iterable[str], by_step: bool = False, are_patterns: bool = False) -> _Query:
    return start, end, by_step, _names(names) or None, are_patterns


class PandasFrame:
    """System metrics and framework events of a folder as DataFrames.

    Columns named `..._us` count microseconds from the minute in the name of the first file of system metrics, or from the
    epoch where there is none; of other tools' traces from the full second in which they begin (`start_time`).
    No row is dropped because another one equals it.

    Args:
        path: The folder, or any trace, profile or recording.
        use_in_memory_cache: Keep what was read. Otherwise files are read anew at each call, so that those of a job that is
            still running are seen.
        scan_interval: Microseconds that SMDebug reads at a time. Here files are read once each, and answers do not depend
            on it.
    """

    def __init__(self, path: str | os.PathLike[str], use_in_memory_cache: bool = False,
                 scan_interval: int = 5000000000) -> None:
        self.path = os.fspath(path)
        if self.path.startswith("s3:"):
            raise ValueError(f"{self.path}: copy the folder first, for example with aws s3 sync")
        if scan_interval <= 0:
            raise ValueError(f"scan_interval {scan_interval}: it is above 0")
        self.interval = scan_interval
        self._cached: _core.Profile | None = None
        self._keep = use_in_memory_cache
        self._queries: tuple[list[_Query], list[_Query]] = ([], [])
        self.start_time = self._profile().origin // 1000

    def _profile(self) -> _core.Profile:
        if self._cached is not None:
            return self._cached
        profile = _core.Profile([self.path], {})
        if self._keep:
            self._cached = profile
        return profile

    def get_all_system_metrics(self, selected_system_metrics: Sequence[str] = ()) -> DataFrame:
        """All system metrics, by time.

        Args:
            selected_system_metrics: Only those whose name or dimension is one of these.
        """
        return _frames.frame(self.get_all_system_metrics_table(selected_system_metrics))

    def get_all_system_metrics_table(self, selected_system_metrics: Sequence[str] = ()) -> Table:
        """The same as a `Table`, which needs no pandas."""
        return self._profile().samples([_query(*_ALWAYS, selected_system_metrics)])

    def get_all_framework_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> DataFrame:
        """All events that last, by start.

        Args:
            selected_framework_metrics: Only those whose name or process is one of these.
        """
        return _frames.frame(self.get_all_framework_metrics_table(selected_framework_metrics))

    def get_all_framework_metrics_table(self, selected_framework_metrics: Sequence[str] = ()) -> Table:
        """The same as a `Table`, which needs no pandas."""
        return self._profile().events([_query(*_ALWAYS, selected_framework_metrics)])

    def get_all_dataloader_metrics(self, selected_framework_metrics: Sequence[str] = ()) -> DataFrame:
        """Events with what a data loader says of them: worker_id, num_workers, pin_memory.

        Args:
            selected_framework_metrics: Only those in whose name or process one of these regular expressions is found.
        """
        return _frames.frame(self.get_all_dataloader_metrics_table(selected_framework_metrics))

    def get_all_dataloader_metrics_table(self, selected_framework_metrics: Sequence[str] = ()) -> Table:
        """The same as a `Table`, which needs no pandas."""
        return self._profile().loader_events([_query(*_ALWAYS, selected_framework_metrics, are_patterns=True)])

    def convert_datetime_to_timestamp(self, timestamp: Moment) -> int:
        """Microseconds since the epoch of a text in a column of times, or of a datetime."""
        return microseconds(timestamp)

    def _overlaps(self, spans: list[tuple[int, int]], names: Sequence[str]) -> list[tuple[str, str, float]]:
        table = self._profile().overlaps(spans, _names(names) or None)
        return list(zip(table["process"], table["framework_metric"], table["overlap_us"]))

    def get_framework_metrics_by_timesteps(
        self, timestep_list: Sequence[Moment] = (), selected_framework_metrics: Sequence[str] = ()
    ) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """What ran at given moments: for each moment, events count with their length.

        Args:
            timestep_list: Moments, as the columns of times have them.
            selected_framework_metrics: Only events whose name or process is one of these.

        Three dicts: of processes, as shares of the largest; of events other than steps, in microseconds; of training
        phases, in microseconds.
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
        """What ran in given spans of time, for as long as it overlapped them.

        Args:
            begin_timestep_list: Where the spans begin.
            end_timestep_list: Where they end.
            selected_framework_metrics: Only events whose name or process is one of these.

        Two dicts without steps: of processes and of events, both as shares of the largest.
        """
        begins = _moments(begin_timestep_list, "begin_timestep_list")
        ends = _moments(end_timestep_list, "end_timestep_list")
        if len(begins) != len(ends):
            raise ValueError(f"{len(begins)} begins and {len(ends)} ends of spans")
        spans = list(zip(begins, ends))
        rows = [row for row in self._overlaps(spans, selected_framework_metrics) if "Step" not in row[1]]
        return (_shares(_sums((process, us) for process, _, us in rows)),
                _shares(_sums((name, us) for _, name, us in rows)))

    def _tables(self, system: _Query | None, framework: _Query | None, cache: bool) -> tuple[DataFrame, DataFrame]:
        tables: list[DataFrame] = []
        profile = self._profile()
        for query, known, read in zip((system, framework), self._queries, (profile.samples, profile.events)):
            if cache and query:
                known.append(query)
            wanted = known if cache else [query] if query else []
            tables.append(_frames.frame(read(list(wanted) or [(1, 0, False, None, False)])))
        return tables[0], tables[1]

    def get_profiler_data_by_time(
        self, start_time_us: float, end_time_us: float, cache_metrics: bool = False,
        selected_framework_metrics: Sequence[str] = (), selected_system_metrics: Sequence[str] = (),
        get_framework_metrics: bool = True, get_system_metrics: bool = True
    ) -> tuple[DataFrame, DataFrame]:
        """System metrics and events of a time interval, both of whose ends belong to it; events that overlap it.

        Args:
            start_time_us: Its start, in microseconds since the epoch.
            end_time_us: Its end.
            cache_metrics: Return also what earlier calls with this have asked for.
            selected_framework_metrics: Only events whose name or process is one of these.
            selected_system_metrics: Only system metrics whose name or dimension is one of these.
            get_framework_metrics: Whether events are wanted.
            get_system_metrics: Whether system metrics are wanted.
        """
        start, end = _bound(start_time_us, "start_time_us"), _bound(end_time_us, "end_time_us")
        if start > end:
            raise ValueError(f"start_time_us {start_time_us} is after end_time_us {end_time_us}")
        return self._tables(_query(start, end, selected_system_metrics) if get_system_metrics else None,
                            _query(start, end, selected_framework_metrics) if get_framework_metrics else None,
                            cache_metrics)

    def get_profiler_data_by_step(self, start_step: int, end_step: int,
                                  cache_metrics: bool = False) -> tuple[DataFrame, DataFrame]:
        """Events of steps, and the system metrics of the time that they take.

        Args:
            start_step: The first step.
            end_step: The last step.
            cache_metrics: Return also what earlier calls with this have asked for.
        """
        query = _query(int(_given(start_step, "start_step")), int(_given(end_step, "end_step")), (), by_step=True)
        return self._tables(query, query, cache_metrics)


def _sums(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums


def _shares(sums: dict[str, Any]) -> dict[str, float]:
    """Of the largest; all 0 where nothing takes time."""
    largest = max(sums.values(), default=0)
    return {key: value / largest if largest else 0.0 for key, value in sums.items()}
