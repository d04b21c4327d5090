"""CPU seconds for one sample of a tree of sleeping processes, and the memory of the tracker itself.

Each contestant is attached to the same tree, one after the other. Its CPU time is read from outside, by its processes'
CPU clocks at the ends of a window that leaves its start out; samples are counted by what it writes. Of the rounds the cheapest
counts: what is above it is other work on the machine.
"""
import argparse
import csv
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from measure import BUILD, GPU_TRACKER, ORIGINAL, Tree, cpu_seconds, descendants, machine, status_bytes, table

PERIOD = 0.1
HERE = pathlib.Path(__file__).parent


class Contestant:
    def __init__(self, name, command, moments, settle=1.0):
        self.name, self.command, self.moments, self.settle = name, command, moments, settle

    def cheapest(self, pid, seconds, rounds):
        results = [self.measure(pid, seconds) for _ in range(rounds)]
        return min((result for result in results if result), default=None)

    def measure(self, pid, seconds):
        """(CPU seconds for a sample, samples a second, RSS) or None when nothing was counted."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "recording.csv"
            with open(pathlib.Path(folder) / "output", "w+") as output:
                process = subprocess.Popen(self.command(pid, file), stdout=output, stderr=subprocess.STDOUT, cwd=folder)
                time.sleep(self.settle)
                begin, used = time.time(), sum(map(cpu_seconds, descendants(process.pid)))
                time.sleep(seconds)
                end, parts = time.time(), descendants(process.pid)
                used = sum(map(cpu_seconds, parts)) - used
                memory = sum(status_bytes(part, "VmRSS") for part in parts)
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                output.seek(0)
                count = sum(begin <= moment < end for moment in self.moments(file, output))
        return (used / count, count / (end - begin), memory) if count else None


def recorded(file, _output):
    with open(file, newline="") as lines:
        next(lines), next(lines)
        return [float(row["timestamp"]) for row in csv.DictReader(lines) if row["timestamp"]]


def printed(_file, output):
    shift = time.time() - time.monotonic()
    return [float(line) + shift for line in output if re.fullmatch(r"\d+\.\d+\n", line)]


def contestants():
    ours = [str(GPU_TRACKER), "attach", "--sleep-time", str(PERIOD), "--tracking-file"]
    yield Contestant("gpu-tracker", lambda pid, file: [*ours, str(file), str(pid)], recorded)
    yield Contestant("gpu-tracker, --memory rss", lambda pid, file: [*ours, str(file), "--memory", "rss", str(pid)],
                     recorded)
    reader = [sys.executable, str(HERE / "psutil_reader.py")]
    yield Contestant("psutil, RSS", lambda pid, file: [*reader, str(pid), str(PERIOD), "rss"], printed)
    yield Contestant("psutil, PSS", lambda pid, file: [*reader, str(pid), str(PERIOD), "pss"], printed)
    if (ORIGINAL / "python").exists():
        original = [str(ORIGINAL / "python"), str(HERE / "original_attach.py")]
        yield Contestant("gpu_tracker 5.0.1", lambda pid, file: [*original, str(pid), str(PERIOD), str(file)], recorded,
                         settle=4.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 10, 100, 500])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"Sampling every {PERIOD} s. {machine()}\n")
    rows = []
    for count in arguments.processes:
        with Tree(count) as pid:
            baseline = None
            for contestant in contestants():
                result = contestant.cheapest(pid, arguments.seconds, arguments.rounds)
                if not result:
                    rows.append([count, contestant.name, "no sample", "", "", ""])
                    continue
                cost, rate, memory = result
                baseline = baseline or cost
                rows.append([count, contestant.name, f"{cost * 1e6:,.0f}", f"{cost / baseline:.1f}", f"{rate:.1f}",
                             f"{memory / 1e6:.1f}"])
    table(["processes", "tracker", "CPU us per sample", "ratio", "samples per s", "RSS MB"], rows)
    if not (ORIGINAL / "python").exists():
        print(f"\ngpu_tracker 5.0.1 was left out: python3 -m venv {BUILD.name}/original && "
              f"{BUILD.name}/original/bin/pip install gpu-tracker==5.0.1")


main()
