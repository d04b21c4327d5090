"""Blocks of code: marking them, and what each of them used."""
from collections.abc import Callable
from typing import Any, TypeVar

from ._core import SubTracker

__all__ = ["SubTracker", "sub_track"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def sub_track(code_block_name: str | None = None, code_block_attribute: str | None = None,
              sub_tracking_file: str | None = None, overwrite: bool = False) -> Callable[[_Function], _Function]:
    """Decorate a function so that each of its calls is a block, as with `SubTracker`.

    Also for coroutine functions, generator functions and asynchronous generator functions; the block of a generator
    begins at its first step and ends with it.

    Args:
        code_block_name: The name of the block. When None, "FILE:ATTRIBUTE" with the path of the file that defines the
            function.
        code_block_attribute: What follows the colon in that name; the name of the function when None.
        sub_tracking_file: As for `SubTracker`.
        overwrite: As for `SubTracker`.
    """

    def decorate(function: _Function) -> _Function:
        import os

        from ._wrap import wrap

        name = code_block_name
        if name is None:
            path = os.path.abspath(function.__code__.co_filename)
            name = f"{path}:{code_block_attribute or function.__name__}"
        tracker = None

        def enter() -> SubTracker:
            nonlocal tracker
            if tracker is None:
                tracker = SubTracker(name, None, sub_tracking_file, overwrite)
            return tracker

        return wrap(function, enter)

    return decorate
