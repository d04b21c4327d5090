"""Errors of the system that the package raises: which file, and which code."""
import errno
import os

import pytest
from gpu_tracker import SubTracker, SubTrackingAnalyzer, Tracker, TrackingComparison, profiler, sub_track

pytestmark = pytest.mark.sanitize


def analyzer(file):
    return SubTrackingAnalyzer(file, file)


def missing(call, file):
    return pytest.param(call, FileNotFoundError, errno.ENOENT, file, id=f"{file} missing")


def exists(call, file):
    return pytest.param(call, FileExistsError, errno.EEXIST, file, id=f"{file} exists")


@pytest.mark.parametrize("call, kind, code, file", [
    exists(lambda: SubTracker("x", sub_tracking_file="there.csv"), "there.csv"),
    missing(lambda: SubTracker("x", sub_tracking_file="nowhere/x.csv"), "nowhere/x.csv"),
    exists(lambda: Tracker(tracking_file="there.csv"), "there.csv"),
    exists(lambda: Tracker(tracking_file="there.sqlite"), "there.sqlite"),
    missing(lambda: Tracker(tracking_file="nowhere/y.csv"), "nowhere/y.csv"),
    missing(lambda: Tracker(tracking_file="nowhere/else/y.csv"), "nowhere/else/y.csv"),
    missing(lambda: Tracker(resource_usage_file="nowhere/r.pkl"), "nowhere/r.pkl"),
    missing(lambda: analyzer("none.csv").load_code_block_names(), "none.csv"),
    missing(lambda: analyzer("none.sqlite").load_code_block_names(), "none.sqlite"),
    missing(lambda: analyzer("a.csv").static_data_table(), "a.csv"),
    missing(lambda: analyzer("b.csv").timepoints_table(), "b.csv"),
    missing(lambda: analyzer("c.csv").sub_tracking_results(), "c.csv"),
    missing(lambda: SubTrackingAnalyzer(None, "all.csv").combine_sub_tracking_files(["d.csv"]), "d.csv"),
    missing(lambda: profiler.load("trace.json").operators(), "trace.json"),
])
def test_the_file_and_the_code(call, kind, code, file):
    for name in "there.csv", "there.sqlite":
        with open(name, "w") as there:
            there.write("precious")
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert error.errno == code and os.path.basename(error.filename) == os.path.basename(file)
    assert os.path.abspath(error.filename) in (os.path.abspath(file), os.path.abspath(os.path.dirname(file)))
    assert str(error) == f"[Errno {code}] {error.strerror}: {error.filename!r}" and error.strerror[0] not in ":, "
    assert open("there.csv").read() == "precious"


@pytest.mark.parametrize("call, sentence", [
    (lambda: Tracker(lambda: None), "Tracker needs parentheses: @Tracker()"),
    (lambda: Tracker(disable_logs="x"), "disable_logs='x' is neither True nor False"),
    (lambda: Tracker(overwrite="x"), "overwrite='x' is neither True nor False"),
    (lambda: Tracker(keep_high_water_mark=[]), "keep_high_water_mark=[] is neither True nor False"),
    (lambda: Tracker(ram_unit=3), "ram_unit=3 is not a text"),
    (lambda: Tracker(ram_unit=3, idle=4), "ram_unit=3 is not a text"),
    (lambda: SubTracker("a", None, "a.csv", "x"), "overwrite='x' is neither True nor False"),
    (lambda: sub_track("a", overwrite="x"), "overwrite='x' is neither True nor False"),
    (lambda: profiler.load(5), "paths=5 is neither a text nor a path"),
    (lambda: trace(node=9).kernels(), "node=9 is not a text"),
    (lambda: trace().kernels(node=9), "node=9 is not a text"),
    (lambda: trace().kernels(select=5), "select=5 is not a text"),
    (lambda: trace().kernels(top="x"), "top='x' is not an integer"),
    (lambda: trace().kernels(suffixes="json"), "suffixes='json' is not a list of texts"),
    (lambda: trace().steps(phases=5), "phases=5 is not a list of texts"),
    (lambda: trace().merge("merged.json", low_gpu="x"), "low_gpu='x' is not a number"),
    (lambda: trace().export(5), "output=5 is not a text or a path"),
])
def test_a_wrong_type_names_the_argument(call, sentence):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == sentence


def trace(**window):
    with open("trace.json", "w") as file:
        file.write('[{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]')
    return profiler.load("trace.json", **window)


@pytest.mark.parametrize("call, start", [
    (lambda: Tracker(gpu_uuids={"GPU-x"}), "gpu_uuids=['GPU-x']: GPU \"GPU-x\" "),
    (lambda: Tracker(tracking_file=""), "tracking_file='': the name of a tracking file must end in .csv or .sqlite"),
    (lambda: Tracker(libraries=["x"]), "libraries=['x']: library \"x\" is not NAME=PATH"),
    (lambda: analyzer(""), "tracking_file='': its name must end in .csv or .sqlite"),
    (lambda: TrackingComparison({1: "a.json"}), "file_path_map={1: 'a.json'}: the name of a session must be a text"),
])
def test_a_wrong_value_names_the_argument(call, start):
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value).startswith(start)


def test_a_folder_where_nothing_may_be_made():
    with pytest.raises(OSError) as caught:
        SubTracker("x", sub_tracking_file="/proc/x.csv")
    assert caught.value.errno in (errno.ENOENT, errno.EACCES) and caught.value.filename == "/proc/x.csv"


def test_errors_of_no_file():
    with pytest.raises(ProcessLookupError) as caught:
        Tracker(process_id=2**22 - 1, disable_logs=True).start()
    assert caught.value.filename is None and caught.value.errno == errno.ESRCH
    assert caught.value.strerror == f"process {2**22 - 1} does not exist"
