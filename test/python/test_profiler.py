"""gpu_tracker.profiler: SMDebug's classes on folders in its grammar, with the right answers where the original's are wrong."""
import datetime
import json
import pathlib

import pytest
from smdebug_folder import BASE, MINUTE, steps, write_job, write_system, write_timeline

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.sanitize

from gpu_tracker import Table, profiler  # noqa: E402
from gpu_tracker.profiler.analysis.utils.pandas_data_analysis import (  # noqa: E402
    PandasFrameAnalysis,
    Resource,
    StatsBy,
)
from gpu_tracker.profiler.analysis.utils.profiler_data_to_pandas import PandasFrame  # noqa: E402

SYSTEM = ["timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type"]
FRAMEWORK = ["start_time", "end_time", "start_time_us", "end_time_us", "tid", "pid", "framework_metric", "step", "bytes",
             "process", "nodeID"]
DATALOADER = ["start_time", "end_time", "start_time_us", "end_time_us", "duration_us", "pid", "framework_metric", "step",
              "worker_id", "num_workers", "pin_memory", "process", "node_id"]
TRAIN, EVAL = "Step:ModeKeys.TRAIN", "Step:ModeKeys.EVAL"


@pytest.fixture
def job(tmp_path):
    return write_job(tmp_path / "job")


@pytest.fixture
def analysis(job):
    frame = PandasFrame(job)
    return PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())


def rows(frame, *names):
    return list(frame[list(names)].itertuples(index=False, name=None))


# ---- frames ----


def test_columns_are_smdebugs_in_its_order(job):
    frame = PandasFrame(str(job))
    assert list(frame.get_all_system_metrics()) == SYSTEM
    assert list(frame.get_all_framework_metrics()) == FRAMEWORK
    assert list(frame.get_all_dataloader_metrics()) == DATALOADER


def test_times_count_from_the_minute_in_the_name(job):
    frame = PandasFrame(job)
    assert frame.start_time == MINUTE * 10**6
    system = frame.get_all_system_metrics()
    assert rows(system, "timestamp", "timestamp_us", "value", "system_metric", "dimension", "nodeID", "type")[0] == (
        "2020-09-13T12:27:10:000000", 10_000_000, 50.0, "gpu0", "GPUUtilization", "algo-1", "gpu")
    assert system["timestamp_us"].dtype == "int64" and len(system) == 88
    first = frame.get_all_framework_metrics().iloc[0]
    assert (first["start_time"], first["start_time_us"], first["end_time_us"]) == (
        "2020-09-13T12:27:10:005000", 10_005_000, 10_007_000)
    assert (first["step"], first["bytes"], first["process"]) == (-1, -1, "DataLoaderWorker")


def test_a_timestamp_keeps_its_last_microsecond(tmp_path):
    write_system(tmp_path, [])
    path = next(tmp_path.rglob("*.json"))
    path.write_text('{"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":1,"NodeId":"algo-1",'
                    '"Timestamp":1600000020.000007}\n')
    assert list(PandasFrame(tmp_path).get_all_system_metrics()["timestamp_us"]) == [7]


def test_whole_microseconds_stay_whole(tmp_path):
    """As far from the epoch as times are today; where no file of system metrics is, columns count from there."""
    base = 1_601_091_780_000_000
    starts = [123_472 + 32 * i for i in range(100)]
    write_timeline(tmp_path, {"A": [(f"e{i}", start, 7, {}) for i, start in enumerate(starts)]}, base=base)
    frame = PandasFrame(tmp_path)
    events = frame.get_all_framework_metrics()
    assert events["start_time_us"].dtype == events["end_time_us"].dtype == "int64"
    assert list(events["start_time_us"]) == [base + start for start in starts]
    assert [frame.convert_datetime_to_timestamp(text) for text in events["start_time"]] == list(events["start_time_us"])
    job = PandasFrameAnalysis(frame.get_all_system_metrics(), events).get_job_statistics()
    assert frame.convert_datetime_to_timestamp(job["start_time"]) == base + starts[0]
    assert frame.convert_datetime_to_timestamp(job["end_time"]) == base + starts[-1] + 7
    merged = profiler.load(tmp_path).merge(tmp_path / "merged.json")
    assert merged.to_json()["end_us"] == base + starts[-1] + 7


def test_nanoseconds_of_other_traces_stay(tmp_path):
    """As far from the epoch as today floats have quarters of microseconds."""
    (tmp_path / "rank0.json").write_text(json.dumps({"baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 30.306, "dur": 0.184}]}))
    frame = PandasFrame(tmp_path)
    assert frame.start_time == 1_700_000_000_000_000
    assert rows(frame.get_all_framework_metrics(), "start_time_us", "end_time_us") == [(30.306, 30.49)]


def test_columns_of_floats_are_read_to_the_microsecond():
    base = 1_601_091_780_123_472
    frame = pandas.DataFrame({"start_time_us": [float(base), base + 2.5], "end_time_us": [base + 1.0, base + 8.0], "step": [0, 1],
                              "framework_metric": "e", "process": "Step:ModeKeys.TRAIN", "nodeID": "n"})
    system = pandas.DataFrame(columns=SYSTEM)
    statistics = PandasFrameAnalysis(system, frame).get_step_statistics()
    assert (statistics["duration_min_us"][0], statistics["duration_max_us"][0]) == (1, 5.5)


def test_text_and_column_of_a_sample_agree(tmp_path):
    """Finer times are rounded to what SMDebug has."""
    write_system(tmp_path, [])
    path = next(tmp_path.rglob("*.json"))
    path.write_text('{"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":1,"NodeId":"algo-1",'
                    '"Timestamp":1600000020.0000076}\n')
    samples = PandasFrame(tmp_path).get_all_system_metrics()
    assert samples["timestamp_us"].dtype == "int64" and list(samples["timestamp_us"]) == [8]
    assert samples["timestamp"][0].endswith(":000008")


def test_selections(job):
    frame = PandasFrame(job)
    assert set(frame.get_all_system_metrics(["gpu0"])["system_metric"]) == {"gpu0"}
    assert set(frame.get_all_framework_metrics([TRAIN])["process"]) == {TRAIN}
    assert set(frame.get_all_framework_metrics(["get"])["process"]) == {"DataIterator"}
    assert len(frame.get_all_framework_metrics(["g"])) == 0
    loader = frame.get_all_dataloader_metrics(["DataLoader", "^get$"])
    assert set(loader["process"]) == {"DataLoaderWorker", "DataIterator"}
    assert rows(loader, "duration_us", "worker_id", "num_workers", "pin_memory")[0] == (2000, 1, -1, "NA")
    with pytest.raises(ValueError, match="not a regular expression"):
        frame.get_all_dataloader_metrics(["("])


def test_bounds_of_time_belong_to_the_interval(job):
    frame = PandasFrame(job)
    system, events = frame.get_profiler_data_by_time(BASE + 180_000, BASE + 200_000)
    assert rows(events[events["nodeID"] == "algo-1"], "process", "step") == [(TRAIN, 0), (TRAIN, 1)]
    assert list(system["timestamp_us"].unique()) == [10_200_000]
    system, events = frame.get_profiler_data_by_time(BASE, BASE + 10**6, get_system_metrics=False,
                                                     selected_framework_metrics=[EVAL])
    assert len(system) == 0 and list(system) == SYSTEM and set(events["process"]) == {EVAL}


def test_endless_bounds_cost_nothing(job):
    system, events = PandasFrame(job).get_profiler_data_by_time(0, 4e15)
    assert (len(system), len(events)) == (88, 20)


def test_steps(job):
    system, events = PandasFrame(job).get_profiler_data_by_step(1, 1)
    assert set(events["step"]) == {1} and len(events) == 6
    assert (system["timestamp_us"].min(), system["timestamp_us"].max()) == (10_200_000, 10_600_000)


def test_cached_requests_are_returned_once_each(job):
    frame = PandasFrame(job, use_in_memory_cache=True)
    frame.get_profiler_data_by_time(BASE, BASE + 150_000, cache_metrics=True)
    system, events = frame.get_profiler_data_by_time(BASE + 100_000, BASE + 250_000, cache_metrics=True)
    assert list(system["timestamp_us"].unique()) == [10_000_000, 10_100_000, 10_200_000]
    assert rows(events[events["nodeID"] == "algo-1"], "start_time_us") == [
        (10_005_000,), (10_100_000,), (10_110_000,), (10_200_000,), (10_210_000,)]
    assert len(frame.get_profiler_data_by_time(BASE + 250_000, BASE + 260_000)[0]) == 0


def test_without_a_cache_new_files_are_seen(job):
    fresh, kept = PandasFrame(job), PandasFrame(job, use_in_memory_cache=True)
    before = len(kept.get_all_framework_metrics())
    write_timeline(job, steps("PREDICT", [800_000], 1000), node="algo-3")
    assert len(fresh.get_all_framework_metrics()) == before + 1
    assert len(kept.get_all_framework_metrics()) == before


def test_rows_before_the_first_file_of_system_metrics_are_there(tmp_path):
    write_timeline(tmp_path, steps("TRAIN", [0, 1000], 500), base=BASE - 3600 * 10**6)
    write_system(tmp_path, [(0, "cpu", "cpu0", "CPUUtilization", 1)])
    assert rows(PandasFrame(tmp_path).get_all_framework_metrics(), "start_time_us") == [
        (10_000_000 - 3600 * 10**6,), (10_001_000 - 3600 * 10**6,)]


def test_without_system_metrics_times_count_from_the_epoch(tmp_path):
    write_timeline(tmp_path, steps("TRAIN", [7], 5))
    frame = PandasFrame(tmp_path)
    assert frame.start_time == 0
    assert rows(frame.get_all_framework_metrics(), "start_time_us", "end_time_us") == [(BASE + 7, BASE + 12)]
    assert list(frame.get_all_system_metrics()) == SYSTEM and len(frame.get_all_system_metrics()) == 0


def test_equal_rows_are_two_rows(tmp_path):
    write_timeline(tmp_path, {"Forward": [("layer", 5, 1, {}), ("layer", 5, 1, {})]})
    write_system(tmp_path, [(0, "cpu", "cpu0", "CPUUtilization", 1)] * 3)
    frame = PandasFrame(tmp_path)
    assert len(frame.get_all_framework_metrics()) == 2 and len(frame.get_all_system_metrics()) == 3


def test_what_is_cut_off_is_read_as_far_as_it_goes(tmp_path):
    write_timeline(tmp_path, steps("TRAIN", [0, 10], 5), closed=False)
    path = write_system(tmp_path, [(i, "cpu", "cpu0", "CPUUtilization", i) for i in range(3)])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "{damaged", *lines[1:]]) + '\n{"Type": "cp')
    frame = PandasFrame(tmp_path)
    assert len(frame.get_all_framework_metrics()) == 2 and len(frame.get_all_system_metrics()) == 3
    damage = profiler.load(tmp_path).info().render("text")
    assert "damaged" in damage or "bad" in damage or "lost" in damage


def test_the_environment_changes_nothing(job, monkeypatch):
    monkeypatch.setenv("TIME_BUFFER_MICROSECONDS", "5")
    assert len(PandasFrame(job).get_profiler_data_by_time(BASE, BASE + 10**6)[1]) == 20


def test_a_merged_file_beside_its_sources_is_not_counted(job):
    before = len(PandasFrame(job).get_all_framework_metrics())
    profiler.MergedTimeline(job).merge_timeline(BASE, BASE + 10**6)
    assert len(PandasFrame(job).get_all_framework_metrics()) == before


def test_tables_are_the_frames_without_pandas(job):
    frame = PandasFrame(job)
    table = frame.get_all_framework_metrics_table([TRAIN])
    assert isinstance(table, Table) and table.column_names == FRAMEWORK
    assert table["framework_metric"] == [TRAIN] * 6 and table["step"] == [0, 0, 1, 1, 2, 2]
    pandas.testing.assert_frame_equal(pandas.DataFrame({name: table[name] for name in FRAMEWORK}),
                                      frame.get_all_framework_metrics([TRAIN]))
    assert frame.get_all_system_metrics_table().column_names == SYSTEM
    assert frame.get_all_dataloader_metrics_table().column_names == DATALOADER


def test_every_analysis_goes_to_pandas_by_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    trace = profiler.load(pathlib.Path(__file__).parents[1] / "fixture" / "traces" / "torch.json.gz")
    for analysis in "operators", "overview", "phases", "roles", "functions", "memory":
        report = getattr(trace, analysis)()
        for name in report:
            table = report[name]
            assert len(pyarrow.table(table).to_pandas()) == len(table)


def test_arrow_has_times_and_dictionaries(job):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(PandasFrame(job).get_all_framework_metrics_table([TRAIN]))
    assert table.schema.field("start_time").type == pyarrow.timestamp("ns", "UTC")
    assert table["process"].to_pylist() == [TRAIN] * 6 and table["step"].to_pylist() == [0, 0, 1, 1, 2, 2]
    assert table["start_time"][0].as_py() == datetime.datetime(2020, 9, 13, 12, 27, 10, 100_000, datetime.timezone.utc)


def test_bad_arguments(job, tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such"):
        PandasFrame(tmp_path / "no-such")
    with pytest.raises(ValueError, match="aws s3 sync"):
        PandasFrame("s3://bucket/job")
    with pytest.raises(ValueError, match="scan_interval"):
        PandasFrame(job, scan_interval=0)


# ---- what ran when ----


def text(us):
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=BASE + us)).strftime("%Y-%m-%dT%H:%M:%S:%f")


@pytest.fixture
def short(tmp_path):
    """A step from 0 to 10 ms with "long" for 8 ms of it, "brief" for 1 ms, and an event without length."""
    write_timeline(tmp_path, {**steps("TRAIN", [0], 10_000),
                              "cpu_functions": [("long", 1_000, 8_000, {}), ("brief", 2_000, 1_000, {})],
                              "marks": [("mark", 3_500, 0, {})]})
    return PandasFrame(tmp_path)


def test_timestamps_are_exact():
    frame = PandasFrame.__new__(PandasFrame)
    assert frame.convert_datetime_to_timestamp(text(1)) == BASE + 1
    assert frame.convert_datetime_to_timestamp(pandas.Timestamp("1970-01-01 00:00:00.000003")) == 3
    east = datetime.timezone(datetime.timedelta(hours=1))
    assert frame.convert_datetime_to_timestamp(datetime.datetime(1970, 1, 1, 1, tzinfo=east)) == 0


def test_a_single_moment_and_the_last_one_count(short):
    shares, events, phases = short.get_framework_metrics_by_timesteps([text(2_500)])
    assert shares == {"cpu_functions": 1.0} and events == {"long": 8_000, "brief": 1_000} and phases == {TRAIN: 10_000}
    _, events, phases = short.get_framework_metrics_by_timesteps([text(8_000), text(2_500), text(20_000)])
    assert events == {"long": 16_000, "brief": 1_000} and phases == {TRAIN: 20_000}


def test_moments_do_not_depend_on_chunks(short):
    moments = [text(us) for us in range(0, 10_000, 100)]
    whole = short.get_framework_metrics_by_timesteps(moments)
    assert whole[2] == {TRAIN: 100 * 10_000} and whole[1] == {"long": 80 * 8_000, "brief": 10 * 1_000, "mark": 0}
    assert PandasFrame(short.path, scan_interval=1_000).get_framework_metrics_by_timesteps(moments) == whole
    assert short.get_framework_metrics_by_timesteps(moments, ["brief"])[1] == {"brief": 10_000}
    with pytest.raises(ValueError, match="timestep_list is empty"):
        short.get_framework_metrics_by_timesteps()


def test_spans_count_what_overlaps(short):
    processes, events = short.get_framework_metrics_by_begin_and_end_timesteps(
        [text(0), text(2_500)], [text(2_000), text(4_500)])
    assert processes == {"cpu_functions": 1.0, "marks": 0.0}
    assert events == {"long": 1.0, "brief": 500 / 3_000, "mark": 0.0}


def test_nothing_but_events_without_length(short):
    assert short.get_framework_metrics_by_begin_and_end_timesteps([text(3_400)], [text(3_600)], ["mark"]) == (
        {"marks": 0.0}, {"mark": 0.0})
    with pytest.raises(ValueError, match="different lengths: 1 and 2"):
        short.get_framework_metrics_by_begin_and_end_timesteps([text(0)], [text(1), text(2)])


# ---- statistics ----


def test_job_statistics(analysis):
    stats = analysis.get_job_statistics()
    assert stats["start_time"] == "2020-09-13T12:27:10:000000" and stats["end_time"] == "2020-09-13T12:27:11:000000"
    assert stats["training_loop_start"] == "2020-09-13T12:27:10:100000"
    assert stats["training_loop_end"] == "2020-09-13T12:27:10:750000"
    parts = stats["initialization"], stats["training_loop_duration"], stats["finalization"]
    assert parts == (100_000, 650_000, 250_000) and stats["job_duration"] == sum(parts)
    assert (stats["initialization_%"], stats["training_loop_%"], stats["finalization_%"]) == pytest.approx((10, 65, 25))
    assert "training_loop_duration" in repr(stats) and "reason" not in stats


def test_a_job_without_steps_says_so(tmp_path):
    write_system(tmp_path, [(0, "cpu", "cpu0", "CPUUtilization", 1), (1, "cpu", "cpu0", "CPUUtilization", 1)])
    frame = PandasFrame(tmp_path)
    stats = PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics()).get_job_statistics()
    assert stats["job_duration"] == 10**6 and stats["initialization"] is None and "no steps" in stats["reason"]


def test_steps_of_modes_and_nodes_are_apart(analysis):
    stats = analysis.get_step_statistics()
    assert list(stats) == ["training_phase", "duration_mean_us", "duration_min_us", "duration_max_us", "duration_p50_us",
                           "duration_p95_us", "duration_p99_us", "nodeID"]
    assert rows(stats, "training_phase", "nodeID", "duration_mean_us", "duration_p99_us") == [
        (EVAL, "algo-1", 50_000, 50_000), (TRAIN, "algo-1", 80_000, 80_000),
        (EVAL, "algo-2", 50_000, 50_000), (TRAIN, "algo-2", 80_001, 80_001)]


def test_steps_over_nodes_have_the_skew_in_them(analysis):
    stats = analysis.get_step_statistics(over_nodes=True)
    assert "nodeID" not in stats and rows(stats, "training_phase", "duration_mean_us") == [(EVAL, 50_000), (TRAIN, 80_001)]
    with pytest.raises(ValueError, match="over_nodes"):
        analysis.get_step_statistics(StatsBy.PROCESS, over_nodes=True)


def test_events_in_steps(analysis):
    stats = analysis.get_step_statistics(StatsBy.PROCESS)
    loader = stats[stats["process"] == "DataIterator"]
    assert rows(loader, "nodeID", "training_phase", "duration_min_us", "duration_max_us") == [
        ("algo-1", TRAIN, 262, 262), ("algo-2", TRAIN, 262, 262)]
    names = set(analysis.get_step_statistics(StatsBy.FRAMEWORK_METRICS)["framework_metric"])
    assert names == {TRAIN, EVAL, "get"}  # the worker lies in no step
    with pytest.raises(ValueError, match="colour"):
        analysis.get_step_statistics("colour")


def test_use_of_a_gpu_and_of_its_memory_are_two(analysis):
    stats = analysis.get_utilization_stats(Resource.GPU)
    assert list(stats) == ["Resource", "nodeID", "utilization_mean", "utilization_min", "utilization_max",
                           "utilization_p50", "utilization_p95", "utilization_p99", "dimension"]
    assert rows(stats, "Resource", "nodeID", "dimension", "utilization_mean", "utilization_max") == [
        ("gpu", "algo-1", "GPUMemoryUtilization", 10, 10), ("gpu", "algo-1", "GPUUtilization", 72.5, 95),
        ("gpu", "algo-2", "GPUMemoryUtilization", 10, 10), ("gpu", "algo-2", "GPUUtilization", 77.5, 95)]
    assert set(analysis.get_utilization_stats()["Resource"]) == {"cpu", "gpu"}


def test_our_recordings_have_the_rows_of_the_program():
    """Their series are of scopes, and the metric tells the resource."""
    path = pathlib.Path(__file__).parents[1] / "fixture" / "python" / "recording.csv"
    frame, trace = PandasFrame(path), profiler.load(path)
    ours = PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())
    use, devices = trace.utilization().to_json()["utilization"], trace.devices().to_json()["devices"]
    stats = ours.get_utilization_stats()
    expected = [(row["resource"], row["dimension"], row["mean"]) for row in use]
    assert rows(stats, "Resource", "dimension", "utilization_mean") == expected != []
    wanted = {Resource.CPU: {"cpu_utilization"}, Resource.MEMORY: {"ram"}, Resource.NETWORK: set()}
    for resource, dimensions in wanted.items():
        assert set(ours.get_utilization_stats([resource])["dimension"]) == dimensions
    counted = ours.get_device_usage_stats_table()
    expected = [(row["device"], row["dimension"], row["samples"]) for row in devices if row["range"] == "0-10"]
    assert sorted(zip(counted["type"], counted["dimension"], counted["0-10"])) == sorted(expected) != []
    assert set(ours.get_device_usage_stats_table(Resource.CPU)["dimension"]) == {"cpu_utilization"}


def test_use_by_phase(analysis):
    stats = analysis.get_utilization_stats([Resource.CPU], StatsBy.TRAINING_PHASE)
    assert list(stats)[:3] == ["Resource", "Training_phase", "nodeID"]
    assert set(stats["Training_phase"]) == {f"Before {TRAIN}", TRAIN, f"Between {EVAL} and {TRAIN}", EVAL, f"After {EVAL}"}
    assert len(analysis.get_utilization_stats(by=StatsBy.TRAINING_PHASE, phase=["no such"])) == 0


def test_samples_of_a_host_go_with_the_phases_of_its_ranks(tmp_path):
    write_system(tmp_path, [(i / 10, "cpu", "cpu0", "CPUUtilization", 5 + 9 * i) for i in range(11)])
    for rank in (0, 1):
        write_timeline(tmp_path, steps("TRAIN", [200_000, 300_000], 90_000 + rank), node=f"{rank}-algo-1")
    frame = PandasFrame(tmp_path)
    analysis = PandasFrameAnalysis(frame.get_all_system_metrics(), frame.get_all_framework_metrics())
    assert rows(analysis.get_utilization_stats(by=StatsBy.TRAINING_PHASE), "nodeID", "Training_phase",
                "utilization_mean") == [("algo-1", f"Before {TRAIN}", 9.5), ("algo-1", TRAIN, 27.5),
                                        ("algo-1", f"After {TRAIN}", 68)]
    assert rows(analysis.get_training_phase_intervals(), "nodeID", "start_time_us", "end_time_us")[:3] == [
        ("algo-1-0", 10_000_000, 10_199_999), ("algo-1-0", 10_200_000, 10_390_000), ("algo-1-0", 10_390_001, 11_000_000)]
    other = profiler.load(tmp_path).utilization(by="phase")
    assert other["utilization"]["mean"] == [9.5, 27.5, 68]


def test_threads_that_files_do_not_name_have_small_numbers(job):
    ids = PandasFrame(job).get_all_framework_metrics()["tid"]
    assert ids.dtype == "int64" and set(ids) == set(range(8))


def test_no_samples_no_rows(job):
    frame = PandasFrame(job)
    empty = PandasFrameAnalysis(frame.get_all_system_metrics(["none"]), frame.get_all_framework_metrics())
    stats = empty.get_utilization_stats()
    assert len(stats) == 0 and "utilization_mean" in stats and len(empty.get_device_usage_stats()) == 0


def test_device_usage(analysis):
    stats = analysis.get_device_usage_stats(Resource.GPU)
    assert list(stats) == ["type", "nodeID", (0, 10), (10, 90), (90, 100), "dimension"]
    assert rows(stats, "nodeID", "dimension", (90, 100), (10, 90), (0, 10)) == [
        ("algo-1", "GPUMemoryUtilization", 0, 11, 0), ("algo-1", "GPUUtilization", 11, 11, 0),
        ("algo-2", "GPUMemoryUtilization", 0, 11, 0), ("algo-2", "GPUUtilization", 11, 11, 0)]
    assert rows(analysis.get_device_usage_stats([Resource.CPU], [(0, 4), (4, 100)]), (0, 4), (4, 100)) == [(0, 11)] * 2
    for wrong in ([], [(1, 2, 3)]):
        with pytest.raises(ValueError, match="utilization_ranges"):
            analysis.get_device_usage_stats(utilization_ranges=wrong)


def test_intervals_run_forwards_node_by_node(analysis):
    intervals = analysis.get_training_phase_intervals()
    assert list(intervals) == ["start_time_us", "end_time_us", "phase", "nodeID"]
    one = [row[:3] for row in rows(intervals, "start_time_us", "end_time_us", "phase", "nodeID") if row[3] == "algo-1"]
    assert one == [(10_000_000, 10_099_999, f"Before {TRAIN}"), (10_100_000, 10_380_000, TRAIN),
                   (10_380_001, 10_499_999, f"Between {EVAL} and {TRAIN}"), (10_500_000, 10_750_000, EVAL),
                   (10_750_001, 11_000_000, f"After {EVAL}")]
    assert (intervals["end_time_us"] > intervals["start_time_us"]).all() and len(intervals) == 10


def test_intervals_of_one_phase(analysis):
    assert list(analysis.get_training_phase_intervals(EVAL)["phase"]) == [f"Before {EVAL}", EVAL, f"After {EVAL}"] * 2
    each = analysis.get_training_phase_intervals([EVAL], each_step=True)
    assert list(each["phase"])[1:4] == [EVAL, f"Between {EVAL} and {EVAL}", EVAL]
    assert len(analysis.get_training_phase_intervals("no such")) == 0


def test_rows_left_out_by_the_caller_do_not_count(job):
    frame = PandasFrame(job)
    system, events = frame.get_all_system_metrics(), frame.get_all_framework_metrics()
    some = PandasFrameAnalysis(system[system["nodeID"] == "algo-2"], events[events["nodeID"] == "algo-2"])
    assert set(some.get_step_statistics()["nodeID"]) == {"algo-2"}
    assert rows(some.get_utilization_stats(Resource.CPU), "nodeID", "utilization_mean") == [("algo-2", 5)]
    assert list(events) == FRAMEWORK  # the caller's frames stay as they are


def test_tables_do_without_pandas(job):
    frame = PandasFrame(job)
    analysis = PandasFrameAnalysis(frame.get_all_system_metrics_table(), frame.get_all_framework_metrics_table())
    assert analysis.get_step_statistics_table()["duration_mean_us"] == [50_000, 80_000, 50_000, 80_001]
    assert analysis.get_device_usage_stats_table(Resource.CPU)["0-10"] == [11, 11]
    assert len(analysis.get_training_phase_intervals_table()) == 10
    assert analysis.get_utilization_stats_table(Resource.CPU)["utilization_mean"] == [5, 5]
    assert analysis.get_job_statistics()["job_duration"] == 10**6


def test_a_missing_column_is_named(job):
    frame = PandasFrame(job)
    with pytest.raises((ValueError, KeyError), match="value"):
        PandasFrameAnalysis(frame.get_all_system_metrics().drop(columns="value"), frame.get_all_framework_metrics())


# ---- load ----


def test_every_analysis_is_a_method(job):
    trace = profiler.load(job)
    for name in trace.analyses():
        assert name in dir(trace) and getattr(trace, name).__doc__
        if name not in ("diff", "health"):  # of two traces, of recordings
            assert str(getattr(trace, name)())
    with pytest.raises(AttributeError, match="choose one of overview, job, steps"):
        trace.walk()
    assert profiler.load(job, job).diff()


def test_a_report_in_every_form(job):
    report = profiler.load(job).steps(by="process", node="algo-1")
    assert set(report["steps"]["node"]) == {"algo-1"} and list(report) == ["steps"]
    assert report.to_json()["steps"][0]["node"] == "algo-1"
    assert list(report.to_pandas()["process"]) == report["steps"]["process"]
    assert "algo-1" in str(report) and "<iframe" in report._repr_html_() and report.render("csv")
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(report)["node"].to_list() == report["steps"]["node"]


def test_windows(job):
    assert len(profiler.load(job, start=1, end=1, unit="step").events()) == 6
    trace = profiler.load(job, start=BASE, end=BASE + 250_000)
    assert len(trace.samples()) == 24 and len(trace.samples(end="+0.05", start="+0")) == 8
    assert [row["steps"] for row in trace.steps(phases=["TRAIN"]).to_json()["steps"]] == [2, 2]
    with pytest.raises(ValueError, match="unit"):
        profiler.load(job, unit="miles").steps()
    with pytest.raises(TypeError, match="unknown option 'colour'"):
        trace.steps(colour="red")


def test_info_and_merge(job, tmp_path):
    trace = profiler.load(job)
    assert "smdebug" in str(trace.info())
    merged = trace.merge(tmp_path / "out.json", low_gpu=0).to_json()
    assert merged["counters"] == 88 and json.loads((tmp_path / "out.json").read_text())
    with pytest.raises(FileExistsError):
        trace.merge(tmp_path / "out.json")
    with pytest.raises(ValueError, match="load needs at least one path"):
        profiler.load()


def test_tables_are_data_and_not_what_people_see_of_it(tmp_path):
    """"4.46 ms" and "28.6 *" are for people: they have the names of the figures, whose place they would take."""
    (tmp_path / "trace.json").write_text(json.dumps([
        {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": 1.7e15 + begin, "dur": length}
        for name, begin, length in (("ProfilerStep#1", 0, 1000), ("enumerate(DataLoader)#_Iter.__next__", 0, 250))]))
    ranks = profiler.load(tmp_path / "trace.json").overview()["ranks"]
    assert len(set(ranks.column_names)) == len(ranks.column_names) and "step" not in ranks.column_names
    assert list(ranks["data_loading_percent"]) == [25] and list(ranks["step_us"]) == [1000]
