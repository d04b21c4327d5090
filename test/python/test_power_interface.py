"""What programs written for AIPowerMeter call: its helper functions, samples, drivers, and commands."""
import datetime
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

from gpu_tracker.power import drivers, experiment, model_complexity, parsers, rapl, rapl_power, results


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


class Machine:
    """A root with the real processes and energy counters of known power: a package that begins again at 262 J, and its parts."""

    WATTS = {"intel-rapl:0": 50, "intel-rapl:0:0": 30, "intel-rapl:0:1": 5, "intel-rapl:1": 80}
    NAMES = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram", "intel-rapl:1": "psys"}
    RANGE = 262_143_328

    def __init__(self, root):
        self.root = root
        (root / "sys/class/powercap").mkdir(parents=True)
        (root / "proc").symlink_to("/proc")
        for zone, name in self.NAMES.items():
            (root / "sys/class/powercap" / zone).mkdir()
            self.put(zone, "name", name)
            self.put(zone, "max_energy_range_uj", self.RANGE)
        self.set(1)

    def put(self, zone, file, value):
        with open(self.root / "sys/class/powercap" / zone / file, "w") as out:
            out.write(f"{value}\n")

    def set(self, seconds):
        """The counters as they are then."""
        for zone, watts in self.WATTS.items():
            file = self.root / "sys/class/powercap" / zone / "energy_uj"
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
            os.pwrite(descriptor, b"%020d\n" % (int(watts * seconds * 1e6) % self.RANGE), 0)
            os.close(descriptor)

    def run(self, stopped):
        begin = time.monotonic()
        while not stopped.wait(0.005):
            self.set(1 + time.monotonic() - begin)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path / "machine")


@pytest.fixture
def running(machine):
    """The same with counters that advance."""
    stopped = threading.Event()
    thread = threading.Thread(target=machine.run, args=[stopped])
    thread.start()
    yield str(machine.root)
    stopped.set()
    thread.join()


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
    with pytest.raises(ValueError, match="RAPL by powercap: there are no"):
        rapl.RAPLSample(str(tmp_path / "empty"))


def test_a_machine_without_its_whole_power(machine):
    machine.put("intel-rapl:1", "name", "unknown")
    first = rapl.RAPLSample(machine.root)
    machine.set(2)
    power = rapl_power.get_power(rapl.RAPLSample(machine.root) - first)
    assert power["psys_power"] is None and power["intel_power"] > 0


def test_power_over_seconds_from_now(running):
    assert rapl_power.is_rapl_compatible(running)[0]
    power = rapl_power.get_power(0.5, root=running)
    assert power == {"intel_power": pytest.approx(50, rel=0.1), "psys_power": pytest.approx(80, rel=0.1),
                     "cpu_power": pytest.approx(30, rel=0.1), "dram_power": pytest.approx(5, rel=0.1)}


def test_joules_are_what_the_counters_say(running, tmp_path):
    sensor = tmp_path / "machine/sys/class/hwmon/hwmon2"
    sensor.mkdir(parents=True)
    for name, text in {"name": "coretemp", "temp1_input": "45000", "temp1_label": "Package id 0", "temp1_max": "80000",
                       "temp10_input": "40500", "temp3_input": "", "temp2_crit": "1"}.items():
        (sensor / name).write_text(text + "\n")
    driver = parsers.JsonParser(tmp_path / "out")
    process, queue = experiment.Experiment(driver, root=running).measure_yourself(period=0.1, measurement_period=0.3)
    time.sleep(1)
    queue.put(experiment.STOP_MESSAGE)
    recorded = experiment.ExpResults(driver)
    seconds, start, _ = recorded.get_exp_duration()
    assert recorded.total_("intel_power") == pytest.approx(50 * seconds, rel=0.05)
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
    driver = parsers.JsonParser(tmp_path / "out")
    _, queue = experiment.Experiment(driver, root=running).measure_yourself(period=0.05, measurement_period=0.1)
    time.sleep(0.2)
    for epoch in range(3):
        driver.save_exp_metrics({"accuracy": epoch / 10})
        time.sleep(0.4)
    queue.put(experiment.STOP_MESSAGE)
    found = experiment.ExpResults(driver)
    joules = found.interpolate("intel_power", "accuracy", cumulative=True)
    [points_of_accuracy] = found.get_curve("accuracy")
    assert joules == found.interpolate("intel_power", [point["date"] for point in points_of_accuracy], cumulative=True)
    for before, after, first, second in zip(joules, joules[1:], points_of_accuracy, points_of_accuracy[1:]):
        assert after - before == pytest.approx(50 * (second["date"] - first["date"]), abs=5)  # a window's
    assert found.interpolate("intel_power", "accuracy") == [pytest.approx(50, rel=0.3)] * 3
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


# ---- drivers ----


class Memory:
    """A driver as its interface asks for, and no more: records in a list."""

    def __init__(self):
        self.records, self.ends = [], 0

    def erase(self):
        self.records = []

    def save_power_metrics(self, metrics):
        self.records.append((datetime.datetime.now(), metrics))

    def close_driver(self):
        self.ends += 1

    def load_metrics(self):
        names = set().union(*(metrics["cpu"] for _, metrics in self.records))
        cpu = {name: {"dates": [date for date, _ in self.records],
                      "values": [sum(found.values()) if isinstance(found := metrics["cpu"].get(name), dict) else found
                                 for _, metrics in self.records]} for name in names}
        return cpu, None, None, None

    def get_segments(self):
        return []

    def get_model_card(self):
        return {"total_params": 28, "total_mult_adds": 444528}


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_driver_of_ones_own(capsys):
    driver = Memory()
    driver.records = ["earlier"]
    process, queue = experiment.Experiment(driver).measure_yourself(period=0.1, measurement_period=0.2)
    burn(0.7)
    queue.put(experiment.STOP_MESSAGE)
    assert queue.get(block=True) == (None, None) and not process.is_alive()
    assert len(driver.records) >= 3 and driver.ends == 1
    assert set(driver.records[0][1]["cpu"]["per_process_cpu_uses"]) == {os.getpid()}
    recorded = experiment.ExpResults(driver)
    assert 0.5 < recorded.total_("absolute_cpu_time_per_pid") < 1.2
    assert recorded.cpu_metrics["total_mem_use"]["dates"][0] == driver.records[0][0]
    recorded.print()
    assert "444,528" in (text := capsys.readouterr().out) or "444528" in text


def test_a_driver_that_fails_is_heard():
    class Full(Memory):
        def save_power_metrics(self, metrics):
            raise OSError("the database is full")

    _, queue = experiment.Experiment(Full()).measure_yourself(0.05, 0.05)
    with pytest.raises(OSError, match="database is full"):
        time.sleep(0.3)
        queue.put(experiment.STOP_MESSAGE)


def test_what_is_no_driver():
    with pytest.raises(TypeError, match="Meter.*save_power_metrics"):
        experiment.Experiment(types.new_class("Meter")())
    with pytest.raises(TypeError, match="str.*save_power_metrics"):
        experiment.Experiment("folder")


def test_a_changed_folder_driver(tmp_path):
    class Shorter(parsers.JsonParser):
        def save_power_metrics(self, metrics):
            super().save_power_metrics({"cpu": {"total_mem_use": metrics["cpu"]["total_mem_use"]}})

    driver = Shorter(tmp_path)
    _, queue = experiment.Experiment(driver).measure_yourself(0.05, 0.1)
    time.sleep(0.3)
    queue.put(experiment.STOP_MESSAGE)
    assert experiment.ExpResults(driver).list_metrics()["CPU"] == ["total_mem_use"]
    assert (tmp_path / "power_metrics.json").read_text().endswith('"END OF RECORDING SEGMENT"\n')


def test_dates_between_segments_and_cards_of_a_driver():
    begin = datetime.datetime(2022, 5, 4, 12)

    class Loaded:
        def load_metrics(self):
            dates = [begin + datetime.timedelta(seconds=second) for second in (0, 2, 10, 11)]
            return ({"intel_power": {"dates": dates, "values": [10, 30, 100, None]}},
                    {"per_gpu_power_draw": {"0": {"dates": dates, "values": [1, 1, 2, 2]}}}, None,
                    {"#activepow1": {"dates": [0.0, 1.0], "values": [4, 4]}})

        def get_segments(self):
            return [begin + datetime.timedelta(seconds=2)]

    recorded = experiment.ExpResults(Loaded())
    assert recorded.total_("intel_power") == 40 and len(recorded.get_curve("intel_power")) == 2
    assert recorded.total_("per_gpu_power_draw") == {0: 4} and recorded.total_("per_gpu_power_draw")["0"] == 4
    assert recorded.average_("per_gpu_nvidia_power")[0] == pytest.approx(4 / 3)
    assert recorded.total_("#activepow1") == 4 and recorded.model_card is None
    with pytest.raises(KeyError):
        recorded.total_("per_gpu_power_draw")["1"]


def test_a_driver_without_records():
    class Empty:
        def load_metrics(self):
            return None, None, None

    with pytest.raises(ValueError, match="no recording of power"):
        experiment.ExpResults(Empty())


@pytest.mark.parametrize("name", ["run.csv", "run.sqlite"])
def test_a_tracking_file_is_recorded(name, tmp_path):
    driver = drivers.TrackingFile(tmp_path / name)
    for _ in range(2):  # the second replaces the first
        _, queue = experiment.Experiment(driver).measure_yourself(period=0.1)
        burn(0.5)
        queue.put(experiment.STOP_MESSAGE)
    recorded = experiment.ExpResults(driver)
    assert 0.3 < recorded.total_("absolute_cpu_time_per_pid") < 0.9
    assert len(recorded.get_curve("total_mem_use")[0]) >= 3
    assert driver.load_metrics()[0]["per_process_mem_use_abs"]["values"][-1] > 1e6
    with pytest.raises(FileExistsError):
        experiment.Experiment(driver, cont=True).measure_yourself(period=0.1)
    assert driver.get_segments() == []
    driver.erase()
    assert not (tmp_path / name).exists() and driver.load_metrics() == (None, None, None, None)


def test_a_tracking_file_of_several_processes(tmp_path):
    burner = ("import time\ninput()\nbegin = time.process_time()\nwhile time.process_time() < begin + 0.4: pass\n"
              "print('burnt', flush=True)\ninput()")
    processes = [subprocess.Popen([sys.executable, "-c", burner], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                 for _ in range(2)]
    driver = parsers.TrackingFile(tmp_path / "run.csv")
    try:
        _, queue = experiment.Experiment(driver).measure_from_pid_list([process.pid for process in processes], period=0.1)
        for process in processes:
            process.stdin.write(b"burn\n")
            process.stdin.flush()
        for process in processes:
            assert process.stdout.readline() == b"burnt\n"
        time.sleep(0.3)
        queue.put(experiment.STOP_MESSAGE)
        assert experiment.ExpResults(driver).total_("absolute_cpu_time_per_pid") > 0.7
        with pytest.raises(ProcessLookupError, match="4194304"):
            experiment.Experiment(driver).measure_from_pid_list([processes[0].pid, 4194304])
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_what_a_program_saves_itself(tmp_path):
    driver = parsers.JsonParser(tmp_path / "new" / "folder")
    driver.save_power_metrics({"cpu": {"intel_power": 10, "per_process_cpu_power": {10: 1.5, 11: 2}}})
    driver.close_driver()
    time.sleep(0.01)
    driver.save_power_metrics({"cpu": {"intel_power": 20}, "gpu": {"per_gpu_power_draw": {0: 5.0}}})
    driver.close_driver()
    driver.save_exp_metrics({"accuracy": 0.5, "loss": math.nan})
    driver.save_exp_metrics({"accuracy": 0.75, "loss": 2})
    cpu, gpu, own, meter = driver.load_metrics()
    assert cpu["intel_power"]["values"] == [10, 20] and cpu["per_process_cpu_power"]["values"] == [3.5]
    assert gpu["per_gpu_power_draw"][0]["values"] == [5.0] and meter is None
    assert own["accuracy"]["values"] == [0.5, 0.75] and own["loss"]["values"] == [2]
    assert driver.get_segments() == cpu["intel_power"]["dates"][:1]
    assert abs(cpu["intel_power"]["dates"][0] - datetime.datetime.now()) < datetime.timedelta(seconds=30)
    assert driver.load_cpu_metrics() == cpu and driver.load_gpu_metrics() == gpu
    assert driver.load_exp_metrics() == own and driver.load_wattmeter_metrics() is None
    assert driver.get_model_card() is None
    driver.save_model_card({"total_params": 3})
    driver.save_model_card({"total_params": 4, "input_size": (1, 2)})
    assert driver.get_model_card() == {"total_params": 4, "input_size": [1, 2]}
    assert experiment.ExpResults(driver).get_summary()["model"]["total_params"] == 4
    driver.erase()
    assert driver.load_metrics() == (None, None, None, None) and driver.get_segments() == []


def test_a_folder_is_there_for_other_files(tmp_path):
    driver = parsers.JsonParser(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    experiment.Experiment(driver)
    (tmp_path / "a/b/latency.json").write_text("[1]")
    experiment.Experiment(driver)
    assert (tmp_path / "a/b/latency.json").exists()


def test_a_power_meter_is_read_while_recording(tmp_path):
    program = tmp_path / "read-meter"
    program.write_text('#!/bin/sh\necho meter "$1" "$2"\necho "#timestamp,#frame_is_ok,#activepow1"\n'
                       'for i in 1 2 3; do echo "$i,true,7"; done\nexec sleep 60\n')
    program.chmod(0o755)
    driver = parsers.JsonParser(tmp_path / "out")
    with pytest.raises(ValueError, match="wattemeter_exec"):
        driver.save_wattmeter_metrics()
    driver.wattemeter_exec = str(program)
    recording = experiment.Experiment(driver)
    assert recording.wattmeter_available
    _, queue = recording.measure_yourself(0.1, 0.1)
    time.sleep(0.4)
    queue.put(experiment.STOP_MESSAGE)
    assert experiment.ExpResults(driver).total_("#activepow1") == 14
    assert "meter --tty=/dev/ttyUSB0 --nb=6" in (tmp_path / "out/omegawatt.csv").read_text()


# ---- models ----


class Model:
    def parameters(self):
        return iter([types.SimpleNamespace(device="cuda:1")])


@pytest.fixture
def torchinfo(monkeypatch):
    """A stand-in that says what it was asked."""
    asked = []

    def summary(model, **keywords):
        asked.append(keywords)
        return types.SimpleNamespace(total_params=28, trainable_params=20, total_mult_adds=444528, total_input=12)

    monkeypatch.setitem(sys.modules, "torchinfo", types.SimpleNamespace(summary=summary))
    return asked


def test_a_model_is_summed_up(torchinfo, tmp_path):
    driver = parsers.JsonParser(tmp_path)
    experiment.Experiment(driver, model=Model(), input_size=(64, 3))
    assert torchinfo == [{"input_size": (64, 3), "device": "cuda:1", "verbose": 0}]
    assert driver.get_model_card() == {"input_size": [64, 3], "total_params": 28, "trainable_params": 20,
                                       "total_mult_adds": 444528, "total_input": 12}
    with pytest.raises(ValueError, match="input_size"):
        experiment.Experiment(driver, model=Model())


def test_without_torchinfo(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torchinfo", None)
    with pytest.raises(ImportError, match="pip install torchinfo"):
        experiment.Experiment(parsers.JsonParser(tmp_path), model=Model(), input_size=(1, 2))


# ---- commands and pictures ----


@pytest.fixture
def recorded(tmp_path):
    driver = parsers.JsonParser(tmp_path / "recorded")
    lines = [json.dumps({"date": f"2022-05-04 12:00:{second:02d}", "metrics": {"cpu": {"intel_power": second * 10.0},
                         "gpu": {"per_gpu_power_draw": {"0": 50, "1": 60}}}}) for second in range(4)]
    os.makedirs(driver.folder)
    with open(driver.power_metric_filename, "w") as file:
        file.write("\n".join(lines) + "\n")
    return driver


def run_results(*words):
    return subprocess.run([sys.executable, "-m", "gpu_tracker.power.results", *map(str, words)], capture_output=True,
                          text=True, timeout=60, check=False, env={**os.environ, "MPLBACKEND": "Agg"})


def test_the_command_for_results(recorded, tmp_path):
    done = run_results("--output_folder", recorded.folder)
    assert done.returncode == 0 and "45.0" in done.stdout and "intel_power" in done.stdout
    done = run_results("--output_folder", recorded.folder, "--curve", "intel_power,per_gpu_power_draw", "--saveto",
                       tmp_path / "curves.png")
    assert done.returncode == 0 and (tmp_path / "curves.png").stat().st_size > 5000
    done = run_results("--output_folder", recorded.folder, "--curve", "milk", "--saveto", tmp_path / "no.png")
    assert done.returncode == 1 and done.stderr == "gpu_tracker.power.results: milk was not recorded\n"
    done = run_results("--output_folder", tmp_path / "nowhere")
    assert done.returncode == 1 and "nowhere: No such file" in done.stderr and done.stderr.count("\n") == 1
    assert results.main.__module__ == "gpu_tracker.power.results"


def test_two_curves_have_an_axis_each(recorded, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from matplotlib import pyplot

    kept = []
    monkeypatch.setattr(pyplot, "close", kept.append)
    experiment.ExpResults(recorded).display_2_curves("intel_power", "per_gpu_power_draw", saveto=tmp_path / "two.png")
    assert (tmp_path / "two.png").stat().st_size > 5000
    left, right = kept[0].axes
    assert [list(line.get_ydata()) for line in left.lines] == [[0, 10, 20, 30]]
    assert [list(line.get_ydata()) for line in right.lines] == [[50] * 4, [60] * 4]
    assert left.get_ylabel() == "intel_power" and right.get_ylabel() == "per_gpu_power_draw"
    pyplot.figure(kept[0].number)
    monkeypatch.undo()
    pyplot.close("all")


def test_the_names_are_printed(recorded, capsys):
    found = experiment.ExpResults(recorded)
    found.print_metrics()
    text = capsys.readouterr().out
    assert text.splitlines() == ["CPU", "  intel_power", "GPU", "  per_gpu_power_draw, per_gpu_nvidia_power", "Experiment",
                                 "  not available", "wattmeter", "  not available"]
    assert text in str(found)


def test_a_machine_is_monitored_until_interrupted(tmp_path, running):
    program = ("import sys\nfrom gpu_tracker.power import experiment, parsers\n"
               "recording = experiment.Experiment(parsers.JsonParser('out'), root=sys.argv[1])\n"
               "recording.monitor_machine([int(sys.argv[2])], period=0.1)\n")
    with subprocess.Popen([sys.executable, "-c", program, running, str(os.getpid())], cwd=tmp_path) as monitor:
        wait_for(lambda: (tmp_path / "out/power_metrics.json").exists()
                 and (tmp_path / "out/power_metrics.json").read_text().count("\n") >= 3)
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(timeout=30) == 0
    text = (tmp_path / "out/power_metrics.json").read_text()
    assert text.endswith('"END OF RECORDING SEGMENT"\n')
    assert experiment.ExpResults(parsers.JsonParser(tmp_path / "out")).average_("intel_power") == pytest.approx(50, rel=0.2)


def test_monitoring_ends_with_what_is_monitored(tmp_path):
    with subprocess.Popen(["sleep", "0.5"]) as process:
        reaper = threading.Thread(target=process.wait)
        reaper.start()
        experiment.Experiment(parsers.JsonParser(tmp_path)).monitor_machine([process.pid], period=0.1)
        reaper.join()
    assert len(experiment.ExpResults(parsers.JsonParser(tmp_path)).get_curve("total_mem_use")[0]) >= 3


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_all_below_the_first_process_are_monitored(tmp_path):
    driver = Memory()
    parent = experiment.Experiment(driver)
    stop = threading.Timer(0.8, lambda: os.kill(os.getpid(), signal.SIGINT))
    stop.start()
    parent.monitor_machine(parent_pid=os.getppid(), period=0.2)
    stop.join()
    assert os.getpid() in driver.records[0][1]["cpu"]["per_process_cpu_uses"]


def test_gauges_are_there_when_the_server_is(tmp_path):
    import urllib.request

    driver = drivers.PrometheusClient(15011)
    _, queue = experiment.Experiment(driver).measure_yourself()
    text = urllib.request.urlopen("http://127.0.0.1:15011/metrics", timeout=10).read().decode()
    assert "mem_used_cpu " in text and queue.is_alive()
    with pytest.raises(RuntimeError, match="15011"):
        experiment.Experiment(driver).measure_yourself()
    queue.put(experiment.STOP_MESSAGE)
    assert queue.get(block=True) == (None, None) and not queue.is_alive()
