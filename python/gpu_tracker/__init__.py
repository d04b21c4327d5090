"""What a job cost: memory, CPU, GPU, time, energy.

`Tracker` measures this process and all below it; `SubTracker` and `sub_track` mark stretches of code, and
`SubTrackingAnalyzer` tells what each of them used.
"""
from ._core import SubTracker, Table
from ._core import version as _version

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from . import sub_tracker as sub_tracker, tracker as tracker
    from .sub_tracker import (
        CodeBlockResults,
        ComparisonResults,
        SubTrackingAnalyzer,
        SubTrackingResults,
        TrackingComparison,
        sub_track,
    )
    from .live import Current, LimitExceeded
    from .tracker import Tracker

__version__ = _version()


def _warn_of_the_original() -> None:
    """Of a distribution whose files overwrite ours, or go with ours when one of the two is uninstalled."""
    import os

    try:
        beside = os.listdir(os.path.dirname(os.path.dirname(__file__)))
    except OSError:
        return
    # importlib.metadata would take longer to import than all of this.
    other = next((name for name in beside if name.startswith("gpu_tracker-") and name.endswith(".dist-info")), None)
    if other:
        import warnings

        version = other.removeprefix("gpu_tracker-").removesuffix(".dist-info")
        warnings.warn(f"gpu-tracker {version}, another project, is in the same environment as libgputracker, and each overwrites files "
                      "of the other: pip uninstall both, then install libgputracker alone", stacklevel=3)


_warn_of_the_original()

# What needs dataclasses, whose import takes most of the time, is imported when it is used.
_MODULES = {"tracker": ["Tracker"], "live": ["Current", "LimitExceeded"],
            "sub_tracker": ["CodeBlockResults", "ComparisonResults", "SubTrackingAnalyzer", "SubTrackingResults",
                            "TrackingComparison", "sub_track"]}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for module, names in _MODULES.items():
        if name == module or name in names:
            found = import_module(f"{__name__}.{module}")
            globals().update({each: getattr(found, each) for each in names})
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


def load_ipython_extension(shell: object) -> None:
    """What ``%load_ext gpu_tracker`` does: see `gpu_tracker.notebook`."""
    from . import notebook

    notebook.load_ipython_extension(shell)


def unload_ipython_extension(shell: object) -> None:
    """What ``%unload_ext gpu_tracker`` does: see `gpu_tracker.notebook`."""
    from . import notebook

    notebook.unload_ipython_extension(shell)


__all__ = ["CodeBlockResults", "ComparisonResults", "Current", "LimitExceeded", "SubTracker", "SubTrackingAnalyzer",
           "SubTrackingResults", "Table", "Tracker", "TrackingComparison", "__version__", "sub_track"]
