"""Merging all timelines of a folder into one Chrome trace."""
from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from .... import _core
from ...algorithm_metrics_reader import KINDS

__all__ = ["MergeUnit", "MergedTimeline"]

_LOW_GPU = 85  # percent, SMDebug's figure
_NO_METRICS = "^$"
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")


class MergeUnit(Enum):
    """What the bounds of a merge are."""

    TIME = "time"
    STEP = "step"


def _node() -> str:
    """This process as SMDebug names it: rank or pid, and host."""
    rank = next((os.environ[name] for name in _RANKS if name in os.environ), str(os.getpid()))
    return f"{rank}-{os.environ.get('SM_CURRENT_HOST', socket.gethostname())}".replace("_", "-")


def _names_below(path: str) -> list[str]:
    """Names of the files in a folder and below, and its own."""
    return [os.path.basename(path), *(name for _, _, names in os.walk(path) for name in names)]


def _suffixes_of_system_metrics(path: str) -> set[str]:
    """How files of system metrics end, "1600000000.algo-1.json": a filter of timelines leaves them in."""
    return {name[name.index("."):] for name in _names_below(os.path.join(path, "system"))
            if name.endswith(".json") and name[:1].isdigit()}


def _suffixes(path: str, wanted: Sequence[str]) -> list[str]:
    """How the names of timelines shall end that are wanted; a text is one suffix."""
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    names = (*KINDS, *_names_below(path))
    if wanted and not any(name.endswith(suffix) for name in names for suffix in wanted):
        raise ValueError(f"file_suffix_filter {wanted}: no file of {path} ends so, "
                         f"nor do names of timelines: {', '.join(KINDS)}")
    return wanted


def _low_gpu(sys_metrics_filter: Mapping[str, Any] | None) -> float | None:
    """Percent below which a GPU is marked; None: no system metrics are wanted."""
    if not sys_metrics_filter:
        return None
    unknown = set(sys_metrics_filter) - {"lowgpu"}
    if unknown:
        raise ValueError(f"sys_metrics_filter has no '{min(unknown)}': there is lowgpu")
    value = sys_metrics_filter["lowgpu"]
    if isinstance(value, (int, float)):
        return float(value)
    return float(value[0]) if value else _LOW_GPU


class MergedTimeline:
    """All timelines and system metrics of a folder as one Chrome trace, for Perfetto and chrome://tracing.

    Args:
        path: The folder.
        file_suffix_filter: Only timelines whose names end so, such as "model_timeline.json"; None for all. A kind of
            timeline that the folder lacks leaves system metrics alone, what is neither a kind nor a file is refused.
        output_directory: Where the merged file goes; None for the folder itself.
    """

    def __init__(self, path: str | os.PathLike[str], file_suffix_filter: Sequence[str] | None = None,
                 output_directory: str | os.PathLike[str] | None = None) -> None:
        self.path = os.fspath(path)
        self.out_dir = os.fspath(output_directory) if output_directory is not None else self.path
        self.file_suffix_filter = file_suffix_filter
        self._file: str | None = None

    def open(self, file_path: str | os.PathLike[str]) -> None:
        """Choose the file that the next merge writes, in place of `file_name`.

        Args:
            file_path: The file, .json or .json.gz. One that is there is replaced.
        """
        folder = os.path.dirname(os.path.abspath(file_path))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(f"{folder}: no folder in which a file may be made")
        self._file = os.fspath(file_path)

    def file_name(self, end_timestamp_in_us: float) -> str:
        """Path of the file that is written by default: END_NODE_merged_timeline.json.

        Args:
            end_timestamp_in_us: The end of what is merged, in microseconds since the epoch.
        """
        return os.path.join(self.out_dir, f"{round(end_timestamp_in_us)}_{_node()}_merged_timeline.json")

    def merge_timeline(self, start: float | None, end: float | None, unit: MergeUnit | str = MergeUnit.TIME,
                       sys_metrics_filter: Mapping[str, Any] | None = {"lowgpu": ()}) -> str:  # noqa: B006
        """Merge everything into a file and return its path. Nothing to merge makes an empty list.

        Args:
            start: Microseconds since the epoch, or a step; None for no bound.
            end: The same. A step is not itself merged: up to 1 us before it begins.
            unit: What the bounds are.
            sys_metrics_filter: {"lowgpu": ()} adds the system metrics and marks where a GPU is used by less than 85
                percent; {"lowgpu": (50,)} less than 50. None or {} leaves system metrics out.
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

            end_us = json.loads(report.render("json"))["end_us"]
            self._file = self.file_name(end_us or 0)
            os.replace(written, self._file)
        file, self._file = self._file, None
        return file

    def close(self) -> None:
        """Forget the file that `open` chose. Merged files are complete as soon as `merge_timeline` returns."""
        self._file = None


def _number(bound: float) -> str:
    """A bound without exponent."""
    return str(int(bound)) if bound == int(bound) else f"{bound:.3f}"
