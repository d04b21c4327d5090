"""The events of all timelines of a folder."""
from __future__ import annotations

import os
from collections.abc import Sequence

from .. import _core
from .tf_profiler_parser import (
    HorovodProfilerEvents,
    SMDataParallelProfilerEvents,
    SMProfilerEvents,
    TensorboardProfilerEvents,
)
from .trace_event_file_parser import TraceEvent, TraceEventParser
from .utils import TimeUnits, interval_in_microseconds

__all__ = ["LocalAlgorithmMetricsReader"]


class LocalAlgorithmMetricsReader:
    """The events of the timelines below a folder, read anew at each call unless they are kept.

    Args:
        trace_root_folder: The folder.
        use_in_memory_cache: Keep what was read.
    """

    def __init__(self, trace_root_folder: str | os.PathLike[str], use_in_memory_cache: bool = False) -> None:
        self.trace_root_folder = os.fspath(trace_root_folder)
        self._keep = use_in_memory_cache
        self._events: list[tuple[str, TraceEvent]] | None = None
        self._files: dict[str, int] = {}
        self.refresh_event_file_list()

    def refresh_event_file_list(self) -> None:
        """Look which files there are now."""
        self._events = None
        self._files = {}
        for folder, _, names in os.walk(self.trace_root_folder):
            for name in names:
                number = name.partition("_")[0]
                if any(name.endswith(suffix) for suffix in _PARSERS) and number.isdigit():
                    self._files[os.path.join(folder, name)] = int(number)

    def get_timestamp_of_first_available_file(self) -> int:
        """The end of the first file, in microseconds since the epoch; 0 without files."""
        return min(self._files.values(), default=0)

    def get_timestamp_of_latest_available_file(self) -> int:
        """The end of the last file, in microseconds since the epoch; 0 without files."""
        return max(self._files.values(), default=0)

    def get_current_time_range_for_event_query(self) -> tuple[int, int]:
        """The ends of the first and of the last file."""
        return self.get_timestamp_of_first_available_file(), self.get_timestamp_of_latest_available_file()

    def get_all_event_parsers(self) -> list[TraceEventParser]:
        """An empty parser for each kind of timeline."""
        return [make() for make in _PARSERS.values()]

    def _read(self, wanted: Sequence[str] = ("",)) -> list[tuple[str, TraceEvent]]:
        """The kinds and the events of files whose names end as wanted."""
        if self._events is not None and self._keep and "" in wanted:
            return self._events
        found: list[tuple[str, TraceEvent]] = []
        for kind, make in _PARSERS.items():
            suffixes = [max(kind, suffix, key=len) for suffix in wanted
                        if kind.endswith(suffix) or suffix.endswith(kind)]
            parser = make()
            if suffixes:
                parser._take(_core.raw_events([self.trace_root_folder], {"suffixes": suffixes}))
            found += [(kind, event) for event in parser.get_all_events()]
        if self._keep and "" in wanted:
            self._events = found
        return found

    def get_events(self, start_time: float, end_time: float, unit: TimeUnits = TimeUnits.MICROSECONDS,
                   event_type: str | None = None, file_suffix_filter: Sequence[str] | None = None) -> list[TraceEvent]:
        """Events that overlap an interval, both of whose ends belong to it.

        Args:
            start_time: Its start, since the epoch.
            end_time: Its end.
            unit: What both are told in.
            event_type: Only events whose `file_type` is this.
            file_suffix_filter: Only events of files whose names end so, such as "pythontimeline.json".
        """
        start, end = interval_in_microseconds(start_time, end_time, unit)
        wanted = [""] if file_suffix_filter is None else file_suffix_filter
        return [event for _, event in self._read([wanted] if isinstance(wanted, str) else wanted)
                if event.end_time >= start and event.start_time <= end
                and (event_type is None or event.file_type == event_type)]

    def get_events_by_step(self, start_step: int, end_step: int, event_type: str | None = None,
                           file_suffix_filter: Sequence[str] | None = None) -> list[TraceEvent]:
        """Events from the begin of one step to just before another; none where there is no such step.

        Args:
            start_step: The first step.
            end_step: The step behind the last.
            event_type: As for `get_events`.
            file_suffix_filter: As for `get_events`.
        """
        starts: dict[int, float] = {}
        for suffix, event in self._read():
            step = (event.event_args or {}).get("step_num")
            if suffix == "pythontimeline.json" and step is not None:
                starts[int(step)] = min(event.start_time, starts.get(int(step), event.start_time))
        if start_step not in starts or end_step not in starts or starts[start_step] > starts[end_step] - 1:
            return []
        return self.get_events(starts[start_step], starts[end_step] - 1, event_type=event_type,
                               file_suffix_filter=file_suffix_filter)


_PARSERS = {"pythontimeline.json": SMProfilerEvents,
            "model_timeline.json": lambda: SMProfilerEvents("DetailedframeworkMetrics"),
            "trace.json.gz": TensorboardProfilerEvents, "horovod_timeline.json": HorovodProfilerEvents,
            "smdataparallel_timeline.json": SMDataParallelProfilerEvents}
KINDS = tuple(_PARSERS)
