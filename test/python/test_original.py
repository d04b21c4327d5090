"""Beside the original gpu_tracker, where it is installed: each reads what the other has written."""
import os
import pathlib
import pickle
import subprocess
import sys
import time

import pytest
from gpu_tracker import SubTracker, SubTrackingAnalyzer, Tracker, TrackingComparison

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "test" / "fixture" / "python"
ORIGINAL = os.environ.get("GPU_TRACKER_ORIGINAL", str(ROOT / "build" / "original" / "bin" / "python"))

pytestmark = pytest.mark.skipif(not os.path.exists(ORIGINAL), reason="the original is not installed: make original")


@pytest.fixture
def original(tmp_path):
    """original(code): what a script prints under the original package, with what our results need as `analyzer`."""

    def run(code):
        begin = (f"import pickle, gpu_tracker\nanalyzer = gpu_tracker.SubTrackingAnalyzer("
                 f"{str(FIXTURE / 'recording.csv')!r}, {str(FIXTURE / 'blocks.csv')!r})\n")
        done = subprocess.run([ORIGINAL, "-c", begin + code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def results():
    return SubTrackingAnalyzer(str(FIXTURE / "recording.csv"), str(FIXTURE / "blocks.csv")).sub_tracking_results()


def dump(value, path):
    with open(path, "wb") as file:
        pickle.dump(value, file)


def test_our_results_in_the_original(original, results):
    dump(results, "ours.pkl")
    assert original("""
results = pickle.load(open("ours.pkl", "rb"))
own = analyzer.sub_tracking_results()
assert type(results) is type(own) and type(results.code_block_results[0]) is type(own.code_block_results[0])
assert (results.overall.loc[own.overall.index, own.overall.columns] == own.overall).all().all()
assert results.static_data.to_dict() == own.static_data.to_dict()
assert results.to_json()["code_block_results"][2]["compute_time"]["total"] == 2.25
pickle.dump(own, open("own.pkl", "wb"))
comparison = gpu_tracker.TrackingComparison({"ours": "ours.pkl", "own": "own.pkl"}).compare("max")
print(comparison.overall_resource_usage["main_ram"].to_dict())
""") == "{'ours': 1.0, 'own': 1.0}\n"
    dump(TrackingComparison({"a": "ours.pkl", "b": "own.pkl"}).compare(), "comparison.pkl")
    assert original("print(pickle.load(open('comparison.pkl', 'rb')))").startswith("Overall Resource Usage:\n")


def test_the_originals_results_here(original):
    printed = original("""
pickle.dump(analyzer.sub_tracking_results(), open("own.pkl", "wb"))
comparison = gpu_tracker.TrackingComparison({"a": "own.pkl", "b": "own.pkl"}).compare()
pickle.dump(comparison, open("comparison.pkl", "wb"))
print(comparison)
""")
    with open("comparison.pkl", "rb") as file:
        assert str(pickle.load(file)) == printed.replace("NaN", "n/a").rstrip("\n")


def test_the_programs_pickle_in_the_original(original, gpu_tracker):
    subprocess.run([gpu_tracker, "run", "-f", "pickle", "-o", "usage.pkl", "--ru", "megabytes", "--", "sleep", "0.1"],
                   check=True)
    assert original("""
usage = pickle.load(open("usage.pkl", "rb"))
from gpu_tracker.tracker import ResourceUsage, RSSValues
assert type(usage) is ResourceUsage and type(usage.max_ram.main) is RSSValues
assert usage.max_ram.unit == "megabytes" and usage.max_ram.main.total_rss > 0.5
print(usage.compute_time.unit)
""") == "hours\n"


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_our_files_in_the_original(original, suffix):
    with Tracker(sleep_time=0.02, tracking_file=f"run.{suffix}", disable_logs=True):
        for _ in range(3):
            with SubTracker("block", sub_tracking_file=f"blocks.{suffix}"):
                time.sleep(0.1)
    ours = SubTrackingAnalyzer(f"run.{suffix}", f"blocks.{suffix}").sub_tracking_results()
    printed = original(f"""
results = gpu_tracker.SubTrackingAnalyzer("run.{suffix}", "blocks.{suffix}").sub_tracking_results()
[block] = results.code_block_results
print(block.num_calls, block.num_timepoints, results.overall.loc["main_ram", "max"])
""").split()
    assert printed[:2] == ["3", str(ours.code_block_results[0].num_timepoints)]
    assert float(printed[2]) == pytest.approx(ours.overall.loc["main_ram", "max"])


SHARED = """
import multiprocessing, sys
from gpu_tracker import SubTracker
block = SubTracker("block", sub_tracking_file=sys.argv[1])
def work(_):
    with block:
        pass
with block:
    pass
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(work, range(50))
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_a_file_of_several_processes_in_the_original(original, suffix):
    """While one of them lives, and after it was killed."""
    count = f"print(len(gpu_tracker.SubTrackingAnalyzer(None, 'blocks.{suffix}').load_timestamp_pairs('block')))"
    process = subprocess.Popen([sys.executable, "-c", SHARED, f"blocks.{suffix}"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"done\n"
        living = original(count)
        process.kill()
    assert (living, original(count)) == ("51\n", "51\n")


@pytest.mark.parametrize("first", ["ours", "theirs"])
@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_the_original_combines_our_file_with_its_own(original, suffix, first):
    with SubTracker("block", sub_tracking_file=f"ours.{suffix}"):
        pass
    SubTrackingAnalyzer(None, f"all.{suffix}").combine_sub_tracking_files([f"ours.{suffix}"])
    files = [f"all.{suffix}", f"theirs.{suffix}"]
    assert original(f"""
with gpu_tracker.SubTracker("block", sub_tracking_file="theirs.{suffix}"):
    pass
analyzer = gpu_tracker.SubTrackingAnalyzer(None, "both.{suffix}")
analyzer.combine_sub_tracking_files({files if first == "ours" else files[::-1]})
print(len(analyzer.load_timestamp_pairs("block")))
""") == "2\n"
    assert len(SubTrackingAnalyzer(None, f"both.{suffix}").load_timestamp_pairs("block")) == 2
