"""Traces as objects whose methods are the library's analyses."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core, _frames, _views
from .._core import Table

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Report", "Trace", "load"]

_EVERYTHING = (-(2 ** 63), 2 ** 63 - 1, False, None, False)


class Report:
    """What an analysis found: tables by name, a text, a page.

    `report["steps"]` is a `Table`; `pyarrow.table(report)` and `polars.DataFrame(report)` take the first one.

    Attributes:
        tables: Every table by its name, the most important one first.
    """

    tables: dict[str, Table]

    def __init__(self, report: _core.Report) -> None:
        self._report = report
        self.tables = report.tables()

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def _table(self, name: str | None) -> Table:
        if not self.tables:
            raise ValueError("the report has no tables")
        return self.tables[next(iter(self.tables)) if name is None else name]

    def to_pandas(self, name: str | None = None) -> DataFrame:
        """A table as a DataFrame; the first one when no name is given."""
        return _frames.frame(self._table(name))

    def to_json(self) -> dict[str, Any]:
        """Everything as `json` takes it. Numbers that are missing are None."""
        tree: dict[str, Any] = json.loads(self.render("json"))
        return tree

    def render(self, format: str) -> str:
        """The report in one of the program's formats: "text", "json", "csv", "html", "markdown", ..."""
        return self._report.render(format)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table(None).__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        """The report for people."""
        return self.render("text").rstrip("\n")

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style stays inside."""
        return _views.frame(self.render("html"), 480)


class Trace:
    """Files as one trace. Its methods are the analyses of ``gpu-tracker profile`` (see `analyses`), read anew at each call.

    Each takes the options of `analyse` as keywords, for example ``trace.steps(by="process", node="algo-1")``, and returns
    a `Report`.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]], **window: Any) -> None:
        self._paths = [os.fspath(path) for path in paths]
        self._window = window

    def _request(self, window: dict[str, Any]) -> dict[str, Any]:
        request = {**self._window, **window}
        unit = request.pop("unit", "time")
        if unit not in ("time", "step"):
            raise ValueError(f"unit '{unit}': it is time or step")
        for bound in ("start", "end"):
            if request.get(bound) is not None:
                request[bound] = str(request[bound])
        return {**request, "by_step": unit == "step"}

    @staticmethod
    def analyses() -> dict[str, str]:
        """Every analysis and what it tells."""
        return dict(_core.analyses())

    def analyse(self, analysis: str, *, by: str | None = None, phases: Sequence[str] | None = None,
                device: str | None = None, ranges: str | None = None, key: str | None = None, top: int = 0,
                peak_flops: str | float | None = None, operator: str | None = None, length: int = 0, **window: Any) -> Report:
        """The report of an analysis.

        Args:
            analysis: One of `analyses`.
            by: What rows are made of, as ``--by`` of the program.
            phases: Only these training phases.
            device: Only resources of this type or name, such as "gpu" or "gpu0".
            ranges: Ranges of percent, such as "90-100,10-90,0-10".
            key: What lists are ordered by.
            top: Rows of long lists; 0 for 20, negative for all.
            peak_flops: For flops, what one GPU can do, in operations per second: "312T", 989e12.
            operator: For sequences, the operator or range whose kernels are looked at; None for each operator.
            length: For sequences, how many kernels; 0 for all that one call launches.
            window: What `load` takes, in place of what was given there: start, end, unit, suffixes, select, node, threads.
        """
        options = {"by": by, "phases": phases, "device": device, "ranges": ranges, "key": key, "top": top,
                   "peak_flops": None if peak_flops is None else str(peak_flops), "operator": operator, "length": length}
        return Report(_core.profile_report(analysis, self._paths, self._request(window), options))

    def info(self, **window: Any) -> Report:
        """Sources, formats, nodes, steps, phases, times and what was damaged, as ``gpu-tracker timeline info``."""
        return Report(_core.timeline_info(self._paths, self._request(window)))

    def merge(self, output: str | os.PathLike[str], *, low_gpu: float = 85, metrics: str | None = None,
              align: str | None = None, overwrite: bool = False, critical_path: bool = False, **window: Any) -> Report:
        """Merge everything into one Chrome trace, as ``gpu-tracker timeline merge``.

        Args:
            output: The file, .json or .json.gz.
            low_gpu: Percent of use below which a GPU is marked; 0 for no marks.
            metrics: A regular expression on NAME_DIMENSION_NODE of samples; None for all.
            align: An event that happened at one moment everywhere.
            overwrite: Replace an existing file.
            critical_path: Add the critical path of each step as tracks, with arrows.
            window: As for `analyse`.
        """
        merge = {"output": output, "low_gpu": low_gpu, "metrics": metrics, "align": align, "overwrite": overwrite,
                 "critical_path": critical_path}
        return Report(_core.timeline_merge(self._paths, self._request(window), merge))

    def export(self, output: str | os.PathLike[str], *, overwrite: bool = False, **window: Any) -> Report:
        """Write tables or a flame graph, as ``gpu-tracker timeline export``.

        Args:
            output: The file: .sqlite or .arrow for tables with every column, whatever the size of the trace; .html for a
                flame graph, .collapsed for its stacks.
            overwrite: Replace an existing file.
            window: As for `analyse`.
        """
        return Report(_core.timeline_export(self._paths, self._request(window), {"output": output, "overwrite": overwrite}))

    def samples(self, **window: Any) -> Table:
        """System metrics as a table with SMDebug's columns."""
        return _core.Profile(self._paths, self._request(window)).samples([_EVERYTHING])

    def events(self, **window: Any) -> Table:
        """Every event, with the columns of ``gpu-tracker timeline export``: id, file, node, rank, pid, process, tid, thread,
        name, category, phase, start_ns, duration_ns, step, correlation, external_id, bytes, device, stream, shapes, args.

        Times are whole nanoseconds, what a file does not tell is None. `Table.to_pandas`, `to_polars` and `to_arrow` convert it;
        ``duckdb.sql("SELECT name, sum(duration_ns) FROM events GROUP BY name")`` reads a variable ``events`` as it is.
        """
        return _core.events_table(self._paths, self._request(window))

    def __getattr__(self, name: str) -> Callable[..., Report]:
        help_text = self.analyses().get(name)
        if help_text is None:
            raise AttributeError(f"there is no analysis '{name}': there are {', '.join(self.analyses())}")

        def method(**options: Any) -> Report:
            return self.analyse(name, **options)

        method.__name__ = name
        method.__doc__ = f"{help_text}\n\nKeywords as for `analyse`."
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.analyses()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._paths))})"


def load(*paths: str | os.PathLike[str], start: int | str | None = None, end: int | str | None = None,
         unit: str = "time", suffixes: Sequence[str] | None = None, select: str | None = None, node: str | None = None,
         threads: int = 0) -> Trace:
    """Files and folders as one trace, with every analysis as a method.

    Args:
        paths: Traces, profiles and recordings of every known format, and folders of them.
        start: Microseconds since the epoch, "+1.5" for seconds after the begin of everything, or the number of a step.
        end: The same; both belong to what is read.
        unit: "time", or "step" when start and end are numbers of steps.
        suffixes: Only files whose names end so.
        select: An extended regular expression on the names of events.
        node: One node by its name, or a rank by its number.
        threads: How many threads read; 0 for one on each core.
    """
    if not paths:
        raise ValueError("load takes a path")
    return Trace(paths, start=start, end=end, unit=unit, suffixes=suffixes, select=select, node=node, threads=threads)
