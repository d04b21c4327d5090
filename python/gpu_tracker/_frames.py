"""Tables as pandas objects, and back. pandas is imported here, when somebody asks for one."""
from __future__ import annotations

from . import _core

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._core import Table


def pandas() -> Any:
    """The module pandas, or one sentence about how to get it."""
    try:
        import pandas as module
    except ImportError:
        raise ImportError("this needs pandas: pip install pandas; the methods that return a Table do without") from None
    return module


def has_pandas() -> bool:
    """Can the methods that return pandas objects be used?"""
    try:
        pandas()
    except ImportError:
        return False
    return True


def _column(table: Table, name: str) -> Any:
    """One column as a Series, so that what it is made of is gone before the next. Texts that repeat are one object each."""
    module = pandas()
    found = table._bytes(name)
    if found is None:
        return module.Series(table[name], dtype=None if len(table) else object)
    import numpy  # pandas needs it anyway

    values = numpy.frombuffer(found[1], found[0])
    missing = table._missing(name) if found[0] == "i8" else None
    if missing is not None:  # pandas' own integers have no room for what is missing
        return module.Series(module.arrays.IntegerArray(values.copy(), numpy.frombuffer(missing, dtype=bool).copy()))
    if found[0] != "i4":
        return module.Series(values.copy(), copy=False)
    return module.Series(numpy.array([*table._choices(name), None], dtype=object)[values])


def portable(value: Any) -> Any:
    """A pandas object, or a dict of them, as every installation of pandas unpickles it: labels not kept by pyarrow."""
    if isinstance(value, dict):
        return {key: portable(part) for key, part in value.items()}
    if hasattr(value, "columns"):
        value = value.set_axis(value.columns.astype(object), axis=1)
    return value.set_axis(value.index.astype(object), axis=0) if hasattr(value, "set_axis") else value


def frame(table: Table) -> Any:
    """A `Table` as a DataFrame. Times are texts, as SMDebug has them."""
    columns = {name: _column(table, name) for name in table.column_names}
    return pandas().DataFrame(columns, columns=table.column_names, copy=False)


def _array(values: Any) -> Any:
    """A column of a DataFrame as `Table` takes it."""
    import numpy

    if values.dtype.kind in "biu":
        return numpy.ascontiguousarray(values, dtype="int64")
    if values.dtype.kind == "f":
        return numpy.ascontiguousarray(values, dtype="float64")
    codes, texts = pandas().factorize(values)
    return numpy.ascontiguousarray(codes, dtype="int32"), [str(text) for text in texts]


def table(frame: Any, names: Sequence[str]) -> Table:
    """Some columns of a DataFrame, or of what is a `Table` already, as a `Table`; columns it lacks are left out."""
    if isinstance(frame, _core.Table):
        return frame
    return _core.Table({name: _array(frame[name]) for name in names if name in frame.columns})


def series(values: dict[str, Any]) -> Any:
    """A dict as a Series."""
    return pandas().Series(values)


def statistics(tree: dict[str, Any]) -> Any:
    """{measurement: {statistic: value}} as a DataFrame with a row for each measurement."""
    return pandas().DataFrame.from_dict(tree, orient="index")


def statistics_table(tree: dict[str, Any], key: str = "measurement") -> Table:
    """The same as a `Table`, the measurements as its first column."""
    names = list(next(iter(tree.values()), {}))
    columns: dict[str, list[Any]] = {key: list(tree)}
    for name in names:
        columns[name] = [row.get(name) for row in tree.values()]
    return _core.Table(columns)
