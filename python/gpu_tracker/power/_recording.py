"""Processes that record or serve, with the interface of AIPowerMeter's process and queue."""
import contextlib
import errno
import os
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from .. import _program, _sampling
from . import _curves

STOP_MESSAGE = "Stop"

_READY_SECONDS = 60.0


class Recording:
    """The recording process and its queue. ``put(STOP_MESSAGE)`` stops it and returns after the last write."""

    def __init__(self, words: list[str], warn: Callable[[str], None], driver: Any = None) -> None:
        """Start the process. With ``driver``, records go to the driver instead of a file."""
        self._owner = os.getpid()
        self._warn = warn
        self._driver = driver
        self._meter: Any = None
        self._trouble: Exception | None = None
        self._sampler = _sampling.Sampler(_program.find(), words)
        message = self._receive(_READY_SECONDS)
        if message is None or message[0] != "ready":
            raise RuntimeError("the recorder did not start")
        self.pid = message[1]
        self._thread = threading.Thread(target=self._listen, name="gpu_tracker.power", daemon=True)
        self._thread.start()

    def _receive(self, seconds: float) -> Any:
        """Return the next message that is not a warning; None after the timeout."""
        end = time.monotonic() + seconds
        while (message := self._sampler.receive(max(0.0, end - time.monotonic()))):
            if message[0] != "warning":
                return message
            self._warn(message[1])
        return None

    def keep(self, meter: Any) -> None:
        """Terminate the process of a power meter at the end of the recording."""
        self._meter = meter

    def _listen(self) -> None:
        """Send records to the driver until the last message."""
        try:
            while (message := self._receive(1e9)) is None or message[0] != "text":
                if message and self._driver is not None and message[0] == "record":
                    self._driver.save_power_metrics(_curves.keyed(message[1]))
            if hasattr(self._driver, "close_driver"):
                self._driver.close_driver()
        except Exception as error:  # `join` raises errors of a driver
            self._trouble = error
        finally:
            self._sampler.close()
            if self._meter is not None:
                self._meter.terminate()
                self._meter.wait()

    def put(self, message: object) -> None:
        """Stop the recording if the message is STOP_MESSAGE."""
        if message != STOP_MESSAGE or os.getpid() != self._owner:
            return
        try:
            self._sampler.request(b"s")
        except EOFError:
            pass  # all processes have ended, and the recorder has sent its result
        self.join()

    def get(self, block: bool = True, timeout: float | None = None) -> tuple[None, None]:
        """Wait for the end of the recording."""
        self.join(timeout if block else 0.0)
        return None, None

    def join(self, timeout: float | None = 60.0) -> None:
        """Wait for the end of the recording. Raise the error of a user's driver, if any."""
        self._thread.join(timeout)
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def is_alive(self) -> bool:
        """Return whether the process is still recording."""
        return self._thread.is_alive()


class Server:
    """``gpu-tracker serve`` instead of a recorder."""

    def __init__(self, address: str, pids: list[int], root: str | None) -> None:
        words = [_program.find(), "serve", "--compat=aipowermeter", f"--listen={address}", *(f"--pid={pid}" for pid in pids)]
        if root is not None:
            words.append(f"--root={root}")
        with tempfile.TemporaryFile("w+") as complaints:
            self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=complaints, text=True)
            assert self._process.stdout
            self.address = self._process.stdout.readline().strip()  # the server prints its address when it is ready
            self._process.stdout.close()
            if not self.address:
                self._process.wait()
                complaints.seek(0)
                raise RuntimeError(complaints.read().strip())
        self.pid = self._process.pid
        weakref.finalize(self, self._process.terminate)

    def put(self, message: object) -> None:
        """Stop the server if the message is STOP_MESSAGE."""
        if message == STOP_MESSAGE:
            self._process.terminate()
            self.join()

    def get(self, block: bool = True, timeout: float | None = None) -> tuple[None, None]:
        """Wait for the end of the server."""
        self.join(timeout if block else 0.0)
        return None, None

    def join(self, timeout: float | None = 60.0) -> None:
        """Wait for the end of the server."""
        self._process.wait(timeout)

    def is_alive(self) -> bool:
        """Return whether the server is running."""
        return self._process.poll() is None


def measure(pids: list[int], seconds: float, root: str | None, all_gpu_users: bool = False) -> dict[str, Any]:
    """Measure for `seconds` and return the metrics of a record. A period of 1e9 seconds gives one record, at the end."""
    if not pids:
        raise ValueError("pids is empty: give at least one process")
    options = ["--memory=rss", *([] if root is None else [f"--root={root}"])]  # only records need shared pages
    sampler = _sampling.Sampler(_program.find(), ["experiment", "-1e9" if all_gpu_users else "1e9", *options, *map(str, pids)])

    def next_of(*kinds: str) -> tuple[str, Any]:
        while message := sampler.receive(_READY_SECONDS):
            if message[0] in kinds:
                return message
        raise RuntimeError("the recorder does not answer")

    try:
        next_of("ready")
        time.sleep(seconds)
        with contextlib.suppress(EOFError):  # all processes have ended, and the recorder has sent its result
            sampler.request(b"s")
        kind, value = next_of("record", "json")
    finally:
        sampler.close()
    if kind == "json":
        raise ProcessLookupError(errno.ESRCH, "no process lives that could be measured")
    metrics: dict[str, Any] = _curves.keyed(value)
    return metrics
