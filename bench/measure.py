"""What the benchmarks share: clocks of other processes, trees to track, tables to print."""
import os
import pathlib
import platform
import re
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
GPU_TRACKER = BUILD / "gpu-tracker"
ORIGINAL = BUILD / "original" / "bin"  # gpu_tracker 5.0.1, if make original has installed it


def cpu_seconds(pid):
    """CPU time of a whole process so far, by its own clock (see clock_getcpuclockid)."""
    return time.clock_gettime((~pid << 3) | 2)


def descendants(pid):
    """The process and all below it."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split():
            found += descendants(int(child))
    return found


def status_bytes(pid, key):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


class Tree:
    """A root and count - 1 children, each with 1 MB of its own, asleep: `with Tree(100) as pid:`."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        depth = 0 if self.count == 1 else 1
        self.root = subprocess.Popen([BUILD / "test/truth/tree", str(depth), str(self.count - 1), "600000", "1"],
                                     stdout=subprocess.DEVNULL)
        while len(descendants(self.root.pid)) < self.count:
            time.sleep(0.05)
        time.sleep(0.5)
        return self.root.pid

    def __exit__(self, *_):
        self.root.kill()  # the others read the end of its pipe, and end
        self.root.wait()


def spread(values):
    """min / median / max"""
    return min(values), statistics.median(values), max(values)


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) / 1e6
    load = os.getloadavg()[0]
    return (f"{model[1] if model else platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GB, "
            f"Linux {platform.release()}, Python {platform.python_version()}, load {load:.1f} at the start")


def table(head, rows):
    """A Markdown table, padded so that it reads well in a terminal too."""
    cells = [head, *[[str(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print("\n".join(lines), flush=True)
