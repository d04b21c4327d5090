"""Events of timelines as objects, with all their arguments."""
from __future__ import annotations

import datetime
import json
import os
from typing import Any

from .. import _core
from .utils import TimeUnits, interval_in_microseconds

__all__ = ["ProcessInfo", "ThreadInfo", "TraceEvent", "TraceEventParser"]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class ThreadInfo:
    """A thread of a process.

    Args:
        tid: Its number.
        thread_name: Its name.
    """

    def __init__(self, tid: int | str, thread_name: str) -> None:
        self.tid = tid
        self.thread_name = thread_name

    def __repr__(self) -> str:
        return f"tid:{self.tid} name:{self.thread_name}"


class ProcessInfo:
    """A process of a timeline: in SMDebug's a phase, in Horovod's a tensor.

    Args:
        id: Its number in the file.
        name: Its name.
    """

    def __init__(self, id: int | str, name: str) -> None:
        self.id = id
        self.name = name
        self._threads: dict[int | str, ThreadInfo] = {}

    def add_thread(self, threadid: int | str, thread_name: str) -> None:
        """Make a thread known.

        Args:
            threadid: Its number.
            thread_name: Its name.
        """
        self._threads.setdefault(threadid, ThreadInfo(threadid, thread_name))

    def get_thread_info(self, threadid: int | str) -> ThreadInfo:
        """A thread by its number.

        Args:
            threadid: The number.
        """
        return self._threads[threadid]

    def __repr__(self) -> str:
        return f"id:{self.id} name:{self.name} threads:{self._threads}"


class TraceEvent:
    """An event. Times are microseconds since the epoch where the file tells.

    Attributes:
        start_time: When it began.
        end_time: When it ended.
        duration: How long it took.
        event_name: Its name.
        event_args: Its arguments; None where it has none.
        phase: The letter of the Trace Event Format: "X" for what lasts, also where it began with "B" and ended with "E".
        event_phase: The name of its process, which in SMDebug's timelines is a phase.
        phase_pid: The number of that process in the file.
        phase_tid: The number of its thread in the file.
        pid: The real process, where its arguments tell it, else phase_pid.
        tid: The real thread, likewise.
        node_id: The node.
        process_info: The process.
        file_type: What reads the file.
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
        """The event in the Trace Event Format."""
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
    """An id as a number where it is one."""
    return int(text) if text and text.lstrip("-").isdigit() else text or 0


class TraceEventParser:
    """The events of files that last, one file after another.

    Args:
        type: What its events tell as their `file_type`.
    """

    def __init__(self, type: str = "") -> None:
        self.type = type
        self._processes: dict[int | str, ProcessInfo] = {}
        self._trace_events: list[TraceEvent] = []

    def read_events_from_file(self, tracefile: str | os.PathLike[str]) -> None:
        """Read one more file. Times of files that do not tell when they began count from an unknown moment.

        Args:
            tracefile: The file.
        """
        self._take(_core.raw_events([os.fspath(tracefile)], {}))

    def _take(self, table: _core.Table) -> None:
        names = ("start_us", "duration_us", "name", "args", "ph", "pid", "tid", "process", "node")
        for start, duration, name, text, phase, pid, tid, process, node in zip(*(table[column] for column in names)):
            if phase != "X":
                continue
            arguments = json.loads(text) if text else None
            told = arguments or {}
            number, thread = _number(pid), _number(tid)
            info = self._processes.setdefault(number, ProcessInfo(number, ""))
            info.name = process or info.name or "Unknown"
            info.add_thread(thread, str(tid or ""))
            self._trace_events.append(TraceEvent(
                start, name, duration, number, thread, arguments, node, phase, self.type, info.name,
                told.get("pid", number), told.get("thread_id", thread), info))

    def get_all_events(self) -> list[TraceEvent]:
        """All events that were read."""
        return self._trace_events

    def get_events_start_time_sorted(self) -> list[TraceEvent]:
        """All events by their begin."""
        return sorted(self._trace_events, key=lambda event: event.start_time)

    def get_events_end_time_sorted(self) -> list[TraceEvent]:
        """All events by their end."""
        return sorted(self._trace_events, key=lambda event: event.end_time)

    def get_events_within_time_range(self, start_time: float, end_time: float,
                                     unit: TimeUnits = TimeUnits.MICROSECONDS) -> list[TraceEvent]:
        """Events that overlap an interval, both of whose ends belong to it.

        Args:
            start_time: Its start.
            end_time: Its end.
            unit: What both are told in.
        """
        start, end = interval_in_microseconds(start_time, end_time, unit)
        return [event for event in self._trace_events if event.end_time >= start and event.start_time <= end]

    def get_events_within_range(self, start_time: datetime.datetime, end_time: datetime.datetime) -> list[TraceEvent]:
        """The same for two moments; without a time zone they are UTC.

        Args:
            start_time: The first moment.
            end_time: The last.
        """
        bounds = []
        for moment in (start_time, end_time):
            aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)
            bounds.append((aware - _EPOCH) // datetime.timedelta(microseconds=1))
        return self.get_events_within_time_range(bounds[0], bounds[1])

    def get_process_info(self, process_id: int | str) -> ProcessInfo:
        """A process by its number in the file.

        Args:
            process_id: The number.
        """
        return self._processes[process_id]

    def get_processes(self) -> dict[int | str, ProcessInfo]:
        """All processes by their numbers."""
        return self._processes

    def clear_events(self) -> None:
        """Forget the events."""
        self._trace_events = []
