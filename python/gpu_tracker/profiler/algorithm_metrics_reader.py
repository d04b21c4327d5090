"""Reader of events of all timelines of a folder."""
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
    """Reader of events of all timelines in a folder and its subfolders. Each call reads the files again, except with a cache.

    Args:
        trace_root_folder: Folder to read.
        use_in_memory_cache: Keep events in memory.
    """

    def __init__(self, trace_root_folder: str | os.PathLike[str], use_in_memory_cache: bool = False) -> None:
        self.trace_root_folder = os.fspath(trace_root_folder)
        self._keep = use_in_memory_cache
        self._events: list[tuple[str, TraceEvent]] | None = None
        self._files: dict[str, int] = {}
        self.refresh_event_file_list()

    def refresh_event_file_list(self) -> None:
        """Scan the folder for files again."""
        self._events = None
        self._files = {}
        for folder, _, names in os.walk(self.trace_root_folder):
            for name in names:
                number = name.partition("_")[0]
                if any(name.endswith(suffix) for suffix in _PARSERS) and number.isdigit():
                    self._files[os.path.join(folder, name)] = int(number)

    def get_timestamp_of_first_available_file(self) -> int:
        """Return the end of the first file in microseconds since the epoch; 0 without files."""
        return min(self._files.values(), default=0)

    def get_timestamp_of_latest_available_file(self) -> int:
        """Return the end of the last file in microseconds since the epoch; 0 without files."""
        return max(self._files.values(), default=0)

    def get_current_time_range_for_event_query(self) -> tuple[int, int]:
        """Return the ends of the first and the last file."""
        return self.get_timestamp_of_first_available_file(), self.get_timestamp_of_latest_available_file()

    def get_all_event_parsers(self) -> list[TraceEventParser]:
        """Return an empty parser for each kind of timeline."""
        return [make() for make in _PARSERS.values()]

    def _read(self, wanted: Sequence[str] = ("",)) -> list[tuple[str, TraceEvent]]:
        """Return kind and event for all files with the given suffixes."""
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
        """Return events that overlap an interval, ends included.

        Args:
            start_time: Start of the interval since the epoch.
            end_time: End of the interval.
            unit: Unit of start and end.
            event_type: `file_type` of the events to return. Default: all.
            file_suffix_filter: Suffixes of the names of files to read, such as "pythontimeline.json". Default: all.
        """
        start, end = interval_in_microseconds(start_time, end_time, unit)
        wanted = [""] if file_suffix_filter is None else file_suffix_filter
        return [event for _, event in self._read([wanted] if isinstance(wanted, str) else wanted)
                if event.end_time >= start and event.start_time <= end
                and (event_type is None or event.file_type == event_type)]

    def get_events_by_step(self, start_step: int, end_step: int, event_type: str | None = None,
                           file_suffix_filter: Sequence[str] | None = None) -> list[TraceEvent]:
        """Return events from the start of a step until another step starts. If a step does not exist, the list is empty.

        Args:
            start_step: First step.
            end_step: Step after the last step.
            event_type: See `get_events`.
            file_suffix_filter: See `get_events`.
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
