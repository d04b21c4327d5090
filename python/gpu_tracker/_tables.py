"""Tables: conversion to and from pandas objects, and display. pandas is imported only when a conversion needs it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._core import Table

_ENDS = 5  # rows at the start and at the end
_WIDEST = 32


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


def _column(table: Table, name: str) -> Any:
    """Return one column as a Series, to free its raw data before the next column. Equal texts share one object."""
    module = pandas()
    found = table._bytes(name)
    if found is None:
        return module.Series(table[name], dtype=None if len(table) else object)
    import numpy  # pandas needs numpy as well

    values = numpy.frombuffer(found[1], found[0])
    missing = table._missing(name) if found[0] == "i8" else None
    if missing is not None:  # plain integer columns cannot contain missing values
        return module.Series(module.arrays.IntegerArray(values.copy(), numpy.frombuffer(missing, dtype=bool).copy()))
    if found[0] != "i4":
        return module.Series(values.copy(), copy=False)
    return module.Series(numpy.array([*table._choices(name), None], dtype=object)[values])


def portable(value: Any) -> Any:
    """Convert labels of a pandas object, or of a dict of them, to type object, so that pandas without pyarrow unpickles it."""
    if isinstance(value, dict):
        return {key: portable(part) for key, part in value.items()}
    if hasattr(value, "columns"):
        value = value.set_axis(value.columns.astype(object), axis=1)
    return value.set_axis(value.index.astype(object), axis=0) if hasattr(value, "set_axis") else value


def frame(table: Table) -> Any:
    """Return a `Table` as a DataFrame. Times are text, as in SMDebug."""
    columns = {name: _column(table, name) for name in table.column_names}
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


def _shown(table: Table) -> list[tuple[Any, ...] | None]:
    """Return the displayed rows, with None for the omitted rows."""
    count = len(table)
    if count <= 2 * _ENDS:
        return list(table._rows(0, count))
    return [*table._rows(0, _ENDS), None, *table._rows(count - _ENDS, count)]


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
