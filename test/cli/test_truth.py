"""What the report says, against programs whose memory, CPU time and processes are known (test/truth)."""
import csv
import json
import os
import statistics
import subprocess

import pytest

BYTES = ("--ram-unit", "bytes", "--time-unit", "seconds")
LIBRARIES = 2e6  # a small program's own pages: C library, stack


@pytest.fixture
def measure(track, truth):
    """measure("burn", 1, 0.5, 100, options=[...]): (the report, the truth)."""

    def run(name, *arguments, options=()):
        done, report = track(truth(name, *arguments), *BYTES, *options)
        assert done.returncode == 0, done.stderr
        return report, json.loads(done.stdout.splitlines()[-1])

    return run


def about(truth, share=0.0, plus=0.0):
    return pytest.approx(truth, rel=share, abs=max(share * truth, plus))


def test_spike_between_samples(measure):
    report, truth = measure("allocate", 500, 50, options=["--sleep-time", "20"])
    for scope in ("main", "combined"):
        assert truth["peak_bytes"] <= report["max_ram"][scope]["total_rss"] <= truth["peak_bytes"] + LIBRARIES


def test_spike_in_a_child_between_samples(track, truth):
    command = ["/bin/sh", "-c", " ".join(truth("allocate", 300, 50)) + "; sleep 0.2"]
    done, report = track(command, *BYTES, "--sleep-time", "20")
    peak = json.loads(done.stdout)["peak_bytes"]
    assert peak <= report["max_ram"]["combined"]["total_rss"] <= peak + 2 * LIBRARIES
    assert peak <= report["max_ram"]["descendants"]["total_rss"] <= peak + 2 * LIBRARIES


@pytest.mark.parametrize("sleep_time", ["1", "0.05"])
def test_duty_cycle(measure, sleep_time):
    report, truth = measure("burn", 2, 0.5, 333, options=["--sleep-time", sleep_time])
    assert report["cpu_time"]["main"] == about(truth["cpu_seconds"], plus=0.01)
    time = report["compute_time"]["time"]
    assert report["cpu_utilization"]["main"]["mean_sum_percent"] == about(100 * truth["cpu_seconds"] / time, plus=1)
    assert truth["elapsed"] <= time <= truth["elapsed"] + 0.25  # the start of the program on a busy machine


@pytest.mark.parametrize("count, each", [(200, 2), (50, 10)])
def test_short_children(measure, count, each):
    report, truth = measure("children", count, each, options=["--sleep-time", "1"])
    assert report["cpu_time"]["combined"] == about(truth["cpu_seconds"], share=0.01, plus=0.01)
    assert report["cpu_time"]["descendants"] == about(truth["children_seconds"], share=0.01, plus=0.01)


def test_tree_of_processes(measure):
    report, truth = measure("tree", 2, 3, 500, 5, options=["--sleep-time", "0.1"])
    assert report["processes"]["max"] == truth["processes"]
    assert report["max_ram"]["combined"]["total_rss"] == about(truth["bytes"], share=0.02, plus=2 * LIBRARIES)
    assert report["cpu_utilization"]["combined_n_threads"] == truth["processes"]


def steady_ram(path):
    """The median of the job's RAM over the last half of a recording: page walks need their time."""
    with open(path, newline="") as lines:
        next(lines), next(lines)
        values = [float(row["combined_ram"]) for row in csv.DictReader(lines)]
    return statistics.median(values[len(values) // 2:])


@pytest.mark.parametrize("case", ["cow", "anonymous", "tmpfs", "siblings", "file", "mixed", "dirty"])
def test_shared_memory_is_counted_once(measure, tmp_path, case):
    recording = tmp_path / "recording.csv"
    report, truth = measure("share", case, 40, 2500,
                            options=["--sleep-time", "0.1", "--tracking-file", str(recording)])
    assert steady_ram(recording) == about(truth["bytes"], share=0.02, plus=LIBRARIES)
    assert report["max_ram"]["combined"]["total_rss"] >= 0.98 * truth["bytes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="page frames are shown to root only; PSS splits with strangers")
def test_memory_shared_with_a_stranger(measure, truth, tmp_path):
    backing, recording = f"/dev/shm/gpu-tracker-test-{os.getpid()}", tmp_path / "recording.csv"
    try:
        with subprocess.Popen(truth("share", "stranger", 40, 6000, backing), stdout=subprocess.PIPE) as stranger:
            stranger.stdout.readline()
            _, expected = measure("share", "mixed", 40, 2500, backing, options=[
                "--sleep-time", "0.1", "--memory", "unique", "--tracking-file", str(recording)])
            assert stranger.poll() is None
            stranger.kill()
        assert steady_ram(recording) == about(expected["bytes"], share=0.02, plus=LIBRARIES)
    finally:
        os.unlink(backing)


def test_threads(measure):
    report, truth = measure("threads", 50, 400, options=["--sleep-time", "0.1"])
    assert report["cpu_utilization"]["main_n_threads"] == truth["threads"]
    assert report["cpu_utilization"]["combined_n_threads"] == truth["threads"]


def test_daemon_stays_in_the_job(measure):
    report, truth = measure("daemonize", 50, 0.5, 0, options=["--sleep-time", "0.1", "--wait", "all"])
    assert report["max_ram"]["descendants"]["total_rss"] == about(truth["bytes"], share=0.02, plus=LIBRARIES)
    assert report["cpu_time"]["descendants"] == about(truth["cpu_seconds"], plus=0.02)


def test_child_that_outlives_its_parent(measure):
    report, truth = measure("orphan", 50, 800, 200, options=["--sleep-time", "0.1", "--wait", "all"])
    assert truth["main_ended"]
    assert report["max_ram"]["descendants"]["total_rss"] == about(truth["bytes"], share=0.02, plus=LIBRARIES)


def test_time_of_the_command(track):
    for seconds in (0.0, 0.95):
        _, report = track(["/bin/sleep", str(seconds)], *BYTES, "--sleep-time", "1")
        assert seconds <= report["compute_time"]["time"] < seconds + 0.1
