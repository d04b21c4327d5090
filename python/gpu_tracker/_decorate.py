"""Decorated functions: wrappers for each kind of function, and the calls of functions decorated with a `Tracker`."""
from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import inspect
import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from ._block import SubTracker
from ._names import is_worker

if TYPE_CHECKING:
    from .tracker import Tracker

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Enter = Callable[[], AbstractContextManager[Any]]
_TROUBLE = (OSError, RuntimeError, ValueError)


def _generator(function: Callable[..., Any], enter: _Enter) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with enter():
            return (yield from function(*args, **kwargs))

    return wrapper


def _coroutine(function: Callable[..., Any], enter: _Enter) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return await function(*args, **kwargs)

    return wrapper


def _asynchronous_generator(function: Callable[..., Any], enter: _Enter) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        with enter():
            inner = function(*args, **kwargs)
            try:
                value = await anext(inner)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        value = await inner.athrow(error)
                    else:
                        value = await inner.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await inner.aclose()

    return wrapper


def _plain(function: Callable[..., Any], enter: _Enter) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with enter():
            return function(*args, **kwargs)

    return wrapper


def wrap(function: _Function, enter: _Enter) -> _Function:
    """Return `function` with `with enter():` around each call, for a generator from its first step to its end."""
    kinds = ((inspect.isasyncgenfunction, _asynchronous_generator), (inspect.iscoroutinefunction, _coroutine),
             (inspect.isgeneratorfunction, _generator))
    make = next((make for is_kind, make in kinds if is_kind(function)), _plain)
    return make(function, enter)  # type: ignore[return-value]


class Call(contextlib.ExitStack):
    """Contexts around one call. Their errors are logged and not raised into the function."""

    def __init__(self, warn: Callable[[str], object], *enter: Callable[[], Any]) -> None:
        super().__init__()
        self._warn = warn
        self._enter = enter

    def __enter__(self) -> Call:
        for enter in self._enter:
            try:
                self.enter_context(enter())
            except _TROUBLE as error:
                self._warn(str(error))
        return self

    def __exit__(self, *exception: Any) -> None:
        try:
            super().__exit__(*exception)
        except _TROUBLE as error:
            self._warn(str(error))


class Recording:
    """One tracking file for all calls, from the first call to the end of the program, with a file of blocks beside it.

    Processes that multiprocessing starts write their calls to the parent's file of blocks.
    """

    def __init__(self, make: Callable[[], Tracker], path: str | os.PathLike[str], overwrite: bool) -> None:
        stem, suffix = os.path.splitext(os.fspath(path))
        self.marks = f"{stem}.blocks{suffix}"
        self._make, self._overwrite = make, overwrite
        self._lock = threading.Lock()
        self._is_tried = self._has_failed = False
        if not overwrite and not is_worker() and os.path.lexists(self.marks):
            raise FileExistsError(errno.EEXIST, "already exists; set overwrite to True to replace it", self.marks)

    def begin(self) -> AbstractContextManager[Any]:
        """Start recording at the first call."""
        with self._lock:
            if not self._is_tried:
                self._is_tried = self._has_failed = True
                self._start()
                self._has_failed = False
        return contextlib.nullcontext()

    def _start(self) -> None:
        try:
            tracker = self._make()
            tracker.start()
        except FileExistsError:
            if not is_worker():
                raise
        else:
            atexit.register(tracker._end)

    def block(self, name: str) -> Callable[[], AbstractContextManager[Any]]:
        """Return the function that enters a call of the function with this name."""
        block: SubTracker | None = None

        def enter() -> AbstractContextManager[Any]:
            nonlocal block
            if self._has_failed:
                return contextlib.nullcontext()
            if block is None:
                block = SubTracker(name, None, self.marks, self._overwrite)
            return block

        return enter
