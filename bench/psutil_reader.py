"""One sample's reads, done with psutil: psutil_reader.py PID PERIOD rss|pss. For comparison in bench_sampling.py."""
import sys
import time

import psutil


def sample(root, known, memory):
    total = 0.0
    for process in [root, *root.children(recursive=True)]:
        process = known.setdefault(process.pid, process)
        with process.oneshot():
            total += sum(process.cpu_times()[:2]) + process.num_threads()
            total += process.memory_full_info().pss if memory == "pss" else process.memory_info().rss
    psutil.cpu_times()
    psutil.virtual_memory()
    return total


def main():
    root, period, memory = psutil.Process(int(sys.argv[1])), float(sys.argv[2]), sys.argv[3]
    known, due = {}, time.monotonic()
    while True:
        sample(root, known, memory)
        print(time.time(), flush=True)
        due = max(due + period, time.monotonic())
        time.sleep(due - time.monotonic() if due > time.monotonic() else 0)


main()
