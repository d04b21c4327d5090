"""Default names of blocks."""
import functools
import os
import sys


@functools.cache
def block_name(file: str, attribute: str) -> str:
    """Return "script.py:12", relative to the current folder of the first call."""
    return f"{os.path.relpath(file)}:{attribute}"


def parent_process() -> int:
    """Return the ID of the process that started this one by multiprocessing, or 0."""
    module = sys.modules.get("multiprocessing.process")
    parent = module.parent_process() if module else None
    return parent.pid or 0 if parent else 0


def is_worker() -> bool:
    """Return whether multiprocessing started this process, even if it is still importing the parent's module."""
    module = sys.modules.get("multiprocessing.process")
    return bool(module and (module.parent_process() or getattr(module.current_process(), "_inheriting", False)))
