"""``python -m gpu_tracker``: the gpu-tracker command."""
import os
import signal
import sys

from . import _program


def main() -> None:
    """Replace this process by the program, with the same arguments and streams.

    Signals that Python ignores are reset first; otherwise the program and its command would ignore them too.
    """
    try:
        program = _program.find()
    except RuntimeError as error:
        sys.exit(f"gpu-tracker: {error}")
    for number in signal.SIGPIPE, signal.SIGXFSZ:
        signal.signal(number, signal.SIG_DFL)
    os.execv(program, ["gpu-tracker", *sys.argv[1:]])


if __name__ == "__main__":
    main()
