"""Energy on the machine that runs the tests, where it has counters that move."""
import json

import pytest


@pytest.fixture(scope="module")
def counting(gpu_tracker, truth, tmp_path_factory):
    """Which devices count energy here; skips where none does."""
    import subprocess

    report = tmp_path_factory.mktemp("energy") / "report.json"
    subprocess.run([gpu_tracker, "run", "-f", "json", "-o", report, "--disable-logs", "--sleep-time=0.1", "--",
                           *truth("burn", 1, 1, 100)], capture_output=True, check=True)
    energy = json.loads(report.read_text())["energy"]
    found = [device for device in ("cpu", "dram", "gpu") if energy[device]["total"]]
    if not found:
        pytest.skip(f"no energy counter moves here: {energy.get('reason')}")
    return found


def energy_of(track, truth, seconds, *options):
    done, report = track(truth("burn", seconds, 1, 100), "--sleep-time=0.1", *options)
    assert done.returncode == 0, done.stderr
    return report["energy"], report["compute_time"]["time"]


def test_parts_make_up_the_whole(track, truth, counting):
    for policy in ("share", "exclude", "all"):
        energy, _ = energy_of(track, truth, 2, f"--idle={policy}")
        for device in counting:
            parts = energy[device]
            whole = sum(parts[part] for part in ("job", "other", "idle", "unattributed"))
            assert whole == pytest.approx(parts["total"], rel=0.005, abs=1e-3)
            assert parts["source"] and parts["job"] >= 0
        assert energy["idle_policy"] == policy


def test_power_is_that_of_a_computer(track, truth, counting):
    energy, _ = energy_of(track, truth, 2)
    for device in counting:
        assert 0.01 < energy[device]["total"] / 2 < 20000


def test_a_busy_job_is_charged_with_more_than_a_sleeping_one(track, truth, counting):
    if "cpu" not in counting:
        pytest.skip("the processors count no energy")
    busy, _ = energy_of(track, truth, 2)
    done, report = track(["sleep", "2"], "--sleep-time=0.1")
    assert done.returncode == 0
    assert busy["cpu"]["job"] > 5 * report["energy"]["cpu"]["job"]
