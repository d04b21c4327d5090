"""Pickles of results, of this package and of the original gpu_tracker, read without pandas and without calling anything.

`python -m gpu_tracker._unpickle FILE` prints the results as JSON.
"""
from __future__ import annotations

import io
import itertools
import json
import math
import os
import pickle
import struct
import sys
from typing import Any

LARGEST = 256 << 20

# The names that pickles of results contain, by their meaning: pandas 1.4 to 3, numpy 1 and 2.
_NAMES = {
    "results": ["gpu_tracker.sub_tracker.SubTrackingResults"],
    "block": ["gpu_tracker.sub_tracker.CodeBlockResults"],
    "tree": ["gpu_tracker._results.from_tree"],
    "frame": ["pandas.DataFrame", "pandas.core.frame.DataFrame"],
    "series": ["pandas.Series", "pandas.core.series.Series"],
    "manager": ["pandas.core.internals.managers.BlockManager"],
    "single manager": ["pandas.core.internals.managers.SingleBlockManager"],
    "frame block": ["pandas._libs.internals._unpickle_block"],
    "new index": ["pandas.core.indexes.base._new_Index"],
    "index": ["pandas.Index", "pandas.core.indexes.base.Index"],
    "backed array": ["pandas._libs.arrays.__pyx_unpickle_NDArrayBacked"],
    "string array": ["pandas.arrays.StringArray", "pandas.core.arrays.string_.StringArray",
                     "pandas.core.arrays.string_.StringArrayNumpySemantics"],
    "string type": ["pandas.StringDtype", "pandas.core.arrays.string_.StringDtype"],
    "arrow strings": ["pandas.arrays.ArrowStringArray", "pandas.core.arrays.string_arrow.ArrowStringArray",
                      "pandas.core.arrays.string_arrow.ArrowStringArrayNumpySemantics"],
    "arrow array": ["pyarrow.lib._restore_array"],
    "arrow chunks": ["pyarrow.lib.chunked_array"],
    "bytes": ["pyarrow.lib.py_buffer", "builtins.bytearray", "__builtin__.bytearray", "_codecs.encode"],
    "arrow type": ["pyarrow.lib.type_for_alias"],
    "array": ["numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"],
    "buffer array": ["numpy.core.numeric._frombuffer", "numpy._core.numeric._frombuffer"],
    "number": ["numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"],
    "array class": ["numpy.ndarray"],
    "type": ["numpy.dtype"],
    "text": ["sqlalchemy.sql.elements.quoted_name"],
    "slice": ["builtins.slice", "__builtin__.slice"],
}
_MEANING = {name: meaning for meaning, names in _NAMES.items() for name in names}

_FORMATS = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
            "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "?"}


class _Object:
    """An object of a pickle: its meaning, arguments and state."""

    __slots__ = ("arguments", "state")
    meaning = ""
    arguments: tuple[Any, ...]
    state: Any

    def __new__(cls, *arguments: Any) -> Any:
        value = super().__new__(cls)
        value.arguments, value.state = arguments, None
        return value

    def __setstate__(self, state: Any) -> None:
        self.state = state


# Exceptions that damaged or unexpected content causes.
_BAD = (ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, LookupError, MemoryError, RuntimeError,
        StopIteration, TypeError, ValueError, pickle.PickleError, struct.error)


class _Refused(ValueError):
    pass


class _Unpickler(pickle._Unpickler):  # in C, a large memo index allocates memory
    def find_class(self, module: str, name: str) -> Any:
        meaning = _MEANING.get(f"{module}.{name}")
        if meaning is None:
            raise _Refused(f"names {module}.{name}, which does not belong in results; it was not run")
        return type(name, (_Object,), {"__slots__": (), "meaning": meaning})

    def get_extension(self, code: int) -> None:
        raise ValueError("extension")


def _meaning(value: Any) -> str:
    return value.meaning if isinstance(value, _Object) else ""


def _check(condition: Any) -> None:
    if not condition:
        raise ValueError("unexpected content")


def _bytes(value: Any) -> bytes:
    while _meaning(value) == "bytes":
        value = value.arguments[0]
    return value.encode("latin-1") if isinstance(value, str) else bytes(memoryview(value))


def _numbers(kind: Any, data: bytes) -> list[Any]:
    """Return the values of a numpy array of numbers; NaN and infinities become None."""
    _check(_meaning(kind) == "type" and kind.state[1] in "<|=")
    size = int(kind.arguments[0][1:])
    values = struct.unpack(f"<{len(data) // size}{_FORMATS[kind.arguments[0]]}", data)
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values]


class _Converter:
    """Convert the objects of a pickle to dicts and lists, up to a number of values: shared objects make small pickles large."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def spend(self, values: int) -> None:
        self.left -= values
        _check(self.left >= 0)

    def scalar(self, value: Any) -> Any:
        if _meaning(value) == "number":
            value, = _numbers(value.arguments[0], _bytes(value.arguments[1]))
        elif _meaning(value) == "text":
            value = value.arguments[0]
        _check(value is None or isinstance(value, (bool, int, float, str)))
        return None if isinstance(value, float) and not math.isfinite(value) else value

    def tree(self, value: Any) -> Any:
        self.spend(1)
        if isinstance(value, (list, tuple)):
            return [self.tree(item) for item in value]
        if isinstance(value, dict):
            _check(all(isinstance(key, str) for key in value))
            return {key: self.tree(item) for key, item in value.items()}
        return self.scalar(value)

    def arrow(self, state: Any) -> list[Any]:
        """Return the texts of a pyarrow array: https://arrow.apache.org/docs/format/Columnar.html"""
        array = state.get("_pa_array") or state["_data"]
        if _meaning(array) == "arrow chunks":
            array, = array.arguments[0]
        _check(_meaning(array) == "arrow array")
        kind, count, missing, begin, (_, offsets, texts) = array.arguments[0][:5]
        _check(_meaning(kind) == "arrow type" and not missing and not begin)
        width = "q" if kind.arguments[0] == "large_string" else "i"
        place = struct.unpack_from(f"<{count + 1}{width}", _bytes(offsets))
        _check(list(place) == sorted(place))
        data = _bytes(texts)
        return [data[start:stop].decode() for start, stop in itertools.pairwise(place)]

    def rows(self, value: Any) -> list[list[Any]]:
        """Return the rows of an array; an array of one dimension is one row."""
        if _meaning(value) == "backed array":
            value = next(part for part in value.state if _meaning(part) in ("array", "buffer array"))
        if _meaning(value) == "arrow strings":
            row = self.arrow(value.state)
            self.spend(len(row))
            return [row]
        if _meaning(value) == "array":
            _, shape, kind, is_fortran, data = value.state
        else:
            _check(_meaning(value) == "buffer array")
            data, kind, shape, order = value.arguments
            is_fortran = order == "F"
        if kind.arguments[0][0] == "O":  # numpy writes objects in the order of C
            values, is_fortran = [self.scalar(item) for item in data], False
        else:
            values = _numbers(kind, _bytes(data))
        rows, columns = (1, *shape)[-2:]
        _check(rows >= 0 and len(values) == rows * columns)
        self.spend(rows + len(values))
        if is_fortran:
            return [values[row::rows] for row in range(rows)]
        return [values[row * columns:(row + 1) * columns] for row in range(rows)]

    def labels(self, index: Any) -> list[str]:
        _check(_meaning(index) == "new index" and index.arguments[0].meaning == "index")
        labels, = self.rows(index.arguments[1]["data"])
        _check(all(isinstance(label, str) for label in labels) and len(set(labels)) == len(labels))
        return labels

    def frame(self, value: Any) -> dict[str, Any]:
        _check(_meaning(value) == "frame")
        manager = value.state["_mgr"]
        _check(_meaning(manager) == "manager")
        blocks, axes = manager.arguments[:2]
        names, rows = self.labels(axes[0]), self.labels(axes[1])
        columns: dict[str, list[Any]] = {}
        for block in blocks:
            _check(_meaning(block) == "frame block")
            array, places = self.rows(block.arguments[0]), block.arguments[1]
            if _meaning(places) == "slice":
                where = list(range(len(names))[slice(*places.arguments)])
            else:
                where, = self.rows(places)
            _check(len(where) == len(array))
            columns.update((names[place], row) for place, row in zip(where, array))
        _check(len(columns) == len(names) and all(len(column) == len(rows) for column in columns.values()))
        self.spend((len(rows) + 1) * (len(names) + 1))
        return {row: {name: columns[name][number] for name in names} for number, row in enumerate(rows)}

    def series(self, value: Any) -> dict[str, Any]:
        _check(_meaning(value) == "series")
        manager = value.state["_mgr"]
        _check(_meaning(manager) == "single manager")
        labels, (values,) = self.labels(manager.state[0][0]), self.rows(manager.state[1][0])
        _check(len(labels) == len(values))
        return dict(zip(labels, values))

    def block(self, value: Any) -> Any:
        _check(_meaning(value) == "block")
        state = value.state
        if isinstance(state.get("_report"), dict):
            return self.tree(state["_report"])
        plain = {key: self.scalar(state[key]) for key in ("name", "num_timepoints", "num_calls", "num_non_empty_calls")}
        return {**plain, "compute_time": self.series(state["compute_time"]),
                "resource_usage": self.frame(state["resource_usage"])}

    def results(self, value: Any) -> Any:
        """Return the results. Our package stores the library's report beside the fields of the original."""
        if _meaning(value) == "tree":
            return self.tree(value.arguments[1])
        _check(_meaning(value) == "results")
        state = value.state
        if isinstance(state.get("_report"), dict):
            return self.tree(state["_report"])
        _check(isinstance(state["code_block_results"], list))
        return {"overall": self.frame(state["overall"]), "static_data": self.series(state["static_data"]),
                "code_block_results": [self.block(block) for block in state["code_block_results"]]}


def loads(data: bytes, name: str) -> Any:
    """Return the results in a pickle as the tree that their JSON would have.

    Raises:
        ValueError: The pickle contains anything else. The message begins with `name`.
    """
    try:
        value = _Unpickler(io.BytesIO(data)).load()
    except _Refused as error:
        raise ValueError(f"{name} {error}") from None
    except _BAD:
        raise ValueError(f"{name} is damaged, or a pickle of something else than results") from None
    try:
        results = _Converter(4 * len(data) + 1024).results(value)
        _check(isinstance(results, dict))
        return results
    except _BAD:
        raise ValueError(f"{name} holds no results of analyze that can be read") from None


def is_pickle(path: str) -> bool:
    """Return True for a regular file that begins as pickles do."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(1) == b"\x80"


def load(path: str) -> Any:
    """Read results from a pickle, see `loads`."""
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"{path} is larger than {LARGEST >> 20} MiB")
    return loads(data, path)


def _main() -> int:
    try:
        json.dump(load(sys.argv[1]), sys.stdout)
    except (IndexError, OSError, ValueError) as error:
        print(f"usage: python -m gpu_tracker._unpickle FILE > FILE.json: {error}" if isinstance(error, IndexError)
              else error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main())
