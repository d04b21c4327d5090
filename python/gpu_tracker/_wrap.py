"""Functions of any kind inside a context manager that is made anew for each call."""
import functools
import inspect


def _generator(function, enter):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with enter():
            return (yield from function(*args, **kwargs))

    return wrapper


def _coroutine(function, enter):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        with enter():
            return await function(*args, **kwargs)

    return wrapper


def _asynchronous_generator(function, enter):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
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


def _plain(function, enter):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with enter():
            return function(*args, **kwargs)

    return wrapper


def wrap(function, enter):
    """`function` with `with enter():` around each call; around a generator's life from its first step to its end."""
    if inspect.isasyncgenfunction(function):
        return _asynchronous_generator(function, enter)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, enter)
    if inspect.isgeneratorfunction(function):
        return _generator(function, enter)
    return _plain(function, enter)
