"""Names of blocks that were not given one."""
import functools
import os
import sys


@functools.cache
def block_name(file: str, attribute: str) -> str:
    """ "script.py:12", relative to the current folder at the first time."""
    return f"{os.path.relpath(file)}:{attribute}"


def parent_process() -> int:
    """The process by which multiprocessing started this one, or 0."""
    module = sys.modules.get("multiprocessing.process")
    parent = module.parent_process() if module else None
    return parent.pid or 0 if parent else 0


def is_worker() -> bool:
    """Has multiprocessing started this process, which may still be importing the module of its parent?"""
    module = sys.modules.get("multiprocessing.process")
    return bool(module and (module.parent_process() or getattr(module.current_process(), "_inheriting", False)))
