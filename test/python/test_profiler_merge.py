"""gpu_tracker.profiler: merged timelines, the data loader's analysis, and its chart."""
import gzip
import json
import re

import pytest
from smdebug_folder import BASE, steps, write_job, write_system, write_timeline

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.sanitize

from gpu_tracker.profiler.analysis.utils.merge_timelines import MergedTimeline, MergeUnit  # noqa: E402
from gpu_tracker.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame  # noqa: E402
from gpu_tracker.profiler.analysis.utils.pytorch_dataloader_analysis import PT_dataloader_analysis  # noqa: E402


@pytest.fixture
def job(tmp_path):
    return write_job(tmp_path / "job")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def count(events, phase):
    return sum(event["ph"] == phase for event in events)


# ---- merging ----


def test_the_file_is_named_by_its_end(job, tmp_path):
    (tmp_path / "out").mkdir()
    merge = MergedTimeline(str(job), output_directory=str(tmp_path / "out"))
    path = merge.merge_timeline(BASE, BASE + 10**6)
    assert re.fullmatch(rf"{tmp_path}/out/{BASE + 10**6}_[^_]+_merged_timeline.json", path)
    assert path == merge.file_name(BASE + 10**6)
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == [path.rpartition("/")[2]]
    assert count(read(path), "X") == 20 and count(read(path), "C") == 88
    merge.close()


def test_system_metrics_can_be_left_out(job):
    for wanted in (None, {}):
        assert count(read(MergedTimeline(job).merge_timeline(BASE, BASE + 10**6, sys_metrics_filter=wanted)), "C") == 0
    with pytest.raises(ValueError, match="'highgpu'"):
        MergedTimeline(job).merge_timeline(BASE, BASE + 10**6, sys_metrics_filter={"highgpu": ()})


def test_the_threshold_is_a_parameter(job):
    marks = {}
    for wanted in ((), (55,), 40):
        events = read(MergedTimeline(job).merge_timeline(BASE, BASE + 10**6, sys_metrics_filter={"lowgpu": wanted}))
        marks[wanted] = [event for event in events if event["name"] == "sys_metrics_bottlenecks"]
    assert len(marks[()]) == 11 and marks[40] == []  # one moment, one mark
    assert len(marks[(55,)]) == 11


def test_counters_go_on_when_no_gpu_is_low(tmp_path):
    write_system(tmp_path, [(i, "gpu", "gpu0", "GPUUtilization", 99) for i in range(5)])
    assert count(read(MergedTimeline(tmp_path).merge_timeline(BASE, BASE + 10**7)), "C") == 5


def test_steps(job):
    path = MergedTimeline(job).merge_timeline(1, 2, MergeUnit.STEP, None)
    assert path.rpartition("/")[2].startswith(f"{BASE + 300_000 - 1}_")
    assert {event["args"]["step_num"] for event in read(path) if event["ph"] == "X"} == {"1"}
    assert path == MergedTimeline(job).merge_timeline(1, 2, "step", None)
    with pytest.raises(ValueError, match="miles"):
        MergedTimeline(job).merge_timeline(1, 2, "miles")


def test_no_events_make_an_empty_list(job):
    assert read(MergedTimeline(job).merge_timeline(1, 2)) == []


def test_a_filter_of_timelines_leaves_system_metrics_in(job):
    write_timeline(job, {"Forward": [("layer", 1, 1, {})]}, suffix="model_timeline.json")
    events = read(MergedTimeline(job, ["model_timeline.json"]).merge_timeline(BASE, BASE + 10**6))
    assert count(events, "X") == 1 and count(events, "C") == 88


def test_a_filter_that_nothing_can_match_is_refused(job):
    def events(wanted):
        return read(MergedTimeline(job, wanted).merge_timeline(BASE, BASE + 10**6))

    with pytest.raises(ValueError, match=r"'x\.json'.*pythontimeline\.json"):
        events(["x.json"])
    assert count(events("pythontimeline.json"), "X") == 20  # a text is one suffix
    alone = events(["model_timeline.json"])  # as SMDebug, where the folder has none of a kind
    assert count(alone, "X") == 0 and count(alone, "C") == 88


def test_open_chooses_the_file(job, tmp_path):
    merge = MergedTimeline(job)
    merge.open(tmp_path / "here.json.gz")
    assert merge.merge_timeline(None, None) == str(tmp_path / "here.json.gz")
    with gzip.open(tmp_path / "here.json.gz") as file:
        assert count(json.load(file), "X") == 20
    with pytest.raises(OSError, match="no-such"):
        merge.open(tmp_path / "no-such/file.json")


# ---- the data loader ----


def loader(root, first=100_000):
    """Iterators of two epochs, one slow; three fetches each, one slow; workers, one slow."""
    made = [("_MultiProcessingDataLoaderIter.__init__", start, length, {"num_workers": 2, "pin_memory": True})
            for start, length in ((0, 90_000), (1_000_000, 400_000), (2_000_000, 95_000), (2_500_000, 96_000))]
    fetches = [("_MultiProcessingDataLoaderIter::GetNext", start, length, {"worker_id": number})
               for number, (start, length) in enumerate(((first, 10_000), (200_000, 10_000), (300_000, 50_000),
                                                         (1_500_000, 10_000), (1_600_000, 10_000), (1_950_000, 10_000)))]
    workers = [("DataLoaderWorker", start, length, {"worker_id": number})
               for number, (start, length) in enumerate(((0, 100), (0, 110), (0, 300)))]
    write_system(root, [(i / 2, "cpu", "cpu0", "CPUUtilization", 10 * i) for i in range(6)])
    write_timeline(root, {"DataLoaderIterInitialize": made, "DataIterator": fetches, "DataLoaderWorker": workers})
    return root


@pytest.fixture
def slow(tmp_path):
    return PT_dataloader_analysis(PandasFrame(loader(tmp_path)))


def test_a_slow_iterator_is_returned(slow, capsys):
    found = slow.analyze_dataloaderIter_initialization()
    assert found.to_dict("records") == [
        {"start_time": "2020-09-13T12:27:11:000000", "end_time": "2020-09-13T12:27:11:400000", "duration_us": 400_000}]
    printed = capsys.readouterr().out
    assert "4 iterators, median 95500 us" in printed and "pin_memory = true and 2 workers" in printed


def test_slow_workers_and_fetches(slow):
    assert slow.analyze_dataloaderWorkers()[["duration_us", "worker_id"]].to_dict("records") == [
        {"duration_us": 300, "worker_id": 2}]
    found = slow.analyze_dataloader_getnext()
    assert list(found) == ["start_time", "end_time", "duration_us", "worker_id"]
    assert found["duration_us"].tolist() == [50_000] and found["worker_id"].tolist() == [2]


def test_slow_batches_but_not_the_pause_between_epochs(slow, capsys):
    found = slow.analyze_batchtime()
    assert found.to_dict("records") == [
        {"previous_batch_start": "2020-09-13T12:27:11:600000", "start_time": "2020-09-13T12:27:11:950000",
         "BatchTime_in_seconds": 0.35, "worker_id": 5}]
    assert "4 batches, median 100000 us" in capsys.readouterr().out


def test_a_median_of_nothing_makes_no_outliers(tmp_path, capsys):
    write_timeline(tmp_path, {"DataLoaderWorker": [("DataLoaderWorker", i, 0, {}) for i in range(3)]})
    analysis = PT_dataloader_analysis(PandasFrame(tmp_path))
    assert analysis.analyze_dataloaderWorkers() is None and "No outliers among workers" in capsys.readouterr().out
    assert analysis.analyze_dataloader_getnext() is None and "No events of GetNext" in capsys.readouterr().out


# ---- the chart ----


def test_the_chart_as_a_page(slow, tmp_path):
    chart = slow.plot_the_window(BASE, BASE + 3_000_000, select_events=["GetNext", "^DataLoaderWorker"])
    page = chart.to_html(tmp_path / "chart.html")
    assert page == (tmp_path / "chart.html").read_text() and "CPUUtilization" in page and "algo-1 cpu0" in page
    assert "::GetNext</title>" in page and "__init__" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "iframe" in chart._repr_html_() and "GetNext" in str(chart)
    assert "CPUUtilization" not in slow.plot_the_window(BASE, BASE + 3_000_000, select_dimensions=["gpu"]).to_html()


@pytest.mark.sanitize_long
def test_the_chart_as_a_figure(slow):
    pytest.importorskip("matplotlib")
    chart = slow.plot_the_window("2020-09-13T12:27:10:000000", "2020-09-13T12:27:13:000000", ["GetNext"])
    panels = chart.figure().axes
    assert [panel.get_ylabel() for panel in panels] == ["CPUUtilization", ""]
    assert list(panels[0].lines[0].get_xdata()) == [0, 0.5, 1, 1.5, 2, 2.5]
    assert [label.get_text() for label in panels[1].get_yticklabels()] == ["_MultiProcessingDataLoaderIter::GetNext"]
    first = panels[1].collections[0].get_paths()[0].vertices
    assert (first[:, 0].min(), first[:, 0].max()) == pytest.approx((0.1, 0.11))


def test_wrong_windows(slow):
    with pytest.raises(ValueError, match="ends before"):
        slow.plot_the_window(BASE, BASE)
    with pytest.raises(ValueError, match="not a regular expression"):
        slow.plot_the_window(BASE, BASE + 1, ["("])


def test_a_step_is_no_event_of_a_loader(tmp_path):
    write_timeline(tmp_path, steps("TRAIN", [0], 5))
    assert PT_dataloader_analysis(PandasFrame(tmp_path)).analyze_batchtime() is None
