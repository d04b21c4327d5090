"""Merge of all timelines of a folder into one Chrome trace."""
from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from .... import _core
from ...algorithm_metrics_reader import KINDS

__all__ = ["MergeUnit", "MergedTimeline"]

_LOW_GPU = 85  # percent, SMDebug's value
_NO_METRICS = "^$"
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


class MergeUnit(Enum):
    """Unit of the bounds of a merge."""

    TIME = "time"
    STEP = "step"


def _node() -> str:
    """Return SMDebug's name of this process: rank or PID, and host."""
    rank = next((os.environ[name] for name in _RANKS if name in os.environ), str(os.getpid()))
    return f"{rank}-{os.environ.get('SM_CURRENT_HOST', socket.gethostname())}".replace("_", "-")


def _names_below(path: str) -> list[str]:
    """Return the names of a folder and of all files in it and its subfolders."""
    return [os.path.basename(path), *(name for _, _, names in os.walk(path) for name in names)]


def _suffixes_of_system_metrics(path: str) -> set[str]:
    """Return suffixes of files of system metrics, "1600000000.algo-1.json". A filter of timelines does not exclude them."""
    return {name[name.index("."):] for name in _names_below(os.path.join(path, "system"))
            if name.endswith(".json") and name[:1].isdigit()}


def _suffixes(path: str, wanted: Sequence[str]) -> list[str]:
    """Return the suffixes of timelines to merge. A text is one suffix."""
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    names = (*KINDS, *_names_below(path))
    if wanted and not any(name.endswith(suffix) for name in names for suffix in wanted):
        raise ValueError(f"file_suffix_filter {wanted} matches no file of {path} "
                         f"and no name of timelines: {', '.join(KINDS)}")
    return wanted


def _low_gpu(sys_metrics_filter: Mapping[str, Any] | None) -> float | None:
    """Return the percentage below which GPUs are marked; None to leave out system metrics."""
    if not sys_metrics_filter:
        return None
    unknown = set(sys_metrics_filter) - {"lowgpu"}
    if unknown:
        raise ValueError(f"unknown key '{min(unknown)}' in sys_metrics_filter: use lowgpu")
    value = sys_metrics_filter["lowgpu"]
    if isinstance(value, (int, float)):
        return float(value)
    return float(value[0]) if value else _LOW_GPU


class MergedTimeline:
    """All timelines and system metrics of a folder as one Chrome trace, for Perfetto and chrome://tracing.

    Args:
        path: Folder to merge.
        file_suffix_filter: Suffixes of the names of timelines to merge, such as "model_timeline.json". Default: all. If the folder
            has no timeline of a kind, only system metrics are merged. A suffix without a kind and a file is an error.
        output_directory: Folder of the merged file. Default: `path`.
    """

    def __init__(self, path: str | os.PathLike[str], file_suffix_filter: Sequence[str] | None = None,
                 output_directory: str | os.PathLike[str] | None = None) -> None:
        self.path = os.fspath(path)
        self.out_dir = os.fspath(output_directory) if output_directory is not None else self.path
        self.file_suffix_filter = file_suffix_filter
        self._file: str | None = None

    def open(self, file_path: str | os.PathLike[str]) -> None:
        """Choose the output file of the next merge, instead of `file_name`.

        Args:
            file_path: Output file, .json or .json.gz. An existing file is replaced.
        """
        folder = os.path.dirname(os.path.abspath(file_path))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(f"cannot create a file in {folder}: it is not a writable folder")
        self._file = os.fspath(file_path)

    def file_name(self, end_timestamp_in_us: float) -> str:
        """Return the path of the default output file: END_NODE_merged_timeline.json.

        Args:
            end_timestamp_in_us: End of the merged timelines in microseconds since the epoch.
        """
        return os.path.join(self.out_dir, f"{round(end_timestamp_in_us)}_{_node()}_merged_timeline.json")

    def merge_timeline(self, start: float | None, end: float | None, unit: MergeUnit | str = MergeUnit.TIME,
                       sys_metrics_filter: Mapping[str, Any] | None = {"lowgpu": ()}) -> str:  # noqa: B006
        """Merge all timelines into a file and return its path. Without events, the file contains an empty list.

        Args:
            start: Microseconds since the epoch, or a step. None for no bound.
            end: Microseconds since the epoch, or a step. The end step is excluded: the merge ends 1 us before its start.
            unit: Unit of the bounds.
            sys_metrics_filter: {"lowgpu": ()} adds system metrics and marks GPUs with a utilization below 85 percent;
                {"lowgpu": (50,)} below 50 percent. None or {} leaves out system metrics.
        """
        low_gpu = _low_gpu(sys_metrics_filter)
        request: dict[str, Any] = {"by_step": MergeUnit(unit) is MergeUnit.STEP,
                                   "start": None if start is None else _number(start),
                                   "end": None if end is None else _number(end)}
        if self.file_suffix_filter is not None:
            request["suffixes"] = [*_suffixes(self.path, self.file_suffix_filter),
                                   *sorted(_suffixes_of_system_metrics(self.path))]
        written = self._file or os.path.join(self.out_dir, f".merging-{os.getpid()}.json")
        report = _core.timeline_merge([self.path], request, {
            "output": written, "overwrite": True, "low_gpu": low_gpu or 0,
            "metrics": _NO_METRICS if low_gpu is None else None})
        if not self._file:
            import json

            end_us = json.loads(_core.report_text(report, "json"))["end_us"]
            self._file = self.file_name(end_us or 0)
            os.replace(written, self._file)
        file, self._file = self._file, None
        return file

    def close(self) -> None:
        """Cancel the choice of `open`. Merged files are complete when `merge_timeline` returns."""
        self._file = None


def _number(bound: float) -> str:
    """Return a bound as text without exponent."""
    return str(int(bound)) if bound == int(bound) else f"{bound:.3f}"
