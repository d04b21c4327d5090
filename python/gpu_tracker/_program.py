"""Where the gpu-tracker program of this installation is."""
import os
import sys


def _candidates():
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(package, "..", "..", "..", "..", "bin")  # PREFIX/lib/python3.x/site-packages/gpu_tracker
    yield os.path.join(package, "..", "bin")  # pip install --target
    yield os.path.dirname(sys.executable)
    import sysconfig

    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))


def find():
    """Path of the program that was installed with the package."""
    for folder in _candidates():
        program = os.path.join(folder, "gpu-tracker")
        if _is_ours(program):
            return os.path.normpath(program)
    raise RuntimeError("the gpu-tracker program is not installed beside the gpu_tracker package: reinstall the package")


def _is_ours(program):
    """A script of that name may be another package's."""
    try:
        with open(program, "rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(program, os.X_OK)
    except OSError:
        return False
