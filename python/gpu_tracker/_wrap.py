"""Wrappers that run each call of a function in a new context manager."""
from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Enter = Callable[[], AbstractContextManager[Any]]


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
