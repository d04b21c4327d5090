"""What gpu_tracker_hook does, where that does not load: in Python, with the library by ctypes. Nothing here raises into the program."""
import ctypes
import sys

OPTIMIZED = 0x1  # co_flags: functions, not bodies of modules and classes


def _stem(path):
    """train for /home/me/train.py, package for /home/me/package/__main__.py"""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return folder.rpartition("/")[2] if folder and stem == "__main__" else stem


def _module(variables, code):
    """The module that is executed as a program is called after its own name (python -m), or its file's, which only its code knows when
    it has come to its end."""
    name = variables.get("__name__")
    if not isinstance(name, str):
        return ""
    if name not in ("__main__", "__mp_main__"):
        return name
    own = getattr(variables.get("__spec__"), "name", None)
    if isinstance(own, str) and own not in ("", "__main__"):
        return own[: -len(".__main__")] if own.endswith(".__main__") else own
    file = variables.get("__file__", None if code.co_filename[:1] == "<" else code.co_filename)
    return _stem(file) if isinstance(file, str) else name


class Hook:
    def __init__(self, folder):
        library = ctypes.PyDLL(f"{folder}/libgputracker-blocks.so")
        pointer, text, sizes = ctypes.c_void_p, ctypes.c_char_p, [ctypes.c_longlong] * 3
        for name, result, arguments in [("patterns", ctypes.c_int, [text]), ("function", pointer, [text, text]), ("name", pointer, [text]),
                                        ("enter", pointer, [pointer]), ("leave", None, [pointer]), ("note", None, [text]),
                                        ("memory_begin", pointer, [pointer, *sizes]), ("memory_end", None, [pointer, *sizes])]:
            function = getattr(library, f"gt_hook_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, f"_{name}", function)
        self.open = {}  # by the identity of the frame
        self.names = {}  # by the identity of the code, which is kept
        self.is_off = False
        self.reader = None  # of PyTorch's allocator: see memory.py

    def memory(self, reader):
        self.reader = reader

    def read(self):
        """What the allocator holds, or nothing."""
        try:
            return self.reader and self.reader()
        except Exception as error:
            self.reader = None
            self.note(f"off PyTorch's allocator: {error}")
            return None

    def begin(self, name):
        held = self.reader and self.read()
        memory = self._memory_begin(name, *held) if held else None
        return self._enter(name), memory

    def end(self, call):
        self._leave(call[0])
        held = call[1] and self.read()
        if held:
            self._memory_end(call[1], *held)

    def note(self, line):
        self._note(line.encode("utf-8", "replace"))

    def enter(self, name):
        name = self._name(name.encode("utf-8", "replace"))
        return self.begin(name) if name else None

    def leave(self, call):
        if call:
            self.end(call)

    def start(self, patterns):
        """By sys.monitoring. A profile function in Python would take frames of the program's recursion limit, which ends Python 3.8."""
        if self._patterns(patterns.encode("utf-8", "surrogateescape")) < 1:
            return
        monitoring = getattr(sys, "monitoring", None)
        if not monitoring:
            version = ".".join(map(str, sys.version_info[:3]))
            self.note(f"without {version} no function becomes a block: "
                      "below 3.12 --python-blocks takes the module gpu_tracker_hook, which did not load")
            return
        tool = 3 if monitoring.get_tool(3) is None else 4
        monitoring.use_tool_id(tool, "gpu-tracker")
        events, self.disable = monitoring.events, monitoring.DISABLE
        self.tell_ends = lambda code: monitoring.set_local_events(tool, code, events.PY_RETURN)
        monitoring.register_callback(tool, events.PY_START, self.on_start)
        monitoring.register_callback(tool, events.PY_RETURN, self.on_end)
        monitoring.register_callback(tool, events.PY_UNWIND, self.on_end)
        monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)

    def choose(self, code, frame):
        """The name of the block, or None."""
        if not code.co_flags & OPTIMIZED:
            return None
        return self._function(_module(frame.f_globals, code).encode("utf-8", "replace"), code.co_qualname.encode("utf-8", "replace"))

    def turn_off(self, error):
        if not self.is_off:
            self.note(f"off {type(error).__name__}: {error}")
        self.is_off = True

    def on_start(self, code, _offset):
        try:
            if self.is_off:
                return self.disable
            frame, known = sys._getframe(1), self.names.get(id(code))
            if known is None:
                name = self.choose(code, frame)
                if name is None:
                    return self.disable
                self.tell_ends(code)
                known = self.names[id(code)] = name, code
            self.open[id(frame)] = self.begin(known[0])
        except RecursionError:  # the program is as deep as it may be: only this call is not known
            pass
        except Exception as error:
            self.turn_off(error)
        return None

    def on_end(self, _code, _offset, _value):
        try:
            if self.open:
                self.leave(self.open.pop(id(sys._getframe(1)), None))
        except RecursionError:
            pass
        except Exception as error:
            self.turn_off(error)
