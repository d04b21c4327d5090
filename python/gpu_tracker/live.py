"""Values of a running tracker: present values, a callback, limits."""
from __future__ import annotations

import dataclasses
import math
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Current", "LimitExceeded"]

_SIZES = {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
ACTIONS = ("warn", "raise", "kill")
_PATIENCE = 5.0


class LimitExceeded(MemoryError):
    """The job exceeded a limit of its tracker."""

    _sentence = ""

    def __init__(self, sentence: str | None = None) -> None:
        super().__init__(self._sentence if sentence is None else sentence)


@dataclasses.dataclass(frozen=True)
class Current:
    """Present values of the job. Missing values are NaN.

    Attributes:
        seconds: Seconds since the start of tracking.
        ram: Memory in bytes.
        cpu: Number of busy cores.
        gpu_ram: GPU memory in bytes.
        gpu_utilization: Sum over the GPUs; 1 is one busy GPU.
        processes: Number of processes.
    """

    seconds: float
    ram: float
    cpu: float
    gpu_ram: float
    gpu_utilization: float
    processes: float

    def metrics(self, prefix: str = "gpu_tracker") -> dict[str, float]:
        """Return the measured values for loggers, by name: "gpu_tracker/ram". Units are the same as for the attributes."""
        values = dataclasses.asdict(self)
        return {f"{prefix}/{name}" if prefix else name: value for name, value in values.items() if not math.isnan(value)}


def size_of(argument: str, value: float | str) -> float:
    """Convert a number of bytes, or a text like "1.5 GB" or "512 MiB", to bytes.

    Raises:
        ValueError: The value is not a size.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        size: float = value
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?i?b)\s*", str(value), re.IGNORECASE)
        if not match or match[1].count(".") > 1 or match[2].lower() not in _SIZES:
            raise ValueError(f"{argument}={value!r} is not a size: give a number of bytes or a text like '1.5 GB' or '512 MiB'")
        size = float(match[1]) * _SIZES[match[2].lower()]
    if not 0 < size < math.inf:
        raise ValueError(f"{argument}={value!r} is not a limit: it must be above 0")
    return size


def _raise_in(thread: int, sentence: str) -> None:
    """Raise `LimitExceeded` in the thread, at its next Python instruction."""
    import ctypes

    exceeded = type("LimitExceeded", (LimitExceeded,), {"_sentence": sentence})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exceeded))


class _Process:
    """A process that receives signals. A descriptor, or the start time before Linux 5.3, excludes a later process with its ID."""

    def __init__(self, number: int) -> None:
        self._number = number
        try:
            self._descriptor = os.pidfd_open(number)
        except ProcessLookupError:
            raise
        except (OSError, AttributeError):
            self._descriptor = -1
        self._began = self._state()[1]

    def _state(self) -> tuple[str, str]:
        """Return (state, start time): fields 3 and 22 of man 5 proc_pid_stat, empty if the process has ended."""
        try:
            with open(f"/proc/{self._number}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return "", ""
        return fields[0], fields[19]

    def signal(self, number: int) -> bool:
        try:
            if self._descriptor >= 0:
                signal.pidfd_send_signal(self._descriptor, number)
            elif self._state()[1] == self._began != "":
                os.kill(self._number, number)
            else:
                return False
        except OSError:
            return False
        return True

    def lives(self) -> bool:
        return self.signal(0) and self._state()[0] != "Z"

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Watch(threading.Thread):
    """Thread that polls the values until `end` is called."""

    def __init__(self, look: Callable[[], Current], period: float, limits: dict[str, float], action: str,
                 callback: Callable[[Current], object] | None, warn: Callable[[str], object], process_id: int) -> None:
        super().__init__(name="gpu-tracker watch", daemon=True)
        self._look, self._period, self._limits, self._action = look, period, limits, action
        self._callback, self._tell, self._process_id = callback, warn, process_id
        self._over = threading.Event()
        self._caller = threading.get_ident()
        self._process = _Process(process_id) if action == "kill" else None

    def end(self) -> None:
        self._over.set()
        if threading.current_thread() is not self:
            self.join()
        if self._process:
            self._process.close()

    def run(self) -> None:
        while not self._over.wait(self._period):
            try:
                current = self._look()
            except (EOFError, TimeoutError, OSError):
                return  # `stop` reports the end of the sampler
            self._call(current)
            self._judge(current)

    def _call(self, current: Current) -> None:
        if self._callback is None:
            return
        try:
            self._callback(current)
        except Exception as error:
            self._tell(f"on_sample failed and is not called again: {type(error).__name__}: {error}")
            self._callback = None

    def _judge(self, current: Current) -> None:
        for name, limit in list(self._limits.items()):
            value: float = getattr(current, name)
            if value > limit:
                del self._limits[name]
                what = "GPU memory" if name == "gpu_ram" else "memory"
                self._act(f"{what} {value / 1e9:.3f} GB is above the limit of {limit / 1e9:.3f} GB")

    def _act(self, sentence: str) -> None:
        self._tell(sentence if self._action != "kill" else f"{sentence}: ending process {self._process_id}")
        if self._action == "raise":
            _raise_in(self._caller, sentence)
        elif self._action == "kill":
            self._kill()

    def _kill(self) -> None:
        """Send SIGTERM, and SIGKILL if the process lives on."""
        assert self._process
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self._process.signal(number):
                return
            deadline = time.monotonic() + _PATIENCE
            while time.monotonic() < deadline and self._process.lives():
                if self._over.wait(0.05):
                    break


def check(action: str, limits: dict[str, Any], process_id: int | None) -> dict[str, float]:
    """Return the limits in bytes.

    Raises:
        ValueError: A limit or the action is invalid.
    """
    if action not in ACTIONS:
        raise ValueError(f"at_limit={action!r}: choose 'warn', 'raise' or 'kill'")
    if action == "kill" and process_id in (None, os.getpid()):
        raise ValueError("at_limit='kill' ends the tracked process: set process_id to another process")
    return {name: size_of(f"max_{name}", value) for name, value in limits.items() if value is not None}
