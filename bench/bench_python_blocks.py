"""Python functions that became blocks without a change: what a call costs that matches, and one that does not, and the start of Python.

In CPU time, the least of several rounds, beside the same program without hooks and, for a block, GT_BLOCK of C in the same run.
"""
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

from measure import BUILD, machine, table

ROOT = pathlib.Path(__file__).resolve().parent.parent
HOOKS = ROOT / "share" / "gpu-tracker" / "python"
ROUNDS = 3

CALLS = """
import time
def plain(): pass
def matched(): pass
def least(function, count):
    best = 1e9
    for _ in range(5):
        numbers = range(count)
        begin = time.process_time()
        for _ in numbers: function()
        best = min(best, time.process_time() - begin)
    return best / count * 1e9
print(least(plain, 100_000), least(matched, 5_000))
"""

MARKS = """
import sys, time
sys.path[:0] = [sys.argv[1]]
from torch.autograd.profiler import record_function
best = 1e9
for _ in range(5):
    begin = time.process_time()
    for _ in range(5_000):
        with record_function("step"): pass
    best = min(best, time.process_time() - begin)
print(best / 5_000 * 1e9)
"""

FUNCTIONS = """
import time
text = "\\n".join(f"def f{i}(): return {i}" for i in range(1000)) + "\\n" + "\\n".join(f"f{i}()" for i in range(1000))
begin = time.process_time()
for _ in range(20):
    exec(compile(text, "made.py", "exec"), {"__name__": "made"})
print((time.process_time() - begin) * 1e3)
"""

START = """
import resource, subprocess, sys
best = 1e9
for _ in range(10):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.argv[1], "-c", "pass"])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
print(best * 1e3)
"""

TORCH = """
class record_function:
    def __init__(self, name): self.name = name
    def __enter__(self): return self
    def __exit__(self, *reason): pass
"""


def run(python, program, *words, **hooks):
    """What a program printed, the least of several rounds of each number."""
    found = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"PATH": os.environ["PATH"], "HOME": folder}
            if hooks:
                libraries = str(BUILD / "lib" / "gpu-tracker")
                environment.update(hooks, PYTHONPATH=str(HOOKS), GPU_TRACKER_HOOKS=libraries, GPU_TRACKER_BLOCKS=folder)
            done = subprocess.run([python, "-c", program, *words], env=environment, capture_output=True, text=True, check=True)
            found.append([float(word) for word in done.stdout.split()])
    return [min(column) for column in zip(*found)]


def interpreters():
    return {path.split("/")[-3]: path for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[1-9]*/bin/python")))} \
        or {"Python": sys.executable}


def rows(python, **words):
    functions = {"GPU_TRACKER_PYTHON_BLOCKS": "matched", **words}
    plain, matched = run(python, CALLS)
    hooked_plain, hooked = run(python, CALLS, **functions)
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder, "torch", "autograd")
        package.mkdir(parents=True)
        (package / "profiler.py").write_text(TORCH)
        [mark], [hooked_mark] = run(python, MARKS, folder), run(python, MARKS, folder, GPU_TRACKER_PYTHON_SOURCES="torch", **words)
    [made], [hooked_made] = run(python, FUNCTIONS), run(python, FUNCTIONS, **functions)
    [start] = run(sys.executable, START, python)
    [hooked_start] = run(python, START, python, **functions)
    yield f"{hooked_plain - plain:.1f} ns"
    yield f"{hooked - matched:.0f} ns"
    yield f"{hooked_mark - mark:.0f} ns"
    yield f"{(hooked_made / made - 1) * 100:.1f} %"
    yield f"{hooked_start - start:.1f} ms"


def main():
    with tempfile.TemporaryDirectory() as folder:
        block = [int(subprocess.run([BUILD / "bench" / "bench_block", "20000", "1"], cwd=folder, capture_output=True, text=True,
                                    check=True).stdout.split()[1]) for _ in range(ROUNDS)]
    print(machine())
    print(f"GT_BLOCK in C: {2 * min(block)} ns a block\n")
    lines = []
    for name, python in interpreters().items():
        lines.append([name, "helper", *rows(python)])
        lines.append([name, "ctypes", *rows(python, GPU_TRACKER_CTYPES="1")])
    table(["Python", "by", "other call", "block", "record_function", "20,000 new functions", "start"], lines)


main()
