"""The Python package beside the original gpu_tracker 5.0.1: import, start and stop, marks, notebook cells.

Each contestant runs in an interpreter of its own, rounds in turn.
"""
import json
import os
import subprocess
import sys
import tempfile

from measure import ORIGINAL, machine, spread, table

ROUNDS = 5

# Each prints one JSON number. Times are beyond what the same code costs without the tracker.
IMPORT = """
import time
begin = time.perf_counter()
import gpu_tracker
print((time.perf_counter() - begin) * 1e3)
"""

IMPORT_TRACKER = IMPORT.replace("import gpu_tracker", "from gpu_tracker import Tracker")

START_STOP = """
import time
import gpu_tracker
if __name__ == "__main__":
    def once():
        tracker = gpu_tracker.Tracker(disable_logs=True)
        begin = time.perf_counter()
        tracker.start()
        tracker.stop()
        return time.perf_counter() - begin
    print(sorted(once() for _ in range({count}))[{count} // 2] * 1e3)
"""

MARKS = """
import os, time
import gpu_tracker
class Empty:
    def __enter__(self): return self
    def __exit__(self, *_): pass
def measure(context, count):
    best = 1e9
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(count):
            with context:
                pass
        best = min(best, (time.perf_counter() - begin) / count)
    return best
count = {count}
with_empty = measure(Empty(), count)
print((measure(gpu_tracker.SubTracker("x", sub_tracking_file="marks.{suffix}"), count) - with_empty) * 1e6)
"""

TASKS = """
import asyncio, time
import gpu_tracker
class Empty:
    def __enter__(self): return self
    def __exit__(self, *_): pass
def measure(context):
    async def work():
        for _ in range(40):
            with context:
                await asyncio.sleep(0)
    async def main():
        await asyncio.gather(*(work() for _ in range(1000)))
    best = 1e9
    for _ in range(3):
        begin = time.perf_counter()
        asyncio.run(main())
        best = min(best, (time.perf_counter() - begin) / 40_000)
    return best
with_empty = measure(Empty())
print((measure(gpu_tracker.SubTracker("x", sub_tracking_file="marks.csv")) - with_empty) * 1e6)
"""

CELLS = """
import time
from IPython.testing.globalipapp import start_ipython
import contextlib, io
shell = start_ipython()
def measure():
    times = []
    for _ in range(100):
        begin = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            shell.run_cell("pass")
        times.append(time.perf_counter() - begin)
    return sorted(times)[50]
without = measure()
from gpu_tracker.notebook import IPyGPULogger
logger = IPyGPULogger(gc_collect={collect})
logger.start()
print((measure() - without) * 1e3)
logger.stop()
"""


def run(python, code):
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.py")
        with open(script, "w") as file:
            file.write(code)
        done = subprocess.run([python, script], cwd=folder, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.split()[-1])


def main():
    ours, original = sys.executable, str(ORIGINAL / "python")
    has_original = os.path.exists(original)
    contests = [
        ("import, ms", IMPORT, IMPORT),
        ("import of Tracker, ms", IMPORT_TRACKER, IMPORT_TRACKER),
        ("Tracker start + stop, ms", START_STOP.format(count=30), START_STOP.format(count=2)),
        ("SubTracker pair, CSV, us", MARKS.format(count=100_000, suffix="csv"), MARKS.format(count=1000, suffix="csv")),
        ("SubTracker pair, CSV, 1000 tasks, us", TASKS, None),
        ("SubTracker pair, SQLite, us", MARKS.format(count=20_000, suffix="sqlite"),
         MARKS.format(count=20, suffix="sqlite")),
        ("notebook cell, ms", CELLS.format(collect=True), None),
        ("notebook cell, gc_collect=False, ms", CELLS.format(collect=False), None),
    ]
    print(f"The Python package. {machine()}\n")
    rows = []
    for name, code, originals in contests:
        taken, theirs = [], []
        for _ in range(ROUNDS):
            taken.append(run(ours, code))
            if has_original and originals:
                theirs.append(run(original, originals))
        rows.append([name, *(f"{value:.2f}" for value in spread(taken)),
                     f"{spread(theirs)[1]:,.1f}" if theirs else "-"])
    table(["what", "min", "median", "max", "gpu_tracker 5.0.1"], rows)
    print(f"\n{ROUNDS} rounds each. Pairs are beyond an empty context manager, cells beyond the same without logger.")


main()
