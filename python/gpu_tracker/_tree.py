"""From the C reports' trees (JSON) to dataclasses and back."""
import dataclasses
import math
import sys


def instance(cls, tree):
    """A dataclass from the section `tree`, which has more keys than the class has fields; missing numbers are NaN."""
    values = {}
    classes = vars(sys.modules[cls.__module__])
    for field in dataclasses.fields(cls):
        value = tree[field.name]
        if isinstance(value, dict):
            value = instance(classes[field.type], value)
        values[field.name] = math.nan if value is None else value
    return cls(**values)


def with_null(value):
    """NaN as JSON knows it."""
    if isinstance(value, dict):
        return {key: with_null(part) for key, part in value.items()}
    if isinstance(value, list):
        return [with_null(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value
