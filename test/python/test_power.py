"""AIPowerMeter's interface: folders as it leaves them, and our own recordings."""
import json
import math
import os
import re
import subprocess
import sys
import time
import urllib.request

import pytest

from gpu_tracker.power import experiment, gpu_power, parsers, prometheus_client, rapl_power
from waiting import free_port

END = json.dumps("END OF RECORDING SEGMENT") + "\n"


def record(second, watts, cards=None, **more):
    """A line as the original writes it: local time without a zone, and psys_power -1 where there is none."""
    cpu = {"intel_power": watts, "psys_power": -1, "per_process_cpu_power": {"10": watts / 4, "11": watts / 4},
           "per_process_mem_use_abs": {"10": 1000, "11": 500}, "uncore_power": [2.0]}
    metrics = {"cpu": cpu}
    if cards:
        metrics["gpu"] = {"nvidia_draw_absolute": sum(cards), "per_gpu_power_draw": dict(enumerate(cards)),
                          "per_gpu_attributable_power": {**{i: w / 2 for i, w in enumerate(cards)},
                                                         "all": sum(cards) / 2},
                          "per_gpu_attributable_mem_use": {i: {"10": 100 + i, "11": None} for i in range(len(cards))}}
    return json.dumps({"date": f"2022-05-04 12:00:{second:02d}.500000", "metrics": metrics, **more}) + "\n"


@pytest.fixture
def folder(tmp_path):
    """folder(lines, ...): a driver of a folder that holds them."""

    def write(*lines):
        (tmp_path / "power_metrics.json").write_text("".join(lines))
        return parsers.JsonParser(tmp_path)

    return write


def test_an_old_recording_is_integrated_segment_by_segment(folder):
    results = experiment.ExpResults(folder(record(0, 10), record(2, 30), END, record(10, 100), record(11, 100), END))
    assert results.total_("intel_power") == pytest.approx(40 + 100)
    assert results.total_("per_process_cpu_power") == pytest.approx(20 + 50)
    assert results.average_("intel_power") == pytest.approx(140 / 3)
    assert results.max_("intel_power") == 100
    assert [len(segment) for segment in results.get_curve("intel_power")] == [2, 2]
    assert results.get_exp_duration()[0] == pytest.approx(3)
    start = results.segments[0][0]
    assert start == time.mktime((2022, 5, 4, 12, 0, 0, 0, 0, -1)) + 0.5
    assert results.total_("intel_power", start=start + 1, end=start + 2) == pytest.approx(25)
    assert results.total_power_draw() == pytest.approx(140)


def test_what_stands_for_missing_is_missing(folder):
    results = experiment.ExpResults(folder(record(0, 10), record(2, 30)))
    assert results.get_curve("psys_power") is None and results.total_("psys_power") is None
    assert results.get_summary()["cpu"]["total_psys_power"] is None
    assert results.average_("uncore_power") == 2.0  # written as a list of one number
    assert results.average_("mem_use_abs") == results.average_("per_process_mem_use_abs") == 1500


def test_every_card_has_its_figures_under_both_names(folder):
    results = experiment.ExpResults(folder(record(0, 10, [20, 40]), record(2, 10, [20, 60])))
    assert results.total_("per_gpu_power_draw") == {0: pytest.approx(40), 1: pytest.approx(100)}
    assert results.average_("per_gpu_nvidia_power") == {0: pytest.approx(20), 1: pytest.approx(50)}
    assert results.total_("nvidia_power") == results.total_("nvidia_draw_absolute") == pytest.approx(140)
    assert results.total_("nvidia_attributable_power") == pytest.approx(70)
    assert results.max_("nvidia_mem_use") == {0: 100, 1: 101}
    assert results.total_power_draw() == pytest.approx(20 + 140)
    assert results.get_summary()["gpu"]["per_gpu_attributable_power"]["1"] == pytest.approx(50)


def test_a_window_counts_whole(folder):
    results = experiment.ExpResults(folder(record(2, 10, window=2.0), record(5, 100, window=3.0)))
    assert results.total_("intel_power") == pytest.approx(320)
    start = results.get_exp_duration()[1]
    joules = results.interpolate("intel_power", [start - 1, start, start + 1, start + 4, start + 6], cumulative=True)
    assert joules[1:4] == [0, pytest.approx(10), pytest.approx(220)]
    assert math.isnan(joules[0]) and math.isnan(joules[4])
    assert results.interpolate("intel_power", [start + 1, start + 4]) == [10, 100]


def test_results_and_meter_are_read(folder, tmp_path):
    driver = folder(record(0, 10), record(2, 30))
    (tmp_path / "results_exp.json").write_text(json.dumps([{"end_training_epoch": "2022-05-04T12:00:01", "accuracy": 0.5}]))
    (tmp_path / "omegawatt.csv").write_text("meter\n#timestamp,#frame_is_ok,#activepow1\n100,true,5\n101,false,9\n"
                                            "102,true,7\n103,tr")
    results = experiment.ExpResults(driver)
    assert results.list_metrics()["Experiment"] == ["accuracy"]
    assert results.total_("#activepow1") == pytest.approx(12)


def test_a_folder_without_recording_says_so(tmp_path):
    with pytest.raises(ValueError, match="no recording of power"):
        experiment.ExpResults(parsers.JsonParser(tmp_path))


def test_damaged_lines_are_named(folder):
    with pytest.raises(ValueError, match="not one line is a record"):
        experiment.ExpResults(folder("{broken\n"))


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_this_process_is_recorded_until_the_stop_message(tmp_path, capsys):
    driver = parsers.JsonParser(tmp_path / "out", meta_data="burning")
    for cont in (False, True):
        process, queue = experiment.Experiment(driver, cont=cont).measure_yourself(0.1, 0.2)
        assert process.pid and process.is_alive()
        burn(0.5)
        queue.put(experiment.STOP_MESSAGE)
        assert not process.is_alive()
    results = experiment.ExpResults(driver)
    assert 0.95 < results.total_("absolute_cpu_time_per_pid") < 1.6
    assert len(results.get_curve("total_mem_use")) == 2
    lines = (tmp_path / "out" / "power_metrics.json").read_text().splitlines(keepends=True)
    assert lines.count(END) == 2 and lines[-1] == END
    assert json.loads((tmp_path / "out" / "metadata.json").read_text())["description"] == "burning"
    results.print()
    assert "CPU time" in capsys.readouterr().out


def test_a_wrong_process_is_named(tmp_path):
    with pytest.raises(ProcessLookupError, match="4194304"):
        experiment.Experiment(parsers.JsonParser(tmp_path)).measure_from_pid_list([4194304])


def test_erasing_leaves_other_files(folder, tmp_path):
    (tmp_path / "thesis.txt").write_text("text")
    folder(record(0, 1)).erase()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_command_is_measured_and_its_status_kept(tmp_path):
    done = subprocess.run([sys.executable, "-m", "gpu_tracker.power", "--cmd", "sleep 0.3; exit 7", "--output_folder",
                           str(tmp_path / "out")], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 7, done.stderr
    assert "Experiment" in done.stdout
    assert (tmp_path / "out" / "power_metrics.json").read_text().endswith(END)


def test_a_short_command_has_memory(tmp_path):
    code = "import time; block = bytearray(b'1') * 200_000_000; time.sleep(0.9)"
    done = subprocess.run([sys.executable, "-m", "gpu_tracker.power", "--cmd", f'{sys.executable} -c "{code}"', "--output_folder",
                           str(tmp_path / "out")], capture_output=True, text=True, timeout=120, check=False)
    [size] = re.findall(r"Average RAM: ([\d.]+) bytes", done.stdout)
    assert 100e6 < float(size) < 230e6, done.stdout
    assert '"per_process_mem_use_percent": {"' in (tmp_path / "out" / "power_metrics.json").read_text()


@pytest.mark.parametrize("module", ["power", "power.results"])
def test_a_reader_that_has_ended(tmp_path, module):
    out = str(tmp_path / "out")
    words = [sys.executable, "-m", "gpu_tracker.power", "--cmd", "exit 7", "--output_folder", out]
    if module != "power":
        subprocess.run(words, capture_output=True, timeout=120, check=False)
        words = [sys.executable, "-m", f"gpu_tracker.{module}", "--output_folder", out]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    os.close(writing)
    assert "Traceback" not in done.stderr and "pipe" not in done.stderr.lower()
    assert done.returncode == (7 if module == "power" else 0)


def test_functions_take_processes_and_numbers():
    import os

    class Process:
        pid = os.getpid()

    pss, uss = rapl_power.get_mem_uses([Process()])
    assert pss[os.getpid()] > uss[os.getpid()] > 1e6
    assert set(rapl_power.get_cpu_uses([os.getpid()], 0.1)) >= {os.getpid()}
    available, sentence = rapl_power.is_rapl_compatible()
    assert sentence and available is ("intel_power" in rapl_power.get_metrics([os.getpid()], 0.1))
    assert (gpu_power.get_nvidia_gpu_power() != {}) is gpu_power.is_nvidia_compatible()[0]


def test_the_five_gauges_are_served():
    port = free_port()
    _, queue = experiment.Experiment(prometheus_client.PrometheusClient(f"127.0.0.1:{port}")).measure_yourself()
    try:
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120).read().decode()
    finally:
        queue.put(experiment.STOP_MESSAGE)
    assert "mem_used_cpu " in text


def test_a_tracking_file_is_a_recording(python):
    python("""
        import time, gpu_tracker
        with gpu_tracker.Tracker(sleep_time=0.1, tracking_file="run.csv"):
            time.sleep(0.5)
    """)
    results = experiment.ExpResults(parsers.TrackingFile("run.csv"))
    assert results.max_("per_process_mem_use_abs") > 1e6
    assert results.get_curve("intel_power") is None or results.total_("intel_power") >= 0


def test_a_gpu_of_known_power(python, fake, tmp_path):
    """This process is the only one on the card."""
    (tmp_path / "libnvidia-ml.so.1").symlink_to(fake("nvml"))
    done = python("""
        import os, time
        os.environ["GT_FAKE_NVML"] = "gpu"
        with open("gpu", "w") as file:
            file.write("device 0\\nuuid GPU-1\\nname Test GPU\\nmemory 80000000000 0 1000000000\\nutilization 50 10\\n"
                       f"process 0 {os.getpid()} 300000000\\nenergy 5000000 300000\\n")
        from gpu_tracker.power import experiment, gpu_power, parsers
        now = gpu_power.get_nvidia_gpu_power(nsample=1)
        assert 280 < now["nvidia_draw_absolute"] < 320 and now["per_gpu_power_draw"] == {0: now["nvidia_power"]}, now
        assert now["per_gpu_attributable_mem_use"] == {0: {os.getpid(): 3e8}}, now
        assert now["nvidia_mem_use"] == {0: 3e8} and now["nvidia_sm_use"] == now["per_gpu_absolute_percent_usage"], now
        driver = parsers.JsonParser("out")
        process, queue = experiment.Experiment(driver).measure_yourself(period=0.1, measurement_period=0.3)
        time.sleep(1.5)
        queue.put(experiment.STOP_MESSAGE)
        results = experiment.ExpResults(driver)
        seconds, _, _ = results.get_exp_duration()
        assert abs(results.total_power_draw() - 300 * seconds) < 0.1 * 300 * seconds
        assert results.max_("nvidia_mem_use") == {0: 3e8} and results.max_("nvidia_sm_use") == {0: 0}
        assert abs(results.total_("nvidia_attributable_power") - results.total_("nvidia_power")) < 1
        results.display_curves(["nvidia_power", "per_process_cpu_uses"], saveto="curves.png")
        assert os.path.getsize("curves.png") > 5000
    """, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "MPLBACKEND": "Agg"})
    assert "GPUs: " not in done.stderr
