"""Traces as objects. Their methods are the library's analyses."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import _arguments, _core, _tables, _views
from .. import _pandas as pandas
from .._tables import Table

__all__ = ["Report", "Trace", "load"]

_EVERYTHING = (-(2 ** 63), 2 ** 63 - 1, False, None, False)


class Report:
    """Result of an analysis: named tables, text and a page.

    `report["steps"]` is a `Table`. `pyarrow.table(report)` and `polars.DataFrame(report)` use the first table.

    Attributes:
        tables: Tables by name, the most important table first.
    """

    tables: dict[str, Table]

    def __init__(self, report: _core.Handle) -> None:
        self._report = report
        self.tables = _core.report_tables(report)

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def _table(self, name: str | None) -> Table:
        if not self.tables:
            raise ValueError("the report has no tables")
        return self.tables[next(iter(self.tables)) if name is None else name]

    def to_pandas(self, name: str | None = None) -> pandas.DataFrame:
        """Return a table as a DataFrame. Default: the first table."""
        return _tables.frame(self._table(name))

    def to_json(self) -> dict[str, Any]:
        """Return the report for `json`. Missing values are None."""
        tree: dict[str, Any] = json.loads(self.render("json"))
        return tree

    def render(self, format: str) -> str:
        """Return the report in a format of the program: "text", "json", "csv", "html", "markdown" and others."""
        return _core.report_text(self._report, format)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table(None).__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        """Return the report as text."""
        return self.render("text").rstrip("\n")

    def _repr_html_(self) -> str:
        """Return the page in an iframe, so that its style does not affect the notebook."""
        return _views.frame(self.render("html"), 480)


class Trace:
    """One or more files as one trace. Its methods are the analyses of ``gpu-tracker profile`` (see `analyses`).

    Each method accepts the options of `analyse` as keywords, for example ``trace.steps(by="process", node="algo-1")``, and
    returns a `Report`. Each call reads the files again.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]], **window: Any) -> None:
        self._paths = [_arguments.path("paths", path) for path in paths]
        self._window = window

    def _request(self, window: dict[str, Any]) -> dict[str, Any]:
        request = {**self._window, **window}
        unit = request.pop("unit", "time")
        if unit not in ("time", "step"):
            raise ValueError(f"unit '{unit}' is invalid: choose time or step")
        for bound in ("start", "end"):
            if request.get(bound) is not None:
                request[bound] = str(request[bound])
        return {**request, "by_step": unit == "step"}

    @staticmethod
    def analyses() -> dict[str, str]:
        """Return the name and description of every analysis."""
        return dict(_core.analyses())

    def analyse(self, analysis: str, *, by: str | None = None, phases: Sequence[str] | None = None,
                device: str | None = None, ranges: str | None = None, key: str | None = None, top: int = 0,
                peak_flops: str | float | None = None, operator: str | None = None, length: int = 0, **window: Any) -> Report:
        """Run an analysis and return its report.

        Args:
            analysis: A name from `analyses`.
            by: Grouping of rows, like ``--by`` of the program.
            phases: Training phases to include.
            device: Type or name of resources to include, such as "gpu" or "gpu0".
            ranges: Ranges of percent, such as "90-100,10-90,0-10".
            key: Sort key of lists.
            top: Maximum rows per table; 0 for 20, negative for all.
            peak_flops: For flops, the peak of one GPU in operations per second: "312T", 989e12.
            operator: For sequences, the operator or range that launches the kernels. Default: each operator.
            length: For sequences, the number of kernels; 0 for all kernels of one call.
            window: Arguments of `load` that replace the original ones: start, end, unit, suffixes, select, node, threads.
        """
        if not isinstance(analysis, str):
            raise TypeError(f"analysis={analysis!r} is not a text: choose one of {', '.join(self.analyses())}")
        options = {"by": by, "phases": phases, "device": device, "ranges": ranges, "key": key, "top": top,
                   "peak_flops": None if peak_flops is None else str(peak_flops), "operator": operator, "length": length}
        return Report(_core.profile_report(analysis, self._paths, self._request(window), options))

    def info(self, **window: Any) -> Report:
        """Return sources, formats, nodes, steps, phases, times and damage, like ``gpu-tracker timeline info``."""
        return Report(_core.timeline_info(self._paths, self._request(window)))

    def merge(self, output: str | os.PathLike[str], *, low_gpu: float = 85, metrics: str | None = None,
              align: str | None = None, overwrite: bool = False, critical_path: bool = False, **window: Any) -> Report:
        """Merge all files into one Chrome trace, like ``gpu-tracker timeline merge``.

        Args:
            output: Output file, .json or .json.gz.
            low_gpu: Mark GPUs with a utilization below this percentage; 0 for no marks.
            metrics: Regular expression for NAME_DIMENSION_NODE of samples. Default: all.
            align: Event that occurs at the same moment in all files.
            overwrite: Replace an existing file.
            critical_path: Add the critical path of each step as tracks with arrows.
            window: See `analyse`.
        """
        merge = {"output": output, "low_gpu": low_gpu, "metrics": metrics, "align": align, "overwrite": overwrite,
                 "critical_path": critical_path}
        return Report(_core.timeline_merge(self._paths, self._request(window), merge))

    def export(self, output: str | os.PathLike[str], *, overwrite: bool = False, **window: Any) -> Report:
        """Write tables or a flame graph, like ``gpu-tracker timeline export``.

        Args:
            output: Output file: .sqlite for tables with every column, .html for a flame graph, .collapsed for its
                stacks.
            overwrite: Replace an existing file.
            window: See `analyse`.
        """
        return Report(_core.timeline_export(self._paths, self._request(window), {"output": output, "overwrite": overwrite}))

    def samples(self, **window: Any) -> Table:
        """Return system metrics as a table with SMDebug's columns."""
        return _core.trace_samples(_core.trace(self._paths, self._request(window)), [_EVERYTHING])

    def events(self, **window: Any) -> Table:
        """Return all events, with the columns of ``gpu-tracker timeline export``: id, file, node, rank, pid, process, tid, thread,
        name, category, phase, start_ns, duration_ns, step, correlation, external_id, bytes, device, stream, shapes, args.

        Times are integers in nanoseconds. Missing values are None. `Table.to_pandas`, `to_polars` and `to_arrow` convert the
        table; ``duckdb.sql("SELECT name, sum(duration_ns) FROM events GROUP BY name")`` reads a variable ``events`` directly.
        """
        return _core.events_table(self._paths, self._request(window))

    def __getattr__(self, name: str) -> Callable[..., Report]:
        help_text = self.analyses().get(name)
        if help_text is None:
            raise AttributeError(f"unknown analysis '{name}': choose one of {', '.join(self.analyses())}")

        def method(**options: Any) -> Report:
            return self.analyse(name, **options)

        method.__name__ = name
        method.__doc__ = f"{help_text}\n\nKeywords: see `analyse`."
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.analyses()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._paths))})"


def load(*paths: str | os.PathLike[str], start: int | str | None = None, end: int | str | None = None,
         unit: str = "time", suffixes: Sequence[str] | None = None, select: str | None = None, node: str | None = None,
         threads: int = 0) -> Trace:
    """Open files and folders as one trace, with every analysis as a method.

    Example:

        trace = gpu_tracker.profiler.load("trace.json.gz")
        print(trace.operators(top=5))
        print(trace.steps()["steps"].to_pandas())

    Args:
        paths: Traces, profiles and recordings of every known format, and folders that contain them.
        start: Microseconds since the epoch, "+1.5" for seconds after the start of the trace, or a step number.
        end: The end, in the same form. Both bounds are included.
        unit: "time", or "step" if start and end are step numbers.
        suffixes: Suffixes of the names of files to read. Default: all files.
        select: Extended regular expression for names of events.
        node: Name of a node, or number of a rank as text: "3".
        threads: Number of threads; 0 for one on each core.
    """
    if not paths:
        raise ValueError("load needs at least one path")
    return Trace(paths, start=start, end=end, unit=unit, suffixes=suffixes, select=select, node=node, threads=threads)
