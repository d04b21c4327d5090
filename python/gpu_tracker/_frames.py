"""Tables as pandas objects. pandas is imported here, when somebody asks for one."""
from . import _core


def pandas():
    """The module pandas, or one sentence about how to get it."""
    try:
        import pandas as module
    except ImportError:
        raise ImportError("this needs pandas: pip install gpu-tracker[pandas]; "
                          "the methods that return a Table do without") from None
    return module


def has_pandas():
    """Can the methods that return pandas objects be used?"""
    try:
        pandas()
    except ImportError:
        return False
    return True


def frame(table):
    """A `Table` as a DataFrame."""
    module = pandas()
    import numpy  # pandas needs it anyway

    columns = {}
    for name in table.column_names:
        numbers = table._bytes(name)
        columns[name] = table[name] if numbers is None else numpy.frombuffer(numbers[1], numbers[0]).copy()
    return module.DataFrame(columns, columns=table.column_names)


def portable(value):
    """A pandas object, or a dict of them, as every installation of pandas unpickles it: labels not kept by pyarrow."""
    if isinstance(value, dict):
        return {key: portable(part) for key, part in value.items()}
    if hasattr(value, "columns"):
        value = value.set_axis(value.columns.astype(object), axis=1)
    return value.set_axis(value.index.astype(object), axis=0) if hasattr(value, "set_axis") else value


def series(values):
    """A dict as a Series."""
    return pandas().Series(values)


def statistics(tree):
    """{measurement: {statistic: value}} as a DataFrame with a row for each measurement."""
    return pandas().DataFrame.from_dict(tree, orient="index")


def statistics_table(tree, key="measurement"):
    """The same as a `Table`, the measurements as its first column."""
    names = list(next(iter(tree.values()), {}))
    columns = {key: list(tree)}
    for name in names:
        columns[name] = [row.get(name) for row in tree.values()]
    return _core.Table(columns)
