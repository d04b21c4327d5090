"""Python imports this before a program, because gpu-tracker run has put its folder on PYTHONPATH: here the hooks begin by which
functions of the program become code blocks. Then the sitecustomize runs that would have without this one; where there is none, this
import ends as one of a module that does not exist, which Python passes over. It has to compile in every Python there is."""
import sys


def _load(name):
    """What a file beside this one defines. It becomes no module that the program could see; Python's cache of compiled code is used.

    Its functions are called within the program. They have the file of Python's own import system, which coverage and other tracers
    leave out, and Python itself out of tracebacks and the places of warnings."""
    from _frozen_importlib_external import SourceFileLoader
    from _imp import _fix_co_filename

    defined = {"__name__": __name__, "load": _load}
    code = SourceFileLoader(__name__, "%s/%s.py" % (__file__.rpartition("/")[0], name)).get_code(__name__)
    _fix_co_filename(code, "<frozen importlib._bootstrap_external>")
    exec(code, defined)
    return defined


def _tell_version():
    """The run says at its end why there are no blocks."""
    import os

    folder = os.environ.get("GPU_TRACKER_HOOKS")
    if folder:
        import ctypes

        takes = "--python-blocks, and --blocks-from torch, jax, tensorflow and lightning, take 3.8 or later"
        line = ("without %d.%d.%d nothing becomes a block: " % sys.version_info[:3]) + takes
        ctypes.PyDLL("%s/libgputracker-blocks.so" % folder).gt_hook_note(line.encode())


def _begin():
    """Whatever fails here, the program runs as without."""
    try:
        if sys.version_info < (3, 8):
            _tell_version()
        else:
            _load("hooks")["begin"]()
    except Exception:
        pass


def _leave_path():
    folder = __file__.rpartition("/")[0]
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)


def _run_next():
    own = sys.modules.pop(__name__)  # kept, for Python 2 empties what nobody refers to
    __import__(__name__)
    del own


_leave_path()
_begin()
_run_next()
