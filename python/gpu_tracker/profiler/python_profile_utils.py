"""SMDebug's modes and step phases of Python profiles."""
import os
from enum import Enum, IntEnum

__all__ = ["PythonProfileModes", "PythonProfilerName", "StepPhase", "cProfileTimer"]


class PythonProfileModes(IntEnum):
    """Mode of the training."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
    PRE_STEP_ZERO = 5
    POST_HOOK_CLOSE = 6


class StepPhase(Enum):
    """Moment in a step, in chronological order."""

    START = "start"
    STEP_START = "stepstart"
    FORWARD_PASS_END = "forwardpassend"
    STEP_END = "stepend"
    END = "end"


class PythonProfilerName(Enum):
    """Profiler that wrote a Python profile."""

    CPROFILE = "cprofile"
    PYINSTRUMENT = "pyinstrument"


class cProfileTimer(Enum):
    """Time that cProfile counts."""

    TOTAL_TIME = "total_time"
    CPU_TIME = "cpu_time"
    OFF_CPU_TIME = "off_cpu_time"
    DEFAULT = "default"


_MODES = {"train": PythonProfileModes.TRAIN, "eval": PythonProfileModes.EVAL, "predict": PythonProfileModes.PREDICT,
          "global": PythonProfileModes.GLOBAL, "prestepzero": PythonProfileModes.PRE_STEP_ZERO,
          "posthookclose": PythonProfileModes.POST_HOOK_CLOSE}


def str_to_python_profile_mode(mode_str: str) -> PythonProfileModes:
    """Return the mode in the name of a profile's folder."""
    if mode_str not in _MODES:
        raise ValueError(f"mode '{mode_str}' is invalid: choose one of {', '.join(_MODES)}")
    return _MODES[mode_str]


def python_profile_mode_to_str(mode: PythonProfileModes) -> str:
    """Return the name of a mode in folders."""
    return next(name for name, value in _MODES.items() if value == mode)


def mode_keys_to_python_profile_mode(mode: Enum) -> PythonProfileModes:
    """Convert a mode of another package by its number."""
    return PythonProfileModes(mode.value)


def total_time() -> float:
    """Return elapsed seconds since an arbitrary moment."""
    return os.times().elapsed


def cpu_time() -> float:
    """Return the CPU seconds of this process, user and system."""
    times = os.times()
    return times.user + times.system


def off_cpu_time() -> float:
    """Return elapsed seconds minus CPU seconds."""
    times = os.times()
    return times.elapsed - (times.user + times.system)
