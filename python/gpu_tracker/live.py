"""What a tracker tells while it runs: figures of this moment, a callback with each of them, limits that act."""
from __future__ import annotations

import ctypes
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
    """The job used more than a limit of its tracker allows."""

    _sentence = ""

    def __init__(self, sentence: str | None = None) -> None:
        super().__init__(self._sentence if sentence is None else sentence)


@dataclasses.dataclass(frozen=True)
class Current:
    """What the job uses at one moment. NaN: not measured.

    Attributes:
        seconds: Since the tracking began.
        ram: Memory in bytes.
        cpu: Cores that are busy.
        gpu_ram: GPU memory in bytes.
        gpu_utilization: Of the GPUs, added up: 1 is one GPU that is busy all the time.
        processes: How many there are.
    """

    seconds: float
    ram: float
    cpu: float
    gpu_ram: float
    gpu_utilization: float
    processes: float

    def metrics(self, prefix: str = "gpu_tracker") -> dict[str, float]:
        """The figures that are known, by names that loggers of metrics take: "gpu_tracker/ram", in the units of the attributes."""
        values = dataclasses.asdict(self)
        return {f"{prefix}/{name}" if prefix else name: value for name, value in values.items() if not math.isnan(value)}


def size_of(argument: str, value: float | str) -> float:
    """Bytes of a number of bytes, or of "1.5 GB", "512 MiB".

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        size: float = value
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?i?b)\s*", str(value), re.IGNORECASE)
        if not match or match[1].count(".") > 1 or match[2].lower() not in _SIZES:
            raise ValueError(f"{argument}={value!r} is not a size: give a number of bytes, or a text like '1.5 GB' or '512 MiB'")
        size = float(match[1]) * _SIZES[match[2].lower()]
    if not 0 < size < math.inf:
        raise ValueError(f"{argument}={value!r} is not a limit: it must be above 0")
    return size


def _raise_in(thread: int, sentence: str) -> None:
    """Raise `LimitExceeded` there, with its next step of Python."""
    exceeded = type("LimitExceeded", (LimitExceeded,), {"_sentence": sentence})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exceeded))


class _Process:
    """One that gets signals, and no later one of its number: by a descriptor, or by when it began (before Linux 5.3)."""

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
        """(state, start time): fields 3 and 22 of man 5 proc_pid_stat; blank where it is gone."""
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
    """Looks at the figures until `end` is called."""

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
                return  # `stop` says what became of the sampler
            self._call(current)
            self._judge(current)

    def _call(self, current: Current) -> None:
        if self._callback is None:
            return
        try:
            self._callback(current)
        except Exception as error:
            self._tell(f"the callback of the tracker failed and is not called again: {type(error).__name__}: {error}")
            self._callback = None

    def _judge(self, current: Current) -> None:
        for name, limit in list(self._limits.items()):
            value: float = getattr(current, name)
            if value > limit:
                del self._limits[name]
                what = "GPU memory" if name == "gpu_ram" else "memory"
                self._act(f"{what} {value / 1e9:.3f} GB is above the limit of {limit / 1e9:.3f} GB")

    def _act(self, sentence: str) -> None:
        self._tell(sentence if self._action != "kill" else f"{sentence}: process {self._process_id} is ended")
        if self._action == "raise":
            _raise_in(self._caller, sentence)
        elif self._action == "kill":
            self._kill()

    def _kill(self) -> None:
        """By its own handlers if it has any, after some seconds by force."""
        assert self._process
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self._process.signal(number):
                return
            deadline = time.monotonic() + _PATIENCE
            while time.monotonic() < deadline and self._process.lives():
                if self._over.wait(0.05):
                    break


def check(action: str, limits: dict[str, Any], process_id: int | None) -> dict[str, float]:
    """The limits in bytes.

    Raises:
        ValueError: One of them, or what is to be done, is wrong.
    """
    if action not in ACTIONS:
        raise ValueError(f"at_limit={action!r}: choose 'warn', 'raise' or 'kill'")
    if action == "kill" and process_id in (None, os.getpid()):
        raise ValueError("at_limit='kill' ends the process that is tracked: give the process_id of another one")
    return {name: size_of(f"max_{name}", value) for name, value in limits.items() if value is not None}
