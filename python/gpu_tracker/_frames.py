"""Conversion between tables and pandas objects. pandas is imported only when a conversion needs it."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import Table


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
    if isinstance(frame, _core.Table):
        return frame
    return _core.Table({name: _array(frame[name]) for name in names if name in frame.columns})


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
    return _core.Table(columns)
