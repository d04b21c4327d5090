"""Frameworks that name what they do by themselves: their names become blocks when their modules are imported."""
from _thread import get_ident


def _like(function, other):
    """What looks at a function finds the one that it stands for; TorchScript reads its source."""
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(function, attribute, getattr(other, attribute, None))
    function.__wrapped__ = other
    return function


class _Calls:
    """The calls that are open of one kind of object, which may be entered again before it is left: (call, the one before) by object,
    part of it, and thread."""

    def __init__(self, hook):
        self.hook, self.open = hook, {}

    def begin(self, owner, name, part=None):
        try:
            key = id(owner), part, get_ident()
            self.open[key] = self.hook.enter(name if isinstance(name, str) else str(name)), self.open.get(key)
        except Exception as error:
            self.hook.note(f"off {type(error).__name__}: {error}")

    def end(self, owner, part=None):
        try:
            key = id(owner), part, get_ident()
            if key not in self.open:  # left by another thread
                key = next((other for other in list(self.open) if other[:2] == key[:2]), None)
            if key:
                call, former = self.open.pop(key)
                self.hook.leave(call)
                if former:
                    self.open[key] = former
        except Exception as error:
            self.hook.note(f"off {type(error).__name__}: {error}")


def _marks(kind, calls, name):
    enter, leave = kind.__enter__, kind.__exit__

    def begin(self):
        entered = enter(self)
        calls.begin(self, name(self))
        return entered

    def end(self, *reason):
        calls.end(self)
        return leave(self, *reason)

    kind.__enter__, kind.__exit__ = _like(begin, enter), _like(end, leave)


def named(kind, calls):
    """A context manager that has its name in the attribute `name`."""
    _marks(kind, calls, lambda mark: mark.name)


def called(kind, calls):
    """A context manager that is made with its name and does not keep it."""
    make = kind.__init__

    def remember(self, name, *arguments, **keywords):
        make(self, name, *arguments, **keywords)
        self._gpu_tracker_name = name

    kind.__init__ = _like(remember, make)
    _marks(kind, calls, lambda mark: mark._gpu_tracker_name)


def _start_and_stop(kind, calls):
    start, stop = (None if getattr(method, "__isabstractmethod__", False) else method
                   for method in (kind.__dict__.get("start"), kind.__dict__.get("stop")))

    def begin(self, action_name, *others, **words):
        start(self, action_name, *others, **words)
        if type(self).start is begin:  # not called by that of a class derived from this one
            calls.begin(self, action_name, action_name)

    def end(self, action_name, *others, **words):
        if type(self).stop is end:
            calls.end(self, action_name)
        stop(self, action_name, *others, **words)

    if start:
        kind.start = _like(begin, start)
    if stop:
        kind.stop = _like(end, stop)


def profiler(base, calls):
    """Classes derived from it have methods `start` and `stop` that are called with a name; its `profile` calls them, too."""
    former = base.__dict__.get("__init_subclass__")

    def derive(kind, **keywords):
        former.__func__(kind, **keywords) if former else super(base, kind).__init_subclass__(**keywords)
        _start_and_stop(kind, calls)

    base.__init_subclass__ = classmethod(derive)


# The source, the module, its class, and how that is marked.
SOURCES = [
    ("torch", "torch.autograd.profiler", "record_function", named),
    ("jax", "jax._src.profiler", "TraceAnnotation", called),
    ("tensorflow", "tensorflow.python.profiler.trace", "Trace", called),
    ("lightning", "lightning.pytorch.profilers.profiler", "Profiler", profiler),
    ("lightning", "pytorch_lightning.profilers.profiler", "Profiler", profiler),
]


def actions(hook, wanted):
    """What is to be done when a module has been imported: {module: [function]}."""
    def action(source, kind, mark):
        def do(module):
            mark(getattr(module, kind), _Calls(hook))
            hook.note(f"source {source}")
        return do

    return {module: [action(source, kind, mark)] for source, module, kind, mark in SOURCES if source in wanted}
