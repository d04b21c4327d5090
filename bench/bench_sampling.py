"""CPU seconds for one sample of a tree of sleeping processes, and the memory of the tracker itself.

Each contestant is attached to the same tree, one after the other. Its CPU time is read from outside, by its processes'
CPU clocks at the ends of a window that leaves its start out; samples are counted by what it writes. Of the rounds, in which
all take their turns, the cheapest counts: what is above it is other work on the machine.

--at-once N: ours and the C loop only, start and end included, as N copies of each at the same time, by the median of their
CPU times: what else runs weighs on all alike.

--split N: how that divides into start and end, and the samples between: N rounds of short runs and long ones of --seconds, all that are
compared at the same time, by medians. --programs names others to compare, such as one built before.
"""
import argparse
import csv
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measure import BUILD, GPU_TRACKER, ORIGINAL, Tree, cpu_seconds, descendants, machine, status_bytes, table

HERE = pathlib.Path(__file__).parent


class Contestant:
    def __init__(self, name, command, moments, settle=1.0):
        self.name, self.command, self.moments, self.settle = name, command, moments, settle

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


def due(period):
    """Without a recording nothing tells the moments: those of the schedule, of which a sleeping tree misses none."""
    return lambda _file, _output: [time.time() - number * period for number in range(round(60 / period))]


def printed(_file, output):
    return [float(line) for line in output if re.fullmatch(r"\d+\.\d+\n", line)]


def contestants(period):
    ours = [str(GPU_TRACKER), "attach", "--sleep-time", str(period), "--tracking-file"]
    yield Contestant("gpu-tracker", lambda pid, file: [*ours, str(file), str(pid)], recorded)
    yield Contestant("gpu-tracker, no file", lambda pid, file: [*ours[:-1], str(pid)], due(period))
    yield Contestant("gpu-tracker, --memory rss", lambda pid, file: [*ours, str(file), "--memory", "rss", str(pid)],
                     recorded)
    floor = str(BUILD / "bench/bench_floor")
    yield Contestant("C loop, processes", lambda pid, file: [floor, str(pid), str(period), "processes"], printed)
    yield Contestant("C loop, and machine", lambda pid, file: [floor, str(pid), str(period), "machine"], printed)
    reader = [sys.executable, str(HERE / "psutil_reader.py")]
    yield Contestant("psutil, RSS", lambda pid, file: [*reader, str(pid), str(period), "rss"], printed)
    yield Contestant("psutil, PSS", lambda pid, file: [*reader, str(pid), str(period), "pss"], printed)
    if (ORIGINAL / "python").exists():
        original = [str(ORIGINAL / "python"), str(HERE / "original_attach.py")]
        yield Contestant("gpu_tracker 5.0.1", lambda pid, file: [*original, str(pid), str(period), str(file)], recorded,
                         settle=4.0)


def rows_of(pid, count, arguments):
    everyone = list(contestants(arguments.period))
    results = {contestant.name: [] for contestant in everyone}
    for _ in range(arguments.rounds):
        for contestant in everyone:
            results[contestant.name].append(contestant.measure(pid, arguments.seconds))
    cheapest = {name: min(filter(None, taken), default=None) for name, taken in results.items()}
    baseline = cheapest[everyone[0].name]
    for name, result in cheapest.items():
        if not result or not baseline:
            yield [count, name, "no sample", "", "", ""]
            continue
        cost, rate, memory = result
        yield [count, name, f"{cost * 1e6:,.0f}", f"{cost / baseline[0]:.1f}", f"{rate:.1f}", f"{memory / 1e6:.1f}"]


def at_once(pid, copies, arguments):
    """Rows like those of rows_of: the whole CPU time of each, over the samples that are due in these seconds."""
    running, used = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(copies):
            for contestant in contestants(arguments.period):
                if not contestant.name.startswith(("gpu-tracker", "C loop")):
                    continue
                command = contestant.command(pid, pathlib.Path(folder) / f"{contestant.name} {number}.csv")
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
                running.append((contestant.name, time.monotonic() + arguments.seconds, process))
                time.sleep(0.02)
        for name, end, process in running:
            time.sleep(max(0.0, end - time.monotonic()))
            process.send_signal(signal.SIGINT)
            usage = os.wait4(process.pid, 0)[2]
            used.setdefault(name, []).append((usage.ru_utime + usage.ru_stime) * arguments.period / arguments.seconds)
    floor = statistics.median(used["C loop, and machine"])
    for name, costs in used.items():
        cost = statistics.median(costs)
        yield [f"{cost * 1e6:,.0f}", f"{cost / floor:.1f}", name]


SHORT = 0.25


def split_commands(arguments):
    """(name, command for a process and a file without suffix)"""
    yield "C loop", lambda pid, file: [BUILD / "bench/bench_floor", str(pid), str(arguments.period), "machine"]
    for program in arguments.programs:
        ours = [os.path.abspath(program), "attach", "--sleep-time", str(arguments.period)]
        yield f"{program}, no file", lambda pid, file, ours=ours: [*ours, str(pid)]
        for kind in ("csv", "sqlite"):
            yield f"{program}, {kind}", lambda pid, file, ours=ours, kind=kind: [
                *ours, "--tracking-file", f"{file}.{kind}", str(pid)]


def run_beside(commands, pid, seconds):
    """Of each the CPU seconds, page faults and waits from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        running, used = [], {}
        for number, (name, command) in enumerate(commands):
            line = command(pid, pathlib.Path(folder) / str(number))
            process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
            running.append((name, time.monotonic() + seconds, process))
            time.sleep(0.012)
        for name, end, process in running:
            time.sleep(max(0.0, end - time.monotonic()))
            process.send_signal(signal.SIGINT)
            usage = os.wait4(process.pid, 0)[2]
            used[name] = usage.ru_utime + usage.ru_stime, usage.ru_minflt, usage.ru_nvcsw
    return used


def split(pid, rounds, arguments):
    commands = list(split_commands(arguments))
    taken = {}
    for _ in range(rounds):
        for seconds in (SHORT, arguments.seconds):
            for name, used in run_beside(commands, pid, seconds).items():
                taken.setdefault((name, seconds), []).append(used)
    median = {key: [statistics.median(column) for column in zip(*values)] for key, values in taken.items()}
    floor = None
    for name, _ in commands:
        short, long = median[name, SHORT], median[name, arguments.seconds]
        sample = (long[0] - short[0]) / (arguments.seconds - SHORT) * arguments.period
        rest = short[0] - sample * SHORT / arguments.period
        whole = sample + rest * arguments.period / 10
        floor = floor or whole
        yield [name, f"{rest * 1e3:.2f}", f"{sample * 1e6:,.0f}", f"{whole * 1e6:,.0f}", f"{whole / floor:.2f}", f"{long[1]:.0f}",
               f"{short[2]:.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 10, 100, 500])
    parser.add_argument("--period", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, metavar="N", help="copies of each at the same time, start and end included")
    parser.add_argument("--split", type=int, metavar="N", help="rounds of short and long runs")
    parser.add_argument("--programs", nargs="+", default=[str(GPU_TRACKER)], help="for --split")
    arguments = parser.parse_args()
    print(f"Sampling every {arguments.period} s. {machine()}\n")
    rows = []
    for count in arguments.processes:
        with Tree(count) as pid:
            if arguments.split:
                rows += [[count, *row] for row in split(pid, arguments.split, arguments)]
            elif arguments.at_once:
                rows += [[count, *row] for row in at_once(pid, arguments.at_once, arguments)]
            else:
                rows += rows_of(pid, count, arguments)
    if arguments.split:
        table(["processes", "tracker", "start and end ms", "us per sample", "of 10 s, us", "times the C loop", "page faults",
               "waits of a short run"], rows)
        return
    if arguments.at_once:
        table(["processes", "CPU us per sample", "times the C loop", "tracker"], rows)
        return
    table(["processes", "tracker", "CPU us per sample", "ratio", "samples per s", "RSS MB"], rows)
    if not (ORIGINAL / "python").exists():
        print("\ngpu_tracker 5.0.1 was left out: make original")


main()
