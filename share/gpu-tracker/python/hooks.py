"""Which hooks begin in this process, and by what: the C helper where it loads, else ctypes."""
import os
import sys


def _helper(folder):
    """The extension module, which needs CPython and its lock; None: it does not load."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_lock or "GPU_TRACKER_CTYPES" in os.environ:
        return None
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import ExtensionFileLoader

    path = f"{folder}/gpu_tracker_hook.abi3.so"
    loader = ExtensionFileLoader("gpu_tracker_hook", path)
    try:
        module = loader.create_module(ModuleSpec("gpu_tracker_hook", loader, origin=path))
        loader.exec_module(module)
    except ImportError:
        return None
    return module


class _Loader:
    """A module's own loader, with something to do afterwards."""

    def __init__(self, loader, actions, hook):
        self.loader, self.actions, self.hook = loader, actions, hook

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader  # what the program sees is as without
        self.loader.exec_module(module)
        while self.actions:
            _try(self.hook, self.actions.pop(), module)


class _Finder:
    """Stands before all other finders, and has what they find of some modules done as well."""

    def __init__(self, hook):
        self.hook, self.wanted = hook, {}

    def find_spec(self, name, path=None, target=None):
        actions = self.wanted.get(name)
        if not actions:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, actions, self.hook)
                return spec
        return None


def _try(hook, action, *arguments):
    """The program does not see what fails; the run tells."""
    try:
        action(*arguments)
    except Exception as error:
        hook.note(f"off {type(error).__name__}: {error}")


def _begin(hook):
    hook.note(f"python {'.'.join(map(str, sys.version_info[:3]))}")
    finder = _Finder(hook)
    if os.environ.get("GPU_TRACKER_BLOCKS_MEMORY") == "torch":
        hook.memory(load("memory")["read"])  # noqa: F821 (see sitecustomize)
    hook.start(os.environ.get("GPU_TRACKER_PYTHON_BLOCKS", ""))
    if sources := os.environ.get("GPU_TRACKER_PYTHON_SOURCES"):
        finder.wanted.update(load("sources")["actions"](hook, sources.split(",")))  # noqa: F821 (see sitecustomize)
    if finder.wanted:
        sys.meta_path.insert(0, finder)


def begin():
    if folder := os.environ.get("GPU_TRACKER_HOOKS"):
        hook = _helper(folder) or load("hooks_ctypes")["Hook"](folder)  # noqa: F821 (see sitecustomize)
        _try(hook, _begin, hook)
