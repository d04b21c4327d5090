"""Tracker: results, arguments, states, and what the job may do to itself."""
import asyncio
import glob
import inspect
import json
import logging
import math
import os
import pathlib
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import gpu_tracker
import gpu_tracker._sampling
import numpy as np
import pytest
from gpu_tracker import Tracker, _program, _sampling
from gpu_tracker.tracker import ResourceUsage
from patience import least
from waiting import samplers, wait_until

pytestmark = pytest.mark.sanitize

QUIET = {"ram_unit": "megabytes", "time_unit": "seconds", "disable_logs": True}
MEGABYTE = 10**6


def test_figures_are_those_of_the_block():
    before = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / MEGABYTE
    with Tracker(sleep_time=0.01, **QUIET) as tracker:
        block = bytearray(os.urandom(1)) * (100 * MEGABYTE)
        time.sleep(0.1)
        begin = time.process_time()
        while time.process_time() - begin < 0.3:
            pass
    del block
    assert before + 95 < tracker.max_ram.main.total_rss < before + 130
    assert tracker.max_ram.descendants.total_rss < 0.1  # pages of a sampler that was met as it began
    assert 0.4 <= tracker.compute_time.time < 60
    assert 40 < tracker.cpu_utilization.main.max_sum_percent <= 100 * os.cpu_count()
    assert 0.3 <= tracker.to_json()["cpu_time"]["main"] < 0.8
    assert tracker.resource_usage.max_ram.unit == "megabytes"


@pytest.mark.plain_heap
@pytest.mark.parametrize("sleep_time", [0.01, 0.2, 10])
def test_a_spike_between_samples(sleep_time):
    before = gpu_tracker._core.own_memory()[0] / MEGABYTE
    with Tracker(sleep_time=sleep_time, **QUIET) as tracker:
        bytearray(b"1") * (90 * MEGABYTE)
    assert before + 88 < tracker.max_ram.main.total_rss < before + 100


def resident():
    return gpu_tracker._core.own_memory()[0] / MEGABYTE


def spike(size):
    bytearray(b"1") * (size * MEGABYTE)


@pytest.mark.plain_heap
def test_each_tracker_has_the_peak_of_its_own_time():
    peaks = []
    for size in (50, 500, 50):
        before = resident()
        with Tracker(sleep_time=10, **QUIET) as tracker:
            spike(size)
        peaks.append(tracker.max_ram.main.total_rss - before)
        assert tracker.max_ram.combined.total_rss == pytest.approx(tracker.max_ram.main.total_rss, abs=3)
        assert tracker.to_json()["memory_peak"]["main"]["best"] == tracker.to_json()["memory_peak"]["main"]["upper"]
    assert peaks == [pytest.approx(size, abs=5) for size in (50, 500, 50)]


@pytest.mark.plain_heap
def test_trackers_inside_each_other_and_beside_each_other_are_exact():
    before = resident()
    with Tracker(sleep_time=10, **QUIET) as outer:
        spike(300)
        with Tracker(sleep_time=10, **QUIET) as inner:
            spike(60)
        with Tracker(sleep_time=10, **QUIET) as second:
            with Tracker(sleep_time=10, **QUIET) as innermost:
                spike(40)
            spike(120)
    peaks = [tracker.max_ram.main.total_rss - before for tracker in (outer, inner, second, innermost)]
    assert peaks == [pytest.approx(size, abs=5) for size in (300, 60, 120, 40)]


@pytest.mark.plain_heap
def test_trackers_of_threads_are_exact():
    before, inside, done = resident(), threading.Event(), threading.Event()
    results = {}

    def work():
        with Tracker(sleep_time=10, **QUIET) as tracker:
            inside.set()
            done.wait(60)
        results["thread"] = tracker.max_ram.main.total_rss - before

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(60)
    spike(200)
    with Tracker(sleep_time=10, **QUIET) as tracker:
        spike(50)
    done.set()
    thread.join()
    assert results["thread"] == pytest.approx(200, abs=5)
    assert tracker.max_ram.main.total_rss - before == pytest.approx(50, abs=5)


@pytest.mark.plain_heap
def test_the_mark_is_left_alone_on_request():
    spike(300)
    before = resident()
    with Tracker(sleep_time=10, keep_high_water_mark=True, **QUIET) as tracker:
        spike(50)
    bounds = tracker.to_json()["memory_peak"]["main"]
    assert gpu_tracker._core.own_memory()[1] / MEGABYTE > before + 250
    assert bounds["best"] == tracker.max_ram.main.total_rss < before + 60
    assert bounds["upper"] > before + 250


# Its mark is from before; nobody sets that of another process back.
def test_a_process_that_had_more_before_is_told_apart():
    code = ("import sys, time\n"
            "block = bytearray(b'1') * 300_000_000\ndel block\nprint(flush=True)\n"
            "sys.stdin.readline()\nblock = bytearray(b'1') * 60_000_000\ntime.sleep(.5)\ndel block\nprint(flush=True)\n"
            "sys.stdin.readline()\nblock = bytearray(b'1') * 400_000_000\ndel block\nprint(flush=True)\nsys.stdin.readline()")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()
        results = []
        for _ in range(2):
            with Tracker(process_id=job.pid, sleep_time=0.05, ram_unit="bytes", disable_logs=True) as tracker:
                job.stdin.write("\n")
                job.stdin.flush()
                job.stdout.readline()
            results.append(tracker.to_json())
        job.communicate("\n")
    between, risen = (result["memory_peak"]["main"] for result in results)
    assert 60e6 < between["best"] < 100e6 and between["upper"] > 300e6
    assert 400e6 < risen["best"] == risen["upper"]
    assert [result["provenance"]["max_ram.main.total_rss"]["exactness"] for result in results] == ["sampled", "exact"]


def test_samplers_of_other_trackers_are_no_descendants():
    with Tracker(sleep_time=0.02, **QUIET) as outer:
        for _ in range(3):
            with Tracker(sleep_time=0.02, **QUIET):
                time.sleep(0.1)
    assert outer.max_ram.descendants.total_rss < 0.1  # pages of a sampler that was met as it began
    assert outer.to_json()["processes"] == {"max": 1, "started": 1}
    assert outer.to_json()["cpu_time"]["descendants"] < 0.02  # what children used is told in clock ticks


def test_children_are_descendants():
    with Tracker(sleep_time=0.01, **QUIET) as tracker:
        code = "x = bytearray(b'1') * 60_000_000; import time; time.sleep(0.1)"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert tracker.max_ram.descendants.total_rss > 60
    assert tracker.cpu_utilization.descendants_n_threads >= 1


def test_another_process(truth):
    def added():
        begin = time.monotonic()
        with subprocess.Popen(truth("burn", 1, 0.5, 100), stdout=subprocess.DEVNULL) as process:
            with Tracker(sleep_time=0.05, process_id=process.pid, **QUIET) as tracker:
                process.wait()
                elapsed = time.monotonic() - begin
                time.sleep(0.5)
        assert tracker.to_json()["cpu_time"]["main"] < 0.6 and tracker.compute_time.time > 0
        return max(tracker.compute_time.time - elapsed, 0.3 - tracker.to_json()["cpu_time"]["main"])

    assert least(added, 0.25) < 0.25  # of the process, not until stop


def test_the_time_ends_with_the_process():
    def added():
        with subprocess.Popen(["sleep", "0.5"]) as process:
            begin = time.monotonic()
            with Tracker(sleep_time=10, process_id=process.pid, **QUIET) as tracker:
                process.wait()
                elapsed = time.monotonic() - begin
                time.sleep(1.5)
        assert tracker.to_json()["run"]["complete"] is True
        return abs(tracker.compute_time.time - elapsed)

    assert least(added, 0.4) < 0.4  # and not up to the next look or sample


def test_a_process_that_does_not_exist():
    tracker = Tracker(process_id=2**22 - 1, disable_logs=True)
    with pytest.raises(ProcessLookupError, match=str(2**22 - 1)):
        tracker.start()


def test_text_and_json_are_the_programs():
    with Tracker(**QUIET) as tracker:
        pass
    lines = str(tracker).splitlines()
    assert lines[:2] == ["Max RAM:", "   Unit: megabytes"]
    assert [line for line in lines if not line.startswith(" ")][:5] == [
        "Max RAM:", "Max GPU RAM:", "CPU utilization:", "GPU utilization:", "Compute time:"]
    tree = tracker.to_json()
    assert list(tree)[:5] == ["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization", "compute_time"]
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    assert tree["max_ram"]["main"]["total_rss"] == tracker.max_ram.main.total_rss


def test_missing_figures_are_nan_and_none():
    with Tracker(**QUIET) as tracker:
        pass
    for key, part in tracker.to_json()["max_gpu_ram"].items():
        assert part is not None or math.isnan(getattr(tracker.max_gpu_ram, key))


@pytest.mark.parametrize("function", [
    Tracker, gpu_tracker.sub_track, gpu_tracker.SubTrackingAnalyzer, gpu_tracker.SubTrackingAnalyzer.combine_sub_tracking_files,
    gpu_tracker.TrackingComparison])
def test_types_of_paths(function):
    for name, parameter in inspect.signature(function).parameters.items():
        if name.split("_")[-1] in ("file", "files", "meter", "model", "map"):
            assert "PathLike" in parameter.annotation, name
    unit = inspect.signature(Tracker).parameters["ram_unit"].annotation
    assert unit == "_MemoryUnit" and "sleep_time: Seconds" in Tracker.__init__.__doc__


def test_paths_and_iterators(fake, one_gpu, tmp_path):
    one_gpu(0)
    model = tmp_path / "model"
    model.write_text("idle_watts = 10\nmax_watts = 100\n")
    with Tracker(libraries=iter([f"nvml={fake('nvml')}"]), gpu_uuids=iter(["0"]), tracking_file=tmp_path / "r.csv", power_model=model,
                 resource_usage_file=tmp_path / "r.pkl", **QUIET) as tracker:
        pass
    assert tracker.gpu_utilization.n_expected_gpus == 1 and (tmp_path / "r.csv").exists()


def test_units_may_be_symbols():
    with gpu_tracker.Tracker(sleep_time=0.05, ram_unit="MiB", gpu_ram_unit="GB", time_unit="s", disable_logs=True) as tracker:
        memory = bytearray(1 << 24)
    usage = tracker.resource_usage
    assert (usage.max_ram.unit, usage.max_gpu_ram.unit, usage.compute_time.unit) == ("mebibytes", "gigabytes", "seconds")
    assert len(memory) / 2**20 < usage.max_ram.combined.total_rss < 10_000


@pytest.mark.parametrize("argument, said", [
    ({"sleep_time": 0}, "sleep time"), ({"sleep_time": math.nan}, "sleep time"), ({"ram_unit": "kg"}, "kg"),
    ({"gpu_ram_unit": "kg"}, "kg"), ({"time_unit": "weeks"}, "weeks"), ({"n_expected_cores": 0}, "cores"),
    ({"n_expected_cores": -1}, "cores"), ({"gpu_uuids": set()}, "gpu_uuids"), ({"gpu_brand": "acme"}, "acme"),
    ({"tracking_file": "x.txt"}, "x.txt"), ({"tracking_file": "x"}, "'x'"), ({"tracking_file": ""}, "''"),
    ({"tracking_file": "clickhouse://host/jobs/7.sqlite"}, "push FILE"),
    ({"sleep_time": "fast"}, "fast"), ({"join_timeout": -1}, "join_timeout"),
    ({"n_join_attempts": 0}, "n_join_attempts"), ({"memory": "?"}, "memory"),
    ({"process_id": 0}, "process_id=0 is not a process ID"), ({"process_id": -1}, "process_id=-1"),
    ({"process_id": 2**31}, "process_id=2147483648")])
def test_wrong_arguments(argument, said):
    with pytest.raises(ValueError, match=said):
        Tracker(**argument)
    assert os.listdir() == []


@pytest.mark.parametrize("argument", [
    {"sleep_time": math.inf}, {"sleep_time": None}, {"sleep_time": "fast"}, {"ram_unit": 5}, {"gpu_ram_unit": "kg"}, {"time_unit": []},
    {"n_expected_cores": "2"}, {"n_expected_cores": 1.5}, {"n_expected_cores": 2**70}, {"gpu_uuids": "GPU-1"}, {"gpu_uuids": [5]},
    {"process_id": "1"}, {"process_id": 1.0}, {"resource_usage_file": 5}, {"n_join_attempts": "x"}, {"join_timeout": []},
    {"gpu_brand": 5}, {"tracking_file": 5}, {"memory": 5}, {"libraries": "nvml=x"}, {"libraries": 5}, {"idle": 5}, {"cpu_tdp": "x"},
    {"power_meter": 5}, {"max_ram": "lots"}, {"max_gpu_ram": []}, {"at_limit": "stop"}, {"on_sample": 5}], ids=str)
def test_the_argument_that_is_wrong_is_named(argument):
    with pytest.raises((TypeError, ValueError), match="|".join(argument)):
        Tracker(**argument)
    with pytest.raises(TypeError, match="a Tracker decorates functions"):
        Tracker()(5)


def test_a_tracking_file_is_not_replaced_unasked(tmp_path):
    file = tmp_path / "r.csv"
    file.write_text("precious")
    with pytest.raises(FileExistsError, match="r.csv"):
        Tracker(tracking_file=str(file))
    assert file.read_text() == "precious"
    with Tracker(tracking_file=file, overwrite=True, sleep_time=0.02, **QUIET):
        time.sleep(0.1)
    assert file.read_text().startswith("ram_unit,gpu_ram_unit")
    assert len(file.read_text().splitlines()) > 3


def test_a_tracking_file_of_any_name():
    with Tracker(tracking_file="100%p done.csv", **QUIET):
        pass
    assert os.listdir() == ["100%p done.csv"]


def test_warnings_are_logged_unless_disabled(caplog):
    with caplog.at_level(logging.WARNING, "gpu_tracker"):
        with Tracker(libraries=["nvml=/nonexistent.so"]):
            pass
        assert any("NVML" in record.message for record in caplog.records)
        caplog.clear()
        with Tracker(libraries=["nvml=/nonexistent.so"], disable_logs=True):
            pass
        assert not caplog.records


def test_a_machine_without_gpus_is_told_once(monkeypatch, caplog):
    monkeypatch.setattr(Tracker, "_has_warned", False)
    for disable_logs in (True, False, False):
        with Tracker(libraries=[f"{name}=/dev/null" for name in ("nvml", "amdsmi")], disable_logs=disable_logs) as tracker:
            pass
    if not tracker.gpu_utilization.system_gpu_count:  # graphics cards need no library
        assert caplog.text.count("No GPU was found") == 1


def test_gpus_of_a_driver(fake, one_gpu):
    one_gpu(5_000_000)
    with Tracker(libraries=[f"nvml={fake('nvml')}"], gpu_ram_unit="megabytes", **QUIET) as tracker:
        pass
    assert tracker.gpu_utilization.system_gpu_count == 1
    assert tracker.max_gpu_ram.system_capacity == 80_000
    assert tracker.max_gpu_ram.main == 5


def test_a_gpu_that_is_not_there(fake, one_gpu):
    one_gpu(0)
    library = [f"nvml={fake('nvml')}"]
    with pytest.raises(ValueError, match="GPU-nonsense"):
        Tracker(libraries=library, gpu_uuids={"GPU-nonsense"})
    with pytest.raises(ValueError, match="GPU-nonsense"):
        Tracker(gpu_uuids={"GPU-nonsense"})  # no driver
    with Tracker(libraries=library, gpu_uuids={"GPU-11111111-2222-3333-4444-555555555555"}, **QUIET) as tracker:
        pass
    assert tracker.gpu_utilization.n_expected_gpus == 1
    assert os.listdir() == ["gpu"]


def test_exceptions_pass_through_and_results_are_there():
    tracker = Tracker(**QUIET)
    with pytest.raises(ZeroDivisionError):
        with tracker:
            1 / 0  # noqa: B018
    assert tracker.max_ram.main.total_rss > 1


def test_in_coroutines():
    async def main():
        async with Tracker(**QUIET) as tracker:
            await asyncio.sleep(0.05)
        return tracker

    assert asyncio.run(main()).compute_time.time >= 0.05


def test_as_a_decorator():
    @Tracker(**QUIET)
    def double(value):
        """Twice."""
        time.sleep(0.05)
        return 2 * value

    assert double(4) == 8 and double.__name__ == "double" and double.__doc__ == "Twice."
    first = double.tracker
    assert first.compute_time.time >= 0.05
    double(1)
    assert double.tracker is not first

    @Tracker(**QUIET)
    async def wait():
        await asyncio.sleep(0.05)
        return "waited"

    assert asyncio.run(wait()) == "waited" and wait.tracker.compute_time.time >= 0.05

    @Tracker(**QUIET)
    def count():
        got = yield 1
        yield got

    steps = count()
    assert next(steps) == 1 and steps.send("x") == "x" and list(steps) == []
    assert count.tracker.state is Tracker.State.STOPPED


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_a_recording_has_all_calls_of_a_decorated_function(python, suffix):
    done = python(f"""
        import logging, time
        from gpu_tracker import Tracker
        logging.basicConfig(level=logging.INFO, format="%(message)s")

        @Tracker(tracking_file="d.{suffix}", sleep_time=0.02, time_unit="seconds", max_ram="1 TB", on_sample=lambda current: None)
        def work(seconds):
            time.sleep(seconds)
            return seconds

        record = Tracker(tracking_file="two.csv", disable_logs=True)
        first, second = record(lambda: 1), record(len)
        assert first() == 1 and second("ab") == 2
        assert [work(0.2), work(0.1), work(0.3)] == [0.2, 0.1, 0.3]
        assert 0.3 <= work.tracker.compute_time.time < 60
        work.tracker.timepoints_table()
    """)
    assert [line for line in done.stderr.splitlines() if "GPU" not in line] == [
        f"d.{suffix} records from the first call of work to the end of the program; each call is a block in d.blocks.{suffix}"]
    wait_until(lambda: not samplers())
    assert sorted(os.listdir()) == [f"d.blocks.{suffix}", f"d.{suffix}", "script.py", "two.blocks.csv", "two.csv"]
    names = gpu_tracker.SubTrackingAnalyzer("two.csv", "two.blocks.csv").load_code_block_names()
    assert names == ["<lambda>", "len"]
    [block] = json.loads(subprocess.check_output([_program.find(), "analyze", f"d.{suffix}", "-f", "json"]))["code_block_results"]
    assert (block["name"], block["num_calls"], block["num_non_empty_calls"]) == ("work", 3, 3)
    assert block["compute_time"]["total"] >= 0.6


@pytest.mark.parametrize("there", ["d.csv", "d.blocks.csv"])
def test_an_older_recording_is_refused_when_decorating(there):
    with open(there, "w") as file:
        file.write("precious")
    with pytest.raises(FileExistsError, match="already exists; set overwrite to True to replace it"):
        Tracker(tracking_file="d.csv", disable_logs=True)(int)
    assert Tracker(tracking_file="d.csv", overwrite=True, disable_logs=True)(int)("3") == 3


def test_a_decorated_function_is_called_whatever_becomes_of_its_tracker(monkeypatch, caplog):
    tracked = Tracker(tracking_file="d.csv")(int)
    with open("d.csv", "w") as file:
        file.write("precious")
    assert [tracked("3"), tracked("4")] == [3, 4] and tracked.tracker.max_ram.main.total_rss > 0
    assert caplog.text.count("int: [Errno 17] already exists") == 1 and os.listdir() == ["d.csv"]
    monkeypatch.setattr(gpu_tracker._sampling, "_program_path", lambda: "/nonexistent")
    assert tracked("5") == 5 and "nonexistent" in caplog.text
    with pytest.raises(ZeroDivisionError):
        Tracker()(lambda: 1 / 0)()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_call_a_decorated_function(python, method, overwrite):
    done = python(f"""
        import multiprocessing, os
        from gpu_tracker import SubTrackingAnalyzer, Tracker

        @Tracker(tracking_file="d.csv", sleep_time=0.05, overwrite={overwrite})
        def work(number):
            return number

        if __name__ == "__main__":
            work(0)
            file = os.stat("d.csv").st_ino
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                assert pool.map(work, range(6), chunksize=1) == list(range(6))
                pool.close()
                pool.join()
            assert len(SubTrackingAnalyzer("d.csv", "d.blocks.csv").load_timestamp_pairs("work")) == 7
            assert os.stat("d.csv").st_ino == file
    """)
    assert "exists" not in done.stderr


def test_the_backup_is_removed():
    with Tracker(resource_usage_file="kept.pkl", **QUIET):
        wait_until(lambda: os.path.exists("kept.pkl"))
        with open("kept.pkl", "rb") as file:
            assert type(pickle.load(file)) is ResourceUsage
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
    os.chdir("..")
    assert os.listdir() == ["elsewhere"]


@pytest.mark.parametrize("end", [
    "os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "ctypes.string_at(0)", "sys.exit(3)"])
def test_a_job_that_ends_inside_leaves_its_results(python, end):
    done = python(f"""
        import ctypes, os, signal, sys, time
        from gpu_tracker import Tracker
        tracker = Tracker(resource_usage_file="left.pkl", tracking_file="r.csv", sleep_time=0.02, ram_unit="megabytes",
                          disable_logs=True)
        tracker.start()
        block = bytearray(b"1") * 50_000_000
        time.sleep(0.2)
        {end}
    """, check=False)
    assert done.returncode != 0
    wait_until(lambda: not samplers())
    with open("left.pkl", "rb") as file:
        assert pickle.load(file).max_ram.main.total_rss > 50
    assert len(open("r.csv").read().splitlines()) > 8


def test_a_sampler_that_is_killed(caplog):
    tracker = Tracker(ram_unit="megabytes", sleep_time=0.05)
    with caplog.at_level(logging.WARNING, "gpu_tracker"):
        tracker.start()
        wait_until(lambda: glob.glob(".gpu-tracker_*.pkl"))
        [pid] = samplers()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not samplers())
        tracker.stop()
    assert "killed" in caplog.text
    assert tracker.max_ram.main.total_rss > 1 and "max_ram" in tracker.to_json() and str(tracker)
    assert os.listdir() == []


def test_a_sampler_that_is_told_to_end_still_reports():
    tracker = Tracker(**QUIET)
    tracker.start()
    [pid] = samplers()
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not samplers())
    tracker.stop()
    assert tracker.to_json()["run"]["complete"] is True
    assert os.listdir() == []


def test_a_fork_leaves_the_tracking_to_the_parent():
    with Tracker(sleep_time=0.01, **QUIET) as tracker:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                tracker.stop()
                code = 0 if tracker.resource_usage is None else 2
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
        time.sleep(0.05)
    assert tracker.max_ram.main.total_rss > 1
    assert tracker.to_json()["processes"]["started"] >= 2


def test_the_sampler_is_nobodys_child():
    with Tracker(**QUIET):
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_without_a_main_guard(python, method):
    python(f"""
        import multiprocessing, time
        from gpu_tracker import Tracker
        with Tracker(disable_logs=True, sleep_time=0.01) as tracker:
            if multiprocessing.current_process().name == "MainProcess":
                context = multiprocessing.get_context("{method}")
                process = context.Process(target=time.sleep, args=(0.2,))  # a fork that ends at once may be about to execute
                process.start()
                process.join()
                assert process.exitcode == 0
        if multiprocessing.current_process().name == "MainProcess":
            assert tracker.resource_usage.max_ram.descendants.total_rss > 0
    """)


def test_many_at_once():
    trackers = [Tracker(**QUIET) for _ in range(5)]
    for tracker in trackers:
        tracker.start()
    for tracker in trackers:
        tracker.stop()
    assert all(tracker.max_ram.main.total_rss > 1 for tracker in trackers)


def test_ctrl_c_reaches_the_job_alone(python):
    done = python("""
        import os, signal, time
        from gpu_tracker import Tracker
        tracker = Tracker(disable_logs=True, sleep_time=0.05)
        try:
            with tracker:
                os.killpg(os.getpgrp(), signal.SIGINT)
                time.sleep(100)
        except KeyboardInterrupt:
            print(tracker.compute_time.time * 3600)
    """, start_new_session=True)
    assert 0 < float(done.stdout) < 100


def test_importing_is_light(python):
    done = python("""
        import sys
        import gpu_tracker
        print(sorted({"pandas", "numpy", "torch", "IPython", "logging", "json", "pickle"} & set(sys.modules)))
    """)
    assert done.stdout == "[]\n"


@pytest.mark.plain_heap
def test_importing_is_quick(python):
    """In CPU time, as a multiple of what Python had used to start: 10 ms on a machine at leisure. The best of several."""
    def times(line):
        return float(python(f"""
            import time
            begin = time.process_time()
            {line}
            print((time.process_time() - begin) / begin)
        """).stdout)

    assert least(lambda: times("import gpu_tracker"), 1) < 1 and least(lambda: times("from gpu_tracker import Tracker"), 3) < 3


def test_every_public_name_is_there():
    for name in gpu_tracker.__all__:
        assert getattr(gpu_tracker, name) is not None and name in dir(gpu_tracker)
    assert gpu_tracker.tracker.Tracker is Tracker and gpu_tracker.sub_tracker.SubTracker is gpu_tracker.SubTracker
    with pytest.raises(AttributeError, match="nonsense"):
        gpu_tracker.nonsense  # noqa: B018


def test_options_are_those_of_the_table():
    """Every option of the library's table is a keyword, with the table's default or one that stands for it."""
    parameters = inspect.signature(Tracker.__init__).parameters
    for name, (_, kind, fallback) in gpu_tracker._core.tracker_options().items():
        default = parameters["libraries" if name == "library" else name].default
        assert not default or default == (float(fallback) if kind == "number" else fallback), name
    own = {"self", "disable_logs", "process_id", "resource_usage_file", "n_join_attempts", "join_timeout", "keep_high_water_mark",
           "libraries", "max_ram", "max_gpu_ram", "at_limit", "on_sample"}
    assert parameters.keys() - own <= gpu_tracker._core.tracker_options().keys()


def test_version():
    assert gpu_tracker.__version__ == (pathlib.Path(__file__).parents[2] / "VERSION").read_text().strip()


def test_the_package_that_is_tested():
    """With the sanitizers it is the one that was built with them, the program included."""
    sanitized = "asan" in os.environ.get("LD_PRELOAD", "")
    for path in gpu_tracker.__file__, gpu_tracker._core.__file__, gpu_tracker._sampling._program_path():
        assert ("build/sanitize" in path) is sanitized


# ---- numbers of numpy ----

@pytest.mark.parametrize("options", [
    {"sleep_time": np.float64(0.05)}, {"sleep_time": np.float32(0.5)}, {"sleep_time": np.int64(1)}, {"cpu_tdp": np.float64(65)},
    {"n_expected_cores": np.int32(1)}, {"n_join_attempts": np.int64(3)}, {"join_timeout": np.float64(5)}, {"disable_logs": np.bool_(True)},
])
def test_numbers_of_numpy(options):
    with Tracker(**options) as tracker:
        pass
    assert tracker.max_ram.combined.total_rss > 0


# ---- the sampler's messages ----

def test_half_a_message_keeps_nobody_waiting(tmp_path):
    program = tmp_path / "sampler"
    program.write_text(f"""#!{sys.executable}
import os, struct, time
if os.fork():
    os._exit(0)
text = b"a sentence"
message = struct.pack("II", ord("w"), len(text)) + text
os.write(0, message[:3])
time.sleep(1)
os.write(0, message[3:12])
time.sleep(1)
os.write(0, message[12:] + message)
time.sleep(200)
""")
    program.chmod(0o755)
    sampler = _sampling.Sampler(str(program), [])
    turns = 0
    began = time.monotonic()
    message = None
    while message is None and time.monotonic() < began + 100:
        message = sampler.receive(0.1)
        turns += 1
    assert message == ("warning", "a sentence") and turns > 5
    assert sampler.receive(5) == ("warning", "a sentence")
    assert sampler.receive(0.05) is None
    sampler.close()


def test_a_sampler_of_another_version(tmp_path):
    """The program tells what is wrong: the version, or an option."""
    theirs, ours = socket.socketpair()
    own = f"{gpu_tracker.__version__}/4"
    for words, answer, sentence in [(["0.0.1/1", "1"], "x", f"program ({own}) and the Python package (0.0.1/1) are of different versions"),
                                    ([own.replace("/4", "/5"), "1"], "x", "of different versions"), ([], "x", "of different versions"),
                                    ([own, "--sleep-time=x", "1"], "e", "'x' is not a number"), ([own, "x"], "e", "must be numbers")]:
        subprocess.run([_program.find(), "agent", *words], stdin=theirs, check=False)
        kind, length = struct.unpack("II", ours.recv(8, socket.MSG_WAITALL))
        assert chr(kind) == answer and sentence.encode() in ours.recv(length, socket.MSG_WAITALL)


def test_a_sampler_that_refuses(tmp_path):
    """One clear sentence, whatever else has changed between the versions."""
    program = tmp_path / "gpu-tracker"
    program.write_text("#!/usr/bin/env python3\nimport os, struct\n"
                       "text = b'of different versions: reinstall'\nos.write(0, struct.pack('II', ord('x'), len(text)) + text)\n")
    program.chmod(0o755)
    with pytest.raises(ValueError, match="^of different versions: reinstall$"):
        _sampling.Sampler(str(program), ["1"]).receive(100)


def test_trackers_in_threads_are_no_part_of_each_other():
    def track():
        with Tracker(**QUIET):
            time.sleep(0.15)

    own = len(os.listdir("/proc/self/task"))
    for _ in range(4):
        with Tracker(**QUIET) as outer:
            threads = [threading.Thread(target=track) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        tree = outer.to_json()
        assert tree["processes"] == {"max": 1, "started": 1}
        assert [tree["cpu_utilization"][f"{scope}_n_threads"] for scope in ("main", "descendants", "combined")] == [own + 4, 0, own + 4]
        assert tree["max_ram"]["descendants"]["total_rss"] == 0 and tree["cpu_time"]["descendants"] == 0
        assert tree["cpu_time"]["combined"] == tree["cpu_time"]["main"]
