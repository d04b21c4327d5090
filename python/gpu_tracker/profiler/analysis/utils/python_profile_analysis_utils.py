"""Profiles of Python code: position in the training, and functions."""
from __future__ import annotations

import functools
import json
import math
import os
import pstats
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from .... import _core, _tables
from .... import _pandas as pandas
from ...._tables import Table
from ...python_profile_utils import PythonProfileModes, StepPhase, str_to_python_profile_mode

__all__ = ["Metrics", "PyinstrumentStepStats", "StepPythonProfileStats", "cProfileFunctionStats", "cProfileStats"]

_Function = tuple[str, int, str]
_ORDER = list(StepPhase)


class Metrics(Enum):
    """Sort key of functions."""

    TOTAL_TIME = "tottime"
    CUMULATIVE_TIME = "cumtime"
    PRIMITIVE_CALLS = "pcalls"
    TOTAL_CALLS = "ncalls"


class StepPythonProfileStats:
    """Position of a profile: before step 0, in a step, between two steps, or until the end of the script.

    Args:
        framework: "pytorch", "tensorflow".
        profiler_name: "cprofile" or "pyinstrument".
        node_id: Node of the profile.
        stats_dir: Name of the profile's folder. It contains the values of the attributes below.
        stats_path: File of the profile.

    Attributes:
        profiler_name: "cprofile" or "pyinstrument".
        framework: "pytorch", "tensorflow".
        node_id: Node of the profile.
        start_mode: Mode of the training at the start.
        start_phase: Phase of the step at the start.
        start_step: Step at the start; -1 before step 0.
        start_time_since_epoch_in_micros: Start in microseconds since the epoch, UTC.
        end_mode: Mode of the training at the end.
        end_step: Step at the end; infinity at the end of the script.
        end_phase: Phase of the step at the end.
        end_time_since_epoch_in_micros: End in microseconds since the epoch, UTC.
        stats_path: File of the profile.
    """

    def __init__(self, framework: str, profiler_name: str, node_id: str, stats_dir: str,
                 stats_path: str | os.PathLike[str]) -> None:
        try:
            (start_mode, start_step, start_phase, start_time), (end_mode, end_step, end_phase, end_time) = (
                part.split("-") for part in stats_dir.split("_"))
        except ValueError:
            raise ValueError(f"stats_dir '{stats_dir}' is not MODE-STEP-PHASE-TIME_MODE-STEP-PHASE-TIME") from None
        self.profiler_name = profiler_name
        self.framework = framework
        self.node_id = node_id
        self.start_mode: PythonProfileModes | None = str_to_python_profile_mode(start_mode)
        self.start_step: float = -1 if start_step == "*" else int(start_step)
        self.start_phase: StepPhase | None = StepPhase(start_phase)
        self.start_time_since_epoch_in_micros = float(start_time)
        self.end_mode: PythonProfileModes | None = str_to_python_profile_mode(end_mode)
        self.end_step: float = math.inf if end_step == "*" else int(end_step)
        self.end_phase: StepPhase | None = StepPhase(end_phase)
        self.end_time_since_epoch_in_micros = float(end_time)
        self.stats_path = os.fspath(stats_path)

    @classmethod
    def _of_row(cls, row: Mapping[str, Any]) -> StepPythonProfileStats:
        """Create an object from a row of the library's table of profiles."""
        stats = cls.__new__(cls)
        stats.profiler_name = row["profiler_name"]
        stats.framework = row["framework"]
        stats.node_id = row["node_id"]
        for end in ("start", "end"):
            mode, phase = row[f"{end}_mode"], row[f"{end}_phase"]
            setattr(stats, f"{end}_mode", None if mode is None else str_to_python_profile_mode(mode))
            setattr(stats, f"{end}_phase", None if phase is None else StepPhase(phase))
            step, time = row[f"{end}_step"], row[f"{end}_us"]
            setattr(stats, f"{end}_step", math.nan if step is None else int(step) if math.isfinite(step) else step)
            setattr(stats, f"{end}_time_since_epoch_in_micros", math.nan if time is None else time)
        stats.stats_path = row["stats_path"]
        return stats

    def has_start_and_end_mode(self, start_mode: PythonProfileModes, end_mode: PythonProfileModes) -> bool:
        """Return whether the profile began and ended in these modes."""
        return self.start_mode == start_mode and self.end_mode == end_mode

    def in_time_interval(self, start_time_since_epoch_in_micros: float, end_time_since_epoch_in_micros: float) -> bool:
        """Return whether the profile overlaps an interval, or contains it."""
        return (self.start_time_since_epoch_in_micros <= end_time_since_epoch_in_micros
                and self.end_time_since_epoch_in_micros >= start_time_since_epoch_in_micros)

    def in_step_interval(self, start_step: float, end_step: float, start_phase: StepPhase,
                         end_phase: StepPhase) -> bool:
        """Return whether the profile is completely between a phase of one step and a phase of another."""
        if self.start_phase is None or self.end_phase is None:  # older folders contain only the step
            return start_step <= self.start_step and self.end_step <= end_step
        return ((start_step, _ORDER.index(start_phase)) <= (self.start_step, _ORDER.index(self.start_phase))
                and (self.end_step, _ORDER.index(self.end_phase)) <= (end_step, _ORDER.index(end_phase)))

    def has_pre_step_zero_profile_stats(self) -> bool:
        """Return whether the profile began before step 0."""
        return self.start_phase == StepPhase.START

    def has_post_hook_close_profile_stats(self) -> bool:
        """Return whether the profile ended with the script."""
        return self.end_phase == StepPhase.END

    def has_node_id(self, node_id: str) -> bool:
        """Return whether the profile belongs to this node; "any" is every node."""
        return node_id in ("any", self.node_id)

    def __repr__(self) -> str:
        return repr(self.__dict__)


class cProfileFunctionStats:
    """A profiled function.

    Args:
        key: File, line and name.
        value: Primitive calls, all calls, seconds in the function, seconds including called functions, and callers by key.

    Attributes:
        function_name: "file:line(name)".
        prim_calls: Number of calls that are not recursive.
        total_calls: Number of all calls.
        total_time: Seconds in the function, without called functions.
        cumulative_time: Seconds in the function and called functions.
        callers: Names of the calling functions.
    """

    def __init__(self, key: _Function, value: tuple[int, int, float, float, Mapping[_Function, Any]]) -> None:
        self.function_name: str = pstats.func_std_string(key)  # type: ignore[attr-defined]
        self.prim_calls, self.total_calls, self.total_time, self.cumulative_time, callers = value
        self.callers: list[str] = [pstats.func_std_string(caller) for caller in callers]  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return repr({"function name": self.function_name, "# of primitive calls": self.prim_calls,
                     "# of total calls": self.total_calls, "total time": self.total_time,
                     "cumulative time": self.cumulative_time})


class cProfileStats:
    """Functions of one or more cProfile dumps.

    Args:
        ps: Object of the standard library's pstats.

    Attributes:
        ps: The argument.
        function_stats_list: A `cProfileFunctionStats` for each function.
    """

    def __init__(self, ps: pstats.Stats) -> None:
        self.ps = ps
        self.function_stats_list = [
            cProfileFunctionStats(key, value) for key, value in ps.stats.items()]  # type: ignore[attr-defined]

    def print_top_n_functions(self, by: Metrics | str, n: int = 10) -> None:
        """Print the first functions.

        Args:
            by: Sort key.
            n: Number of functions.
        """
        self.ps.sort_stats(Metrics(by).value).print_stats(int(n))

    def get_function_stats(self) -> pandas.DataFrame:
        """Return a row for each function: function_name, prim_calls, total_calls, total_time, cumulative_time, callers."""
        return _tables.pandas().DataFrame([vars(function) for function in self.function_stats_list])

    def get_function_stats_table(self) -> Table:
        """Return the same as a `Table`, without pandas. Callers are one text with a line for each caller."""
        rows = self.function_stats_list
        names = ("function_name", "prim_calls", "total_calls", "total_time", "cumulative_time")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        return Table({**columns, "callers": ["\n".join(row.callers) for row in rows]})


class PyinstrumentStepStats:
    """A profile of pyinstrument.

    Args:
        html_file_path: HTML page of the profile, or None.
        json_stats: Values that pyinstrument wrote, or the path of their file. It is read at the first use.

    Attributes:
        html_file_path: HTML page of the profile.
    """

    def __init__(self, html_file_path: str | None, json_stats: Mapping[str, Any] | str) -> None:
        self.html_file_path = html_file_path
        self._json_stats = json_stats

    @functools.cached_property
    def json_stats(self) -> Mapping[str, Any]:
        """Return the values that pyinstrument wrote."""
        if not isinstance(self._json_stats, str):
            return self._json_stats
        with open(self._json_stats, encoding="utf-8") as file:
            tree: Mapping[str, Any] = json.load(file)
        return tree


class _Stats:
    """Source of values for pstats.Stats."""

    def __init__(self, stats: dict[_Function, Any]) -> None:
        self.stats = stats

    def create_stats(self) -> None:
        """Do nothing: pstats calls this method, but the values exist already."""


def statistics_of(profile: _core.Handle, stats: Iterable[StepPythonProfileStats]) -> pstats.Stats:
    """Return a pstats object with the sum of some profiles. The library reads and adds them."""
    paths = [step.stats_path for step in stats]
    functions, callers = (_core.trace_functions(profile, paths, of_callers) for of_callers in (False, True))
    keys = list(zip(functions["file"], functions["line"], functions["function"]))
    figures = ("prim_calls", "total_calls", "total_time", "cumulative_time")
    found: dict[_Function, Any] = {}
    for key, *row in zip(keys, *(functions[name] for name in figures)):
        if row[2] is not None:  # other functions appear only as callers
            found[key] = (*row, {})
    callees: Sequence[int] = callers["function"]
    for callee, caller, primitive, *row in zip(callees, callers["caller"], *(callers[name] for name in figures)):
        found[keys[callee]][4][keys[caller]] = (row[0], primitive, *row[1:])  # of callers, all calls are first
    return pstats.Stats(_Stats(found)) if found else pstats.Stats()  # type: ignore[arg-type]
