"""Names of blocks that were not given one."""
import functools
import os


@functools.cache
def block_name(file, attribute):
    """ "script.py:12", relative to the current folder at the first time."""
    return f"{os.path.relpath(file)}:{attribute}"
