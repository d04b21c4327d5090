"""Communication with the sampler, which runs in another process."""
from __future__ import annotations

import contextlib
import errno
import functools
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from . import _arguments, _core, _program

_Window = tuple[float, float, float, tuple[float, float, float, float, float, float, float, bool]]

_program_path = functools.cache(_program.find)

_VERSION = f"{_core.version()}/4"  # AGENT_VERSION of cli/agent.h, which describes the messages
_LARGEST_MESSAGE = 64 << 20
_TEXTS = {"m": "record", "j": "json", "b": "summary", "t": "text"}


class Sampler:
    """The sampler's process, which is not a child of this process, and the socket to it."""

    def __init__(self, program: str, arguments: list[str]) -> None:
        self._pid = 0
        self._received: list[bytes] = []
        self._socket, theirs = socket.socketpair()
        with theirs:
            # No signal mask and no ignored signals. The program closes other descriptors itself.
            spawn = functools.partial(os.posix_spawn, program, [program, "agent", _VERSION, *arguments], os.environ,
                                      setsigmask=(), setsigdef=signal.valid_signals(), file_actions=[
                                          (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                                          (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                                          (os.POSIX_SPAWN_DUP2, 1, 2)])
            try:
                starter = spawn(setsid=True)
            except NotImplementedError:  # a Python for old C libraries; the program does it later
                starter = spawn()
        with contextlib.suppress(ChildProcessError):  # a signal handler may have waited for it
            os.waitpid(starter, 0)

    def receive(self, timeout: float) -> tuple[str, Any] | None:
        """Return the next message as (kind, value), None after `timeout` seconds. An incomplete message is kept for the next call.

        Raise the error that the sampler reports, and EOFError if it has ended.
        """
        deadline = time.monotonic() + min(timeout, 1e6)
        while (message := self._complete()) is None:
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.0))
                # One call of C: a signal handler that raises cannot lose what was received.
                self._received.extend(map(self._socket.recv, (1 << 16,)))
            except (TimeoutError, BlockingIOError):
                return None
            except OSError:
                self._received.append(b"")
            if not self._received[-1]:
                raise EOFError("the sampler has ended")
        return self._translated(chr(message[0]), message[1])

    def _complete(self) -> tuple[int, bytes] | None:
        """Take the first message from the received data if it is complete."""
        data = b"".join(self._received)
        if len(data) < 8:
            return None
        kind, length = struct.unpack_from("II", data)
        if length > _LARGEST_MESSAGE:
            raise EOFError("the sampler has ended")
        if len(data) < 8 + length:
            return None
        self._received[:] = [data[8 + length:]]
        return kind, data[8:8 + length]

    def _translated(self, kind: str, data: bytes) -> tuple[str, Any]:
        if kind == "x":
            _core.raise_error(errno.EINVAL, data, 0)
        if kind == "e":
            code, text, path_length = struct.unpack("i500si", data)
            _core.raise_error(code, text.partition(b"\0")[0], path_length)
        if kind == "r":
            self._pid, = struct.unpack("I", data)
            return "ready", self._pid
        if kind == "v":
            *ram, total, job, other, idle, unattributed, error, job_error, is_estimated = struct.unpack("10di4x", data)
            return "window", (*ram, (total, job, other, idle, unattributed, error, job_error, bool(is_estimated)))
        if kind == "c":
            return "state", struct.unpack("5d", data)
        if kind == "w":
            return "warning", _core.shown(data)
        if kind in _TEXTS:
            return _TEXTS[kind], data.decode("utf-8", "surrogateescape")
        raise RuntimeError(f"the sampler sent a message of unknown kind {kind}")

    def request(self, request: bytes) -> None:
        """Send a request. Raise EOFError if the sampler has ended."""
        try:
            self._socket.sendall(request, socket.MSG_NOSIGNAL)
        except OSError:
            raise EOFError("the sampler has ended") from None

    def kill(self) -> None:
        """Kill the process. While its end of the socket is open, it lives, and its PID is valid."""
        if not self._pid or self._socket.fileno() < 0:
            return
        source = select.poll()
        source.register(self._socket, 0)
        if not source.poll(0):
            os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the connection. The sampler then ends."""
        self._socket.close()


class Sampling(Sampler):
    """Sampler of a tracker. The constructor starts it; `finish`, `close` or the end of this process stops it."""

    START_TIMEOUT = 60.0

    def __init__(self, process_id: int, options: dict[str, Any], warn: Callable[[str], object],
                 backup: str | None = None, again: bool = False) -> None:
        self.owner = os.getpid()
        self._windows_asked = 0
        self._warn = warn
        words = _arguments.command_line(options)
        if backup is not None:
            words.append(f"--output={backup}")
        super().__init__(_program_path(), [*(["again"] if again else []), *words, str(process_id)])
        self._await_ready()

    def _await_ready(self) -> None:
        try:
            self._await("ready", self.START_TIMEOUT)
        except EOFError:
            raise RuntimeError("the sampler ended before it was ready") from None

    def begin(self) -> None:
        """Start again after `finish`. The sampler must have been created with `again`."""
        self.request(b"b")
        self._await_ready()

    def _await(self, wanted: str, timeout: float) -> Any:
        """Return the value of the next message of this kind. Raise TimeoutError after the timeout."""
        deadline = time.monotonic() + timeout
        while (message := self.receive(deadline - time.monotonic())) is not None:
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
        self.request(b"n")
        self._windows_asked += 1
        while True:  # skip the answers to interrupted calls
            window: _Window = self._await("window", timeout)
            self._windows_asked -= 1
            if self._windows_asked == 0:
                return window

    def now(self, timeout: float = 5.0) -> tuple[float, float, float, float, float]:
        """Return the present (memory, busy cores, GPU memory, GPU utilization, processes) of the job in base units."""
        self.request(b"c")
        state: tuple[float, float, float, float, float] = self._await("state", timeout)
        return state

    def own_peak(self, size: float) -> None:
        """Send the peak resident memory of this process during tracking, in bytes."""
        try:
            self.request(b"p" + struct.pack("d", size))
        except EOFError:
            pass  # `finish` reports the error

    def finish(self, attempts: int, timeout: float) -> tuple[str, str, str]:
        """Return the final report as (JSON, summary, text)."""
        try:
            self.request(b"s")
        except EOFError:
            pass  # a signal ended the sampler after it sent its report
        for attempt in range(1, attempts + 1):
            try:
                return self._await("json", timeout), self._await("summary", timeout), self._await("text", timeout)
            except TimeoutError:
                self._warn(f"the sampler has not answered for {attempt * timeout:g} s")
        self.kill()
        raise EOFError
