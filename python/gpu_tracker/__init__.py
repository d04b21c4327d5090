"""What a job cost: memory, CPU, GPU, time, energy.

`Tracker` measures this process and all below it; `SubTracker` and `sub_track` mark stretches of code, and
`SubTrackingAnalyzer` tells what each of them used.
"""
from ._core import Table
from ._core import version as _version
from .sub_tracker import (
    CodeBlockResults,
    ComparisonResults,
    SubTracker,
    SubTrackingAnalyzer,
    SubTrackingResults,
    TrackingComparison,
    sub_track,
)
from .tracker import Tracker

__version__ = _version()


def load_ipython_extension(shell: object) -> None:
    """What ``%load_ext gpu_tracker`` does: see `gpu_tracker.notebook`."""
    from . import notebook

    notebook.load_ipython_extension(shell)


__all__ = ["CodeBlockResults", "ComparisonResults", "SubTracker", "SubTrackingAnalyzer", "SubTrackingResults", "Table",
           "Tracker", "TrackingComparison", "__version__", "sub_track"]
