"""The whole report of a job, and its page: traces of 8 ranks, each of 35 MB, laid out as PyTorch's profiler does, on two processors."""
import os
import pathlib
import sys
import tempfile
import time

from measure import GPU_TRACKER, ROOT, machine, table

sys.path.append(str(ROOT / "test"))
from traced_job import Job  # noqa: E402

STEPS, LAUNCHES, PROCESSORS = 189, 144, 2


def measure(*words):
    """Seconds on the wall, and of processors; the least of five runs."""
    runs = []
    for _ in range(5):
        before, begin = os.times(), time.perf_counter()
        pid = os.posix_spawn(GPU_TRACKER, [str(GPU_TRACKER), "profile", *map(str, words)], os.environ,
                             file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
        os.waitpid(pid, 0)
        after = os.times()
        runs.append((time.perf_counter() - begin,
                     after.children_user + after.children_system - before.children_user - before.children_system))
    return min(runs)


def main():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
    print(f"The report of a job. {machine()}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name, "job")
        Job(folder, steps=STEPS, launches=LAUNCHES).write()
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        rows = [[what, *(f"{seconds:.2f}" for seconds in measure(*words))]
                for what, words in (("text", [folder]), ("page", [folder, "-o", folder.parent / "job.html"]))]
        table([f"8 ranks, {size:.0f} MB", "s", "s of processors"], rows)


main()
