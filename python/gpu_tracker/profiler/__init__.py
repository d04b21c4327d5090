"""Analyses of traces, and SMDebug's classes.

`load` reads SMDebug folders, Chrome traces of PyTorch, TensorFlow and Horovod, Nsight Systems exports, Python profiles and
recordings. It returns an object with every analysis as a method. The classes of SMDebug's analysis utilities are here and in
modules with SMDebug's names: replace `smdebug.profiler` by `gpu_tracker.profiler`.
"""
from ._load import Report, Trace, load
from .algorithm_metrics_reader import LocalAlgorithmMetricsReader
from .analysis.python_profile_analysis import PyinstrumentAnalysis, cProfileAnalysis
from .analysis.utils.merge_timelines import MergedTimeline, MergeUnit
from .analysis.utils.pandas_data_analysis import JobStats, PandasFrameAnalysis, Resource, StatsBy
from .analysis.utils.profiler_data_to_pandas import PandasFrame
from .analysis.utils.python_profile_analysis_utils import (
    Metrics,
    PyinstrumentStepStats,
    StepPythonProfileStats,
    cProfileFunctionStats,
    cProfileStats,
)
from .analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis, WindowChart
from .python_profile_utils import PythonProfileModes, PythonProfilerName, StepPhase, cProfileTimer
from .tf_profiler_parser import (
    HorovodProfilerEvents,
    SMDataParallelProfilerEvents,
    SMProfilerEvents,
    TensorboardProfilerEvents,
)
from .trace_event_file_parser import TraceEvent, TraceEventParser

__all__ = ["HorovodProfilerEvents", "JobStats", "LocalAlgorithmMetricsReader", "MergeUnit", "MergedTimeline",
           "Metrics", "PT_dataloader_analysis", "PandasFrame", "PandasFrameAnalysis", "PyinstrumentAnalysis",
           "PyinstrumentStepStats", "PythonProfileModes", "PythonProfilerName", "Report", "Resource",
           "SMDataParallelProfilerEvents", "SMProfilerEvents", "StatsBy", "StepPhase", "StepPythonProfileStats",
           "TensorboardProfilerEvents", "Trace", "TraceEvent", "TraceEventParser", "WindowChart",
           "cProfileAnalysis", "cProfileFunctionStats", "cProfileStats", "cProfileTimer", "load"]
