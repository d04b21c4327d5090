"""What a program that maps memory all the time on every core loses while it is tracked: operations a second and their latency.

It runs alone and under each tracker in turns of a few seconds, and each turn is compared with those alone before and after it, so
other work on the machine weighs on both. Operations are told for each second, and for each second of CPU time that the program was
given, with standard errors.

--pairs N: one load and one gpu-tracker, which is stopped and goes on in turns of --seconds, so that neither begins anew: means of
N pairs with their standard errors, for each second and for each second of CPU time that the load was given. Its walks have a share of
all time, so that twice as many fall into the turns in which it goes on.
"""
import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measure import BUILD, GPU_TRACKER, ORIGINAL, machine, table

HERE = os.path.dirname(__file__)


class Load:
    """The program, holding its memory, to be started and stopped."""

    def __init__(self, threads, megabytes, seconds):
        line = [BUILD / "bench/bench_map_load", str(seconds), str(threads), str(megabytes)]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def measure(self):
        """Operations a second, the median, the 99th and 99.9th percentile, cores used, waits."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.kill()
        self.process.wait()


def run_once(arguments, tracker):
    with tempfile.TemporaryDirectory() as folder:
        load = Load(arguments.threads, arguments.megabytes, arguments.seconds)
        try:
            if not tracker:
                return load.measure()
            process = subprocess.Popen(tracker(load.pid), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
            time.sleep(arguments.settle)
            result = load.measure()
            process.send_signal(signal.SIGINT)
            load.close()
            process.wait(20)
            return result
        finally:
            load.close()


def trackers(arguments):
    period = str(arguments.period)
    ours = [str(arguments.program), "attach", "--disable-logs", "--sleep-time", period, "--tracking-file", "r.csv"]
    yield "gpu-tracker", lambda pid: [*ours, str(pid)]
    yield "gpu-tracker, --memory rss", lambda pid: [*ours, "--memory", "rss", str(pid)]
    yield "C loop, and machine", lambda pid: [str(BUILD / "bench/bench_floor"), str(pid), period, "machine"]
    yield "psutil, PSS", lambda pid: [sys.executable, f"{HERE}/psutil_reader.py", str(pid), period, "pss"]
    if (ORIGINAL / "python").exists():
        yield "gpu_tracker 5.0.1", lambda pid: [str(ORIGINAL / "python"), f"{HERE}/original_attach.py", str(pid), period, "r.csv"]


def turn(load, process, goes_on):
    process.send_signal(signal.SIGCONT if goes_on else signal.SIGSTOP)
    time.sleep(0.05)
    return load.measure()


def change(pairs, figure):
    """Mean of the logarithms of tracked over stopped, and its standard error, as ratios beyond 1."""
    logarithms = [math.log(figure(tracked) / figure(stopped)) for tracked, stopped in pairs]
    error = statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    return math.expm1(statistics.mean(logarithms)), error


def in_pairs(arguments):
    load = Load(arguments.threads, arguments.megabytes, arguments.seconds)
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        line = [arguments.program, "attach", "--disable-logs", "--sleep-time", str(arguments.period), "--tracking-file", "r.csv"]
        process = subprocess.Popen([*line, str(load.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        try:
            time.sleep(arguments.settle)
            for number in range(arguments.pairs):
                order = (True, False) if number % 2 else (False, True)
                turns = {goes_on: turn(load, process, goes_on) for goes_on in order}
                pairs.append((turns[True], turns[False]))
        finally:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
            load.close()
            process.wait(20)
    figures = {"operations a second": lambda turn: turn[0], "operations a CPU second": lambda turn: turn[0] / turn[4],
               "median latency": lambda turn: turn[1], "99th percentile": lambda turn: turn[2]}
    rows = []
    for name, figure in figures.items():
        mean, error = change(pairs, figure)
        rows.append([name, f"{mean:+.1%}", f"{error:.1%}", f"{mean - 2 * error:+.1%} to {mean + 2 * error:+.1%}"])
    table([f"of {len(pairs)} pairs of {arguments.seconds} s", "tracked", "standard error", "two of them"], rows)


def median_of(results, column):
    return statistics.median(result[column] for result in results)


def with_error(results, column):
    """The mean and its standard error."""
    values = [result[column] for result in results]
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.1%} ({error:.1%})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--megabytes", type=int, default=4096)
    parser.add_argument("--period", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--settle", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pairs", type=int, help="of turns with one tracker that is stopped and goes on")
    parser.add_argument("--only", nargs="+", help="names of trackers")
    parser.add_argument("--program", default=GPU_TRACKER)
    arguments = parser.parse_args()
    print(f"{arguments.threads} threads, {arguments.megabytes} MB resident, tracked every {arguments.period} s. {machine()}\n")
    if arguments.pairs:
        in_pairs(arguments)
        return
    contestants = [(name, line) for name, line in trackers(arguments) if not arguments.only or name in arguments.only]
    alone, tracked, lost = [run_once(arguments, None)], {}, {}
    for _ in range(arguments.rounds):
        for name, line in contestants:
            result = run_once(arguments, line)
            alone.append(run_once(arguments, None))
            beside = [statistics.mean(pair) for pair in zip(*alone[-2:])]
            tracked.setdefault(name, []).append(result)
            each_cpu_second = result[0] / result[4] / (beside[0] / beside[4])
            lost.setdefault(name, []).append([1 - result[0] / beside[0], result[2] / beside[2] - 1, 1 - each_cpu_second])
    rows = [["alone", f"{median_of(alone, 0):,.0f}", "", "", f"{median_of(alone, 1):.1f}", f"{median_of(alone, 2):.1f}", "",
             f"{median_of(alone, 3):.1f}"]]
    for name, _ in contestants:
        rows.append([name, f"{median_of(tracked[name], 0):,.0f}", with_error(lost[name], 0), with_error(lost[name], 2),
                     f"{median_of(tracked[name], 1):.1f}", f"{median_of(tracked[name], 2):.1f}",
                     f"{median_of(lost[name], 1):+.0%}", f"{median_of(tracked[name], 3):.1f}"])
    table(["tracked by", "operations per s", "fewer", "fewer each CPU s", "median us", "p99 us", "longer", "p99.9 us"], rows)


main()
