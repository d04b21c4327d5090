"""Conversion between trees (JSON) of the library and dataclasses."""
from __future__ import annotations

import dataclasses
import math
import sys
from typing import Any, TypeVar

_Class = TypeVar("_Class")


def instance(cls: type[_Class], tree: dict[str, Any]) -> _Class:
    """Return a dataclass from a section. Other keys of the section are ignored; missing values become NaN."""
    values: dict[str, Any] = {}
    classes = vars(sys.modules[cls.__module__])
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        value = tree[field.name]
        if isinstance(value, dict):
            value = instance(classes[str(field.type)], value)
        values[field.name] = math.nan if value is None else value
    return cls(**values)


def with_null(value: Any) -> Any:
    """Replace NaN by None, for JSON."""
    if isinstance(value, dict):
        return {key: with_null(part) for key, part in value.items()}
    if isinstance(value, list):
        return [with_null(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
