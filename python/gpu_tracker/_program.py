"""Location of the gpu-tracker program of this installation."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator


def _candidates() -> Iterator[str]:
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(package, "..", "..", "..", "..", "bin")  # PREFIX/lib/python3.x/site-packages/gpu_tracker
    yield os.path.join(package, "..", "bin")  # pip install --target
    yield os.path.join(package, "..", "libgputracker.scripts")  # after auditwheel repair adds shared libraries
    yield os.path.dirname(sys.executable)
    import sysconfig

    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))


def find() -> str:
    """Return the path of the program that was installed with the package."""
    for folder in _candidates():
        program = os.path.join(folder, "gpu-tracker")
        if _is_ours(program):
            return os.path.normpath(program)
    raise RuntimeError("the gpu-tracker program of the gpu_tracker package is missing: reinstall the package")


def _is_ours(program: str) -> bool:
    """Return whether the file is our program. Another package may install a script of this name."""
    try:
        with open(program, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(program, os.X_OK)
    except OSError:
        return False
