"""Profiles of Python code: what each is of, and the functions in it."""
from __future__ import annotations

import functools
import json
import math
import os
import pstats
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from .... import _core, _frames
from ...._core import Table
from ...python_profile_utils import PythonProfileModes, StepPhase, str_to_python_profile_mode

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Metrics", "PyinstrumentStepStats", "StepPythonProfileStats", "cProfileFunctionStats", "cProfileStats"]

_Function = tuple[str, int, str]
_ORDER = list(StepPhase)


class Metrics(Enum):
    """What functions are ordered by."""

    TOTAL_TIME = "tottime"
    CUMULATIVE_TIME = "cumtime"
    PRIMITIVE_CALLS = "pcalls"
    TOTAL_CALLS = "ncalls"


class StepPythonProfileStats:
    """What one profile is of: before step 0, during a step, between two steps, until the end of the script.

    Args:
        framework: "pytorch", "tensorflow".
        profiler_name: "cprofile" or "pyinstrument".
        node_id: The node.
        stats_dir: Name of the profile's folder, from which the attributes below come.
        stats_path: The profile's file.

    Attributes:
        profiler_name: "cprofile" or "pyinstrument".
        framework: "pytorch", "tensorflow".
        node_id: The node.
        start_mode: What the training did when profiling began.
        start_phase: At which moment of a step it began.
        start_step: In which step; -1 before step 0.
        start_time_since_epoch_in_micros: When, in microseconds since the epoch, UTC.
        end_mode: What the training did when profiling ended.
        end_step: In which step; infinity at the end of the script.
        end_phase: At which moment of the step.
        end_time_since_epoch_in_micros: When, in microseconds since the epoch, UTC.
        stats_path: The profile's file.
    """

    def __init__(self, framework: str, profiler_name: str, node_id: str, stats_dir: str,
                 stats_path: str | os.PathLike[str]) -> None:
        try:
            (start_mode, start_step, start_phase, start_time), (end_mode, end_step, end_phase, end_time) = (
                part.split("-") for part in stats_dir.split("_"))
        except ValueError:
            raise ValueError(f"stats_dir '{stats_dir}': it is MODE-STEP-PHASE-TIME_MODE-STEP-PHASE-TIME") from None
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
        """Of a row of the library's table of profiles."""
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
        """Whether it began and ended in these modes."""
        return self.start_mode == start_mode and self.end_mode == end_mode

    def in_time_interval(self, start_time_since_epoch_in_micros: float, end_time_since_epoch_in_micros: float) -> bool:
        """Whether it overlaps an interval. A profile that contains the interval does."""
        return (self.start_time_since_epoch_in_micros <= end_time_since_epoch_in_micros
                and self.end_time_since_epoch_in_micros >= start_time_since_epoch_in_micros)

    def in_step_interval(self, start_step: float, end_step: float, start_phase: StepPhase,
                         end_phase: StepPhase) -> bool:
        """Whether it lies from a phase of one step to a phase of another: it begins and ends neither before nor after."""
        if self.start_phase is None or self.end_phase is None:  # older folders tell the step alone
            return start_step <= self.start_step and self.end_step <= end_step
        return ((start_step, _ORDER.index(start_phase)) <= (self.start_step, _ORDER.index(self.start_phase))
                and (self.end_step, _ORDER.index(self.end_phase)) <= (end_step, _ORDER.index(end_phase)))

    def has_pre_step_zero_profile_stats(self) -> bool:
        """Whether it began before step 0."""
        return self.start_phase == StepPhase.START

    def has_post_hook_close_profile_stats(self) -> bool:
        """Whether it ended with the script."""
        return self.end_phase == StepPhase.END

    def has_node_id(self, node_id: str) -> bool:
        """Whether it is of this node; "any" is every node."""
        return node_id in ("any", self.node_id)

    def __repr__(self) -> str:
        return repr(self.__dict__)


class cProfileFunctionStats:
    """A function that was profiled.

    Args:
        key: File, line and name.
        value: Primitive calls, all calls, seconds in the function, seconds with what it called, and callers by their keys.

    Attributes:
        function_name: "file:line(name)".
        prim_calls: Calls that were not recursive.
        total_calls: All calls.
        total_time: Seconds in the function alone.
        cumulative_time: Seconds in it and in what it called.
        callers: Names of the functions that called it.
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
        ps: Statistics of the standard library's pstats.

    Attributes:
        ps: The same.
        function_stats_list: A `cProfileFunctionStats` for each function.
    """

    def __init__(self, ps: pstats.Stats) -> None:
        self.ps = ps
        self.function_stats_list = [
            cProfileFunctionStats(key, value) for key, value in ps.stats.items()]  # type: ignore[attr-defined]

    def print_top_n_functions(self, by: Metrics | str, n: int = 10) -> None:
        """Print the functions that come first.

        Args:
            by: What they are ordered by.
            n: How many.
        """
        self.ps.sort_stats(Metrics(by).value).print_stats(int(n))

    def get_function_stats(self) -> DataFrame:
        """A row for each function: function_name, prim_calls, total_calls, total_time, cumulative_time, callers."""
        return _frames.pandas().DataFrame([vars(function) for function in self.function_stats_list])

    def get_function_stats_table(self) -> Table:
        """The same as a `Table`, which needs no pandas; callers are one text with a line for each."""
        rows = self.function_stats_list
        names = ("function_name", "prim_calls", "total_calls", "total_time", "cumulative_time")
        columns = {name: [getattr(row, name) for row in rows] for name in names}
        return Table({**columns, "callers": ["\n".join(row.callers) for row in rows]})


class PyinstrumentStepStats:
    """A profile of pyinstrument.

    Args:
        html_file_path: Its page; None when there is none.
        json_stats: Its figures as pyinstrument wrote them, or the path of the file, which is read when they are asked for.

    Attributes:
        html_file_path: Its page.
    """

    def __init__(self, html_file_path: str | None, json_stats: Mapping[str, Any] | str) -> None:
        self.html_file_path = html_file_path
        self._json_stats = json_stats

    @functools.cached_property
    def json_stats(self) -> Mapping[str, Any]:
        """Its figures as pyinstrument wrote them."""
        if not isinstance(self._json_stats, str):
            return self._json_stats
        with open(self._json_stats, encoding="utf-8") as file:
            tree: Mapping[str, Any] = json.load(file)
        return tree


class _Stats:
    """What pstats.Stats takes its figures from."""

    def __init__(self, stats: dict[_Function, Any]) -> None:
        self.stats = stats

    def create_stats(self) -> None:
        """Called by pstats; they are there."""


def statistics_of(profile: _core.Profile, stats: Iterable[StepPythonProfileStats]) -> pstats.Stats:
    """pstats' object of some profiles, added up by the library, which also read them."""
    paths = [step.stats_path for step in stats]
    functions, callers = profile.functions(paths), profile.callers(paths)
    keys = list(zip(functions["file"], functions["line"], functions["function"]))
    figures = ("prim_calls", "total_calls", "total_time", "cumulative_time")
    found: dict[_Function, Any] = {}
    for key, *row in zip(keys, *(functions[name] for name in figures)):
        if row[2] is not None:  # others are only named as callers
            found[key] = (*row, {})
    callees: Sequence[int] = callers["function"]
    for callee, caller, *row in zip(callees, callers["caller"], *(callers[name] for name in figures)):
        found[keys[callee]][4][keys[caller]] = tuple(row)
    return pstats.Stats(_Stats(found)) if found else pstats.Stats()  # type: ignore[arg-type]
