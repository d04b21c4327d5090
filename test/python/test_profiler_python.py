"""gpu_tracker.profiler: profiles of Python code in SMDebug's folders."""
import json
import marshal
import math
import pstats

import pytest
from smdebug_folder import BASE

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.sanitize

from gpu_tracker import _core  # noqa: E402
from gpu_tracker.profiler import (  # noqa: E402
    Metrics,
    PyinstrumentAnalysis,
    PythonProfileModes,
    StepPhase,
    StepPythonProfileStats,
    cProfileAnalysis,
    cProfileFunctionStats,
    cProfileStats,
)

F, G, BUILTIN = ("a.py", 1, "f"), ("a.py", 9, "g"), ("~", 0, "<built-in method len>")
TRAIN, EVAL = PythonProfileModes.TRAIN, PythonProfileModes.EVAL


def stats(total, calls=1):
    """f calls g and len; g is only known as a caller of f."""
    return {F: (calls, calls + 1, total, 2 * total, {G: (calls, calls + 1, total, 2 * total)}),
            BUILTIN: (3, 3, 0.25, 0.25, {F: (3, 3, 0.25, 0.25)})}


def folder_name(start, end):
    return "_".join(f"{mode}-{step}-{phase}-{BASE + seconds * 10**6:.1f}" for mode, step, phase, seconds in (start, end))


def write_cprofile(root, start, end, total=1.0, node="0-algo-1"):
    folder = root / "framework/pytorch/cprofile" / node / folder_name(start, end)
    folder.mkdir(parents=True)
    (folder / "python_stats").write_bytes(marshal.dumps(stats(total)))


def write_pyinstrument(root, start, end, node="0-algo-1", page=True):
    folder = root / "framework/pytorch/pyinstrument" / node / folder_name(start, end)
    folder.mkdir(parents=True)
    frame = {"function": "f", "file_path_short": "a.py", "file_path": "/a.py", "line_no": 1, "time": 1.5, "children": []}
    (folder / "python_stats.json").write_text(json.dumps(
        {"start_time": BASE / 1e6, "duration": 1.5, "sample_count": 3, "program": "a.py", "cpu_time": 1.0,
         "root_frame": frame}))
    if page:
        (folder / "python_stats.html").write_text("<html></html>")


@pytest.fixture
def root(tmp_path):
    """Before step 0; forward and backward of step 2; between 2 and 3; EVAL 0; after the last; on one node, one more on another."""
    write_cprofile(tmp_path, ("prestepzero", "*", "start", 0), ("train", 0, "stepstart", 1), 32)
    write_cprofile(tmp_path, ("prestepzero", "*", "start", 0.5), ("eval", 0, "stepstart", 1), 64)
    write_cprofile(tmp_path, ("train", 2, "stepstart", 1), ("train", 2, "forwardpassend", 2), 1)
    write_cprofile(tmp_path, ("train", 2, "forwardpassend", 2.1), ("train", 2, "stepend", 3), 2)
    write_cprofile(tmp_path, ("train", 2, "stepend", 3.1), ("train", 3, "stepstart", 4), 4)
    write_cprofile(tmp_path, ("eval", 0, "stepstart", 5), ("eval", 0, "stepend", 6), 8)
    write_cprofile(tmp_path, ("eval", 0, "stepend", 7), ("posthookclose", "*", "end", 8), 16)
    write_cprofile(tmp_path, ("train", 2, "stepstart", 1.5), ("train", 2, "stepend", 3.5), 128, node="0-algo-2")
    return tmp_path


@pytest.fixture
def analysis(root):
    return cProfileAnalysis(root / "framework/pytorch/cprofile")


def total(found):
    """Seconds in f, of which each profile has its own power of two."""
    return None if found is None else next(row.total_time for row in found.function_stats_list
                                           if row.function_name == "a.py:1(f)")


def test_by_step(analysis):
    assert total(analysis.fetch_profile_stats_by_step(2)) == 1 + 2 + 128
    assert total(analysis.fetch_profile_stats_by_step(2, node_id="0-algo-1")) == 1 + 2
    assert total(analysis.fetch_profile_stats_by_step(2, 3, node_id="0-algo-1")) == 1 + 2 + 4
    assert total(analysis.fetch_profile_stats_by_step(0, mode=EVAL)) == 8
    assert analysis.fetch_profile_stats_by_step(7) is None


def test_the_forward_pass_alone(analysis):
    until = analysis.fetch_profile_stats_by_step(2, end_phase=StepPhase.FORWARD_PASS_END)
    since = analysis.fetch_profile_stats_by_step(2, start_phase=StepPhase.FORWARD_PASS_END)
    assert (total(until), total(since)) == (1, 2)


def test_by_time(analysis):
    second = BASE / 1e6
    assert total(analysis.fetch_profile_stats_by_time(second + 5.2, second + 5.4)) == 8  # inside of it
    assert total(analysis.fetch_profile_stats_by_time(second + 1.2, second + 1.6)) == 1 + 128
    assert analysis.fetch_profile_stats_by_time(second + 6.2, second + 6.4) is None


def test_by_mode_and_part_of_the_job(analysis):
    assert total(analysis.fetch_profile_stats_between_modes(EVAL, PythonProfileModes.POST_HOOK_CLOSE)) == 16
    assert total(analysis.fetch_pre_step_zero_profile_stats()) == 32 + 64
    assert total(analysis.fetch_post_hook_close_profile_stats()) == 16
    by_phase = analysis.fetch_profile_stats_by_training_phase()
    assert {tuple(mode.name for mode in modes): total(found) for modes, found in by_phase.items()} == {
        ("PRE_STEP_ZERO", "TRAIN"): 32, ("PRE_STEP_ZERO", "EVAL"): 64, ("TRAIN", "TRAIN"): 1 + 2 + 4 + 128,
        ("EVAL", "EVAL"): 8, ("EVAL", "POST_HOOK_CLOSE"): 16}
    assert {part: total(found) for part, found in analysis.fetch_profile_stats_by_job_phase().items()} == {
        "initialization": 32 + 64, "training_loop": 1 + 2 + 4 + 128 + 8, "finalization": 16}


def test_any_node_is_every_node(analysis):
    assert analysis.list_available_node_ids() == ["0-algo-1", "0-algo-2"]
    assert total(analysis.fetch_profile_stats_between_modes(TRAIN, TRAIN, node_id="0-algo-2")) == 128
    assert total(analysis.fetch_profile_stats_between_modes(TRAIN, TRAIN)) == 1 + 2 + 4 + 128


def test_functions_are_a_table(analysis, capsys):
    found = analysis.fetch_profile_stats_by_step(2, node_id="0-algo-1")
    frame = found.get_function_stats()
    assert list(frame) == ["function_name", "prim_calls", "total_calls", "total_time", "cumulative_time", "callers"]
    assert sorted(frame.itertuples(index=False, name=None)) == [
        ("a.py:1(f)", 2, 4, 3.0, 6.0, ["a.py:9(g)"]), ("{built-in method len}", 6, 6, 0.5, 0.5, ["a.py:1(f)"])]
    assert found.get_function_stats_table()["callers"] == ["a.py:9(g)", "a.py:1(f)"]
    found.print_top_n_functions(Metrics.TOTAL_CALLS, n=1)
    printed = capsys.readouterr().out
    assert "built-in method len" in printed and "a.py:1(f)" not in printed
    with pytest.raises(ValueError, match="size"):
        found.print_top_n_functions("size")


def test_sums_are_those_of_pstats(root, analysis):
    paths = sorted(map(str, root.rglob("python_stats")))
    expected = pstats.Stats(*paths).stats
    assert analysis.fetch_profile_stats_by_time(0, 1e10).ps.stats == expected


def test_the_list_of_profiles(analysis):
    frame = analysis.list_profile_stats()
    assert {"profiler_name", "framework", "node_id", "start_mode", "start_step", "start_phase", "end_mode", "end_step",
            "end_phase", "start_time_since_epoch_in_micros", "end_time_since_epoch_in_micros", "stats_path"} == set(frame)
    first, last = frame.iloc[0], frame.iloc[-1]
    assert (first["profiler_name"], first["framework"], first["start_mode"], first["start_step"]) == (
        "cprofile", "pytorch", "prestepzero", -1)
    assert (last["end_mode"], last["end_step"], last["end_phase"]) == ("posthookclose", math.inf, StepPhase.END)
    assert len(frame) == 8 and first["start_time_since_epoch_in_micros"] == BASE
    assert analysis.list_profile_stats_table()["end_phase"][-1] == "end"


def test_older_folders(tmp_path):
    folder = tmp_path / f"cProfile/{BASE}_{BASE + 10**6}_17-algo-1_4"
    folder.mkdir(parents=True)
    (folder / "python_stats").write_bytes(marshal.dumps(stats(1)))
    analysis = cProfileAnalysis(tmp_path / "cProfile")
    assert total(analysis.fetch_profile_stats_by_step(4)) == 1 and analysis.fetch_profile_stats_by_step(5) is None
    assert analysis.list_available_node_ids() == ["17-algo-1"]


def test_profiles_of_a_folder_that_was_taken_out(root, tmp_path):
    moved = tmp_path / "python_stats"
    (root / "framework/pytorch/cprofile").rename(moved)
    assert cProfileAnalysis(moved).list_available_node_ids() == ["0-algo-1", "0-algo-2"]


def test_hostile_stats_are_refused(tmp_path):
    folder = tmp_path / "cprofile/0-algo-1" / folder_name(("train", 0, "stepstart", 0), ("train", 0, "stepend", 1))
    folder.mkdir(parents=True)
    (folder / "python_stats").write_bytes(b"{(\xff\xff\xff\x7f")
    found = cProfileAnalysis(tmp_path / "cprofile").fetch_profile_stats_by_step(0)
    assert found.function_stats_list == [] and len(found.get_function_stats()) == 0


def test_pyinstrument(tmp_path):
    write_pyinstrument(tmp_path, ("train", 1, "stepstart", 0), ("train", 1, "stepend", 1))
    write_pyinstrument(tmp_path, ("train", 1, "stepstart", 0), ("train", 1, "stepend", 1), node="0-algo-2", page=False)
    found = PyinstrumentAnalysis(tmp_path / "framework/pytorch/pyinstrument").fetch_profile_stats_by_step(1)
    assert [step.json_stats["duration"] for step in found] == [1.5, 1.5]  # one moment on two nodes
    assert found[0].html_file_path.endswith("python_stats.html") and found[1].html_file_path is None
    assert cProfileAnalysis(tmp_path).fetch_profile_stats_by_step(1) is None


def test_calls_that_are_not_counted_are_not_added_up(tmp_path):
    """pyinstrument counts no calls: -1 says so, of one dump and of several."""
    for step in (1, 2):
        write_pyinstrument(tmp_path, ("train", step, "stepstart", 0), ("train", step, "stepend", 1), page=False)
    trace = _core.trace([str(tmp_path)], {})
    functions = _core.trace_functions(trace, _core.trace_dumps(trace)["stats_path"], False)
    assert [list(functions[name]) for name in ("total_calls", "prim_calls", "total_time")] == [[-1], [-1], [3.0]]


def test_objects_that_are_made_by_hand():
    step = StepPythonProfileStats("pytorch", "cprofile", "algo-1", folder_name(
        ("prestepzero", "*", "start", 0), ("train", 3, "stepstart", 1)), "/x/python_stats")
    assert step.start_step == -1 and step.end_step == 3 and step.start_mode is PythonProfileModes.PRE_STEP_ZERO
    assert step.has_pre_step_zero_profile_stats() and not step.has_post_hook_close_profile_stats()
    assert step.has_node_id("algo-1") and not step.has_node_id("algo-2") and "'framework': 'pytorch'" in repr(step)
    assert step.in_time_interval(BASE + 10**6, BASE + 2 * 10**6) and not step.in_time_interval(0, BASE - 1)
    with pytest.raises(ValueError, match="MODE-STEP-PHASE-TIME"):
        StepPythonProfileStats("pytorch", "cprofile", "algo-1", "elsewhere", "/x")
    function = cProfileFunctionStats(F, (1, 2, 0.5, 1.5, {G: 1}))
    assert (function.function_name, function.callers, function.total_calls) == ("a.py:1(f)", ["a.py:9(g)"], 2)


def test_statistics_of_pstats(tmp_path):
    (tmp_path / "dump").write_bytes(marshal.dumps(stats(1)))
    assert total(cProfileStats(pstats.Stats(str(tmp_path / "dump")))) == 1


def test_bad_folders(tmp_path):
    with pytest.raises(NotADirectoryError, match="no-such"):
        cProfileAnalysis(tmp_path / "no-such")
    with pytest.raises(ValueError, match="aws s3 sync"):
        cProfileAnalysis(tmp_path, s3_path="s3://bucket")
