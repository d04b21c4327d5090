"""Types of pandas for annotations. pandas is imported when an annotation is evaluated, as by typing.get_type_hints."""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame, Series as Series


def __getattr__(name: str) -> Any:
    if name not in ("DataFrame", "Series"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import pandas
    except ImportError:
        return Any  # evaluating annotations does not need pandas
    return getattr(pandas, name)
