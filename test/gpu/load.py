"""Kernels of a known share of time, and steps of power."""
import csv
import math
import shutil

import memory
from kit import Skip

POINTS = 10  # percentage points by which utilisation may be off


def rows_of(kit, name, fact):
    """Rows of a recording from the middle of a program's life: the driver's figures are of some time before."""
    with open(kit.folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file.readlines()[2:]))
    margin = min(1, (fact["end"] - fact["begin"]) / 3)
    return [row for row in rows if fact["begin"] + margin <= float(row["timestamp"]) <= fact["end"]]


def mean(rows, column, scale=1):
    values = [scale * float(row[column]) for row in rows if row.get(column, "").strip()]
    return sum(values) / len(values) if values else None


def utilisation(kit):
    """Of the GPU and of the process, by one thread that runs this share of each 20 ms."""
    if shutil.which("nvidia-smi") and memory.first_slice(kit):
        raise Skip("slices have no utilisation")
    for percent in 0, 25, 50, 100:
        name = f"spin-{percent}"
        facts, _ = kit.track(name, kit.program("load", "spin", percent, 20, kit.seconds))
        rows = rows_of(kit, name, facts[0])
        most = max(percent, 100 * facts[0]["busy"]) + POINTS
        for whom, column, scale in ("GPU", "gpu_sum_utilization_percent", 1), ("process", "combined_gpu_utilization", 100):
            found = mean(rows, column, scale)
            is_so = found is not None and percent - POINTS <= found <= most
            kit.check(f"utilisation: {percent} % of the time, {whom}", is_so, f"{max(0, percent - POINTS)} to {most:.0f} %",
                      "nothing" if found is None else f"{found:.1f} %")


def power(kit):
    """Three loads one after the other; then what the counter of energy says of the same time."""
    words = [" ".join(kit.program("load", "work", percent, 70, kit.seconds)) for percent in (0, 50, 100)]
    facts, _ = kit.track("power", ["sh", "-c", " && ".join(words)])
    watts = [mean(rows_of(kit, "power", fact), "system_gpu_power") for fact in facts]
    if None in watts:
        raise Skip("the driver tells no power")
    is_rising = watts[0] < watts[1] < watts[2] and watts[2] > 1.2 * watts[0]
    kit.check("power: idle, half and full load", is_rising, "each more than the one before, the last by a fifth above the first",
              ", ".join(f"{value:.1f} W" for value in watts))
    whole = {"begin": facts[0]["begin"], "end": facts[-1]["end"]}
    energy(kit, rows_of(kit, "power", whole))


def energy(kit, rows):
    points = [[float(row[name] or "nan") for name in ("timestamp", "system_gpu_power", "system_gpu_energy")] for row in rows]
    points = [point for point in points if not any(map(math.isnan, point))]
    if len(points) < 2:
        raise Skip("the driver counts no energy")
    integral = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:]))
    kit.near("energy: the counter against the power over time", integral, points[-1][2] - points[0][2], 10, "J")
