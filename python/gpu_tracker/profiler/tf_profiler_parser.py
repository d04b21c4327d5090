"""Readers of timelines in SMDebug's folders, one for each kind."""
from __future__ import annotations

from .trace_event_file_parser import TraceEventParser

__all__ = ["HorovodProfilerEvents", "SMDataParallelProfilerEvents", "SMProfilerEvents", "TensorboardProfilerEvents"]


class SMProfilerEvents(TraceEventParser):
    """Events of SMDebug's own timelines: pythontimeline.json and model_timeline.json.

    Args:
        type: `file_type` of the events.
    """

    def __init__(self, type: str = "PythontimelineMetrics") -> None:
        super().__init__(type)


class TensorboardProfilerEvents(TraceEventParser):
    """Events of TensorFlow's trace.json.gz."""

    def __init__(self) -> None:
        super().__init__("TFProfilerMetrics")


class HorovodProfilerEvents(TraceEventParser):
    """Events of Horovod's timelines."""

    def __init__(self) -> None:
        super().__init__("HorovodMetrics")


class SMDataParallelProfilerEvents(TraceEventParser):
    """Events of SMDataParallel's timelines."""

    def __init__(self) -> None:
        super().__init__("SMDataParallelMetrics")
