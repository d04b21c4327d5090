"""Arguments of functions: what is wrong with one names it."""
from __future__ import annotations

import operator
import os

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from typing import Any


def number(name: str, value: Any) -> float:
    """A number, or a text that is one."""
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}={value!r} is not a number") from None


def integer(name: str, value: Any) -> int:
    """An integer of any library."""
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
    """A path as a text."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}={value!r} is neither a text nor a path") from None


def texts(name: str, values: Any) -> list[str]:
    """Texts or paths. A single one is refused, because its characters would be taken for the texts."""
    try:
        if not isinstance(values, (str, bytes)):
            return [path(name, value) for value in iter(values)]
    except TypeError:
        pass
    raise TypeError(f"{name}={values!r} is not a list of texts")
