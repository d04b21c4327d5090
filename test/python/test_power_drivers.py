"""AIPowerMeter's interface: where experiments are recorded, and what tells of them."""
import datetime
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types

import pytest
from waiting import free_port, wait_until

from gpu_tracker.power import drivers, experiment, parsers, results

pytestmark = pytest.mark.sanitize


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
    assert os.getpid() in driver.records[0][1]["cpu"]["per_process_cpu_uses"]
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
    wait_until(lambda: (tmp_path / "power_metrics.json").exists() and (tmp_path / "power_metrics.json").read_text())
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
    wait_until(lambda: (tmp_path / "out/omegawatt.csv").exists() and (tmp_path / "out/omegawatt.csv").read_text().count("true") == 3)
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
                          text=True, timeout=120, check=False, env={**os.environ, "MPLBACKEND": "Agg"})


@pytest.mark.sanitize_long
def test_the_command_for_results(recorded, tmp_path):
    done = run_results("--output_folder", recorded.folder)
    assert done.returncode == 0 and "45.0" in done.stdout and "intel_power" in done.stdout
    done = run_results("--output_folder", recorded.folder, "--curve", "intel_power,per_gpu_power_draw", "--saveto",
                       tmp_path / "curves.png")
    assert done.returncode == 0 and (tmp_path / "curves.png").stat().st_size > 5000
    done = run_results("--output_folder", recorded.folder, "--curve", "milk", "--saveto", tmp_path / "no.png")
    assert done.returncode == 1 and done.stderr == "gpu_tracker.power.results: milk was not recorded\n"
    done = run_results("--output_folder", tmp_path / "nowhere")
    assert done.returncode == 1 and re.search("No such file.*nowhere'$", done.stderr) and done.stderr.count("\n") == 1
    assert results.main.__module__ == "gpu_tracker.power.results"


@pytest.mark.sanitize_long
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
        wait_until(lambda: (tmp_path / "out/power_metrics.json").exists()
                   and (tmp_path / "out/power_metrics.json").read_text().count("\n") >= 12)
        monitor.send_signal(signal.SIGINT)
        assert monitor.wait(timeout=120) == 0
    text = (tmp_path / "out/power_metrics.json").read_text()
    assert text.endswith('"END OF RECORDING SEGMENT"\n')
    assert experiment.ExpResults(parsers.JsonParser(tmp_path / "out")).average_("intel_power") == pytest.approx(50, rel=0.2)


def test_monitoring_ends_with_what_is_monitored(tmp_path):
    with subprocess.Popen(["sleep", "2"]) as process:
        reaper = threading.Thread(target=process.wait)
        reaper.start()
        experiment.Experiment(parsers.JsonParser(tmp_path)).monitor_machine([process.pid], period=0.1)
        reaper.join()
    assert len(experiment.ExpResults(parsers.JsonParser(tmp_path)).get_curve("total_mem_use")[0]) >= 3


def test_all_below_the_first_process_are_monitored(tmp_path):
    class Interrupted(Memory):
        stop = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))

        def save_power_metrics(self, metrics):
            super().save_power_metrics(metrics)
            if len(self.records) == 1:
                self.stop.start()

    driver = Interrupted()
    experiment.Experiment(driver).monitor_machine(parent_pid=os.getppid(), period=0.2)
    driver.stop.join()
    assert os.getpid() in driver.records[0][1]["cpu"]["per_process_cpu_uses"]


def test_gauges_are_there_when_the_server_is(tmp_path):
    import urllib.request

    port = free_port()
    driver = drivers.PrometheusClient(port)
    _, queue = experiment.Experiment(driver).measure_yourself()
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120).read().decode()
    assert "mem_used_cpu " in text and queue.is_alive()
    with pytest.raises(RuntimeError, match=str(port)):
        experiment.Experiment(driver).measure_yourself()
    queue.put(experiment.STOP_MESSAGE)
    assert queue.get(block=True) == (None, None) and not queue.is_alive()
