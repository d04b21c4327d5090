#!/usr/bin/env python3
"""What a report says, in the columns that workflow systems keep of each task.

    fields.py snakemake report.json   a line of figures below their names, as Snakemake's `benchmark` writes them
    fields.py nextflow report.json    the same with the names of Nextflow's trace

What was not measured is NA, or - for Nextflow.
"""
import json
import sys

SIZES = {"bytes": 1, "kilobytes": 1e3, "megabytes": 1e6, "gigabytes": 1e9, "terabytes": 1e12}
TIMES = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
MIB = 2**20


def scaled(value, factor):
    return None if value is None else value * factor


def figures(report):
    """The parts that both want: seconds, bytes."""
    seconds = report["compute_time"]["time"] * TIMES[report["compute_time"]["unit"]]
    memory = report["max_ram"]["combined"]
    unit = SIZES[report["max_ram"]["unit"]]
    cpu = report["cpu_time"]["combined"]
    return {
        "seconds": seconds, "cpu": cpu, "load": None if cpu is None or not seconds else 100 * cpu / seconds,
        "rss": scaled(memory["total_rss"], unit), "own": scaled(memory["private_rss"], unit),
        "read": report["input_output"]["read"], "written": report["input_output"]["written"],
        "rchar": report["input_output"]["read_characters"], "wchar": report["input_output"]["written_characters"],
    }


def snakemake(report):
    found = figures(report)
    minutes, seconds = divmod(int(found["seconds"]), 60)
    columns = {
        "s": found["seconds"], "h:m:s": f"{minutes // 60}:{minutes % 60:02}:{seconds:02}", "max_rss": scaled(found["rss"], 1 / MIB),
        "max_vms": None, "max_uss": scaled(found["own"], 1 / MIB), "max_pss": None, "io_in": scaled(found["read"], 1 / MIB),
        "io_out": scaled(found["written"], 1 / MIB), "mean_load": found["load"], "cpu_time": found["cpu"],
    }
    return columns, "NA", "{:.4f}"


def nextflow(report):
    found = figures(report)
    columns = {
        "realtime": found["seconds"] * 1000, "%cpu": found["load"], "peak_rss": found["rss"], "rchar": found["rchar"],
        "wchar": found["wchar"], "read_bytes": found["read"], "write_bytes": found["written"],
    }
    return columns, "-", "{:.0f}"


def main():
    forms = {"snakemake": snakemake, "nextflow": nextflow}
    if len(sys.argv) != 3 or sys.argv[1] not in forms:
        sys.exit("usage: fields.py snakemake|nextflow report.json")
    form, path = sys.argv[1:]
    try:
        with open(path) as file:
            columns, missing, layout = forms[form](json.load(file))
    except OSError as error:
        sys.exit(f"fields.py: {path}: {error.strerror}")
    except (KeyError, TypeError, ValueError):
        sys.exit(f"fields.py: {path} is no report of gpu-tracker as JSON: gpu-tracker run -o report.json")
    print("\t".join(columns))
    print("\t".join(missing if value is None else value if isinstance(value, str) else layout.format(value) for value in columns.values()))


if __name__ == "__main__":
    main()
