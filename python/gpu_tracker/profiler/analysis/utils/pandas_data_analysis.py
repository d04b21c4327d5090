"""Statistics of system metrics and events in DataFrames."""
from __future__ import annotations

import json
import numbers
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from .... import _core, _tables
from .... import _pandas as pandas
from ...._tables import Table
from .profiler_data_to_pandas import microseconds, nanoseconds

__all__ = ["JobStats", "PandasFrameAnalysis", "Resource", "StatsBy"]

_SAMPLES = ("timestamp_us", "value", "system_metric", "dimension", "nodeID", "type")
_EVENTS = ("start_time_us", "end_time_us", "framework_metric", "step", "process", "nodeID")
_RANGES = ((90, 100), (10, 90), (0, 10))  # percent
_STATISTICS = ("mean", "min", "max", "p50", "p95", "p99")


def _are_pairs(ranges: Any) -> bool:
    """Return whether the ranges are a non-empty sequence of pairs of numbers."""
    return isinstance(ranges, Sequence) and len(ranges) > 0 and all(
        isinstance(pair, Sequence) and len(pair) == 2 and all(isinstance(bound, numbers.Real) for bound in pair) for pair in ranges)


class StatsBy(Enum):
    """Grouping of statistics."""

    TRAINING_PHASE = "training_phase"
    FRAMEWORK_METRICS = "framework_metric"
    PROCESS = "process"


class Resource(Enum):
    """Kind of system metrics."""

    CPU = "cpu"
    GPU = "gpu"
    IO = "i/o"
    NETWORK = "network"
    MEMORY = "memory"


class JobStats(dict[str, Any]):
    """Duration of a job and its parts, by name. Unknown values are None, and "reason" contains the reason."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{key:<{width}}  {value}" for key, value in self.items())


# In our recordings, series are named by metric. The first of these words in the name determines the resource.
_WORDS = {"gpu": Resource.GPU, "cpu": Resource.CPU, "network": Resource.NETWORK, "ram": Resource.MEMORY, "rss": Resource.MEMORY,
          "swap": Resource.MEMORY, "memory": Resource.MEMORY, "read": Resource.IO, "written": Resource.IO, "io": Resource.IO}


def _is_wanted(kind: str | None, dimension: str | None, wanted: Sequence[Resource]) -> bool:
    """Return whether a metric belongs to one of the resources. SMDebug's kinds contain the name of the resource."""
    named = [item for item in Resource if item.value in (kind or "")]
    if not named:
        words = (dimension or "").split("_")
        named = [item for word, item in _WORDS.items() if word in words][:1]
    return any(item in wanted for item in named)


def _resources(given: Resource | Sequence[Resource] | None, default: Sequence[Resource],
               empty_is_default: bool = False) -> list[Resource]:
    if given is None or (isinstance(given, Sequence) and not given and empty_is_default):
        return list(default)
    if isinstance(given, Sequence) and not given:
        raise ValueError("resource is empty: give at least one, or None for all")
    return [Resource(item) for item in ([given] if isinstance(given, (Resource, str)) else given)]


def _plain(number: float) -> float:
    """Convert whole numbers to integers."""
    return int(number) if number == int(number) else number


def _shown(table: Table, keys: dict[str, str], statistics: str, suffix: str = "",
           keep: Callable[[int], bool] = lambda row: True) -> Table:
    """Return columns of a report under SMDebug's names, keys first, then six statistics, for the rows to keep."""
    columns = {new: table[old] for new, old in keys.items()}
    for name in _STATISTICS:
        columns[statistics.format(name)] = table[name + suffix]
    rows = [row for row in range(len(table)) if keep(row)]
    return Table({name: [values[row] for row in rows] for name, values in columns.items()})


class PandasFrameAnalysis:
    """Statistics of two DataFrames from `PandasFrame`, or of a part of their rows.

    Nodes, modes and dimensions are separate: TRAIN 3 and EVAL 3 are two steps, also steps 3 of two nodes. GPU utilization and GPU
    memory use are two values. Percentiles use linear interpolation.

    Args:
        system_df: System metrics. They are not changed.
        framework_df: Events. They are not changed.
    """

    def __init__(self, system_df: pandas.DataFrame | Table, framework_df: pandas.DataFrame | Table) -> None:
        self.sys_metrics_df = system_df
        self.framework_metrics_df = framework_df
        self._samples = _tables.table(system_df, _SAMPLES)
        self._events = _tables.table(framework_df, _EVENTS)
        self._profile = _core.trace_of_tables(self._samples._handle, self._events._handle)
        times = self._samples["timestamp_us"] + self._events["start_time_us"]
        self._first = min(times, default=0)

    def _report(self, analysis: str, **options: Any) -> dict[str, Table]:
        return _core.report_tables(_core.trace_analyse(self._profile, analysis, options))

    def _epoch(self) -> int | None:
        """Return the base time of the columns in microseconds since the epoch; None if no column contains it."""
        for frame, text, number in ((self.sys_metrics_df, "timestamp", "timestamp_us"),
                                    (self.framework_metrics_df, "start_time", "start_time_us")):
            names = frame.column_names if isinstance(frame, Table) else frame.columns
            if len(frame) and text in names:
                first = frame if isinstance(frame, Table) else frame.iloc[:1]
                moment, us = list(first[text])[0], list(first[number])[0]
                return microseconds(moment) - int(us // 1)
        return None

    def get_job_statistics(self) -> JobStats:
        """Return durations of the job: initialization until the first step, training loop until the last step, finalization.

        Durations are in microseconds. The three sum to job_duration; keys with % contain percentages. Without steps, values that
        depend on steps are None, and "reason" contains the reason.
        """
        report = json.loads(_core.report_text(_core.trace_analyse(self._profile, "job", {}), "json"))
        job = report["job"][-1] if report["job"] else {}
        epoch = self._epoch()

        def moment(us: float | None) -> str | None:
            if us is None or epoch is None:
                return None
            return _tables.time_text(epoch * 1000 + nanoseconds(self._first) + nanoseconds(us))

        def number(key: str) -> float | None:
            value = job.get(key)
            return None if value is None else _plain(value)

        start, initialization, loop = job.get("start_us"), job.get("initialization_us"), job.get("training_loop_us")
        begin = None if initialization is None else start + initialization
        stats = JobStats(
            start_time=moment(start), end_time=moment(job.get("end_us")), job_duration=number("duration_us"),
            training_loop_start=moment(begin), training_loop_end=moment(None if begin is None else begin + loop),
            training_loop_duration=number("training_loop_us"), initialization=number("initialization_us"),
            finalization=number("finalization_us"))
        for part in ("initialization", "training_loop", "finalization"):
            stats[f"{part}_%"] = job.get(f"{part}_percent")
        if begin is None:
            stats["reason"] = report.get("reason", "no events and no samples")
        return stats

    def get_step_statistics(self, by: StatsBy | str = StatsBy.TRAINING_PHASE,
                            over_nodes: bool = False) -> pandas.DataFrame:
        """Return mean, minimum, maximum, p50, p95 and p99 of the duration of steps in microseconds.

        A step lasts from the first start to the last end of its events.

        Args:
            by: A row for each training phase, event or process of each node. Rows of events and processes are also split by
                training phase.
            over_nodes: For training phases: merge steps with the same number on all nodes, from the first start to the last
                end on any node. Differences between clocks make these steps longer.
        """
        return _tables.frame(self.get_step_statistics_table(by, over_nodes))

    def get_step_statistics_table(self, by: StatsBy | str = StatsBy.TRAINING_PHASE, over_nodes: bool = False) -> Table:
        """Return the same as a `Table`, without pandas."""
        by = StatsBy(by)
        if over_nodes and by is not StatsBy.TRAINING_PHASE:
            raise ValueError("over_nodes needs by=StatsBy.TRAINING_PHASE")
        profile = self._profile if not over_nodes else self._as_one_node()
        table = _core.report_tables(_core.trace_analyse(profile, "steps", {"by": by.value}))["steps"]
        keys = {by.value: by.value}
        if not over_nodes:
            keys["nodeID"] = "node"
        if by is not StatsBy.TRAINING_PHASE:
            keys["training_phase"] = "mode"
        shown = _shown(table, keys, "duration_{}_us", "_us")
        order = [by.value, *(f"duration_{name}_us" for name in _STATISTICS), *list(keys)[1:]]
        return Table({name: shown[name] for name in order})

    def _as_one_node(self) -> _core.Handle:
        events = {name: self._events[name] for name in _EVENTS}
        merged = Table({**events, "nodeID": ["all"] * len(self._events)})
        return _core.trace_of_tables(self._samples._handle, merged._handle)

    def get_utilization_stats(self, resource: Resource | Sequence[Resource] | None = None,
                              by: StatsBy | str | None = None,
                              phase: str | Sequence[str] | None = None) -> pandas.DataFrame:
        """Return mean, minimum, maximum, p50, p95 and p99 of the utilization of resources over all devices of a node.

        Args:
            resource: Resources to include. Default: all.
            by: StatsBy.TRAINING_PHASE for a row for each interval of `get_training_phase_intervals`. Default: one row for all.
            phase: Training phases to find intervals for. Default: all.
        """
        return _tables.frame(self.get_utilization_stats_table(resource, by, phase))

    def get_utilization_stats_table(self, resource: Resource | Sequence[Resource] | None = None,
                                    by: StatsBy | str | None = None,
                                    phase: str | Sequence[str] | None = None) -> Table:
        """Return the same as a `Table`, without pandas."""
        wanted = _resources(resource, tuple(Resource))
        if by is not None and StatsBy(by) is not StatsBy.TRAINING_PHASE:
            raise ValueError("by must be StatsBy.TRAINING_PHASE or None")
        options: dict[str, Any] = {"by": "phase", "phases": _phases(phase)} if by is not None else {}
        table = self._report("utilization", **options)["utilization"]
        keys = {"Resource": "resource", **({"Training_phase": "phase"} if by is not None else {}), "nodeID": "node"}
        types, dimensions = table["resource"], table["dimension"]
        shown = _shown(table, {**keys, "dimension": "dimension"}, "utilization_{}",
                       keep=lambda row: resource is None or _is_wanted(types[row], dimensions[row], wanted))
        order = [*keys, *(f"utilization_{name}" for name in _STATISTICS), "dimension"]
        return Table({name: shown[name] for name in order})

    def get_device_usage_stats(self, device: Resource | Sequence[Resource] | None = None,
                               utilization_ranges: Sequence[tuple[float, float]] | None = None) -> pandas.DataFrame:
        """Count samples of devices in ranges of utilization: a column for each range, the lowest first.

        Args:
            device: Devices to include. Default: CPU and GPU.
            utilization_ranges: Pairs of percent, ends included. A sample counts in the first matching range. Default:
                (90, 100), (10, 90), (0, 10).
        """
        table = self.get_device_usage_stats_table(device, utilization_ranges)
        frame = _tables.frame(table)
        frame.columns = [*table.column_names[:2], *sorted(utilization_ranges or _RANGES), table.column_names[-1]]
        return frame

    def get_device_usage_stats_table(self, device: Resource | Sequence[Resource] | None = None,
                                     utilization_ranges: Sequence[tuple[float, float]] | None = None) -> Table:
        """Return the same as a `Table`, without pandas. Names of ranges are like "90-100"."""
        wanted = _resources(device, (Resource.CPU, Resource.GPU), empty_is_default=True)
        if utilization_ranges is not None and not _are_pairs(utilization_ranges):
            raise ValueError("utilization_ranges must be pairs of percent, such as [(90, 100), (10, 90), (0, 10)]")
        names = [f"{low:g}-{high:g}" for low, high in utilization_ranges or _RANGES]
        shown = [f"{low:g}-{high:g}" for low, high in sorted(utilization_ranges or _RANGES)]
        table = self._report("devices", ranges=",".join(names))["devices"]
        counts: dict[tuple[str, str, str], dict[str, int]] = {}
        for kind, node, dimension, name, samples in zip(*(table[column] for column in (
                "device", "node", "dimension", "range", "samples"))):
            if _is_wanted(kind, dimension, wanted):
                counts.setdefault((kind, node, dimension), {})[name] = samples
        columns = {key: [row[i] for row in counts] for i, key in enumerate(("type", "nodeID", "dimension"))}
        return Table({"type": columns["type"], "nodeID": columns["nodeID"],
                      **{name: [row[name] for row in counts.values()] for name in shown},
                      "dimension": columns["dimension"]})

    def get_training_phase_intervals(self, phase: str | Sequence[str] | None = None,
                                     each_step: bool = False) -> pandas.DataFrame:
        """Return intervals before, in, between and after training phases, sorted by node and time.

        Args:
            phase: Training phases to find intervals for, such as "Step:ModeKeys.TRAIN". Default: all.
            each_step: Return an interval for each step instead of each run of steps of a phase.
        """
        return _tables.frame(self.get_training_phase_intervals_table(phase, each_step))

    def get_training_phase_intervals_table(self, phase: str | Sequence[str] | None = None,
                                           each_step: bool = False) -> Table:
        """Return the same as a `Table`, without pandas."""
        table = self._report("phases", phases=_phases(phase), by="step" if each_step else None)["phases"]
        starts = [_plain(self._first + us + name.startswith(("Between ", "After ")))
                  for us, name in zip(table["start_us"], table["phase"])]
        ends = [_plain(self._first + us - name.startswith(("Between ", "Before ")))
                for us, name in zip(table["end_us"], table["phase"])]
        return Table({"start_time_us": starts, "end_time_us": ends, "phase": table["phase"], "nodeID": table["node"]})


def _phases(phase: str | Sequence[str] | None) -> list[str] | None:
    if phase is None or isinstance(phase, str):
        return [phase] if phase is not None else None
    if not isinstance(phase, Sequence) or not phase:
        raise ValueError(f"phase {phase!r} is not a name or a list of names; use None for all")
    return list(phase)
