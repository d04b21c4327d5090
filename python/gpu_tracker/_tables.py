"""Tables: conversion to and from pandas objects, and display. pandas is imported only when a conversion needs it."""
from __future__ import annotations

import time
from collections.abc import Sequence

from . import _core

TYPE_CHECKING = False  # avoids the import of typing, which takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any
else:
    Any = object

_ENDS = 5  # rows at the start and at the end
_WIDEST = 32
_FORMATS = {"f8": "d", "i8": "q", "i4": "i", "time": "q"}  # of memoryview, by the library's kinds of columns
_SIZES = {"f8": 8, "i8": 8, "i4": 4, "text": 1}


class Table:
    """A table with columns of equal length: numbers, integers, texts or times. Missing values are None.

    `table[name]` returns a column as a list, `len(table)` the number of rows. pyarrow.table(table),
    polars.DataFrame(table) and duckdb read it without a copy (Arrow PyCapsule interface).
    `to_pandas`, `to_polars` and `to_arrow` convert it. print shows its first and last rows.

    Args:
        columns: Dict of names and lists.

    Attributes:
        column_names: The names of the columns, in order.
    """

    __slots__ = ("_count", "_handle", "column_names")
    __module__ = "gpu_tracker"

    def __init__(self, columns: dict[str, Any], /) -> None:
        packed = {name: _packed(values) for name, values in columns.items()}
        lengths = {len(texts if kind == "text" else data) // _SIZES[kind] for kind, data, _, texts in packed.values()}
        if len(lengths) > 1:
            raise TypeError("a table needs columns of equal length")
        self._set(_core.table_new([(name, *parts) for name, parts in packed.items()]))

    def _set(self, handle: _core.Handle) -> Table:
        self._handle, self._count, self.column_names = handle, _core.table_rows(handle), _core.table_names(handle)
        return self

    def __len__(self) -> int:
        return self._count

    def _column(self, name: str, start: int = 0, stop: int | None = None) -> tuple[str, bytes, bytes | None, list[Any]]:
        """Return kind, bytes, missing cells and texts of rows of a column, see `_core.table_column`."""
        if not isinstance(name, str):
            raise TypeError("the name of a column must be a str: see column_names")
        if name not in self.column_names:
            raise KeyError(name)
        stop = self._count if stop is None else stop
        return _core.table_column(self._handle, self.column_names.index(name), start, stop - start)

    def _values(self, name: str, start: int = 0, stop: int | None = None) -> list[Any]:
        kind, data, missing, texts = self._column(name, start, stop)
        if kind == "text":
            return texts
        values: list[Any] = memoryview(data).cast(_FORMATS[kind]).tolist()  # type: ignore[call-overload]
        if kind == "i4":
            values = [None if number < 0 else texts[number] for number in values]
        elif kind == "time":
            values = list(map(time_text, values))
        return values if missing is None else [None if gone else value for value, gone in zip(values, missing)]

    def __getitem__(self, name: str) -> list[Any]:
        return self._values(name)

    def to_pandas(self) -> Any:
        """Return the table as a pandas.DataFrame."""
        return frame(self)

    def to_polars(self) -> Any:
        """Return the table as a polars.DataFrame."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """Return the table as a pyarrow.Table."""
        import pyarrow  # type: ignore[import-untyped]

        return pyarrow.table(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table for Arrow libraries, without a copy. A producer can ignore the requested schema."""
        return _core.table_stream(self._handle)

    def __arrow_c_schema__(self) -> object:
        """Return the Arrow schema."""
        return _core.table_schema(self._handle)

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return page(self)


def time_text(nanoseconds: int) -> str:
    """Convert a moment since the epoch to "2020-09-13T12:26:40:000000", SMDebug's text of a time in UTC, truncated to microseconds."""
    seconds, microseconds = divmod(nanoseconds // 1000, 10**6)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}:{microseconds:06d}"


def of_handle(handle: _core.Handle) -> Table:
    """Return a table of the library as an object. The extension module calls this function."""
    return Table.__new__(Table)._set(handle)


def _packed(values: Any) -> tuple[str, bytes, bytes | None, list[Any]]:
    """Return a list, an array of int64 or float64, or (array of int32, texts) in the form of `_core.table_column`."""
    if isinstance(values, list):
        if any(isinstance(value, str) for value in values):
            return "text", b"", None, values
        from array import array

        kind = "i8" if all(isinstance(value, int) for value in values) else "f8"
        data = array(_FORMATS[kind], [0 if value is None else value for value in values]).tobytes()
        return kind, data, bytes(value is None for value in values), []
    is_pair = isinstance(values, tuple)
    view = memoryview(values[0] if is_pair else values)
    kind = "i4" if is_pair else "f8" if view.format == "d" else "i8"
    if view.ndim != 1 or f"{view.format}{view.itemsize}" not in ("d8", "l8", "q8", "i4", "l4") or (view.itemsize == 4) != is_pair:
        raise TypeError("an array of a table must contain int64, float64 or, for choices, int32")
    return kind, view.tobytes(), None, values[1] if is_pair else []


def pandas() -> Any:
    """Return the module pandas, or raise ImportError with the command that installs it."""
    try:
        import pandas as module
    except ImportError:
        raise ImportError("this method needs pandas: pip install pandas, or use the methods that return a Table") from None
    return module


def has_pandas() -> bool:
    """Return whether pandas is installed."""
    try:
        pandas()
    except ImportError:
        return False
    return True


def _series(table: Table, name: str) -> Any:
    """Return one column as a Series, to free its raw data before the next column. Equal texts share one object."""
    module = pandas()
    kind, data, missing, texts = table._column(name)
    if kind in ("text", "time"):
        return module.Series(table[name], dtype=None if len(table) else object)
    import numpy  # pandas needs numpy as well

    values = numpy.frombuffer(data, kind)
    if kind == "i8" and missing is not None:  # plain integer columns cannot contain missing values
        return module.Series(module.arrays.IntegerArray(values.copy(), numpy.frombuffer(missing, dtype=bool).copy()))
    if kind != "i4":
        return module.Series(values.copy(), copy=False)
    return module.Series(numpy.array([*texts, None], dtype=object)[values])


def portable(value: Any) -> Any:
    """Convert labels of a pandas object, or of a dict of them, to type object, so that pandas without pyarrow unpickles it."""
    if isinstance(value, dict):
        return {key: portable(part) for key, part in value.items()}
    if hasattr(value, "columns"):
        value = value.set_axis(value.columns.astype(object), axis=1)
    return value.set_axis(value.index.astype(object), axis=0) if hasattr(value, "set_axis") else value


def frame(table: Table) -> Any:
    """Return a `Table` as a DataFrame. Times are text, as in SMDebug."""
    columns = {name: _series(table, name) for name in table.column_names}
    return pandas().DataFrame(columns, columns=table.column_names, copy=False)


def _array(values: Any) -> Any:
    """Return a column of a DataFrame in a form that `Table` accepts."""
    import numpy

    if values.dtype.kind in "biu":
        return numpy.ascontiguousarray(values, dtype="int64")
    if values.dtype.kind == "f":
        return numpy.ascontiguousarray(values, dtype="float64")
    codes, texts = pandas().factorize(values)
    return numpy.ascontiguousarray(codes, dtype="int32"), [str(text) for text in texts]


def table(frame: Any, names: Sequence[str]) -> Table:
    """Return the named columns of a DataFrame as a `Table`, without missing columns. A `Table` is returned unchanged."""
    if isinstance(frame, Table):
        return frame
    return Table({name: _array(frame[name]) for name in names if name in frame.columns})


def series(values: dict[str, Any]) -> Any:
    """Return a dict as a Series."""
    return pandas().Series(values)


def statistics(tree: dict[str, Any]) -> Any:
    """Return {measurement: {statistic: value}} as a DataFrame with a row for each measurement."""
    return pandas().DataFrame.from_dict(tree, orient="index")


def statistics_table(tree: dict[str, Any], key: str = "measurement") -> Table:
    """Return `statistics` as a `Table`, with the measurements in the first column."""
    names = list(next(iter(tree.values()), {}))
    columns: dict[str, list[Any]] = {key: list(tree)}
    for name in names:
        columns[name] = [row.get(name) for row in tree.values()]
    return Table(columns)


# ---- display: the first and last rows, and the columns that fit ----

def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _WIDEST else text[:_WIDEST - 3] + "..."


def _rows(table: Table, start: int, stop: int) -> list[tuple[Any, ...] | None]:
    return list(zip(*(table._values(name, start, stop) for name in table.column_names)))


def _shown(table: Table) -> list[tuple[Any, ...] | None]:
    """Return the displayed rows, with None for the omitted rows."""
    count = len(table)
    if count <= 2 * _ENDS:
        return _rows(table, 0, count)
    return [*_rows(table, 0, _ENDS), None, *_rows(table, count - _ENDS, count)]


def _fitting(columns: list[list[str]], room: int) -> list[int]:
    """Return the columns that fit. Columns with more different values have priority."""
    kept: list[int] = []
    different = [len(set(column[1:])) for column in columns]
    for number in sorted(range(len(columns)), key=lambda number: -different[number]):
        width = len(columns[number][0]) + 2
        if room + 2 >= width or not kept:
            kept.append(number)
            room -= width
    return sorted(kept)


def text(table: Table) -> str:
    """Return the table as text. The last line is its size."""
    import shutil

    rows = _shown(table)
    lines = [[_cell(value) for value in row] if row else ["..."] * len(table.column_names) for row in rows]
    room = shutil.get_terminal_size((100, 24)).columns
    columns = []
    for number, name in enumerate(table.column_names):
        cells = [name, *(line[number] for line in lines)]
        width = max(map(len, cells))
        is_number = all(isinstance(row[number], (int, float)) or row[number] is None for row in rows if row)
        columns.append([cell.rjust(width) if is_number else cell.ljust(width) for cell in cells])
    kept = _fitting(columns, room)
    left = [name for number, name in enumerate(table.column_names) if number not in kept]
    body = ["  ".join(columns[number][line] for number in kept).rstrip() for line in range(len(lines) + 1)]
    size = f"[{len(table)} rows x {len(columns)} columns" + (f"; not shown: {', '.join(left)}]" if left else "]")
    return "\n".join([*(body if kept else []), size])


def page(table: Table) -> str:
    """Return the table as HTML."""
    import html

    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
    body = []
    for row in _shown(table):
        cells = [_cell(value) for value in row] if row else ["..."] * len(table.column_names)
        body.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    return (f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
            f"<p>{len(table)} rows x {len(table.column_names)} columns</p>")
