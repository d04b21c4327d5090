"""Conversion of arguments. Error messages contain the name of the argument."""
from __future__ import annotations

import operator
import os
from typing import Any

from . import _core


def number(name: str, value: Any) -> float:
    """Return a number or a numeric text as a float."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}={value!r} is not a number") from None


def integer(name: str, value: Any) -> int:
    """Return an integer of any library as an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is not an integer") from None


def flag(name: str, value: Any) -> bool:
    """True or False of any library."""
    if not any(value == truth for truth in (True, False)):
        raise TypeError(f"{name}={value!r} is neither True nor False")
    return bool(value)


def path(name: str, value: Any) -> str:
    """Return a path as text."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is neither a text nor a path") from None


def texts(name: str, values: Any) -> list[str]:
    """Return texts or paths as a list. A single text is refused because it would be split into characters."""
    try:
        if not isinstance(values, (str, bytes)):
            return [path(name, value) for value in iter(values)]
    except TypeError:
        pass
    raise TypeError(f"{name}={values!r} is not a list of texts")


def command_line(options: dict[str, Any]) -> list[str]:
    """Return options of a tracker as arguments of the command line. None and False are left out."""
    words: list[str] = []
    converters: dict[str, Any] = {"number": float, "integer": operator.index}
    for name, (word, kind, _) in _core.tracker_options().items():
        value = options.get(name)
        if kind == "flag":
            words += [word] if value else []
        elif value is not None:
            convert = converters.get(kind, str)
            words += [f"{word}={convert(item)}" for item in (value if kind == "list" else [value])]
    return words
