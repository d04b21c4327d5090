"""Communication with the sampler, which runs in another process."""
from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

from . import _core, _program

_Window = tuple[float, float, float, tuple[float, float, float, float, float, float, float, bool]]

_program_path = functools.cache(_program.find)


class Sampling:
    """One sampler. The constructor starts it; `finish`, `close` or the end of this process stops it."""

    START_TIMEOUT = 60.0

    def __init__(self, process_id: int, options: dict[str, Any], warn: Callable[[str], object],
                 backup: str | None = None, again: bool = False) -> None:
        self.owner = os.getpid()
        self._windows_asked = 0
        self._warn = warn
        words = _core.command_line(options)
        if backup is not None:
            words.append(f"--output={backup}")
        self._sampler = _core.Sampler(_program_path(), [*(["again"] if again else []), *words, str(process_id)])
        self._await_ready()

    def _await_ready(self) -> None:
        try:
            self._await("ready", self.START_TIMEOUT)
        except EOFError:
            raise RuntimeError("the sampler ended before it was ready") from None

    def begin(self) -> None:
        """Start again after `finish`. The sampler must have been created with `again`."""
        self._sampler.begin()
        self._await_ready()

    def _await(self, wanted: str, timeout: float) -> Any:
        """Return the value of the next message of this kind. Raise TimeoutError after the timeout."""
        deadline = time.monotonic() + timeout
        while (message := self._sampler.receive(deadline - time.monotonic())) is not None:
            kind, value = message
            if kind == wanted:
                return value
            if kind == "warning":
                self._warn(str(value))
        raise TimeoutError(f"the sampler did not answer within {timeout} s")

    def window(self, timeout: float = 5.0) -> _Window:
        """Return (GPU memory, its peak since the last call, memory of the descendants, energy since the last call).

        Memory is in bytes, GPU memory that of the process and its descendants. The energy is a tuple like
        `gpu_tracker.notebook.Energy`. Missing values are NaN.
        """
        self._sampler.next_window()
        self._windows_asked += 1
        while True:  # skip the answers to interrupted calls
            window: _Window = self._await("window", timeout)
            self._windows_asked -= 1
            if self._windows_asked == 0:
                return window

    def now(self, timeout: float = 5.0) -> tuple[float, float, float, float, float]:
        """Return the present (memory, busy cores, GPU memory, GPU utilization, processes) of the job in base units."""
        self._sampler.now()
        state: tuple[float, float, float, float, float] = self._await("state", timeout)
        return state

    def own_peak(self, size: float) -> None:
        """Send the peak resident memory of this process during tracking, in bytes."""
        try:
            self._sampler.own_peak(size)
        except EOFError:
            pass  # `finish` reports the error

    def finish(self, attempts: int, timeout: float) -> tuple[str, str, str]:
        """Return the final report as (JSON, summary, text)."""
        try:
            self._sampler.stop()
        except EOFError:
            pass  # a signal ended the sampler after it sent its report
        for attempt in range(1, attempts + 1):
            try:
                return self._await("json", timeout), self._await("summary", timeout), self._await("text", timeout)
            except TimeoutError:
                self._warn(f"the sampler has not answered for {attempt * timeout:g} s")
        self._sampler.kill()
        raise EOFError

    def close(self) -> None:
        """Close the connection. The sampler then ends by itself."""
        self._sampler.close()
