"""A made-up run for the checks of what the original gpu_tracker promises, its true statistics, and where ours differs on purpose.

Nothing here imports more than Python, pytest and the package under test, which may be the original.
"""
import csv
import os
import pickle
import re
import sqlite3
import statistics
import subprocess
import sys

import gpu_tracker

IS_ORIGINAL = not hasattr(gpu_tracker, "Table")
STATISTICS = ["min", "max", "mean", "std"]

# Intended differences, in the words of a table of docs/coming-from.md; test_docs.py compares them.
DIFFERENCES = {
    "pickled tracking": "`-f pickle` of a tracking ends with RuntimeError",
    "pickle on the screen": "`-f pickle` without `-o` prints text",
    "exit status": "exit status 1 for every error",
    "early checks": "wrong `--format` or `--output`: error after the job",
    "version": "`--version` prints the number",
    "more figures": "`to_json()` has five sections",
    "more columns": "`load_timepoints` returns 22 columns",
    "more statistics": "statistics min, max, mean, std",
    "any suffix": "`combine_sub_tracking_files` needs one suffix",
    "default file": "`SubTracker` fails at the first call if `PID.csv` exists",
    "short sleep": "`sleep_time` from 0.1 s",
    "unmeasured": "a missing value is 0.0",
    "invisible GPUs": "unknown GPU UUIDs: ignored without a GPU",
    "empty block": "a block without samples: NaN in CSV, KeyError in SQLite",
    "quotes in names": "quotes in block names break SQLite",
    "numbers as names": "numeric block names become numbers",
    "shell words": "`-e` splits at blanks",
    "status of the command": "exit status 0 if the command failed",
}


def differs(key):
    """Is this ours, and the difference one of the known ones?"""
    assert key in DIFFERENCES
    return not IS_ORIGINAL


# ---- a recording ----

UNITS = {"ram_unit": "megabytes", "gpu_ram_unit": "gigabytes", "time_unit": "seconds"}
STATIC = {**UNITS, "ram_system_capacity": 16000.5, "gpu_ram_system_capacity": 160.25, "system_core_count": 8,
          "n_expected_cores": 4, "system_gpu_count": 2, "n_expected_gpus": 2}
MEMORY = [f"{scope}_{kind}" for kind in ("ram", "gpu_ram") for scope in ("main", "descendants", "combined", "system")]
GPU = ["gpu_sum_utilization_percent", "gpu_hardware_utilization_percent"]
THREADS = [f"{scope}_n_threads" for scope in ("main", "descendants", "combined")]
CPU = [f"cpu_{scope}_{kind}_utilization_percent" for scope in ("system", "main", "descendants", "combined")
       for kind in ("sum", "hardware")]
COLUMNS = [*MEMORY, *GPU, *THREADS, *CPU]
BLOCKS = {"fit": [(2000.0, 2003.5), (2010.0, 2010.25), (2012.5, 2017.0)], "load.py:31": [(2004.0, 2009.0)]}


def sample(number):
    """One row of the recording, consistent as real ones are."""
    values = {name: (3 + 7 * number % 11 + position) / 8 for position, name in enumerate(COLUMNS)}
    for scope in ("ram", "gpu_ram"):
        values[f"combined_{scope}"] = values[f"main_{scope}"] + values[f"descendants_{scope}"]
    values.update({name: 1 + position + 5 * number % 7 for position, name in enumerate(THREADS)})
    values["combined_n_threads"] = values["main_n_threads"] + values["descendants_n_threads"]
    for name in (*GPU, *CPU):
        if "_hardware_" in name:
            units = 2 if name in GPU else 8 if "system" in name else 4
            values[name] = values[name.replace("_hardware_", "_sum_")] / units
    return {**values, "timestamp": 2000.5 + number}


SAMPLES = [sample(number) for number in range(18)]


def write_csv(path, *tables):
    with open(path, "w", newline="") as file:
        for rows in tables:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


def write_sqlite(path, **tables):
    kinds = {str: "VARCHAR", int: "INTEGER", float: "FLOAT"}
    connection = sqlite3.connect(path)
    for name, rows in tables.items():
        columns = ", ".join(f"{key} {kinds[type(value)]}" for key, value in rows[0].items())
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", [list(row.values()) for row in rows])
    connection.commit()
    connection.close()


def write_tracking(path, samples=None):
    samples = SAMPLES if samples is None else samples
    if path.endswith(".csv"):
        write_csv(path, [STATIC], samples)
    else:
        write_sqlite(path, static_data=[STATIC], data=samples)
    return path


def marks(blocks=None, process=4711):
    """Rows of a sub-tracking file, those of a process after each other in time."""
    calls = [(name, call) for name, calls in (BLOCKS if blocks is None else blocks).items() for call in calls]
    rows = [{"process_id": process, "code_block_name": name, "position": position, "timestamp": moment}
            for name, call in calls for position, moment in enumerate(call)]
    return sorted(rows, key=lambda row: row["timestamp"])


def write_marks(path, rows=None):
    rows = marks() if rows is None else rows
    if path.endswith(".csv"):
        write_csv(path, rows)
    else:
        write_sqlite(path, data=rows)
    return path


# ---- what is true of it ----

def summary(values):
    values = list(values)
    return {"min": min(values), "max": max(values), "mean": statistics.fmean(values), "std": statistics.pstdev(values)}


def inside(calls):
    return [row for row in SAMPLES if any(start <= row["timestamp"] <= stop for start, stop in calls)]


def true_block(name, calls=None):
    calls = BLOCKS[name] if calls is None else calls
    lengths = [stop - start for start, stop in calls]
    return {"name": name, "num_timepoints": len(inside(calls)), "num_calls": len(calls),
            "num_non_empty_calls": sum(bool(inside([call])) for call in calls),
            "compute_time": {**summary(lengths), "total": sum(lengths)},
            "resource_usage": {name: summary(row[name] for row in inside(calls)) for name in COLUMNS}}


def true_results(blocks=None):
    blocks = BLOCKS if blocks is None else blocks
    return {"overall": {name: summary(row[name] for row in SAMPLES) for name in COLUMNS}, "static_data": STATIC,
            "code_block_results": [true_block(name, blocks[name]) for name in sorted(blocks)]}


def assert_within(expected, found, place="results"):
    """All that is expected is found, in the same order; there may be more."""
    if isinstance(expected, dict):
        assert [key for key in found if key in expected] == list(expected), place
        for key, value in expected.items():
            assert_within(value, found[key], f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(expected) == len(found), place
        for number, value in enumerate(expected):
            assert_within(value, found[number], f"{place}[{number}]")
    elif isinstance(expected, float):
        assert abs(expected - found) <= 1e-9 * max(1, abs(expected)), (place, expected, found)
    else:
        assert expected == found, place


def results_file(name, blocks=None, samples=None, by_command=False):
    """A pickle of the results of a run with other blocks or samples."""
    tracking, sub_tracking = write_tracking(f"{name}-t.csv", samples), write_marks(f"{name}-s.csv", marks(blocks))
    if by_command:
        command("sub-track", "analyze", "--tf", tracking, "--stf", sub_tracking, "-f", "pickle", "-o", f"{name}.pkl")
        return f"{name}.pkl"
    with open(f"{name}.pkl", "wb") as file:
        pickle.dump(gpu_tracker.SubTrackingAnalyzer(tracking, sub_tracking).sub_tracking_results(), file)
    return f"{name}.pkl"


def doubled(samples=None):
    """The samples of a run that used twice of everything."""
    return [{key: value if key == "timestamp" else 2 * value for key, value in row.items()} for row in samples or SAMPLES]


# ---- running things ----

def command(*words, check=True):
    """(exit status, standard output, standard error) of the command of the package, by `python -m`."""
    done = subprocess.run([sys.executable, "-m", "gpu_tracker", *words], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.returncode, done.stdout, done.stderr.decode()


def script(code, *words):
    """What a script prints; multiprocessing of the original wants one that can be imported again."""
    with open("script.py", "w") as file:
        file.write(code)
    done = subprocess.run([sys.executable, "script.py", *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines_of(text, level, indent):
    """Lines of a text report at a level of indentation, without it."""
    return [line[len(indent) * level:] for line in text.splitlines()
            if line.startswith(indent * level) and not line.startswith(indent * (level + 1)) and line.strip()]


def numbers(line):
    return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?", line)]


# ---- what was written ----

def own(name):
    """The path of a file of this check alone: the original remembers paths as they were given."""
    return os.path.abspath(name)


def rows(path):
    """Of a sub-tracking file: the four columns that both have."""
    columns = ["process_id", "code_block_name", "position", "timestamp"]
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            assert reader.fieldnames[:4] == columns
            found = [[row[name] for name in columns] for row in reader if row["position"]]
    else:
        with sqlite3.connect(path) as database:
            found = database.execute(f"SELECT {', '.join(columns)} FROM data").fetchall()
    return [(int(process), name, int(position), float(moment)) for process, name, position, moment in found]
