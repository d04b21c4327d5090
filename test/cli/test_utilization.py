"""Shares of processors: none where clock ticks cannot carry them, and never more than all."""
import csv
import json
import sqlite3

PERCENTS = ("max_sum_percent", "max_hardware_percent", "mean_sum_percent", "mean_hardware_percent")
SCOPES = ("system", "main", "descendants", "combined")


def test_a_moment_tells_nothing_of_the_machine(track):
    for _ in range(10):
        done, report = track(["true"], "--disable-logs", "--time-unit", "seconds")
        assert done.returncode == 0
        if report["compute_time"]["time"] >= 0.045:  # on a machine so busy that this took long
            continue
        cpu = report["cpu_utilization"]
        assert [cpu["system"][key] for key in PERCENTS] == [None] * 4
        assert "clock ticks" in report["missing"]["cpu_utilization.system.mean_sum_percent"]["reason"]
        assert 0 <= cpu["combined"]["mean_sum_percent"] <= 100 * cpu["system_core_count"]
    done, report = track(["sleep", "0.2"], "--disable-logs")
    assert 0 <= report["cpu_utilization"]["system"]["mean_hardware_percent"] <= 100


def test_more_than_was_expected_is_all_of_it(track, tmp_path):
    burn = "import os, time; os.fork(); end = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nos._exit(0)"
    done, report = track(["/usr/bin/python3", "-c", burn], "--n-expected-cores", "1", "--tracking-file", "run.csv",
                         "--sleep-time", "0.05", "--disable-logs", "--wait", "all")
    assert done.returncode == 0
    cpu = report["cpu_utilization"]
    for scope in SCOPES:
        units = cpu["system_core_count"] if scope == "system" else 1
        for key in "max", "mean":
            total, share = cpu[scope][f"{key}_sum_percent"], cpu[scope][f"{key}_hardware_percent"]
            assert 0 <= total <= 100 * cpu["system_core_count"]
            assert abs(share - min(100, total / units)) < 1e-9
    with open(tmp_path / "run.csv", newline="") as file:
        _, _, header, *rows = csv.reader(file)
    assert len(rows) > 3
    for row in rows:
        for name, value in zip(header, row):
            if name.endswith("hardware_utilization_percent") and value:
                assert 0 <= float(value) <= 100, name


def test_samples_of_several_cores_are_counted(cli, tmp_path):
    assert cli("run", "-q", "--sleep-time", 0.05, "--tf=run.sqlite", "--", "sleep", 0.4).returncode == 0
    with sqlite3.connect(tmp_path / "run.sqlite") as recording:
        recording.execute("UPDATE data SET cpu_combined_sum_utilization_percent = 150")
    done = cli("profile", "devices", "run.sqlite", "-f", "json")
    rows = [row for row in json.loads(done.stdout)["devices"] if row["device"] == "combined"]
    assert [(row["range"], row["percent"]) for row in rows] == [("90-100", 0), ("10-90", 0), ("0-10", 0), ("outside", 100)]
