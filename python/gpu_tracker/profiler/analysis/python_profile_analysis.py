"""Profiles of Python code by step, time, mode and part of the job."""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ... import _core, _tables
from ... import _pandas as pandas
from ..._tables import Table
from ..python_profile_utils import PythonProfileModes, StepPhase, python_profile_mode_to_str
from .utils.python_profile_analysis_utils import (
    PyinstrumentStepStats,
    StepPythonProfileStats,
    cProfileStats,
    statistics_of,
)

__all__ = ["PyinstrumentAnalysis", "PythonProfileAnalysis", "cProfileAnalysis"]


class PythonProfileAnalysis:
    """Base class of `cProfileAnalysis` and `PyinstrumentAnalysis`.

    Args:
        local_profile_dir: Folder of profiles, such as framework/pytorch/cprofile, or a parent folder.
        s3_path: Must be None. Copy the folder first, for example with aws s3 sync.

    Attributes:
        python_profile_stats: A `StepPythonProfileStats` for each profile, sorted by start and node.
    """

    name = ""

    def __init__(self, local_profile_dir: str | os.PathLike[str] = "/tmp/python_stats",
                 s3_path: str | None = None) -> None:
        if s3_path:
            raise ValueError(f"{s3_path}: copy the folder first, for example with aws s3 sync")
        if not os.path.isdir(local_profile_dir):
            raise NotADirectoryError(f"{os.fspath(local_profile_dir)} is not a folder of profiles")
        self._folder = os.path.abspath(local_profile_dir)
        self.python_profile_stats: list[StepPythonProfileStats] = []
        self._refresh(True)

    def _refresh(self, refresh_stats: bool) -> None:
        if not refresh_stats:
            return
        self._profile = _core.trace([self._folder], {})
        dumps = _core.trace_dumps(self._profile)
        rows = [dict(zip(dumps.column_names, row)) for row in zip(*(dumps[name] for name in dumps.column_names))]
        self._pages = {row["stats_path"]: row["html_path"] for row in rows}
        self.python_profile_stats = [StepPythonProfileStats._of_row(row) for row in rows
                                     if row["profiler_name"] == self.name]

    def _of_node(self, node_id: str) -> list[StepPythonProfileStats]:
        return [stats for stats in self.python_profile_stats if stats.has_node_id(node_id)]

    def _aggregate(self, stats: list[StepPythonProfileStats]) -> Any:
        raise NotImplementedError

    def _fetch(self, node_id: str, refresh_stats: bool, wanted: Callable[[StepPythonProfileStats], bool]) -> Any:
        self._refresh(refresh_stats)
        return self._aggregate([stats for stats in self._of_node(node_id) if wanted(stats)])

    def fetch_profile_stats_by_step(
        self, start_step: float, end_step: float | None = None, mode: PythonProfileModes = PythonProfileModes.TRAIN,
        start_phase: StepPhase = StepPhase.STEP_START, end_phase: StepPhase = StepPhase.STEP_END,
        node_id: str = "any", refresh_stats: bool = True
    ) -> Any:
        """Return profiles from a phase of one step to a phase of another step; None without profiles.

        Args:
            start_step: First step.
            end_step: Last step. Default: the first step.
            mode: Mode at the start and end of the profiles.
            start_phase: Phase of the first step.
            end_phase: Phase of the last step.
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        last = start_step if end_step is None else end_step
        return self._fetch(node_id, refresh_stats,
                           lambda stats: stats.in_step_interval(start_step, last, start_phase, end_phase)
                           and (stats.start_mode is None or stats.has_start_and_end_mode(mode, mode)))

    def fetch_profile_stats_by_time(self, start_time_since_epoch_in_secs: float, end_time_since_epoch_in_secs: float,
                                    node_id: str = "any", refresh_stats: bool = True) -> Any:
        """Return profiles that overlap an interval; None without profiles.

        Args:
            start_time_since_epoch_in_secs: Start of the interval.
            end_time_since_epoch_in_secs: End of the interval.
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        start, end = start_time_since_epoch_in_secs * 1e6, end_time_since_epoch_in_secs * 1e6
        return self._fetch(node_id, refresh_stats, lambda stats: stats.in_time_interval(start, end))

    def fetch_profile_stats_between_modes(self, start_mode: PythonProfileModes, end_mode: PythonProfileModes,
                                          node_id: str = "any", refresh_stats: bool = True) -> Any:
        """Return profiles that began in one mode and ended in another; None without profiles.

        Args:
            start_mode: Mode at the start.
            end_mode: Mode at the end.
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        return self._fetch(node_id, refresh_stats, lambda stats: stats.has_start_and_end_mode(start_mode, end_mode))

    def fetch_pre_step_zero_profile_stats(self, node_id: str = "any", refresh_stats: bool = True) -> Any:
        """Return profiles that began before step 0; None without profiles.

        Args:
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        return self._fetch(node_id, refresh_stats, StepPythonProfileStats.has_pre_step_zero_profile_stats)

    def fetch_post_hook_close_profile_stats(self, node_id: str = "any", refresh_stats: bool = True) -> Any:
        """Return profiles that ended with the script; None without profiles.

        Args:
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        return self._fetch(node_id, refresh_stats, StepPythonProfileStats.has_post_hook_close_profile_stats)

    def list_profile_stats(self, refresh_stats: bool = True) -> pandas.DataFrame:
        """Return a row for each profile: the attributes of `StepPythonProfileStats`.

        Args:
            refresh_stats: Scan the folder again.
        """
        self._refresh(refresh_stats)
        rows = [{name: _text(value) for name, value in vars(stats).items()} for stats in self.python_profile_stats]
        return _tables.pandas().DataFrame(rows)

    def list_profile_stats_table(self, refresh_stats: bool = True) -> Table:
        """Return `list_profile_stats` as a `Table`, without pandas."""
        self._refresh(refresh_stats)
        names = list(vars(self.python_profile_stats[0])) if self.python_profile_stats else []
        return Table({name: [_cell(getattr(stats, name)) for stats in self.python_profile_stats] for name in names})

    def list_available_node_ids(self, refresh_stats: bool = True) -> list[str]:
        """Return the nodes of the profiles.

        Args:
            refresh_stats: Scan the folder again.
        """
        self._refresh(refresh_stats)
        return sorted({stats.node_id for stats in self.python_profile_stats if stats.node_id is not None})


def _text(value: Any) -> Any:
    """Return modes by their name in folders; other values are unchanged."""
    return python_profile_mode_to_str(value) if isinstance(value, PythonProfileModes) else value


def _cell(value: Any) -> Any:
    return value.value if isinstance(value, StepPhase) else _text(value)


class cProfileAnalysis(PythonProfileAnalysis):
    """Profiles of cProfile. Each `fetch` method adds the profiles that it finds and returns a `cProfileStats`.

    Args:
        local_profile_dir: Folder of profiles, such as framework/pytorch/cprofile, or a parent folder.
        s3_path: Must be None. Copy the folder first, for example with aws s3 sync.
    """

    name = "cprofile"

    def _aggregate(self, stats: list[StepPythonProfileStats]) -> cProfileStats | None:
        if not stats:
            print("No stats were found for the requested interval!")
            return None
        return cProfileStats(statistics_of(self._profile, stats))

    def fetch_profile_stats_by_training_phase(
        self, node_id: str = "any", refresh_stats: bool = True
    ) -> dict[tuple[PythonProfileModes, PythonProfileModes], cProfileStats]:
        """Return the sum of profiles for each pair of modes at their start and end.

        Args:
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        self._refresh(refresh_stats)
        groups: dict[tuple[PythonProfileModes, PythonProfileModes], list[StepPythonProfileStats]] = {}
        for stats in self._of_node(node_id):
            if stats.start_mode is not None and stats.end_mode is not None:
                groups.setdefault((stats.start_mode, stats.end_mode), []).append(stats)
        return {modes: cProfileStats(statistics_of(self._profile, groups[modes])) for modes in sorted(groups)}

    def fetch_profile_stats_by_job_phase(self, node_id: str = "any",
                                         refresh_stats: bool = True) -> dict[str, cProfileStats]:
        """Return the sum of profiles for each part of the job: initialization, training_loop, finalization.

        Args:
            node_id: Node of the profiles; "any" for all nodes.
            refresh_stats: Scan the folder again.
        """
        self._refresh(refresh_stats)
        groups: dict[str, list[StepPythonProfileStats]] = {"training_loop": []}
        for stats in self._of_node(node_id):
            groups.setdefault(_part_of_job(stats), []).append(stats)
        return {part: cProfileStats(statistics_of(self._profile, groups[part])) for part in groups}


def _part_of_job(stats: StepPythonProfileStats) -> str:
    if stats.start_mode == PythonProfileModes.PRE_STEP_ZERO or stats.start_step < 0:
        return "initialization"
    if stats.end_mode == PythonProfileModes.POST_HOOK_CLOSE or stats.end_step == float("inf"):
        return "finalization"
    return "training_loop"


class PyinstrumentAnalysis(PythonProfileAnalysis):
    """Profiles of pyinstrument. Each `fetch` method returns a `PyinstrumentStepStats` for each profile.

    Args:
        local_profile_dir: Folder of profiles, such as framework/pytorch/pyinstrument, or a parent folder.
        s3_path: Must be None. Copy the folder first, for example with aws s3 sync.
    """

    name = "pyinstrument"

    def _aggregate(self, stats: Sequence[StepPythonProfileStats]) -> list[PyinstrumentStepStats] | None:
        if not stats:
            print("No stats were found for the requested interval!")
            return None
        return [PyinstrumentStepStats(self._pages[step.stats_path], step.stats_path) for step in stats]
