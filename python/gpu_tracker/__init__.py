"""Measure memory, CPU, GPU, time and energy of a job.

`Tracker` measures a process and its descendants. `SubTracker` and `sub_track` mark blocks of code.
`SubTrackingAnalyzer` reports what each block used.
"""
from ._block import SubTracker
from ._core import version as _version
from ._tables import Table

TYPE_CHECKING = False  # avoids the import of typing, which takes longer than the rest
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
    """Warn if another distribution with the same import name is installed: each overwrites files of the other."""
    import os

    try:
        beside = os.listdir(os.path.dirname(os.path.dirname(__file__)))
    except OSError:
        return
    # The import of importlib.metadata takes longer than the rest.
    other = next((name for name in beside if name.startswith("gpu_tracker-") and name.endswith(".dist-info")), None)
    if other:
        import warnings

        version = other.removeprefix("gpu_tracker-").removesuffix(".dist-info")
        warnings.warn(f"gpu-tracker {version}, another project, and libgputracker overwrite each other's files in this environment: "
                      "pip uninstall both, then install libgputracker alone", stacklevel=3)


_warn_of_the_original()

# Modules that need dataclasses are imported at their first use, because this import takes most of the time.
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
    """Implement ``%load_ext gpu_tracker``; see `gpu_tracker.notebook`."""
    from . import notebook

    notebook.load_ipython_extension(shell)


def unload_ipython_extension(shell: object) -> None:
    """Implement ``%unload_ext gpu_tracker``; see `gpu_tracker.notebook`."""
    from . import notebook

    notebook.unload_ipython_extension(shell)


__all__ = ["CodeBlockResults", "ComparisonResults", "Current", "LimitExceeded", "SubTracker", "SubTrackingAnalyzer",
           "SubTrackingResults", "Table", "Tracker", "TrackingComparison", "__version__", "sub_track"]
