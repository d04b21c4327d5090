"""Default names of blocks."""
import os
import sys

_known: dict[tuple[str, object], str] = {}


def block_name(file: str, attribute: object) -> str:
    """Return "script.py:12", relative to the current folder of the first call."""
    name = _known.get((file, attribute))
    if name is None:
        name = _known[file, attribute] = f"{os.path.relpath(file)}:{attribute}"
    return name


def parent_process() -> int:
    """Return the ID of the process that started this one by multiprocessing, or 0."""
    module = sys.modules.get("multiprocessing.process")
    parent = module.parent_process() if module else None
    return parent.pid or 0 if parent else 0


def is_worker() -> bool:
    """Return whether multiprocessing started this process, even if it is still importing the parent's module."""
    module = sys.modules.get("multiprocessing.process")
    return bool(module and (module.parent_process() or getattr(module.current_process(), "_inheriting", False)))
