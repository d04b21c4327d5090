"""Conversations with the sampler, which runs in a process of its own."""
from __future__ import annotations

import functools
import os
import time

from . import _core, _program

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Window = tuple[float, float, float, tuple[float, float, float, float, float, float, float, bool]]

_program_path = functools.cache(_program.find)


class Sampling:
    """One sampler: started by the constructor, ended by `finish` or `close`, or by the end of this process."""

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
        """Begin anew after `finish`, of a sampler that was made with `again`."""
        self._sampler.begin()
        self._await_ready()

    def _await(self, wanted: str, timeout: float) -> Any:
        """The value of the next message of that kind; TimeoutError when it does not come in time."""
        deadline = time.monotonic() + timeout
        while (message := self._sampler.receive(deadline - time.monotonic())) is not None:
            kind, value = message
            if kind == wanted:
                return value
            if kind == "warning":
                self._warn(str(value))
        raise TimeoutError(f"the sampler did not answer within {timeout} s")

    def window(self, timeout: float = 5.0) -> _Window:
        """(GPU memory now, its peak since the last call, what the descendants need now, joules since the last call).

        In bytes, of the process and all below it; joules as `gpu_tracker.notebook.Energy` has them. NaN: not known.
        """
        self._sampler.next_window()
        self._windows_asked += 1
        while True:  # past the answers that an interrupted call did not wait for
            window: _Window = self._await("window", timeout)
            self._windows_asked -= 1
            if self._windows_asked == 0:
                return window

    def now(self, timeout: float = 5.0) -> tuple[float, float, float, float, float]:
        """(memory, cores busy, GPU memory, utilisation of GPUs, processes) of the job at this moment, in base units."""
        self._sampler.now()
        state: tuple[float, float, float, float, float] = self._await("state", timeout)
        return state

    def own_peak(self, size: float) -> None:
        """Tell the largest resident memory of this process while it was tracked, in bytes."""
        try:
            self._sampler.own_peak(size)
        except EOFError:
            pass  # `finish` finds out

    def finish(self, attempts: int, timeout: float) -> tuple[str, str, str]:
        """The final report as JSON, its summary, and the report as text."""
        try:
            self._sampler.stop()
        except EOFError:
            pass  # a signal ended it: its report was sent before
        for attempt in range(1, attempts + 1):
            try:
                return self._await("json", timeout), self._await("summary", timeout), self._await("text", timeout)
            except TimeoutError:
                self._warn(f"the sampler has not answered for {attempt * timeout:g} s")
        self._sampler.kill()
        raise EOFError

    def close(self) -> None:
        """Let it end by itself."""
        self._sampler.close()
