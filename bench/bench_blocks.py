"""Code blocks: what marking one costs, and what analysing many costs, beside the original gpu_tracker.

The generated recordings have the original's columns, so that both can read them. The original's time grows with
timepoints times calls, so it gets a size that it can finish.
"""
import argparse
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

from measure import BUILD, GPU_TRACKER, ORIGINAL, machine, table

UNITS = {"ram_unit": "megabytes", "gpu_ram_unit": "gigabytes", "time_unit": "seconds",
         "ram_system_capacity": 67254.161408, "gpu_ram_system_capacity": 2.147483648, "system_core_count": 4,
         "n_expected_cores": 4, "system_gpu_count": 1, "n_expected_gpus": 1}
RAM = ["main_ram", "descendants_ram", "combined_ram", "system_ram"]
GPU_RAM = ["main_gpu_ram", "descendants_gpu_ram", "combined_gpu_ram", "system_gpu_ram"]
GPU = ["gpu_sum_utilization_percent", "gpu_hardware_utilization_percent"]
THREADS = ["main_n_threads", "descendants_n_threads", "combined_n_threads"]
CPU = [f"cpu_{scope}_{kind}_utilization_percent" for scope in ("system", "main", "descendants", "combined")
       for kind in ("sum", "hardware")]
COLUMNS = [*RAM, *GPU_RAM, *GPU, *THREADS, *CPU, "timestamp"]
BLOCK_COLUMNS = ["process_id", "code_block_name", "position", "timestamp"]
START, PERIOD, PROCESSES, NAMES, PATTERN = 1_700_000_000.0, 0.01, 4, 10, 1000


def values(random_numbers):
    """One row but for its time: bytes as megabytes and gigabytes, percentages with one decimal."""
    r = random_numbers
    yield from (r.randint(10**8, 10**9) / 1e6 for _ in RAM)
    yield from (r.randint(10**6, 10**9) / 1e9 for _ in GPU_RAM)
    yield from (float(r.randint(0, 100)) for _ in GPU)
    yield from (r.randint(1, 32) for _ in THREADS)
    yield from (round(r.uniform(0, 400), 1) for _ in CPU)


def borders(calls, span):
    r = random.Random(2)
    each = calls // PROCESSES
    for process in range(1, PROCESSES + 1):
        for i in range(each):
            start = START + i * span / each
            yield process, f"block {i % NAMES}", 0, start
            yield process, f"block {i % NAMES}", 1, start + span / each * r.uniform(0.1, 0.9)


def timepoints(count):
    r = random.Random(1)
    pattern = [list(values(r)) for _ in range(PATTERN)]
    for i in range(count):
        yield [*pattern[i % PATTERN], round(START + i * PERIOD, 6)]


def write_csv(path, tables):
    with open(path, "w", newline="") as file:
        for header, rows in tables:
            file.write(",".join(header) + "\r\n")
            file.writelines(",".join(map(str, row)) + "\r\n" for row in rows)


def write_sqlite(path, tables):
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=OFF")
    for name, header, rows in tables:
        rows = iter(rows)
        first = list(next(rows))
        kinds = {str: "VARCHAR", int: "INTEGER", float: "FLOAT"}
        columns = ", ".join(f"{column} {kinds[type(value)]}" for column, value in zip(header, first))
        database.execute(f"CREATE TABLE {name} ({columns})")
        insert = f"INSERT INTO {name} VALUES ({', '.join('?' * len(header))})"
        database.execute(insert, first)
        database.executemany(insert, rows)
    database.commit()
    database.close()


def generate(folder, samples, calls):
    span = samples * PERIOD
    write_csv(folder / "tracking.csv", [(UNITS, [UNITS.values()]), (COLUMNS, timepoints(samples))])
    write_csv(folder / "blocks.csv", [(BLOCK_COLUMNS, borders(calls, span))])
    write_sqlite(folder / "tracking.sqlite", [("static_data", UNITS, [UNITS.values()]),
                                              ("data", COLUMNS, timepoints(samples))])
    write_sqlite(folder / "blocks.sqlite", [("data", BLOCK_COLUMNS, borders(calls, span))])


MEASURE = """
import resource, subprocess, sys, time
begin = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def measure(command):
    """(seconds, CPU seconds, MB) or None when it failed."""
    watch = [sys.executable, "-c", MEASURE, *map(str, command)]
    done = subprocess.run(watch, capture_output=True, text=True, check=True)
    status, elapsed, cpu, memory = done.stdout.split()
    return (float(elapsed), float(cpu), float(memory) / 1e3) if status == "0" else None


def analyses(sizes, original_largest):
    rows = []
    for samples, calls in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            generate(folder, samples, calls)
            programs = [("gpu-tracker", GPU_TRACKER)]
            if samples * calls <= original_largest and (ORIGINAL / "gpu-tracker").exists():
                programs.append(("original", ORIGINAL / "gpu-tracker"))
            for suffix in "csv", "sqlite":
                for title, program in programs:
                    figures = measure([program, "sub-track", "analyze", f"--tf={folder}/tracking.{suffix}",
                                       f"--stf={folder}/blocks.{suffix}", "--format=json"])
                    shown = [f"{x:.{d}f}" for x, d in zip(figures, (2, 2, 0))] if figures else ["failed", "", ""]
                    rows.append([f"{samples:,} x {calls:,}", suffix, title, *shown])
    table(["timepoints x calls", "files", "program", "seconds", "CPU seconds", "MB"], rows)


def own_blocks(calls=1_000_000):
    """Analyses of what our own marks leave, whose call numbers let rows be paired as they come."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for suffix in "csv", "sqlite":
            words = ["run", "--blocks", f"--tf={name}/own.{suffix}", "--", BUILD / "bench/bench_block", str(calls), "1"]
            subprocess.run([GPU_TRACKER, *words], capture_output=True, check=True)
            figures = measure([GPU_TRACKER, "analyze", f"{name}/own.{suffix}", "--format=json"])
            rows.append([f"{calls:,}", suffix, *[f"{x:.{d}f}" for x, d in zip(figures, (2, 2, 0))]])
    table(["calls", "file", "seconds", "CPU seconds", "MB"], rows)


ORIGINAL_MARKS = """
import sys, time
from gpu_tracker.sub_tracker import SubTracker
count, path = int(sys.argv[1]), sys.argv[2]
begin, cpu_begin = time.monotonic(), time.process_time()
for _ in range(count):
    with SubTracker("inner block", sub_tracking_file=path):
        pass
print(*(round(spent / (2 * count) * 1e9) for spent in (time.monotonic() - begin, time.process_time() - cpu_begin)))
"""


def marks():
    rows = []
    program = BUILD / "bench/bench_block"
    with tempfile.TemporaryDirectory() as folder:
        for title, words, more in [("CSV, 1 thread", ["1000000", "1"], {}), ("CSV, 8 threads", ["200000", "8"], {}),
                                   ("CSV, without CPU time", ["1000000", "1"], {"GPU_TRACKER_BLOCKS_CPU": "no"}),
                                   ("nowhere to write", ["1000000", "1"], {"GPU_TRACKER_BLOCKS": "/nonexistent/folder"}),
                                   ("CSV, named, 1 thread", ["1000000", "1", "blocks.csv"], {}),
                                   ("SQLite, 1 thread", ["20000", "1", "blocks.sqlite"], {})]:
            found = [subprocess.run([program, *words], cwd=folder, capture_output=True, check=not more,
                                    env={**os.environ, **more}).stdout.split() for _ in range(5)]
            rows.append([title, "gpu-tracker, C", *(min(map(int, column)) for column in zip(*found))])
        if (ORIGINAL / "python").exists():
            for suffix, count in ("csv", 2000), ("sqlite", 100):
                command = [ORIGINAL / "python", "-c", ORIGINAL_MARKS, str(count), f"original.{suffix}"]
                rows.append([f"{suffix}, 1 thread", "original, Python",
                             *subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split()])
    table(["a border of a block", "program", "ns", "CPU ns"], rows)


def ranges():
    """What programs mark for other tools, beside a mark of ours in the same process."""
    library = BUILD / "lib/gpu-tracker/libgputracker-blocks.so"
    columns = []
    for cpu in "yes", "no":
        with tempfile.TemporaryDirectory() as folder:
            settings = {"GPU_TRACKER_BLOCKS": folder, "GPU_TRACKER_BLOCKS_CPU": cpu, "GPU_TRACKER_BLOCKS_MOST": "100000000",
                        "GPU_TRACKER_BLOCKS_DOMAINS": "default|ON"}
            done = subprocess.run([BUILD / "bench/bench_range", "20000", library], capture_output=True, text=True, check=True,
                                  env={**os.environ, **settings})
            columns.append(dict(line.split("\t") for line in done.stdout.splitlines()))
    table(["a whole range", "CPU ns", "without CPU time"], [[name, *(column[name] for column in columns)] for name in columns[0]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest size out")
    arguments = parser.parse_args()
    print(f"Code blocks. {machine()}.\n")
    marks()
    print()
    ranges()
    print()
    sizes = [(20_000, 2_000), (1_000_000, 100_000)]
    own_blocks()
    print()
    analyses(sizes[:1] if arguments.quick else sizes, 20_000 * 2_000)


if __name__ == "__main__":
    main()
