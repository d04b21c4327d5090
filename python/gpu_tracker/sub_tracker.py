"""Blocks of code: marking them, and what each of them used."""
from __future__ import annotations

import os

from . import _arguments, _core
from ._core import SubTracker, Table
from ._results import CodeBlockResults, ComparisonResults, SubTrackingResults

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from pandas import DataFrame, Series

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ["CodeBlockResults", "ComparisonResults", "SubTracker", "SubTrackingAnalyzer", "SubTrackingResults",
           "TrackingComparison", "sub_track"]


def sub_track(code_block_name: str | None = None, code_block_attribute: str | None = None,
              sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False) -> Callable[[_Function], _Function]:
    """Decorate a function so that each of its calls is a block, as with `SubTracker`.

    Also for coroutine functions, generator functions and asynchronous generator functions; the block of a generator
    begins at its first step and ends with it.

    Args:
        code_block_name: The name of the block. When None, "FILE:ATTRIBUTE" with the path of the file that defines the
            function.
        code_block_attribute: What follows the colon in that name; the name of the function when None.
        sub_tracking_file: As for `SubTracker`.
        overwrite: As for `SubTracker`.
    """

    if callable(code_block_name):
        raise TypeError("sub_track needs parentheses: @sub_track()")
    _arguments.flag("overwrite", overwrite)

    def decorate(function: _Function) -> _Function:
        from ._wrap import wrap

        if not callable(function):
            raise TypeError(f"sub_track decorates functions, not {function!r}")
        name = code_block_name
        if name is None:
            if not hasattr(function, "__code__"):
                raise TypeError(f"{function!r} is not defined in Python: give code_block_name")
            path = os.path.abspath(function.__code__.co_filename)
            name = f"{path}:{code_block_attribute or function.__name__}"
        tracker = None

        def enter() -> SubTracker:
            nonlocal tracker
            if tracker is None:
                tracker = SubTracker(name, None, sub_tracking_file, overwrite)
            return tracker

        return wrap(function, enter)

    return decorate


def _warn(sentences: list[str]) -> None:
    if sentences:
        import logging

        for sentence in sentences:
            logging.getLogger("gpu_tracker").warning("%s", sentence)


class SubTrackingAnalyzer:
    """Tell what blocks of code used, from the tracking file of a `Tracker` and the marks of `SubTracker`.

    The methods that return pandas objects need pandas, which is installed with the package unless it is left out; those that
    return a `Table` do not. Files of the original gpu_tracker are read too.

    Args:
        tracking_file: The tracking file; None when only the sub-tracking file is of interest.
        sub_tracking_file: The sub-tracking file.

    Raises:
        ValueError: A file is neither .csv nor .sqlite.
    """

    def __init__(self, tracking_file: str | os.PathLike[str] | None, sub_tracking_file: str | os.PathLike[str]) -> None:
        self._tracking_file = None if tracking_file is None else _arguments.path("tracking_file", tracking_file)
        self._sub_tracking_file = _arguments.path("sub_tracking_file", sub_tracking_file)
        for file in (self._tracking_file, self._sub_tracking_file):
            if file is not None and not file.endswith((".csv", ".sqlite")):
                raise ValueError(f"{file}: the name of a tracking file ends in .csv or .sqlite")

    def _recording(self) -> str:
        if self._tracking_file is None:
            raise ValueError("the analyzer was made without a tracking file")
        return self._tracking_file

    def read_static_data(self) -> Series:
        """Units, capacities and counts of the tracking file."""
        from . import _frames

        table = self.static_data_table()
        return _frames.series({name: table[name][0] for name in table.column_names})

    def static_data_table(self) -> Table:
        """`read_static_data` as a `Table` of one row."""
        return _core.static_data(self._recording())

    def load_code_block_names(self) -> list[str]:
        """The names of the blocks, sorted."""
        return sorted(set(self.calls_table()["code_block_name"]))

    def combine_sub_tracking_files(self, files: Iterable[str | os.PathLike[str]]) -> None:
        """Make the analyzer's sub-tracking file of those that several processes have written.

        Args:
            files: .csv and .sqlite files, and folders of them.

        Raises:
            ValueError: The analyzer's file exists, or one of the files is given twice.
        """
        try:
            _core.combine(self._sub_tracking_file, _arguments.texts("files", files))
        except FileExistsError as error:
            raise ValueError(f"{error.filename} already exists: remove it, or choose another sub-tracking file") from None

    def load_timestamp_pairs(self, code_block_name: str) -> list[tuple[float, float]]:
        """When the calls of a block began and ended, in seconds since the epoch, one process after the other.

        As in the results of the block, calls that never ended are left out.

        Args:
            code_block_name: The name of the block.

        Raises:
            ValueError: A call stops before its start, or has none.
        """
        table = _core.pairs([self._sub_tracking_file], str(code_block_name))
        return list(zip(table["start"], table["stop"]))

    def calls_table(self) -> Table:
        """Every call of every block by its start: name, process, thread, call number, start, stop, elapsed, self.

        Times are in seconds; self is the elapsed time without the blocks called inside.
        """
        return _core.calls([self._sub_tracking_file])

    def load_timepoints(self, timestamp_pairs: list[tuple[float, float]]) -> DataFrame:
        """The samples inside any of some spans of time, their ends included.

        Args:
            timestamp_pairs: The spans, in seconds since the epoch.
        """
        from . import _frames

        return _frames.frame(self.timepoints_table(timestamp_pairs))

    def timepoints_table(self, timestamp_pairs: Sequence[tuple[float, float]] | None = None) -> Table:
        """`load_timepoints` as a `Table`; all samples when None."""
        try:
            pairs = None if timestamp_pairs is None else [(float(start), float(stop)) for start, stop in timestamp_pairs]
        except (TypeError, ValueError) as error:
            raise type(error)(f"timestamp_pairs={timestamp_pairs!r} is not a list of pairs of seconds") from None
        return _core.timepoints(self._recording(), pairs)

    def overall_timepoint_results(self) -> DataFrame:
        """Statistics over all samples: a row for each measurement, with min, max, mean, std, and further ones."""
        overall: DataFrame = self._analyze([], True).overall
        return overall

    def sub_tracking_results(self) -> SubTrackingResults:
        """Statistics over all samples and over those inside each block."""
        return self._analyze([self._sub_tracking_file], False)

    def _analyze(self, files: list[str], blocks_optional: bool) -> SubTrackingResults:
        import json

        from . import _results

        tree, text, warnings = _core.analyze(self._recording(), files, blocks_optional)
        _warn(warnings)
        results: SubTrackingResults = _results.from_tree("sub_tracking_results", json.loads(tree), text)
        return results


class TrackingComparison:
    """Put the results of several sessions side by side.

    Blocks match by name; those of one file whose names differ only in the line number match in order.

    Args:
        file_path_map: For each session's name the file of its `SubTrackingResults`: a pickle, or the JSON or pickle
            that ``gpu-tracker sub-track analyze`` writes, here or in the original.

    Raises:
        ValueError: The sessions have different blocks, or there are none.

    Attributes:
        results_map: For each session's name its `SubTrackingResults`.
    """

    def __init__(self, file_path_map: Mapping[str, str | os.PathLike[str]]) -> None:
        if not file_path_map:
            raise ValueError("there is no session to compare")
        if not hasattr(file_path_map, "items"):
            raise TypeError(f"file_path_map={file_path_map!r} is not a dict of names and files")
        if any("=" in name for name in file_path_map):
            raise ValueError("the name of a session must not contain an equals sign")
        self.results_map = {name: _load(_arguments.path("file_path_map", path)) for name, path in file_path_map.items()}
        _, _, warnings = self._compare("mean")
        _warn(warnings)

    def compare(self, statistic: str = "mean", *, allow_partial: bool = False) -> ComparisonResults:
        """The sessions' values of a statistic, overall and for each block.

        Args:
            statistic: 'min', 'max', 'mean' or 'std'; also 'p50', 'p95' and 'p99' when all results have them.
            allow_partial: Compare energy that was measured for a part of the time, and judge runs that failed, as they are; else they count
                as not measured.

        Raises:
            ValueError: There is no such statistic.
        """
        import json

        from . import _results

        tree, text, _ = self._compare(statistic, allow_partial)
        results: ComparisonResults = _results.from_tree("comparison_results", json.loads(tree), text)
        return results

    def _compare(self, statistic: str, allow_partial: bool = False) -> tuple[str, str, list[str]]:
        import json
        import tempfile

        sessions = []
        with tempfile.TemporaryDirectory() as folder:
            for number, (name, results) in enumerate(self.results_map.items()):
                path = os.path.join(folder, f"{number}.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(results.to_json(), file)
                sessions.append(f"{name}={path}")
            return _core.compare(sessions, statistic, True, allow_partial)


def _load(path: str) -> SubTrackingResults:
    """Results from JSON or from a pickle, of which nothing is executed."""
    import json

    from . import _results

    results = _results.from_tree("sub_tracking_results", json.loads(_core.results_read(path)))
    if not isinstance(results, SubTrackingResults):
        raise ValueError(f"{path} holds no sub-tracking results")
    return results
