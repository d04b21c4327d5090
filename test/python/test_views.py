"""Results as pages, pictures and flat figures."""
import math
import pathlib
import time
import xml.etree.ElementTree

import pytest

import gpu_tracker as gput


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("views") / "run.sqlite"
    with gput.Tracker(sleep_time=0.02, tracking_file=path) as tracker:
        time.sleep(0.5)
    return tracker


def test_timepoints_are_the_samples(recorded):
    table = recorded.timepoints()
    assert recorded.timepoints_table()["main_ram"] == list(table["main_ram"])
    assert len(table) > 5 and (table["combined_ram"] > 0).all()


def test_a_plot_is_a_picture_for_notebooks_and_files(recorded, tmp_path):
    picture = recorded.plot("memory,cpu")
    assert xml.etree.ElementTree.fromstring(picture._repr_svg_()).tag.endswith("svg")
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == picture.svg
    with pytest.raises(ValueError, match="no chart \"wattage\""):
        recorded.plot("wattage")
    assert "font-family:serif" in recorded.plot("memory", width=8.5, font="serif").svg
    with pytest.raises(ValueError, match="choose 6 to 100"):
        recorded.plot("memory", width=3)
    with pytest.raises(ValueError, match="choose sans or serif"):
        recorded.plot("memory", font="comic")
    with pytest.raises(ValueError, match=r'use plot\(\).save\("x.png"\)'):
        recorded.plot("x.png")
    with pytest.raises(TypeError, match=r"use plot\(\).save"):
        recorded.plot(tmp_path / "x.png")
    with pytest.raises(ValueError, match="not a picture format"):
        picture.save(tmp_path / "a.gif")
    assert not (tmp_path / "a.gif").exists()


def test_the_page(recorded, tmp_path):
    page = recorded.to_html(tmp_path / "run.html")
    assert page == (tmp_path / "run.html").read_text() and "<h1>" in page and 'id="figure1"' in page
    shown = recorded._repr_html_()
    assert shown.startswith("<pre>gpu-tracker  ") and "  memory " in shown and "<svg" in shown and len(shown) < 60_000


def test_without_a_recording_there_are_figures_only():
    tracker = gput.Tracker(sleep_time=0.05)
    assert "NEW" in tracker._repr_html_()
    with tracker:
        assert "STARTED" in tracker._repr_html_()
    assert tracker._repr_html_().startswith("<pre>gpu-tracker  ")
    for view in tracker.plot, tracker.timepoints, tracker.to_html:
        with pytest.raises(RuntimeError, match="tracking_file"):
            view()


def test_results_of_blocks_have_a_page(tmp_path):
    with gput.Tracker(sleep_time=0.02, tracking_file=tmp_path / "run.csv"):
        with gput.SubTracker("<b>", sub_tracking_file=tmp_path / "blocks.csv"):
            time.sleep(0.2)
    results = gput.SubTrackingAnalyzer(tmp_path / "run.csv", tmp_path / "blocks.csv").sub_tracking_results()
    page = results.to_html()
    assert "&lt;b&gt;" in page and "<b>" not in page.split("<script")[0]
    assert results._repr_html_().startswith("<iframe")


class FakeMLflow:
    """With the signature of mlflow.log_metrics, and its rules for names; no MLflow."""

    def __init__(self):
        self.logged = {}

    def log_metrics(self, metrics, step=None):
        for name, value in metrics.items():
            assert all(letter.isalnum() or letter in "_-. /" for letter in name) and isinstance(value, float)
        self.logged.update(metrics)


class FakeWriter:
    """With the signature of SummaryWriter.add_scalar; no TensorBoard."""

    def __init__(self):
        self.logged = {}

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None):
        self.logged[tag] = scalar_value


def test_metrics_are_flat_numbers_for_loggers(recorded):
    metrics = recorded.metrics()
    assert metrics["gpu_tracker/max_ram/combined/total_rss_bytes"] == round(recorded.max_ram.combined.total_rss * 1e9)
    assert not any(isinstance(value, bool) or math.isnan(value) for value in metrics.values())
    mlflow, writer = FakeMLflow(), FakeWriter()
    mlflow.log_metrics(metrics)
    for name, value in metrics.items():
        writer.add_scalar(name, value)
    assert mlflow.logged == writer.logged == metrics
    assert "max_ram/unit" not in recorded.metrics("") and len(recorded.metrics("")) == len(metrics)


UNITS = ("bytes", "seconds", "joules", "watts", "celsius", "percent", "grams", "grams_per_kwh")
COUNTS = {"system_core_count", "n_expected_cores", "main_n_threads", "descendants_n_threads", "combined_n_threads", "system_gpu_count",
          "n_expected_gpus", "max", "started", "untold_processes", "minor", "major", "voluntary", "involuntary", "cores", "gpus",
          "stopped", "price"}


@pytest.mark.parametrize("units", [{}, {"ram_unit": "megabytes", "time_unit": "seconds"}, {"ram_unit": "MiB", "gpu_ram_unit": "kB"}])
def test_metrics_name_their_base_units(units):
    with gput.Tracker(disable_logs=True, **units) as tracker:
        block = bytearray(50_000_000)
    metrics = tracker.metrics("")
    assert block and 50e6 < metrics["max_ram/combined/total_rss_bytes"] < 5e9
    assert metrics["memory_peak/combined/best_bytes"] >= 50e6 and metrics["memory_peak/untold_processes"] >= 0
    assert 0 < metrics["compute_time/time_seconds"] < 600 and metrics["next_time/memory_bytes"] >= 2**28
    unnamed = {name.rsplit("/", 1)[1] for name in metrics if not name.endswith(UNITS)}
    assert unnamed <= COUNTS, unnamed - COUNTS


def test_units_of_metrics_are_those_of_the_table_and_bytes_are_whole(recorded):
    from gpu_tracker._views import measured

    tree = {"max_ram": {"unit": "gigabytes", "combined": {"total_rss": 0.06404096}}, "pressure": {"memory": 0.25, "cpu": 1.5},
            "provenance": {"pressure.memory": {"metric": "system_pressure_memory"}, "pressure.cpu": {"metric": "system_pressure_cpu"}}}
    assert 0.06404096 * 1e9 != 64040960  # 64040959.99999999
    assert measured(tree) == {"max_ram/combined/total_rss_bytes": 64040960, "pressure/memory_seconds": 0.25, "pressure/cpu_seconds": 1.5}
    metrics = recorded.metrics("")
    assert "pressure/memory_bytes" not in metrics
    assert all(value == int(value) for name, value in metrics.items() if name.endswith("_bytes"))


def test_what_was_not_measured_is_in_no_metric():
    with gput.Tracker(disable_logs=True, gpu_uuids=None) as tracker:
        pass
    metrics = tracker.metrics("")
    if tracker.gpu_utilization.system_gpu_count == 0:
        assert not [name for name in metrics if "gpu" in name and name != "next_time/gpus"]
    missing = tracker.to_json()["missing"]
    assert not [name for name in missing if any(metric.startswith(name.replace(".", "/") + "/") for metric in metrics)]


def test_a_running_tracker_can_be_looked_at(tmp_path):
    with gput.Tracker(sleep_time=0.02, tracking_file=pathlib.Path(tmp_path, "live.sqlite")) as tracker:
        deadline = time.monotonic() + 60
        while len(tracker.timepoints()) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert "<svg" in tracker.plot("memory").svg
