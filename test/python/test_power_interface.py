"""AIPowerMeter's interface: arithmetic of curves, samples of counters, and power of the machine."""
import datetime
import json
import math
import os
import time

import pytest

from gpu_tracker.power import experiment, model_complexity, parsers, rapl, rapl_power
from patience import given_longer, least

pytestmark = pytest.mark.sanitize


def points(*pairs):
    return [{"date": date, "value": value} for date, value in pairs]


# ---- arithmetic ----


def test_integrals_are_of_straight_lines():
    watts = points((0, 10), (2, 30), (3, 30))
    assert experiment.integrate(watts) == [0, 40, 70]
    assert experiment.integrate(watts, start=1) == [0, 30]
    assert experiment.integrate(watts, start=1.5, end=2.5) == [0]
    assert experiment.integrate([]) == [0]
    with pytest.raises(ValueError, match="between 4 and None"):
        experiment.integrate(watts, start=4)
    assert experiment.total([watts, points((10, 1), (11, 1))]) == 71
    assert experiment.total([watts], start=1, end=2) == 25
    assert experiment.total({0: [watts], 1: []}) == {0: 70, 1: None}
    assert experiment.total(None) is None


def test_a_gap_is_no_zero():
    watts = points((0, 10), (1, None), (2, 10), (4, 10))
    assert experiment.integrate(watts) is None
    assert experiment.integrate(watts, allow_None=True) == [0, None, None, 20]


def test_two_curves_at_the_dates_of_both():
    accuracy, joules = experiment.interpolate(points((1, 0.5), (3, 0.7)), points((0, 0), (2, 100)))
    assert accuracy == points((0, 0.5), (1, 0.5), (2, pytest.approx(0.6)), (3, 0.7))
    assert joules == points((0, 0), (1, 50), (2, 100), (3, 100))
    with pytest.raises(ValueError, match="without points"):
        experiment.interpolate([], points((0, 1)))
    with pytest.raises(KeyError):
        experiment.interpolate([{"date": 1}], points((0, 1)))


def test_small_helpers():
    assert experiment.humanize_bytes(4.6 * 2**30) == "4.6GiB" and experiment.humanize_bytes(-2048, "o") == "-2.0Kio"
    assert experiment.humanize_bytes(2.0**90) == "1024.0YiB"
    assert experiment.cumsum(points((0, 1), (1, 2))) == [1, 3]
    assert experiment.joules_to_wh(7200) == 2 and experiment.joules_to_kwh([3.6e6, 0]) == [1, 0]
    assert experiment.time_to_sec(datetime.datetime(2022, 5, 4, tzinfo=datetime.timezone.utc)) == 1651622400
    assert model_complexity.to_bytes(1_000_000) == 4
    assert rapl_power.get_rel_power({10: 0.25}, 40) == {10: 10}
    [part] = rapl_power.get_relative_mem_use(rapl_power.get_mem_uses([os.getpid()])[0]).values()
    assert 0 < part < 1
    [process] = rapl_power.get_processes([os.getpid(), 4194304])
    assert process.pid == os.getpid()


# ---- processors ----


def test_the_difference_of_two_samples_is_power(machine):
    sample = rapl.RAPLSample(machine.root)
    first = sample.take_sample(str(machine.root))
    machine.set(1 + 1)
    second = rapl.RAPLMonitor.sample(str(machine.root))
    difference = second - first
    assert set(first.domains) == {"package-0", "psys"}
    assert set(first.domains["package-0"].subdomains) == {"core", "dram"}
    assert first.energy("package-0") == 50e6 and second.energy("package-0", "core", rapl.JOULES) == 60
    assert difference.energy("package-0", "dram", rapl.JOULES) == pytest.approx(5)
    assert difference.energy("psys", unit=rapl.WATT_HOURS) == pytest.approx(80 / 3600)
    assert first.domains["package-0"].subdomains["core"].parent_id() == first.domains["package-0"].id == "package-0"
    assert difference.average_power("package-0") == pytest.approx(50 / difference.duration)
    power = rapl_power.get_power(difference)
    assert {name: watts * difference.duration for name, watts in power.items()} == {
        "intel_power": pytest.approx(50), "psys_power": pytest.approx(80), "cpu_power": pytest.approx(30),
        "dram_power": pytest.approx(5)}


def test_a_counter_that_began_again(machine):
    machine.set(262 / 50)
    first = rapl.RAPLSample(machine.root)
    machine.set(262 / 50 + 0.04)
    time.sleep(0.05)
    difference = rapl.RAPLSample(machine.root) - first
    assert difference.domains["package-0"].values["energy_uj"] == pytest.approx(2e6, abs=3)


def test_a_counter_that_was_set_back_meanwhile(machine):
    machine.set(4)
    first = rapl.RAPLSample(machine.root)
    machine.set(2)
    time.sleep(0.01)
    difference = rapl.RAPLSample(machine.root) - first
    assert math.isnan(difference.energy("package-0"))


def test_differences_that_there_are_not(machine, tmp_path):
    first = rapl.RAPLSample(machine.root)
    second = rapl.RAPLSample(machine.root)
    with pytest.raises(ValueError, match="earlier sample is to be taken away"):
        first - second
    with pytest.raises(ValueError, match="only two samples"):
        (second - first) - first
    with pytest.raises(KeyError, match="package-7"):
        first.energy("package-7")
    with pytest.raises(ValueError, match="UJOULES"):
        first.energy("package-0", unit=4)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="RAPL by powercap: no"):
        rapl.RAPLSample(str(tmp_path / "empty"))


def test_a_machine_without_its_whole_power(machine):
    machine.put("intel-rapl:1", "name", "unknown")
    first = rapl.RAPLSample(machine.root)
    machine.set(2)
    power = rapl_power.get_power(rapl.RAPLSample(machine.root) - first)
    assert power["psys_power"] is None and power["intel_power"] > 0


def test_power_over_seconds_from_now(running):
    assert rapl_power.is_rapl_compatible(running)[0]
    expected = {"intel_power": 50, "psys_power": 80, "cpu_power": 30, "dram_power": 5}

    def off_by():
        power = rapl_power.get_power(0.5, root=running)
        assert power.keys() == expected.keys()
        return max(abs(power[name] / watts - 1) for name, watts in expected.items())

    assert least(off_by, 0.1) < 0.1


def test_joules_are_what_the_counters_say(running, tmp_path):
    sensor = tmp_path / "machine/sys/class/hwmon/hwmon2"
    sensor.mkdir(parents=True)
    for name, text in {"name": "coretemp", "temp1_input": "45000", "temp1_label": "Package id 0", "temp1_max": "80000",
                       "temp10_input": "40500", "temp3_input": "", "temp2_crit": "1"}.items():
        (sensor / name).write_text(text + "\n")
    def off_by():
        driver = parsers.JsonParser(tmp_path / "out")
        process, queue = experiment.Experiment(driver, root=running).measure_yourself(period=0.1, measurement_period=0.3)
        time.sleep(1)
        queue.put(experiment.STOP_MESSAGE)
        found[:] = [experiment.ExpResults(driver)]
        return abs(found[0].total_("intel_power") / (50 * found[0].get_exp_duration()[0]) - 1)

    found = []
    assert least(off_by, 0.05) < 0.05
    [recorded] = found
    seconds, start, _ = recorded.get_exp_duration()
    assert recorded.total_power_draw() == recorded.total_("intel_power")
    assert recorded.total_power_draw(end=start + seconds / 2) == pytest.approx(25 * seconds, rel=0.1)
    assert 0 < recorded.total_("rel_intel_power") < recorded.total_("intel_power")
    assert recorded.max_("temperature") == {"coretemp: Package id 0": 45, "coretemp: 2": 40.5}
    first = json.loads((tmp_path / "out/power_metrics.json").read_text().splitlines()[0])
    assert first["metrics"]["temperature"] == {"coretemp": [["Package id 0", 45, 80, None], ["", 40.5, None, None]]}
    summary = recorded.get_summary()
    assert datetime.datetime.fromisoformat(summary["start"]).timestamp() == pytest.approx(start, abs=1e-5)
    assert summary["cpu"]["total_intel_power"] == recorded.total_("intel_power")


def test_joules_at_the_end_of_each_epoch(running, tmp_path):
    def check(seconds):
        check_joules_at_the_end_of_each_epoch(running, tmp_path / str(time.monotonic_ns()), seconds)

    given_longer(check, 0.4, 0.5, 1, 2, 4)


def check_joules_at_the_end_of_each_epoch(running, folder, seconds):
    driver = parsers.JsonParser(folder)
    _, queue = experiment.Experiment(driver, root=running).measure_yourself(period=0.05, measurement_period=0.1)
    time.sleep(0.2)
    for epoch in range(3):
        driver.save_exp_metrics({"accuracy": epoch / 10})
        time.sleep(seconds)
    queue.put(experiment.STOP_MESSAGE)
    found = experiment.ExpResults(driver)
    joules = found.interpolate("intel_power", "accuracy", cumulative=True)
    [points_of_accuracy] = found.get_curve("accuracy")
    assert joules == found.interpolate("intel_power", [point["date"] for point in points_of_accuracy], cumulative=True)
    for before, after, first, second in zip(joules, joules[1:], points_of_accuracy, points_of_accuracy[1:]):
        assert after - before == pytest.approx(50 * (second["date"] - first["date"]), abs=5)  # a window's
    watts = found.interpolate("intel_power", "accuracy")
    assert len(watts) == 3 and min(watts) > 0 and sum(watts) / 3 == pytest.approx(50, rel=0.3)
    with pytest.raises(ValueError, match="loss was not recorded"):
        found.interpolate("intel_power", "loss")


# ---- GPUs ----


def test_all_who_use_a_gpu_or_some(python, fake, tmp_path):
    (tmp_path / "libnvidia-ml.so.1").symlink_to(fake("nvml"))
    python("""
        import os, subprocess, threading, time
        os.environ["GT_FAKE_NVML"] = "gpu"
        other = subprocess.Popen(["sleep", "60"])
        stranger = os.getppid()
        frames = []
        for i in range(40):
            used = "".join(f"used {pid} {1000000 * (i + 1)} {use} 0 0 0\\n"
                           for pid, use in ((os.getpid(), 40), (other.pid, 20), (stranger, 10)))
            frames.append(f"frame {i / 20}\\ndevice 0\\nenergy {5_000_000 + 15_000 * i}\\n" + used)
        with open("gpu", "w") as file:
            file.write("device 0\\nuuid GPU-1\\nname Test GPU\\nmemory 80000000000 0 1000000000\\nutilization 70 10\\n")
            for pid, used in ((os.getpid(), 3), (other.pid, 2), (stranger, 1)):
                file.write(f"process 0 {pid} {used}00000000\\n")
            file.write("".join(frames))
        from gpu_tracker.power import gpu_power
        everyone = gpu_power.get_nvidia_gpu_power()
        assert everyone["per_gpu_attributable_mem_use"] == {0: {os.getpid(): 3e8, other.pid: 2e8, stranger: 1e8}}, everyone
        assert everyone["per_gpu_attributable_power"]["all"] == everyone["nvidia_power"] > 250, everyone
        some = gpu_power.get_nvidia_gpu_power([other.pid])
        assert some["per_gpu_attributable_mem_use"] == {0: {other.pid: 2e8}}, some
        assert some["per_gpu_attributable_power"]["all"] < some["nvidia_power"], some
        uses = gpu_power.get_gpu_use_pmon()
        assert set(uses) == {0} and set(uses[0]) <= {os.getpid(), other.pid, stranger}, uses
        other.kill()
    """, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
