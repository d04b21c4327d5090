"""When a Python profile began and ended: SMDebug's modes and phases of steps."""
from enum import Enum, IntEnum

__all__ = ["PythonProfileModes", "StepPhase"]


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
