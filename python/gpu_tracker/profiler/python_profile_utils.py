"""When a Python profile began and ended: SMDebug's modes and phases of steps."""
import os
from enum import Enum, IntEnum

__all__ = ["PythonProfileModes", "PythonProfilerName", "StepPhase", "cProfileTimer"]


class PythonProfileModes(IntEnum):
    """What the training was doing."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
    PRE_STEP_ZERO = 5
    POST_HOOK_CLOSE = 6


class StepPhase(Enum):
    """Which moment of a step it was, in the order of time."""

    START = "start"
    STEP_START = "stepstart"
    FORWARD_PASS_END = "forwardpassend"
    STEP_END = "stepend"
    END = "end"


class PythonProfilerName(Enum):
    """What made a Python profile."""

    CPROFILE = "cprofile"
    PYINSTRUMENT = "pyinstrument"


class cProfileTimer(Enum):
    """Which time cProfile counts."""

    TOTAL_TIME = "total_time"
    CPU_TIME = "cpu_time"
    OFF_CPU_TIME = "off_cpu_time"
    DEFAULT = "default"


_MODES = {"train": PythonProfileModes.TRAIN, "eval": PythonProfileModes.EVAL, "predict": PythonProfileModes.PREDICT,
          "global": PythonProfileModes.GLOBAL, "prestepzero": PythonProfileModes.PRE_STEP_ZERO,
          "posthookclose": PythonProfileModes.POST_HOOK_CLOSE}


def str_to_python_profile_mode(mode_str: str) -> PythonProfileModes:
    """The mode that the name of a profile's folder has."""
    if mode_str not in _MODES:
        raise ValueError(f"mode '{mode_str}': it is one of {', '.join(_MODES)}")
    return _MODES[mode_str]


def python_profile_mode_to_str(mode: PythonProfileModes) -> str:
    """The same the other way round."""
    return next(name for name, value in _MODES.items() if value == mode)


def mode_keys_to_python_profile_mode(mode: Enum) -> PythonProfileModes:
    """The mode of the same number, of an enumeration of another package."""
    return PythonProfileModes(mode.value)


def total_time() -> float:
    """Seconds that passed, from a moment of no meaning."""
    return os.times().elapsed


def cpu_time() -> float:
    """Seconds of processors that this process took, in itself and in the system for it."""
    times = os.times()
    return times.user + times.system


def off_cpu_time() -> float:
    """Seconds that passed without a processor being taken."""
    times = os.times()
    return times.elapsed - (times.user + times.system)
