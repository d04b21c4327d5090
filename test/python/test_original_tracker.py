"""What `Tracker` and the classes of the original gpu_tracker promise, of ours. Runs under either package: see test_original.py."""
import dataclasses
import inspect
import json
import os
import pathlib

import gpu_tracker
import gpu_tracker.sub_tracker
import gpu_tracker.tracker
import pytest
from gpu_tracker import SubTracker, SubTrackingAnalyzer, Tracker, TrackingComparison, sub_track
from original_data import (
    differs,
    script,
    write_marks,
)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPU_TRACKER_BLOCKS", raising=False)


@pytest.fixture(params=["csv", "sqlite"])
def suffix(request):
    return request.param


# ---- names, arguments, fields ----

CLASSES = {
    "RSSValues": {"total_rss": 0.0, "private_rss": 0.0, "shared_rss": 0.0},
    "MaxRAM": {"unit": None, "system_capacity": None, "system": 0.0, "main": "RSSValues", "descendants": "RSSValues",
               "combined": "RSSValues"},
    "MaxGPURAM": {"unit": None, "system_capacity": None, "system": 0.0, "main": 0.0, "descendants": 0.0, "combined": 0.0},
    "ProcessingUnitPercentages": {"max_sum_percent": 0.0, "max_hardware_percent": 0.0, "mean_sum_percent": 0.0,
                                  "mean_hardware_percent": 0.0},
    "CPUUtilization": {"system_core_count": None, "n_expected_cores": None,
                       **dict.fromkeys(["system", "main", "descendants", "combined"], "ProcessingUnitPercentages"),
                       "main_n_threads": 0, "descendants_n_threads": 0, "combined_n_threads": 0},
    "GPUUtilization": {"system_gpu_count": None, "n_expected_gpus": None, "gpu_percentages": "ProcessingUnitPercentages"},
    "ComputeTime": {"unit": None, "time": 0.0},
    "ResourceUsage": dict.fromkeys(["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization", "compute_time"]),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes_of_results(name):
    cls, fields = getattr(gpu_tracker.tracker, name), CLASSES[name]
    assert [field.name for field in dataclasses.fields(cls)] == list(fields)
    needed = {field: "given" for field, default in fields.items() if default is None}
    made = cls(**needed)
    for field, default in fields.items():
        wanted = needed.get(field, getattr(gpu_tracker.tracker, default)() if isinstance(default, str) else default)
        assert getattr(made, field) == wanted
    assert made == cls(*needed.values())


@pytest.mark.parametrize("name, fields", [
    ("CodeBlockResults", ["name", "num_timepoints", "num_calls", "num_non_empty_calls", "compute_time", "resource_usage"]),
    ("SubTrackingResults", ["overall", "static_data", "code_block_results"]),
    ("ComparisonResults", ["overall_resource_usage", "code_block_resource_usage", "code_block_compute_time"])])
def test_classes_of_analyses(name, fields):
    cls = getattr(gpu_tracker.sub_tracker, name)
    assert [field.name for field in dataclasses.fields(cls)] == fields
    made = cls(*range(len(fields)))
    assert [getattr(made, field) for field in fields] == list(range(len(fields)))


SIGNATURES = {
    "Tracker": (Tracker, {
        "sleep_time": 1.0, "ram_unit": "gigabytes", "gpu_ram_unit": "gigabytes", "time_unit": "hours", "n_expected_cores": None,
        "gpu_uuids": None, "disable_logs": False, "process_id": None, "resource_usage_file": None, "n_join_attempts": 5,
        "join_timeout": 10.0, "gpu_brand": None, "tracking_file": None, "overwrite": False}),
    "SubTracker": (SubTracker, {"code_block_name": None, "code_block_attribute": None, "sub_tracking_file": None, "overwrite": False}),
    "sub_track": (sub_track, {"code_block_name": None, "code_block_attribute": None, "sub_tracking_file": None, "overwrite": False}),
    "SubTrackingAnalyzer": (SubTrackingAnalyzer, {"tracking_file": inspect._empty, "sub_tracking_file": inspect._empty}),
    "TrackingComparison": (TrackingComparison, {"file_path_map": inspect._empty}),
    "combine_sub_tracking_files": (SubTrackingAnalyzer.combine_sub_tracking_files, {"self": inspect._empty, "files": inspect._empty}),
    "load_timestamp_pairs": (SubTrackingAnalyzer.load_timestamp_pairs, {"self": inspect._empty, "code_block_name": inspect._empty}),
    "load_timepoints": (SubTrackingAnalyzer.load_timepoints, {"self": inspect._empty, "timestamp_pairs": inspect._empty}),
    "compare": (TrackingComparison.compare, {"self": inspect._empty, "statistic": "mean"}),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments(name):
    thing, wanted = SIGNATURES[name]
    found = {name: parameter.default for name, parameter in inspect.signature(thing).parameters.items()
             if parameter.kind is parameter.POSITIONAL_OR_KEYWORD}
    assert found == wanted


@pytest.mark.parametrize("name", ["Tracker", "SubTracker", "sub_track", "SubTrackingAnalyzer", "TrackingComparison", "__version__"])
def test_names_of_the_package(name):
    assert getattr(gpu_tracker, name)
    if name != "__version__":
        module = gpu_tracker.tracker if name == "Tracker" else gpu_tracker.sub_tracker
        assert getattr(module, name) is getattr(gpu_tracker, name)


# ---- Tracker ----

# Trackers of the original start a process that imports the script again.
TRACK = """
import json, os, pickle, sys, time
import gpu_tracker
if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    tracker = gpu_tracker.Tracker(disable_logs=True, **arguments)
    if sys.argv[2] == "with":
        with tracker as entered:
            assert entered is tracker
            time.sleep(0.5)
    else:
        tracker.start()
        time.sleep(0.5)
        tracker.stop()
    print(json.dumps({"json": tracker.to_json(), "text": str(tracker), "left": sorted(os.listdir()), "usage":
                      type(tracker.resource_usage).__name__, "rss": tracker.resource_usage.max_ram.main.total_rss}))
"""
UNITS = [("bytes", "megabytes", "seconds", 3), ("kilobytes", "gigabytes", "minutes", 2), ("megabytes", "kilobytes", "hours", 1),
         ("gigabytes", "bytes", "days", None)]
FACTOR = {"bytes": 1e-6, "kilobytes": 1e-3, "megabytes": 1, "gigabytes": 1e3, "terabytes": 1e6}
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
TITLES = [(0, "Max RAM"), (1, "Unit"), (1, "System capacity"), (1, "System"),
          *[entry for scope in ("Main", "Descendants", "Combined")
            for entry in ((1, scope), (2, "Total RSS"), (2, "Private RSS"), (2, "Shared RSS"))],
          (0, "Max GPU RAM"), (1, "Unit"), (1, "System capacity"), (1, "System"), (1, "Main"), (1, "Descendants"), (1, "Combined"),
          (0, "CPU utilization"), (1, "System core count"), (1, "Number of expected cores"),
          *[entry for scope in ("System", "Main", "Descendants", "Combined")
            for entry in ((1, scope), (2, "Max sum percent"), (2, "Max hardware percent"), (2, "Mean sum percent"),
                          (2, "Mean hardware percent"))],
          *[(1, f"{scope} number of threads") for scope in ("Main", "Descendants", "Combined")],
          (0, "GPU utilization"), (1, "System GPU count"), (1, "Number of expected GPUs"), (1, "GPU percentages"),
          (2, "Max sum percent"), (2, "Max hardware percent"), (2, "Mean sum percent"), (2, "Mean hardware percent"),
          (0, "Compute time"), (1, "Unit"), (1, "Time")]


def leaves(tree):
    for value in tree.values():
        if isinstance(value, dict):
            yield None
            yield from leaves(value)
        else:
            yield value


def check_text(text, tree):
    """Line by line: three spaces a level, three decimals, and the figures of the JSON."""
    sections = {name: tree[name] for name in CLASSES["ResourceUsage"]}
    lines = text.splitlines()
    for line, (level, title), value in zip(lines, TITLES, leaves(sections), strict=False):
        label, _, shown = line.partition(":")
        assert label == "   " * level + title, line
        if shown == " n/a":
            assert value is None and differs("unmeasured")
        elif isinstance(value, float) or value is None and shown:
            assert float(shown) == round(value or 0.0, 3) and "." in shown
        else:
            assert shown.strip() == ("" if value is None else str(value))
    assert len(lines) == len(TITLES) or len(lines) > len(TITLES) and differs("more figures")


def check_figures(tree, arguments, text):
    assert [key for key in tree if key in CLASSES["ResourceUsage"]] == list(CLASSES["ResourceUsage"])
    assert len(tree) == 5 or differs("more figures")
    for name, cls in zip(CLASSES["ResourceUsage"], ("MaxRAM", "MaxGPURAM", "CPUUtilization", "GPUUtilization", "ComputeTime")):
        assert [key for key in tree[name] if key in CLASSES[cls]] == list(CLASSES[cls])
    ram, cpu = tree["max_ram"], tree["cpu_utilization"]
    assert ram["unit"] == arguments["ram_unit"] and tree["max_gpu_ram"]["unit"] == arguments["gpu_ram_unit"]
    main = {key: value * FACTOR[ram["unit"]] for key, value in ram["main"].items()}
    assert 5 < main["total_rss"] < 500 and 0 < main["private_rss"] <= main["total_rss"] + 1e-6
    assert ram["combined"]["total_rss"] >= ram["main"]["total_rss"] * 0.98
    assert ram["system_capacity"] * FACTOR[ram["unit"]] > 500 and ram["system"] < ram["system_capacity"]
    assert cpu["system_core_count"] == os.cpu_count()
    assert cpu["n_expected_cores"] == (arguments["n_expected_cores"] or os.cpu_count())
    assert cpu["main_n_threads"] >= 1 and cpu["combined_n_threads"] >= cpu["main_n_threads"]
    for percentages in cpu["system"], cpu["main"], cpu["descendants"], cpu["combined"]:
        assert percentages["mean_sum_percent"] <= percentages["max_sum_percent"] + 1e-9
    time_of = tree["compute_time"]
    assert time_of["unit"] == arguments["time_unit"] and 0.1 < time_of["time"] * SECONDS[time_of["unit"]] < 30
    check_text(text, tree)


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("way", ["with", "start and stop"])
@pytest.mark.parametrize("tracking_file", [None, "run.csv", "run.sqlite"])
def test_tracking(units, way, tracking_file):
    arguments = {**dict(zip(["ram_unit", "gpu_ram_unit", "time_unit", "n_expected_cores"], units)), "sleep_time": 0.1,
                 "tracking_file": tracking_file}
    found = json.loads(script(TRACK, json.dumps(arguments), way))
    assert found["usage"] == "ResourceUsage" and found["rss"] == found["json"]["max_ram"]["main"]["total_rss"]
    check_figures(found["json"], arguments, found["text"])
    assert found["left"] == sorted(filter(None, [tracking_file, "script.py"]))
    if tracking_file:
        analyzer = SubTrackingAnalyzer(tracking_file, write_marks("none.csv"))
        static = analyzer.read_static_data()
        assert (static["ram_unit"], static["gpu_ram_unit"], static["time_unit"]) == units[:3]
        assert static["n_expected_cores"] == (units[3] or os.cpu_count())
        results = analyzer.overall_timepoint_results()
        assert results.loc["main_ram", "max"] <= found["rss"] * 1.001 and results.loc["main_ram", "min"] >= 0


WRONG = [({"sleep_time": 0.0}, "leep"), ({"sleep_time": -1}, "leep"), ({"ram_unit": "stones"}, "stones"),
         ({"gpu_ram_unit": "stones"}, "stones"), ({"time_unit": "moons"}, "moons"), ({"gpu_brand": "acme"}, "acme"),
         ({"tracking_file": "run.txt"}, "run.txt"), ({"tracking_file": "run"}, "run")]


@pytest.mark.parametrize("argument, named", WRONG)
def test_wrong_arguments(argument, named):
    with pytest.raises(ValueError, match=named):
        Tracker(disable_logs=True, **argument)
    assert os.listdir() == []


def test_an_empty_set_of_gpus():
    """The original looks at the set only where there is a GPU."""
    if differs("invisible GPUs"):
        with pytest.raises(ValueError, match="gpu_uuids"):
            Tracker(gpu_uuids=set())


def test_sleep_times_below_a_tenth():
    if differs("short sleep"):
        Tracker(sleep_time=0.05, disable_logs=True)
    else:
        with pytest.raises(ValueError, match="0.05"):
            Tracker(sleep_time=0.05, disable_logs=True)


def test_an_older_recording(suffix):
    path = pathlib.Path(f"run.{suffix}")
    path.write_text("old")
    with pytest.raises(FileExistsError, match="run"):
        Tracker(tracking_file=str(path), disable_logs=True)
    assert path.read_text() == "old"
    Tracker(tracking_file=str(path), disable_logs=True, overwrite=True)


def test_attributes():
    tracker = Tracker(disable_logs=True, n_join_attempts=3, join_timeout=4.5)
    assert (tracker.resource_usage, tracker.n_join_attempts, tracker.join_timeout) == (None, 3, 4.5)
    assert tracker.state is Tracker.State.NEW
    assert [(state.name, state.value) for state in Tracker.State] == [("NEW", 0), ("STARTED", 1), ("STOPPED", 2)]


@pytest.mark.parametrize("show", [str, Tracker.to_json])
def test_no_results_before_the_end(show):
    with pytest.raises(RuntimeError):
        show(Tracker(disable_logs=True))


STATES = """
import gpu_tracker
def refused(call):
    try:
        call()
    except RuntimeError as error:
        return str(error).lower()
if __name__ == "__main__":
    tracker = gpu_tracker.Tracker(disable_logs=True, sleep_time=0.1)
    print(repr(tracker), "|", refused(tracker.stop))
    tracker.start()
    print(repr(tracker), "|", refused(tracker.start))
    tracker.stop()
    print(repr(tracker), "|", refused(tracker.start), "|", refused(tracker.stop))
"""


def test_states():
    new, started, stopped = (line.split(" | ") for line in script(STATES).splitlines())
    assert (new[0], started[0], stopped[0]) == ("State: NEW", "State: STARTED", "State: STOPPED")
    assert "stop" in new[1] and "start" in started[1] and "stopped" in stopped[1] and "stopped" in stopped[2]


BACKUP = """
import glob, os, pickle, sys, time
import gpu_tracker
if __name__ == "__main__":
    name = sys.argv[1] or None
    with gpu_tracker.Tracker(disable_logs=True, sleep_time=0.1, resource_usage_file=name):
        deadline = time.monotonic() + 100
        while not (found := glob.glob(name or ".gpu-tracker_*.pkl")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
        with open(found[0], "rb") as file:
            print(type(pickle.load(file)).__name__)
    print(glob.glob(name or ".gpu-tracker_*"))
"""


@pytest.mark.parametrize("name", ["kept.pkl", ""])
def test_results_of_an_interrupted_tracking(name):
    assert script(BACKUP, name).split() == ["ResourceUsage", "[]"]
