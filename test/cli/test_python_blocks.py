"""Functions of Python programs as code blocks, and marks of frameworks: programs that nobody has changed, in each Python there is."""
import glob
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import textwrap

import pytest
from patience import least

BUILD = pathlib.Path(__file__).parents[2] / "build"
HELPER = BUILD / "lib" / "gpu-tracker" / "gpu_tracker_hook.abi3.so"
VERSIONS = "3.8", "3.10", "3.11", "3.12", "3.13"

PROGRAM = """
import asyncio, multiprocessing, os, subprocess, sys, threading

class Model:
    def forward(self, x): return self.inner(x)
    def inner(self, x): return x + 1
    def other(self): pass
    @classmethod
    def make(cls): return cls()

def nested():
    def within(): return [x for x in range(2)]
    return within()

def recurse(n): return n and recurse(n - 1)

def raises(): raise ValueError("x")

def numbers():
    yield 1
    yield None

async def steps(n):
    for _ in range(n): await asyncio.sleep(0)

async def both(): await asyncio.gather(steps(2), steps(3))

def work(n): return n

def main():
    model = Model.make()
    for i in range(5): model.forward(i)
    model.other()
    nested()
    recurse(3)
    try: raises()
    except ValueError as error: trace = error.__traceback__
    assert trace.tb_next.tb_next is None
    assert [x for pair in zip(numbers(), numbers()) for x in pair] == [1, 1, None, None]
    list(numbers())
    asyncio.run(both())
    threads = [threading.Thread(target=recurse, args=(1,)) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    for method in "fork", "spawn":
        process = multiprocessing.get_context(method).Process(target=work, args=(1,))
        process.start()
        process.join()
    if os.fork() == 0:
        work(2)
        os._exit(0)
    os.wait()
    subprocess.run([sys.executable, __file__, "child"], check=True)

if __name__ == "__main__" and len(sys.argv) > 1:
    work(3)
elif __name__ == "__main__":
    main()
    print(sorted(name for name in sys.modules if "gpu" in name or "hook" in name), sys.path[0] == os.path.dirname(__file__))
"""
FOUND = {"Model.forward": 5, "Model.inner": 5, "Model.make": 1, "nested": 1, "nested.within": 1, "recurse": 8, "raises": 1, "numbers": 3,
         "steps": 2, "both": 1, "work": 4, "main": 1}
PATTERN = r"train\.(Model\.(forward|inner|make)|nested.*|recurse|raises|numbers|steps|both|work|main)"


def interpreter(version):
    places = [f"/usr/bin/python{version}", *glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))]
    return next((path for path in places if os.path.exists(path)), None)


def ways():
    """Each Python by each way that it has: python, environment."""
    for version in VERSIONS:
        for by in ("helper", "ctypes"):
            if by == "helper" or version in ("3.12", "3.13"):
                yield pytest.param((version, by), id=f"{version}-{by}")


@pytest.fixture(params=ways())
def python(request, monkeypatch):
    version, by = request.param
    path = interpreter(version)
    if not path:
        pytest.skip(f"there is no Python {version}")
    if by == "helper" and not HELPER.exists():
        pytest.skip("the helper was not built: no Python.h")
    if by == "ctypes":
        monkeypatch.setenv("GPU_TRACKER_CTYPES", "1")
    return path


@pytest.fixture
def blocks(cli, tmp_path):
    """blocks([python, "train.py"], "--python-blocks=..."): the completed run, and (begun, ended) by name."""

    def run(command, *options, **keywords):
        done = cli("run", "--quiet", "--no-history", "--overwrite", "--st=1", "--tf=run.sqlite", *options, "--", *command, **keywords)
        with sqlite3.connect(tmp_path / "run.sqlite") as file:
            is_any = file.execute("SELECT 1 FROM sqlite_master WHERE name = 'blocks'").fetchone()
            counted = "SELECT code_block_name, sum(position = 0), sum(position = 1) FROM blocks GROUP BY 1"
            rows = file.execute(counted).fetchall() if is_any else []
        assert not list(tmp_path.glob("*.blocks"))
        return done, {name: counts for name, *counts in rows}

    return run


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def warnings(done):
    """What the run says of blocks: spawned processes may outlive the program, and the machine be busy."""
    others = "still running", "  ! "
    return [line for line in done.stderr.splitlines() if not any(other in line for other in others)]


def test_functions_are_blocks(python, blocks, tmp_path):
    """Where generators are dropped in their middle, as zip does, 3.13 does not tell their end."""
    program = write(tmp_path / "train.py", PROGRAM)
    done, found = blocks([python, program], "--python-blocks", PATTERN)
    assert done.returncode == 0 and warnings(done) == [], done.stderr
    assert done.stdout == "[] True\n"
    begun = {name.replace("train.", "", 1): counts[0] for name, counts in found.items()}
    if "/3.8" in python or "/3.10" in python:  # whose code objects do not know in what they are nested
        begun["nested.within"] = begun.pop("within", 0) or 1
    assert begun == FOUND
    assert all(ended == started for name, (started, ended) in found.items() if name != "train.numbers" or "3.13" not in python)


STEPS = """
import time
def chosen(): return 1
def other(n): return sum(i for i in range(n))
chosen()
begin = time.process_time()
for _ in range(200): other(3000)
print(time.process_time() - begin)
"""


def test_what_is_no_block_costs_next_to_nothing(python, blocks, tmp_path):
    program = write(tmp_path / "train.py", STEPS)

    def ratio():
        alone = float(subprocess.run([python, program], capture_output=True, text=True, check=True).stdout)
        done, found = blocks([python, program], "--python-blocks=chosen")
        assert found == {"train.chosen": [1, 1]} and warnings(done) == []
        return float(done.stdout) / alone

    assert least(ratio, 1.25) < 1.25


DEEP = """
import sys
def chosen(): return 1
def deep(n): return n and deep(n - 1)
sys.setrecursionlimit(200_000)
print(deep(100_000), chosen())
"""


@pytest.mark.parametrize("version", ["3.11", "3.12"])
def test_calls_that_take_no_stack_of_c(blocks, tmp_path, version):
    path = interpreter(version)
    if not path:
        pytest.skip(f"there is no Python {version}")
    done, found = blocks([path, write(tmp_path / "train.py", DEEP)], "--python-blocks=chosen")
    assert (done.returncode, done.stdout) == (0, "0 1\n"), done.stderr
    assert ("nested too deep for the stack" in done.stderr) == (not found) == (version == "3.11")


def test_threads_of_any_kind(python, blocks, tmp_path):
    program = write(tmp_path / "train.py", """
        import _thread, time
        def work(): return 1
        def run():
            work()
            done.append(1)
        done = []
        for _ in range(2): _thread.start_new_thread(run, ())
        while len(done) < 2: time.sleep(0.01)
        """)
    assert blocks([python, program], "--python-blocks=work")[1] == {"train.work": [2, 2]}


THROWN = """
import asyncio, contextlib
@contextlib.contextmanager
def fails(): yield
@contextlib.contextmanager
def holds():
    try: yield
    finally: pass
def stubborn():
    try: yield 1
    except KeyError: yield None
    yield 3
async def waits(): await asyncio.sleep(60)
async def main():
    task = asyncio.ensure_future(waits())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
for i in range(5):
    with contextlib.suppress(ValueError), fails(), holds():
        if i < 3: raise ValueError
steps = stubborn()
print(next(steps), steps.throw(KeyError), list(steps))
closed = stubborn()
next(closed)
closed.close()
dropped = stubborn()
next(dropped)
del dropped
asyncio.run(main())
"""


def test_generators_that_an_exception_leaves(python, blocks, tmp_path):
    done, found = blocks([python, write(tmp_path / "train.py", THROWN)], "--python-blocks=fails|holds|stubborn|waits")
    assert done.stdout == "1 None [3]\n" and warnings(done) == []
    assert found == {"train.fails": [5, 5], "train.holds": [5, 5], "train.stubborn": [3, 3], "train.waits": [1, 1]}


RECURSION = """
import sys
depth = 0
def deep():
    global depth
    depth += 1
    return deep()
def after(): return 1
for _ in range(2):
    try: deep()
    except RecursionError: pass
for _ in range(10): after()
print(depth)
"""


def test_the_recursion_limit_is_the_programs(python, blocks, tmp_path):
    program = write(tmp_path / "train.py", RECURSION)
    alone = subprocess.run([python, program], capture_output=True, text=True, check=True)
    for pattern in "after", "nothing":
        done, found = blocks([python, program], "--python-blocks", pattern)
        assert done.returncode == 0 and "not all recorded" not in done.stderr, done.stderr
        if "GPU_TRACKER_CTYPES" not in os.environ:  # whose callbacks take a frame or two
            assert done.stdout == alone.stdout
        assert found == ({"train.after": [10, 10]} if pattern == "after" else {})


@pytest.mark.parametrize("version", ["3.8", "3.10", "3.11"])
def test_no_profile_function_in_python(blocks, tmp_path, monkeypatch, version):
    path = interpreter(version)
    if not path:
        pytest.skip(f"there is no Python {version}")
    monkeypatch.setenv("GPU_TRACKER_CTYPES", "1")
    done, found = blocks([path, write(tmp_path / "train.py", RECURSION)], "--python-blocks=after")
    assert done.returncode == 0 and not found
    [line] = warnings(done)
    assert f"Python {version}." in line and "gpu_tracker_hook, which did not load" in line


def test_which_way_it_is(python, blocks):
    """A helper that does not load would go unseen, for ctypes serves as well."""
    done, found = blocks([python, "-c", "import sys\ndef f(): print('_ctypes' in sys.modules)\nf()"], "--python-blocks=f")
    assert done.stdout == f"{'GPU_TRACKER_CTYPES' in os.environ}\n" and found == {"__main__.f": [1, 1]}


def test_a_pattern_that_matched_nothing(python, blocks, tmp_path):
    program = write(tmp_path / "train.py", "def step(): pass\nclass Net:\n    def walk(self): pass\nstep()\nNet().walk()\n")
    done, found = blocks([python, program], "--python-blocks", "train.steps", "--python-blocks", "Net.walk")
    assert found == {"train.Net.walk": [1, 1]}
    [line] = warnings(done)
    assert line.endswith("'train.steps'; the nearest is train.step")
    [line] = warnings(blocks([python, program], "--python-blocks", "train.Net.talk")[0])
    assert "; the nearest are train.Net.walk, train.step" in line
    [line] = warnings(blocks([python, program], "--python-blocks", "quantize_weights")[0])
    assert line.endswith("--python-blocks 'quantize_weights'")


@pytest.mark.parametrize("pattern, place", [("a(b", 2), ("ab[c", 3), ("ok|*(", 4), ("a\\", 2), (r"[\d[:alpha:]]\w\.a\d+", 19)])
def test_a_pattern_that_is_none(refused, pattern, place):
    line = refused(2, pattern, "run", "--tf=run.csv", "--python-blocks=f", "--python-blocks", pattern, "--", "touch", "started")
    assert line.endswith(f"at character {place}")


@pytest.mark.parametrize("option, other", [("--blocks-domains=x", "--python-blocks=f"), ("--blocks-names=x", "--python-blocks=f"),
                                           ("--blocks-most=5", "--blocks")])
def test_a_choice_among_no_ranges(refused, option, other):
    name = option.partition("=")[0]
    said = f"{name}: it chooses among the ranges of --blocks-from"
    refused(2, said, "run", "--tf=run.csv", other, option, "--", "touch", "started")


def test_blocks_are_kept_with_a_file(refused):
    refused(2, "--python-blocks: the blocks are kept with a tracking file", "run", "--python-blocks=f", "--", "touch", "started")


@pytest.mark.parametrize("command", [["true"], [sys.executable, "-I", "-c", "def f(): pass\nf()"], [sys.executable, "-E", "-c", ""]])
def test_no_python_took_part(blocks, command):
    done, found = blocks(command, "--python-blocks=f")
    assert not found and "no Python process took part" in done.stderr


def test_the_next_sitecustomize_runs(python, blocks, tmp_path):
    write(tmp_path / "own" / "sitecustomize.py", "import sys\nsys.own = 'theirs'\n")
    own = {**os.environ, "PYTHONPATH": str(tmp_path / "own")}
    asked = "import sys, sitecustomize; print(sys.own, sitecustomize.__file__.split('/')[-2], len(sys.path))"
    done, _ = blocks([python, "-c", asked], "--python-blocks=f", env=own)
    alone = subprocess.run([python, "-c", asked], env=own, capture_output=True, text=True, check=True)
    assert done.stdout == alone.stdout and "theirs own" in done.stdout


def test_a_sitecustomize_of_the_programs_own(python, blocks, tmp_path):
    """It lies beside the program, where Python itself does not see it at its start."""
    write(tmp_path / "sitecustomize.py", "own = 'mine'\n")
    program = write(tmp_path / "train.py", """
        import sys
        print("sitecustomize" in sys.modules)
        import sitecustomize
        print(sitecustomize.__file__)
        """)
    alone = subprocess.run([python, program], capture_output=True, text=True, check=True)
    done, _ = blocks([python, program], "--python-blocks=f")
    assert (done.returncode, done.stdout) == (0, alone.stdout) and "sitecustomize" not in done.stderr


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
@pytest.mark.parametrize("option", ["--python-blocks=f", "--blocks-from=torch"])
def test_a_python_that_is_too_old(blocks, version, option):
    path = interpreter(version)
    if not path:
        pytest.skip(f"there is no Python {version}")
    done, found = blocks([path, "-c", "print(1)"], option)
    assert done.returncode == 0 and done.stdout == "1\n" and not found
    [line] = warnings(done)
    assert f"in Python {version}." in line and "nothing becomes a block" in line and "3.8 or later" in line and option.split("=")[0] in line


def test_one_that_fails_is_told_as_ever(blocks, tmp_path):
    write(tmp_path / "own" / "sitecustomize.py", "raise ValueError('theirs')\n")
    own = {**os.environ, "PYTHONPATH": str(tmp_path / "own")}
    done, found = blocks([sys.executable, "-c", "def f(): pass\nf()"], "--python-blocks=f", env=own)
    assert done.returncode == 0 and "ValueError: theirs" in done.stderr and found == {"__main__.f": [1, 1]}


def test_profilers_and_debuggers_inside(python, blocks, tmp_path):
    program = write(tmp_path / "train.py", """
        import cProfile, sys
        def step(): return 1
        def traced(frame, event, argument):
            seen.append(event)
            return traced
        seen = []
        step()
        profile = cProfile.Profile()
        profile.runcall(step)
        sys.settrace(traced)
        step()
        sys.settrace(None)
        print(sum(entry.callcount for entry in profile.getstats() if "step" in str(entry.code)), "call" in seen, "return" in seen)
        """)
    done, found = blocks([python, program], "--python-blocks=step")
    assert done.returncode == 0 and done.stdout == "1 True True\n"
    assert found == {"train.step": [3, 3]} and warnings(done) == []


def test_hostile_modules(python, blocks, tmp_path):
    """No name, a name that is no text, characters that UTF-8 does not have: none of it reaches the program."""
    program = write(tmp_path / "train.py", r"""
        import types
        text = "def f(): return 1"
        for name in (None, 3, "", "a\udcffb", "n" * 5000):
            made = {"__name__": name}
            exec(text, made)
            assert made["f"]() == 1
        del made["__name__"]
        made["f"]()
        def f(): return 2
        assert f() == 2
        """)
    done, found = blocks([python, program], "--python-blocks=f")
    assert done.returncode == 0 and warnings(done) == [], done.stderr
    assert found["train.f"] == [1, 1]


def test_a_module_as_a_program(python, blocks, tmp_path):
    write(tmp_path / "package" / "__main__.py", "def f(): pass\nf()\n")
    write(tmp_path / "package" / "sub.py", "def f(): pass\nf()\n")
    write(tmp_path / "package" / "__init__.py", "")
    for words, name in ((["-m", "package"], "package.f"), (["-m", "package.sub"], "package.sub.f"), (["package"], "package.f")):
        done, found = blocks([python, *words], "--python-blocks", name.replace(".", r"\."))
        assert warnings(done) == [] and found == {name: [1, 1]}


LARGE = """
import resource, sys
def f(): pass
f()
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
for _ in range(999): f()
"""


def test_blocks_that_found_no_room(python, blocks, tmp_path):
    done, found = blocks([python, write(tmp_path / "train.py", LARGE)], "--python-blocks=train.f")
    [line] = warnings(done)
    lost = re.search(r"(\d+) calls of blocks of process \d+ were not kept: \S+\.csv: File too large$", line)
    assert found["train.f"][1] + int(lost[1]) == 1000 and 1 < found["train.f"][1] < 100


def test_functions_at_the_end_of_a_program(python, blocks, tmp_path):
    program = write(tmp_path / "train.py", """
        import atexit
        class Model:
            def __del__(self): deleted()
        def deleted(): pass
        def ended(): pass
        model = Model()
        atexit.register(ended)
        """)
    done, found = blocks([python, program], r"--python-blocks=.*\.(ended|deleted)")
    assert warnings(done) == [] and found == {"train.ended": [1, 1], "train.deleted": [1, 1]}
    done, found = blocks([python, "-c", "import atexit\ndef ended(): pass\natexit.register(ended)"], "--python-blocks=.*ended")
    assert found == {"__main__.ended": [1, 1]}


def test_marks_of_the_program_lie_in_the_same_file(blocks, tmp_path):
    """So that the time of one inside the other is taken off."""
    pytest.importorskip("gpu_tracker")
    program = write(tmp_path / "train.py", """
        import gpu_tracker, os
        def step():
            with gpu_tracker.SubTracker("inner"): pass
        with gpu_tracker.SubTracker("outer"): step()
        if os.fork() == 0:
            with gpu_tracker.SubTracker("child"): step()
            os._exit(0)
        os.wait()
        files = [name for name in os.listdir(os.environ["GPU_TRACKER_BLOCKS"]) if name.endswith(".csv")]
        print(len(files), gpu_tracker.SubTracker("x").sub_tracking_file)
        """)
    done, found = blocks([sys.executable, program], "--python-blocks=step")
    assert done.stdout == "2 None\n" and warnings(done) == [], done.stderr
    assert found == {"train.step": [2, 2], "inner": [2, 2], "outer": [1, 1], "child": [1, 1]}


TORCH = """
class record_function:
    def __init__(self, name, args=None): self.name = name
    def __enter__(self):
        entered.append(self.name)
        return self
    def __exit__(self, *reason):
        return None
entered = []
"""


def test_marks_of_torch(python, blocks, tmp_path):
    write(tmp_path / "torch" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "profiler.py", TORCH)
    program = write(tmp_path / "train.py", """
        import importlib.util, threading
        importlib.util.find_spec("torch.autograd.profiler")
        from torch.autograd import profiler
        def train(n):
            for _ in range(n):
                with profiler.record_function("enumerate(DataLoader)#_Single.__next__"): pass
                with profiler.record_function("Optimizer.step#Adam.step") as mark:
                    with mark: pass
            try:
                with profiler.record_function("fails"): raise ValueError
            except ValueError: pass
        threads = [threading.Thread(target=train, args=(3,)) for _ in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(profiler.entered), type(profiler.__loader__).__name__, type(profiler.__spec__.loader).__name__,
              profiler.record_function.__enter__.__qualname__)
        """)
    done, found = blocks([python, program], "--blocks-from=torch")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout == "30 SourceFileLoader SourceFileLoader record_function.__enter__\n"
    assert found == {"enumerate(DataLoader)#_Single.__next__": [9, 9], "Optimizer.step#Adam.step": [18, 18], "fails": [3, 3]}


TRACED = """
import sys, traceback, warnings
files = set()
def trace(frame, event, argument):
    files.add(frame.f_code.co_filename)
    return trace
sys.settrace(trace)
try: from torch.autograd import profiler
except ImportError: sys.settrace(None); traceback.print_exc()
else:
    with profiler.record_function("marked"): pass
    sys.settrace(None)
    print(*sorted(name for name in files if name[0] != "<"), sep=chr(10))
"""


@pytest.mark.parametrize("fails", [False, True])
def test_tracers_and_tracebacks_see_nothing(python, blocks, tmp_path, fails):
    write(tmp_path / "torch" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "__init__.py", "")
    late = "import warnings\nwarnings.warn('late', stacklevel=2)\n"
    write(tmp_path / "torch" / "autograd" / "profiler.py", late + TORCH + ("\nimport no_such_module" if fails else ""))
    program = write(tmp_path / "traced.py", TRACED)
    alone = subprocess.run([python, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
    assert "traced.py" in alone.stdout + alone.stderr and "UserWarning: late" in alone.stderr
    done, found = blocks([python, program], "--blocks-from=torch")
    assert done.stdout == alone.stdout and ("marked" in found) == (not fails)
    assert done.stderr.startswith(alone.stderr) and "sitecustomize" not in done.stderr and "hooks" not in done.stderr


def test_marks_and_calls_that_are_left_out(python, blocks, tmp_path):
    write(tmp_path / "torch" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "profiler.py", TORCH)
    program = write(tmp_path / "train.py", """
        from torch.autograd import profiler
        def called():
            for name in "forward", "backward":
                with profiler.record_function(name): pass
        for _ in range(20): called()
        """)
    done, found = blocks([python, program], "--blocks-from=torch", "--blocks-names=forw")
    assert found == {"forward": [20, 20]} and done.stderr == ""
    assert blocks([python, program], "--blocks-from=torch", "--blocks-domains=NCCL")[1] == {}
    done, found = blocks([python, program], "--python-blocks=called", "--blocks-from=torch", "--blocks-most=10", "--blocks-names=back")
    assert found == {"train.called": [5, 5], "backward": [5, 5]} and "30 further ranges of process " in done.stderr
    done, found = blocks([python, program], "--python-blocks=called", "--blocks-most=7")
    assert found == {"train.called": [7, 7]} and "13 further ranges of process " in done.stderr


def test_marks_of_other_frameworks(blocks, tmp_path):
    for package in ("jax", "jax/_src", "tensorflow", "tensorflow/python", "tensorflow/python/profiler", "lightning", "lightning/pytorch",
                    "lightning/pytorch/profilers"):
        write(tmp_path / package / "__init__.py", "")
    write(tmp_path / "jax/_src/profiler.py", """
        class TraceMe:
            def __init__(self, name, **words): pass
            def __enter__(self): return self
            def __exit__(self, *reason): pass
        class TraceAnnotation(TraceMe): pass
        class StepTraceAnnotation(TraceAnnotation):
            def __init__(self, name, **words): super().__init__(name, _r=1, **words)
        """)
    write(tmp_path / "tensorflow/python/profiler/trace.py", """
        class Trace:
            def __init__(self, name, **words): pass
            def __enter__(self): return self
            def __exit__(self, *reason): pass
        """)
    write(tmp_path / "lightning/pytorch/profilers/profiler.py", """
        import contextlib
        from abc import ABC, abstractmethod
        class Profiler(ABC):
            @abstractmethod
            def start(self, action_name): pass
            @abstractmethod
            def stop(self, action_name): pass
            @contextlib.contextmanager
            def profile(self, action_name):
                try:
                    self.start(action_name)
                    yield action_name
                finally: self.stop(action_name)
        """)
    program = write(tmp_path / "train.py", """
        from jax._src.profiler import StepTraceAnnotation, TraceAnnotation
        from tensorflow.python.profiler.trace import Trace
        from lightning.pytorch.profilers.profiler import Profiler
        with TraceAnnotation("annotated"), StepTraceAnnotation("step", step_num=3), Trace("traced", _r=1): pass
        class PassThrough(Profiler):
            def start(self, action_name): pass
            def stop(self, action_name): pass
        class Own(PassThrough):
            def start(self, action_name): super().start(action_name)
        try: Profiler()
        except TypeError: print("abstract")
        for profiler in PassThrough(), Own():
            profiler.start("train_dataloader_next")
            with profiler.profile("run_training_batch") as action: print(action)
            profiler.stop("train_dataloader_next")
            profiler.stop("never began")
        """)
    done, found = blocks([sys.executable, program], "--blocks-from=jax,tensorflow,lightning")
    assert done.returncode == 0 and (done.stdout, done.stderr) == ("abstract\n" + 2 * "run_training_batch\n", "")
    assert found == {**{name: [1, 1] for name in ("annotated", "step", "traced")},
                     **{name: [2, 2] for name in ("run_training_batch", "train_dataloader_next")}}


def test_a_framework_that_nobody_imported(blocks):
    done, found = blocks([sys.executable, "-c", "pass"], "--blocks-from=torch,jax")
    assert not found and done.stderr.count("\n") == 1 and "torch, jax" in done.stderr


ALLOCATOR = """
class cuda:
    stats = None
    @staticmethod
    def is_initialized(): return cuda.stats is not None
    @staticmethod
    def memory_stats():
        return dict(zip(("allocated_bytes.all.current", "reserved_bytes.all.current", "allocated_bytes.all.peak"), cuda.stats))
    @staticmethod
    def set(allocated, reserved, peak): cuda.stats = allocated, reserved, peak
"""


def test_memory_of_the_allocator_at_borders(python, blocks, cli, tmp_path):
    """A peak that grows inside is exact, an older one is a bound, and nothing is known of one that was set back."""
    write(tmp_path / "torch" / "__init__.py", ALLOCATOR)
    write(tmp_path / "torch" / "autograd" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "profiler.py", TORCH)
    program = write(tmp_path / "train.py", """
        import os, torch
        from torch.autograd.profiler import record_function
        def before(): pass
        def grows(): torch.cuda.set(100, 400, 300)
        def stays(): torch.cuda.set(120, 400, 300)
        def resets(): torch.cuda.set(10, 200, 50)
        before(); grows(); stays(); stays()
        with record_function("marked"): torch.cuda.set(60, 500, 310)
        resets()
        if os.fork() == 0:
            grows()
            stays()
        else:
            os.wait()
        """)
    done, found = blocks([python, program], r"--python-blocks=train\..*", "--blocks-from=torch", "--blocks-memory=torch")
    assert done.returncode == 0 and warnings(done) == [], done.stderr
    assert found["marked"] == [1, 1] and found["train.stays"] == [3, 3]
    report = json.loads(cli("analyze", "run.sqlite", "-f", "json").stdout)
    rows = {row.pop("name"): tuple(row.values()) for row in report["pytorch_memory"]}
    assert rows == {"train.grows": (100, 400, 300, 300), "train.stays": (120, 400, 120, 300), "marked": (120, 500, 310, 310),
                    "train.resets": (60, 500, 60, None)}


def test_an_allocator_that_fails(python, blocks, tmp_path):
    write(tmp_path / "torch" / "__init__.py", "class cuda:\n    def is_initialized(): raise RuntimeError('lost')\n")
    program = write(tmp_path / "train.py", "import torch\ndef f(): return 1\nprint(f() + f())\n")
    done, found = blocks([python, program], "--python-blocks=f", "--blocks-memory=torch")
    assert done.stdout == "2\n" and done.stderr.count("lost") == 1 and found == {"train.f": [2, 2]}


@pytest.mark.parametrize("options", [["--blocks-memory=torch"], ["--blocks", "--blocks-memory=torch"],
                                     ["--python-blocks=f", "--blocks-memory=torch"], ["--python-blocks=f", "--blocks-memory=jax"]])
def test_memory_that_cannot_be_kept(refused, options):
    refused(2, "--blocks-memory", "run", "--tf=run.csv", *options, "--", "touch", "started")


def test_what_fails_is_told_at_the_end(python, blocks, tmp_path):
    """A framework whose class is another one than we know."""
    write(tmp_path / "torch" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "__init__.py", "")
    write(tmp_path / "torch" / "autograd" / "profiler.py", "record_function = None\n")
    done, _ = blocks([python, "-c", "import torch.autograd.profiler; print(1)"], "--blocks-from=torch", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "1\n"
    assert "not all recorded: AttributeError" in done.stderr


def test_interpreters_in_one_process(python, blocks, tmp_path):
    """A further interpreter has objects of its own, which end with it."""
    program = write(tmp_path / "train.py", """
        import sys
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        def f(): return 1
        f()
        for _ in range(2):
            version = sys.version_info[:2]  # each shares one lock among all interpreters
            shares = ["legacy"] if version > (3, 12) else []
            one = interpreters.create(*shares, **{"isolated": False} if (3, 8) < version <= (3, 12) else {})
            run = getattr(interpreters, "run_string", None) or interpreters.exec
            run(one, "def g(): return 1" + chr(10) + "g()")
            interpreters.destroy(one)
            f()
        def late(): return f()
        late()
        """)
    done, found = blocks([python, program], r"--python-blocks=train\..*")
    assert done.returncode == 0 and found == {"train.f": [4, 4], "train.late": [1, 1]}, done.stderr
