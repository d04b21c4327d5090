"""gpu_tracker.profiler: events of timelines as objects, and what its classes refuse as SMDebug's do."""
import datetime
import gzip
import json
import os
import subprocess
import sys

import pytest
from smdebug_folder import BASE, steps, write_job, write_timeline

pandas = pytest.importorskip("pandas")

from gpu_tracker import profiler  # noqa: E402
from gpu_tracker.profiler import python_profile_utils  # noqa: E402
from gpu_tracker.profiler.utils import TimeUnits  # noqa: E402


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return write_job(tmp_path_factory.mktemp("job"))


# ---- events as objects ----


def test_events_of_a_folder_are_as_smdebug_has_them(job):
    """What LocalAlgorithmMetricsReader of smdebug 1.0.34 gives for the same folder."""
    reader = profiler.LocalAlgorithmMetricsReader(job)
    assert reader.get_current_time_range_for_event_query() == (BASE + 60 * 10**6, BASE + 60 * 10**6)
    events = reader.get_events(BASE, BASE + 10**6)
    assert len(events) == 20 and len(reader.get_events(BASE + 150_000, BASE + 150_000)) == 2
    event = min((event for event in events if event.event_name == "get"), key=lambda event: (event.start_time, event.node_id))
    assert (event.start_time, event.end_time, event.duration) == (BASE + 110_000, BASE + 110_262, 262)
    assert event.event_args == {"step_num": "0", "bytes_fetched": 4096}
    assert (event.phase_pid, event.pid, event.node_id, event.phase) == (2, 2, "algo-1", "X")
    assert (event.event_phase, event.file_type) == ("DataIterator", "PythontimelineMetrics")
    assert json.loads(event.to_json()) == {"name": "get", "pid": 2, "tid": 0, "ph": "X", "ts": BASE + 110_000, "dur": 262,
                                           "args": {"step_num": "0", "bytes_fetched": 4096}}
    seconds = reader.get_events(BASE / 1e6, BASE / 1e6 + 1, TimeUnits.SECONDS)
    assert len(seconds) == 20 and not reader.get_events(0, 1)
    assert not reader.get_events(BASE, BASE + 10**6, file_suffix_filter=["horovod_timeline.json"])
    assert len(reader.get_events(BASE, BASE + 10**6, file_suffix_filter=["pythontimeline.json"])) == 20
    assert len(reader.get_events(BASE, BASE + 10**6, file_suffix_filter="pythontimeline.json")) == 20
    assert not reader.get_events(BASE, BASE + 10**6, file_suffix_filter=["7-algo-9_pythontimeline.json"])
    assert [len(reader.get_events_by_step(*bounds)) for bounds in ((0, 1), (1, 0), (0, 99))] == [4, 0, 0]


def test_a_cache_is_kept_until_it_is_refreshed(tmp_path):
    write_timeline(tmp_path, steps("TRAIN", [0], 5))
    kept, anew = (profiler.LocalAlgorithmMetricsReader(tmp_path, use_in_memory_cache=keep) for keep in (True, False))
    assert len(kept.get_events(0, 2 * BASE)) == len(anew.get_events(0, 2 * BASE)) == 1
    write_timeline(tmp_path, steps("TRAIN", [0], 5), node="algo-2")
    assert len(kept.get_events(0, 2 * BASE)) == 1 and len(anew.get_events(0, 2 * BASE)) == 2
    kept.refresh_event_file_list()
    assert len(kept.get_events(0, 2 * BASE)) == 2


def test_readers_of_each_kind(tmp_path):
    path = write_timeline(tmp_path, steps("TRAIN", [100, 200], 50))
    events = profiler.SMProfilerEvents()
    events.read_events_from_file(path)
    assert [event.start_time for event in events.get_events_start_time_sorted()] == [BASE + 100, BASE + 200]
    assert [event.end_time for event in events.get_events_end_time_sorted()] == [BASE + 150, BASE + 250]
    assert len(events.get_events_within_time_range(BASE + 150, BASE + 199)) == 1
    moment = datetime.datetime.fromtimestamp(BASE / 1e6, datetime.timezone.utc)
    assert len(events.get_events_within_range(moment, moment + datetime.timedelta(microseconds=120))) == 1
    assert events.get_process_info(0).name == "Step:ModeKeys.TRAIN" and list(events.get_processes()) == [0]
    events.clear_events()
    assert events.get_all_events() == []
    horovod = tmp_path / "horovod.json"
    horovod.write_text('[{"name":"process_name","ph":"M","pid":1,"args":{"name":"tensor"}},'
                       '{"ph":"B","name":"NEGOTIATE_ALLREDUCE","pid":1,"ts":10},{"ph":"E","pid":1,"ts":30}]')
    tensorflow = tmp_path / "plugins/profile/x/host.trace.json.gz"
    tensorflow.parent.mkdir(parents=True)
    tensorflow.write_bytes(gzip.compress(
        b'{"traceEvents":[{"ph":"X","name":"op","pid":7,"tid":8,"ts":1.5,"dur":2,"args":{"long_name":"x"}}]}'))
    for make, file, expected in ((profiler.HorovodProfilerEvents, horovod, (10, 20, "NEGOTIATE_ALLREDUCE", "tensor")),
                                 (profiler.TensorboardProfilerEvents, tensorflow, (1.5, 2, "op", "Unknown")),
                                 (profiler.SMDataParallelProfilerEvents, horovod, (10, 20, "NEGOTIATE_ALLREDUCE", "tensor"))):
        reader = make()
        reader.read_events_from_file(file)
        [event] = reader.get_all_events()
        assert (event.start_time, event.duration, event.event_name, event.event_phase) == expected
        assert event.file_type == reader.type != ""


def test_names_of_python_profile_utils():
    assert python_profile_utils.PythonProfilerName("pyinstrument").name == "PYINSTRUMENT"
    assert [timer.value for timer in python_profile_utils.cProfileTimer] == ["total_time", "cpu_time", "off_cpu_time", "default"]
    assert python_profile_utils.mode_keys_to_python_profile_mode(profiler.PythonProfileModes.EVAL).name == "EVAL"
    before = python_profile_utils.cpu_time()
    while python_profile_utils.cpu_time() == before:
        pass
    assert python_profile_utils.total_time() > 0
    assert python_profile_utils.off_cpu_time() == pytest.approx(
        python_profile_utils.total_time() - python_profile_utils.cpu_time(), abs=60)


# ---- what is refused ----


@pytest.mark.parametrize("call", [
    lambda frame: frame.get_all_system_metrics(None), lambda frame: frame.get_all_framework_metrics(None),
    lambda frame: frame.get_framework_metrics_by_timesteps([]), lambda frame: frame.get_framework_metrics_by_timesteps(None),
    lambda frame: frame.get_framework_metrics_by_begin_and_end_timesteps([], []),
    lambda frame: frame.get_framework_metrics_by_begin_and_end_timesteps(None, None),
    lambda frame: frame.get_profiler_data_by_time(None, 1), lambda frame: frame.get_profiler_data_by_step(None, None)])
def test_frames_refuse_nothing_as_an_argument(job, call):
    with pytest.raises(ValueError, match="None|empty"):
        call(profiler.PandasFrame(job))


def test_analyses_refuse_lists_of_nothing_and_give_empty_frames(job):
    frame = profiler.PandasFrame(job)
    analysis = profiler.PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())
    for phase in ([], 3):
        with pytest.raises(ValueError, match="phase"):
            analysis.get_training_phase_intervals(phase)
    with pytest.raises(ValueError, match="resource"):
        analysis.get_utilization_stats(resource=[])
    with pytest.raises(ValueError, match="None"):
        analysis.get_step_statistics(by=None)
    with pytest.raises(ValueError, match="behind"):
        profiler.MergedTimeline(job).merge_timeline(BASE + 10, BASE)
    assert list(analysis.get_training_phase_intervals("x")) == ["start_time_us", "end_time_us", "phase", "nodeID"]
    assert analysis.get_utilization_stats(resource=profiler.Resource.IO).empty
    for one, other in zip(frame.get_profiler_data_by_time(0, 1), frame.get_profiler_data_by_step(90, 99)):
        assert one.empty and list(one) == list(other)


def test_columns_of_device_usage_begin_as_smdebugs(job):
    frame = profiler.PandasFrame(job)
    analysis = profiler.PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())
    usage = analysis.get_device_usage_stats()
    assert list(usage) == ["type", "nodeID", (0, 10), (10, 90), (90, 100), "dimension"]
    gpu = usage[(usage["dimension"] == "GPUUtilization") & (usage["nodeID"] == "algo-1")].iloc[0]
    assert [gpu[column] for column in ((0, 10), (10, 90), (90, 100))] == [0, 11, 11]
    assert len(analysis.get_device_usage_stats(device=[])) == len(usage)


# ---- merging nothing ----


def test_merging_nothing_has_a_status_of_its_own(job, tmp_path):
    program = [sys.executable, "-m", "gpu_tracker", "timeline", "merge", os.fspath(job), "-o", os.fspath(tmp_path / "merged.json")]
    done = subprocess.run([*program, "--start", "1", "--end", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 4 and "nothing was merged" in done.stderr
    assert not list(tmp_path.glob("merged*")), "a file would be taken for a merged trace"
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr


@pytest.mark.parametrize("call", [
    lambda frame, parser: frame.convert_datetime_to_timestamp(5),
    lambda frame, parser: frame.get_profiler_data_by_time("a", "b"),
    lambda frame, parser: frame.get_profiler_data_by_time(BASE + 10, BASE),
    lambda frame, parser: profiler.PandasFrameAnalysis(
        *frame.get_profiler_data_by_time(0, 2 * BASE)).get_device_usage_stats(utilization_ranges=5),
    lambda frame, parser: parser.get_events_within_time_range(None, 5),
    lambda frame, parser: profiler.LocalAlgorithmMetricsReader(".").get_events(None, 5),
    lambda frame, parser: profiler.LocalAlgorithmMetricsReader(".").get_events("a", "b"),
    lambda frame, parser: profiler.LocalAlgorithmMetricsReader(".").get_events(2e15, 1e15),
    lambda frame, parser: parser.get_events_within_time_range(9, 5),
])
def test_wrong_arguments_are_value_errors(job, call):
    with pytest.raises(ValueError):
        call(profiler.PandasFrame(job), profiler.SMProfilerEvents())


def test_a_text_is_one_name(job):
    frame = profiler.PandasFrame(job)
    for read in (frame.get_all_framework_metrics_table, frame.get_all_dataloader_metrics_table):
        listed, named, every = (len(read(names)["framework_metric"]) for names in (["DataIterator"], "DataIterator", ()))
        assert 0 < named == listed <= every
    assert len(frame.get_all_framework_metrics_table("nothing")["framework_metric"]) == 0
