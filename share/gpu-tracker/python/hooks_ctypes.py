"""What gpu_tracker_hook does, where that does not load: in Python, with the library by ctypes. Nothing here raises into the program."""
import ctypes
import sys

OPTIMIZED, GENERATOR = 0x1, 0x20 | 0x80 | 0x200  # co_flags: functions, not bodies of classes; also coroutines and asynchronous generators
MOST_FUNCTIONS = 100_000


def _stem(path):
    """train for /home/me/train.py, package for /home/me/package/__main__.py"""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return folder.rpartition("/")[2] if folder and stem == "__main__" else stem


def _module(variables):
    """The module that is executed as a program is called after its own name (python -m), or its file's."""
    name = variables.get("__name__")
    if not isinstance(name, str):
        return ""
    if name not in ("__main__", "__mp_main__"):
        return name
    own = getattr(variables.get("__spec__"), "name", None)
    if isinstance(own, str) and own not in ("", "__main__"):
        return own[: -len(".__main__")] if own.endswith(".__main__") else own
    file = variables.get("__file__")
    return _stem(file) if isinstance(file, str) else name


def _qualified_name(code, frame):
    """Before 3.11 code does not have it: methods are found by what they are called with, others have their own name only."""
    name = getattr(code, "co_qualname", None)
    if name is not None or not code.co_argcount:
        return name or code.co_name
    first = frame.f_locals.get(code.co_varnames[0])
    for kind in getattr(first if isinstance(first, type) else type(first), "__mro__", ()):
        member = kind.__dict__.get(code.co_name)
        member = getattr(member, "__func__", getattr(member, "fget", member))
        if getattr(member, "__code__", None) is code:
            return member.__qualname__
    return code.co_name


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
        """Returns None, or what sys.setprofile and threading.setprofile are to be given."""
        if self._patterns(patterns.encode("utf-8", "surrogateescape")) < 1:
            return None
        monitoring = getattr(sys, "monitoring", None)
        if not monitoring:
            from opcode import opmap

            self.yield_value, self.resume = opmap["YIELD_VALUE"], bytes([opmap.get("RESUME", 0), 0])
            self.yield_from = bytes([opmap["YIELD_FROM"]]) if "YIELD_FROM" in opmap else None
            return self.on_profile
        tool = 3 if monitoring.get_tool(3) is None else 4
        monitoring.use_tool_id(tool, "gpu-tracker")
        events, self.disable = monitoring.events, monitoring.DISABLE
        self.tell_ends = lambda code: monitoring.set_local_events(tool, code, events.PY_RETURN)
        monitoring.register_callback(tool, events.PY_START, self.on_start)
        monitoring.register_callback(tool, events.PY_RETURN, self.on_end)
        monitoring.register_callback(tool, events.PY_UNWIND, self.on_end)
        monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)
        return None

    def choose(self, code, frame):
        """The name of the block, or None."""
        if not code.co_flags & OPTIMIZED:
            return None
        name = _qualified_name(code, frame)
        return self._function(_module(frame.f_globals).encode("utf-8", "replace"), name.encode("utf-8", "replace"))

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
        except Exception as error:
            self.turn_off(error)
        return None

    def on_end(self, _code, _offset, _value):
        try:
            if self.open:
                self.leave(self.open.pop(id(sys._getframe(1)), None))
        except Exception as error:
            self.turn_off(error)

    def goes_on(self, frame, code, event):
        """Is this no begin and no end of a generator, but a step of it?"""
        bytecode, at = code.co_code, frame.f_lasti
        if event == "call":
            return at >= 0 and bytecode[at : at + 2] != self.resume
        if bytecode[at] == self.yield_value:
            return True
        return self.yield_from is not None and bytecode[at + 2 : at + 3] == self.yield_from  # before 3.11: it will be executed again

    def on_profile(self, frame, event, _value):
        try:
            if event == "call" and not self.is_off:
                code = frame.f_code
                known = self.names.get(id(code))
                if known is None and len(self.names) < MOST_FUNCTIONS:
                    known = self.names[id(code)] = self.choose(code, frame), code
                if known and known[0] and not (code.co_flags & GENERATOR and self.goes_on(frame, code, event)):
                    self.open[id(frame)] = self.begin(known[0])
            elif event == "return" and id(frame) in self.open:
                if not (frame.f_code.co_flags & GENERATOR and self.goes_on(frame, frame.f_code, event)):
                    self.end(self.open.pop(id(frame)))
        except Exception as error:
            self.turn_off(error)
