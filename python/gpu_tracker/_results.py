"""Results of analyses. Values and texts come from the library; pandas objects are created on demand."""
from __future__ import annotations

import copyreg
import dataclasses
import math
from typing import Any, ClassVar

from . import _core, _tables, _views
from . import _pandas as pandas
from ._tables import Table


class _FromTree:
    """Base class of results: each field is computed from the library's tree at its first use."""

    _kind: ClassVar[str]

    def _set_tree(self, tree: dict[str, Any], text: str = "") -> Any:
        self.__dict__.update(_report=tree, _text=text)
        return self

    def __getattr__(self, name: str) -> Any:
        tree = self.__dict__.get("_report")
        if tree is None or name not in {field.name for field in dataclasses.fields(self)}:  # type: ignore[arg-type]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = self.__dict__[name] = self._compute(name, tree[name])
        return value

    @staticmethod
    def _compute(name: str, value: Any) -> Any:
        raise NotImplementedError(name)

    def _to_tree(self) -> dict[str, Any]:
        """Return the fields without pandas, for objects that do not come from the library."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore

    def to_json(self) -> dict[str, Any]:
        """Return the results for `json`. Missing values are None."""
        tree = self.__dict__.get("_report")
        tree = self._to_tree() if tree is None else tree
        return {key: _views.with_null(value) for key, value in tree.items()}

    def _render(self, format: str) -> str:
        import json

        return _core.report_text(_core.results_report(self._kind, json.dumps(self.to_json())), format)

    def __str__(self) -> str:
        """Return the results as text."""
        text = self.__dict__.get("_text")
        if not text:
            text = self.__dict__["_text"] = self._render("text")
        return str(text).rstrip("\n")

    def to_html(self) -> str:
        """Return the results as an HTML page."""
        return self._render("html")

    def _repr_html_(self) -> str:
        return _views.frame(self.to_html())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with pandas objects, so that the original can load it; without pandas, pickle the tree for this package."""
        tree = self.__dict__.get("_report")
        if tree is not None and not _tables.has_pandas():
            return from_tree, (self._kind, tree, self.__dict__.get("_text", ""))
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = {field.name: _tables.portable(getattr(self, field.name)) for field in fields}
        return copyreg.__newobj__, (type(self),), {**self.__dict__, **values}  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    """Convert a pandas object, or a list or dict of them, to dicts."""
    if isinstance(value, _FromTree):
        return value.to_json()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if hasattr(value, "iterrows"):
        return {index: _plain(row) for index, row in value.iterrows()}
    if hasattr(value, "to_dict"):
        return {key: item.item() if hasattr(item, "item") else item for key, item in value.to_dict().items()}
    return value


def _nan(tree: Any) -> Any:
    """Replace None by NaN, as pandas expects."""
    if isinstance(tree, dict):
        return {key: _nan(value) for key, value in tree.items()}
    return math.nan if tree is None else tree


@dataclasses.dataclass(eq=False)
class CodeBlockResults(_FromTree):
    """Resource use of one block.

    Attributes:
        name: Name of the block.
        num_timepoints: Number of samples in its calls.
        num_calls: Number of calls.
        num_non_empty_calls: Number of calls with a sample.
        compute_time: Duration of the calls in seconds: min, max, mean, std, total and other statistics.
        resource_usage: A row for each measurement, with min, max, mean, std and other statistics.
    """

    name: str
    num_timepoints: int
    num_calls: int
    num_non_empty_calls: int
    compute_time: pandas.Series
    resource_usage: pandas.DataFrame

    _kind = "code_block_results"

    @staticmethod
    def _compute(name: str, value: Any) -> Any:
        if name == "compute_time":
            return _tables.series(_nan(value))
        return _tables.statistics(_nan(value)) if name == "resource_usage" else value

    def resource_usage_table(self) -> Table:
        """Return `resource_usage` as a `Table`, without pandas. The first column is "measurement"."""
        return _tables.statistics_table(self.to_json()["resource_usage"])


@dataclasses.dataclass(eq=False)
class SubTrackingResults(_FromTree):
    """Resource use of a run and of each block.

    Attributes:
        overall: A row for each measurement over all samples, with min, max, mean, std and other statistics.
        static_data: Units, capacities and counts of the tracking file.
        code_block_results: Results of each block.
    """

    overall: pandas.DataFrame
    static_data: pandas.Series
    code_block_results: list[CodeBlockResults]

    _kind = "sub_tracking_results"

    @staticmethod
    def _compute(name: str, value: Any) -> Any:
        if name == "code_block_results":
            return [from_tree(CodeBlockResults._kind, block) for block in value]
        return _tables.statistics(_nan(value)) if name == "overall" else _tables.series(_nan(value))

    def overall_table(self) -> Table:
        """Return `overall` as a `Table`, without pandas. The first column is "measurement"."""
        return _tables.statistics_table(self.to_json()["overall"])

    def code_block_table(self) -> Table:
        """Return a row for each block: number of calls and duration in seconds."""
        blocks = self.to_json()["code_block_results"]
        columns = {key: [block[key] for block in blocks]
                   for key in ("name", "num_timepoints", "num_calls", "num_non_empty_calls")}
        for key in blocks[0]["compute_time"] if blocks else ():
            columns[f"compute_time_{key}"] = [block["compute_time"][key] for block in blocks]
        return Table(columns)


@dataclasses.dataclass(eq=False)
class ComparisonResults(_FromTree):
    """Comparison of sessions. Sessions are sorted by ascending value.

    Attributes:
        overall_resource_usage: Value in each session, for each measurement.
        code_block_resource_usage: Value in each session, for each measurement and block.
        code_block_compute_time: Duration of the calls in each session, for each block.
    """

    overall_resource_usage: dict[str, pandas.Series]
    code_block_resource_usage: dict[str, dict[str, pandas.Series]]
    code_block_compute_time: dict[str, pandas.Series]

    _kind = "comparison_results"

    @staticmethod
    def _compute(name: str, value: Any) -> Any:
        if name == "code_block_resource_usage":
            return {key: ComparisonResults._compute("", blocks) for key, blocks in value.items()}
        return {key: _tables.series(_nan(sessions)) for key, sessions in value.items()}

    def overall_resource_usage_table(self) -> Table:
        """Return `overall_resource_usage` as a `Table`, without pandas. The first column is "measurement"."""
        return _tables.statistics_table(self.to_json()["overall_resource_usage"])

    def code_block_compute_time_table(self) -> Table:
        """Return `code_block_compute_time` as a `Table`, without pandas. The first column is "name"."""
        return _tables.statistics_table(self.to_json()["code_block_compute_time"], "name")


_CLASSES: dict[str, type[_FromTree]] = {
    cls._kind: cls for cls in (CodeBlockResults, SubTrackingResults, ComparisonResults)}


def from_tree(kind: str, tree: dict[str, Any], text: str = "") -> Any:
    """Return results of the library as an object of their class, or the tree if the kind has no class."""
    cls = _CLASSES.get(kind)
    return tree if cls is None else cls.__new__(cls)._set_tree(tree, text)


def of_report(kind: str, report: _core.Handle) -> Any:
    """Return results of a report of the library."""
    import json

    return from_tree(kind, json.loads(_core.report_text(report, "json")), _core.report_text(report, "text"))


for _class in _CLASSES.values():
    _class.__module__ = "gpu_tracker.sub_tracker"  # the module name in pickles of the original
