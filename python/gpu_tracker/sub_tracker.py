"""Code blocks: classes that mark and analyse them."""
from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from . import _arguments, _core
from . import _pandas as pandas
from ._block import SubTracker
from ._results import CodeBlockResults, ComparisonResults, SubTrackingResults
from ._tables import Table

_Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ["CodeBlockResults", "ComparisonResults", "SubTracker", "SubTrackingAnalyzer", "SubTrackingResults",
           "TrackingComparison", "sub_track"]


def sub_track(code_block_name: str | None = None, code_block_attribute: str | None = None,
              sub_tracking_file: str | os.PathLike[str] | None = None, overwrite: bool = False) -> Callable[[_Function], _Function]:
    """Decorate a function so that each call is a block, like `SubTracker`.

    Coroutine functions, generator functions and asynchronous generator functions are supported. The block of a generator
    starts at its first step and stops at its end.

    Example:

        @gpu_tracker.sub_track("prepare", sub_tracking_file="blocks.csv")
        def prepare():
            return list(range(100_000))

    Args:
        code_block_name: Name of the block. Default: "FILE:ATTRIBUTE" with the path of the file that defines the function.
        code_block_attribute: Part after the colon of the default name. Default: the name of the function.
        sub_tracking_file: See `SubTracker`.
        overwrite: See `SubTracker`.
    """

    if callable(code_block_name):
        raise TypeError("sub_track needs parentheses: @sub_track()")
    _arguments.flag("overwrite", overwrite)

    def decorate(function: _Function) -> _Function:
        from ._decorate import wrap

        if not callable(function):
            raise TypeError(f"sub_track decorates functions, not {function!r}")
        name = code_block_name
        if name is None:
            if not hasattr(function, "__code__"):
                raise TypeError(f"{function!r} is not a Python function: set code_block_name")
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
    """Analyse code blocks: join the tracking file of a `Tracker` and the sub-tracking file of `SubTracker`.

    Methods that return pandas objects need pandas; methods that return a `Table` do not. The class also reads files of the
    original gpu_tracker.

    Example:

        analyzer = gpu_tracker.SubTrackingAnalyzer("tracking.csv", "blocks.csv")
        for block in analyzer.sub_tracking_results().code_block_results:
            print(block.name, block.num_calls, block.compute_time["mean"])

    Args:
        tracking_file: Tracking file. None if only the sub-tracking file is needed.
        sub_tracking_file: Sub-tracking file.

    Raises:
        ValueError: The name of a file does not end in .csv or .sqlite.
    """

    def __init__(self, tracking_file: str | os.PathLike[str] | None, sub_tracking_file: str | os.PathLike[str]) -> None:
        self._tracking_file = None if tracking_file is None else _arguments.path("tracking_file", tracking_file)
        self._sub_tracking_file = _arguments.path("sub_tracking_file", sub_tracking_file)
        for name, file in (("tracking_file", self._tracking_file), ("sub_tracking_file", self._sub_tracking_file)):
            if file is not None and not file.endswith((".csv", ".sqlite")):
                raise ValueError(f"{name}={file!r}: its name must end in .csv or .sqlite")

    def _recording(self) -> str:
        if self._tracking_file is None:
            raise ValueError("the analyzer has no tracking file")
        return self._tracking_file

    def read_static_data(self) -> pandas.Series:
        """Return units, capacities and counts of the tracking file."""
        from . import _tables

        table = self.static_data_table()
        return _tables.series({name: table[name][0] for name in table.column_names})

    def static_data_table(self) -> Table:
        """Return `read_static_data` as a `Table` of one row."""
        return _core.static_data(self._recording())

    def load_code_block_names(self) -> list[str]:
        """Return the sorted names of the blocks."""
        return sorted(set(self.calls_table()["code_block_name"]))

    def combine_sub_tracking_files(self, files: Iterable[str | os.PathLike[str]]) -> None:
        """Combine sub-tracking files of several processes into the analyzer's sub-tracking file.

        Args:
            files: .csv and .sqlite files, and folders that contain them.

        Raises:
            ValueError: The analyzer's file exists, or a file is given twice.
        """
        try:
            _core.combine(self._sub_tracking_file, _arguments.texts("files", files))
        except FileExistsError as error:
            raise ValueError(f"{error.filename} already exists: remove it or choose another sub-tracking file") from None

    def load_timestamp_pairs(self, code_block_name: str) -> list[tuple[float, float]]:
        """Return start and stop of the calls of a block in seconds since the epoch, process by process.

        Calls without an end are left out, as in the results of the block.

        Args:
            code_block_name: Name of the block.

        Raises:
            ValueError: A call stops before its start, or has no start.
        """
        table = _core.calls([self._sub_tracking_file], str(code_block_name))
        return [pair for pair in zip(table["start"], table["stop"]) if pair[1] is not None]

    def calls_table(self) -> Table:
        """Return all calls in order of their start: name, process, thread, call number, start, stop, elapsed, self.

        Times are in seconds. `self` is the elapsed time minus the time of inner blocks.
        """
        return _core.calls([self._sub_tracking_file], None)

    def load_timepoints(self, timestamp_pairs: list[tuple[float, float]]) -> pandas.DataFrame:
        """Return the samples inside any of the given intervals, ends included.

        Args:
            timestamp_pairs: Starts and stops in seconds since the epoch.
        """
        from . import _tables

        return _tables.frame(self.timepoints_table(timestamp_pairs))

    def timepoints_table(self, timestamp_pairs: Sequence[tuple[float, float]] | None = None) -> Table:
        """Return `load_timepoints` as a `Table`. With None, return all samples."""
        try:
            pairs = None if timestamp_pairs is None else [(float(start), float(stop)) for start, stop in timestamp_pairs]
        except (TypeError, ValueError) as error:
            raise type(error)(f"timestamp_pairs={timestamp_pairs!r} is not a list of pairs of seconds") from None
        if pairs:  # sorted by start, each with the latest stop so far
            pairs = list(itertools.accumulate(sorted(pairs), lambda before, pair: (pair[0], max(before[1], pair[1]))))
        return _core.timepoints(self._recording(), pairs)

    def overall_timepoint_results(self) -> pandas.DataFrame:
        """Return statistics of all samples: a row for each measurement, with min, max, mean, std and others."""
        overall: pandas.DataFrame = self._analyze([], True).overall
        return overall

    def sub_tracking_results(self) -> SubTrackingResults:
        """Return statistics of all samples and of the samples in each block."""
        return self._analyze([self._sub_tracking_file], False)

    def _analyze(self, files: list[str], blocks_optional: bool) -> SubTrackingResults:
        from . import _results

        report, warnings = _core.analyze(self._recording(), files, blocks_optional)
        _warn(warnings)
        results: SubTrackingResults = _results.of_report("sub_tracking_results", report)
        return results


class TrackingComparison:
    """Compare the results of several sessions.

    Blocks match by name. Blocks of one file whose names differ only in the line number match in order.

    Args:
        file_path_map: Maps each session's name to a file with its `SubTrackingResults`: a pickle, or JSON or a pickle from
            ``gpu-tracker sub-track analyze`` or from the original.

    Raises:
        ValueError: The sessions have different blocks, or the map is empty.

    Attributes:
        results_map: Maps each session's name to its `SubTrackingResults`.
    """

    def __init__(self, file_path_map: Mapping[str, str | os.PathLike[str]]) -> None:
        if not file_path_map:
            raise ValueError("file_path_map is empty: give at least one session")
        if not hasattr(file_path_map, "items"):
            raise TypeError(f"file_path_map={file_path_map!r} is not a dict of names and files")
        if any(not isinstance(name, str) or "=" in name for name in file_path_map):
            raise ValueError(f"file_path_map={file_path_map!r}: the name of a session must be a text without an equals sign")
        self.results_map = {name: _load(_arguments.path("file_path_map", path)) for name, path in file_path_map.items()}
        _warn(self._compare("mean")[1])

    def compare(self, statistic: str = "mean", *, allow_partial: bool = False) -> ComparisonResults:
        """Compare a statistic of the sessions, overall and for each block.

        Args:
            statistic: 'min', 'max', 'mean' or 'std'; also 'p50', 'p95' and 'p99' if all results have them.
            allow_partial: Use energy that was measured for a part of the time, and failed runs. By default they count as missing.

        Raises:
            ValueError: The statistic does not exist.
        """
        from . import _results

        results: ComparisonResults = _results.of_report("comparison_results", self._compare(statistic, allow_partial)[0])
        return results

    def _compare(self, statistic: str, allow_partial: bool = False) -> tuple[_core.Handle, list[str]]:
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
    """Read results from JSON or from a pickle, without executing the pickle."""
    import json

    from . import _results, _unpickle

    tree = json.dumps(_unpickle.load(path)) if _unpickle.is_pickle(path) else None
    results = _results.from_tree("sub_tracking_results", json.loads(_core.results_read(path, tree)))
    if not isinstance(results, SubTrackingResults):
        raise ValueError(f"{path} does not contain sub-tracking results")
    return results
