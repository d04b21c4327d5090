"""Names of blocks that were not given one."""
import functools
import os


@functools.cache
def block_name(file: str, attribute: str) -> str:
    """ "script.py:12", relative to the current folder at the first time."""
    return f"{os.path.relpath(file)}:{attribute}"
