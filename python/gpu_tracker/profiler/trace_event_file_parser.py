"""Events of timelines as objects with all arguments."""
from __future__ import annotations

import datetime
import json
import os
from typing import Any

from .. import _core
from .._tables import Table
from .utils import TimeUnits, interval_in_microseconds

__all__ = ["ProcessInfo", "ThreadInfo", "TraceEvent", "TraceEventParser"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class ThreadInfo:
    """A thread of a process.

    Args:
        tid: Thread ID.
        thread_name: Name of the thread.
    """

    def __init__(self, tid: int | str, thread_name: str) -> None:
        self.tid = tid
        self.thread_name = thread_name

    def __repr__(self) -> str:
        return f"tid:{self.tid} name:{self.thread_name}"


class ProcessInfo:
    """A process of a timeline. In SMDebug's timelines it is a phase, in Horovod's a tensor.

    Args:
        id: Process ID in the file.
        name: Name of the process.
    """

    def __init__(self, id: int | str, name: str) -> None:
        self.id = id
        self.name = name
        self._threads: dict[int | str, ThreadInfo] = {}

    def add_thread(self, threadid: int | str, thread_name: str) -> None:
        """Add a thread.

        Args:
            threadid: Thread ID.
            thread_name: Name of the thread.
        """
        self._threads.setdefault(threadid, ThreadInfo(threadid, thread_name))

    def get_thread_info(self, threadid: int | str) -> ThreadInfo:
        """Return a thread by its ID.

        Args:
            threadid: Thread ID.
        """
        return self._threads[threadid]

    def __repr__(self) -> str:
        return f"id:{self.id} name:{self.name} threads:{self._threads}"


class TraceEvent:
    """An event. Times are in microseconds since the epoch, if the file contains a base time.

    Attributes:
        start_time: Start of the event.
        end_time: End of the event.
        duration: Duration of the event.
        event_name: Name of the event.
        event_args: Arguments of the event, or None.
        phase: Letter of the Trace Event Format: "X" for events with a duration, also for pairs of "B" and "E".
        event_phase: Name of the process, which is a phase in SMDebug's timelines.
        phase_pid: Process ID in the file.
        phase_tid: Thread ID in the file.
        pid: Real process ID, if the arguments contain it, otherwise phase_pid.
        tid: Real thread ID, if the arguments contain it, otherwise phase_tid.
        node_id: Node of the event.
        process_info: Process of the event.
        file_type: Type of the parser.
    """

    def __init__(self, ts: float, name: str, dur: float, phase_pid: int | str, phase_tid: int | str,
                 event_args: dict[str, Any] | None, node_id: str, phase: str, file_type: str, event_phase: str = "",
                 pid: int | str = 0, tid: int | str = 0, process_info: ProcessInfo | None = None) -> None:
        self.start_time = ts
        self.event_name = name
        self.duration = dur
        self.end_time = ts + dur
        self.phase_pid = phase_pid
        self.phase_tid = phase_tid
        self.pid = pid
        self.tid = tid
        self.event_args = event_args
        self.node_id = node_id
        self.phase = phase
        self.event_phase = event_phase
        self.process_info = process_info
        self.file_type = file_type

    def to_json(self) -> str:
        """Return the event in the Trace Event Format."""
        event: dict[str, Any] = {"name": self.event_name, "pid": self.pid, "tid": self.tid, "ph": self.phase,
                                 "ts": self.start_time}
        arguments = dict(self.event_args or {})
        if self.phase == "i" and arguments:
            event["s"] = arguments.pop("s", "t")
        elif self.phase == "X":
            event["dur"] = self.duration
        if arguments:
            event["args"] = arguments
        return json.dumps(event)


def _number(text: str | None) -> int | str:
    """Return an ID as a number if it is numeric."""
    return int(text) if text and text.lstrip("-").isdigit() else text or 0


class TraceEventParser:
    """Parser of events with a duration. It can read several files.

    Args:
        type: `file_type` of the events.
    """

    def __init__(self, type: str = "") -> None:
        self.type = type
        self._processes: dict[int | str, ProcessInfo] = {}
        self._trace_events: list[TraceEvent] = []

    def read_events_from_file(self, tracefile: str | os.PathLike[str]) -> None:
        """Read a file. Without a base time in the file, times count from an unknown moment.

        Args:
            tracefile: File to read.
        """
        self._take(_core.raw_events([os.fspath(tracefile)], {}))

    def _take(self, table: Table) -> None:
        names = ("start_us", "duration_us", "name", "args", "ph", "pid", "tid", "process", "node")
        for start, duration, name, text, phase, pid, tid, process, node in zip(*(table[column] for column in names)):
            if phase != "X":
                continue
            arguments = json.loads(text) if text else None
            values = arguments or {}
            number, thread = _number(pid), _number(tid)
            info = self._processes.setdefault(number, ProcessInfo(number, ""))
            info.name = process or info.name or "Unknown"
            info.add_thread(thread, str(tid or ""))
            self._trace_events.append(TraceEvent(
                start, name, duration, number, thread, arguments, node, phase, self.type, info.name,
                values.get("pid", number), values.get("thread_id", thread), info))

    def get_all_events(self) -> list[TraceEvent]:
        """Return all events."""
        return self._trace_events

    def get_events_start_time_sorted(self) -> list[TraceEvent]:
        """Return all events sorted by start."""
        return sorted(self._trace_events, key=lambda event: event.start_time)

    def get_events_end_time_sorted(self) -> list[TraceEvent]:
        """Return all events sorted by end."""
        return sorted(self._trace_events, key=lambda event: event.end_time)

    def get_events_within_time_range(self, start_time: float, end_time: float,
                                     unit: TimeUnits = TimeUnits.MICROSECONDS) -> list[TraceEvent]:
        """Return events that overlap an interval, ends included.

        Args:
            start_time: Start of the interval.
            end_time: End of the interval.
            unit: Unit of start and end.
        """
        start, end = interval_in_microseconds(start_time, end_time, unit)
        return [event for event in self._trace_events if event.end_time >= start and event.start_time <= end]

    def get_events_within_range(self, start_time: datetime.datetime, end_time: datetime.datetime) -> list[TraceEvent]:
        """Return events that overlap an interval between two datetimes. Without a time zone they are UTC.

        Args:
            start_time: Start of the interval.
            end_time: End of the interval.
        """
        bounds = []
        for moment in (start_time, end_time):
            aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)
            bounds.append((aware - _EPOCH) // datetime.timedelta(microseconds=1))
        return self.get_events_within_time_range(bounds[0], bounds[1])

    def get_process_info(self, process_id: int | str) -> ProcessInfo:
        """Return a process by its ID in the file.

        Args:
            process_id: Process ID.
        """
        return self._processes[process_id]

    def get_processes(self) -> dict[int | str, ProcessInfo]:
        """Return all processes by their IDs."""
        return self._processes

    def clear_events(self) -> None:
        """Remove all events."""
        self._trace_events = []
