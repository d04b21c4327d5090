"""Python imports this before a program, because gpu-tracker run has put its folder on PYTHONPATH: here the hooks begin by which
functions of the program become code blocks. Then the sitecustomize runs that would have without this one."""
import sys


def _load(name):
    """What a file beside this one defines. It becomes no module that the program could see; Python's cache of compiled code is used."""
    from _frozen_importlib_external import SourceFileLoader

    path = f"{__file__.rpartition('/')[0]}/{name}.py"
    defined = {"__name__": __name__, "__file__": path, "load": _load}
    exec(SourceFileLoader(__name__, path).get_code(__name__), defined)
    return defined


def _begin():
    """Whatever fails here, the program runs as without."""
    hook = None
    try:
        hook = _load("hooks")["begin"]()
    except Exception as error:
        try:
            if hook:
                hook.note(f"off {type(error).__name__}: {error}")
        except Exception:
            pass


def _leave_path():
    folder = __file__.rpartition("/")[0]
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)


def _run_next():
    own = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, own)


_leave_path()
_begin()
_run_next()
