"""timeline merge and info from the command line: real profiles and recordings, options, errors."""
import cProfile
import gzip
import json
import socket
import subprocess
import sys

import pytest


@pytest.fixture
def timeline(gpu_tracker):
    """timeline("info", ...): the completed process."""
    return lambda *words: subprocess.run([gpu_tracker, "timeline", *map(str, words)], capture_output=True, text=True,
                                         timeout=120, check=False)


EVENTS = [{"ph": "X", "name": "step", "pid": 1, "tid": 1, "ts": 1_700_000_000_000_000 + i * 1000, "dur": 500}
          for i in range(10)]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(EVENTS))
    return path


def info(timeline, *words):
    done = timeline("info", "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_info_counts_what_filters_keep(timeline, trace):
    report = info(timeline, trace)
    assert (report["events"], report["lost"], report["start_us"]) == (10, 0, 1_700_000_000_000_000)
    assert report["sources"][0]["kept"] == 10
    assert info(timeline, "--start", "+0.0041", trace)["sources"][0]["kept"] == 6
    assert info(timeline, "--start", "1700000000004501", trace)["sources"][0]["kept"] == 5
    assert info(timeline, "--end", "1700000000004000", trace)["sources"][0]["kept"] == 5
    assert info(timeline, "--select", "^nothing", trace)["sources"][0]["kept"] == 0


def test_a_real_profile_is_recognised_by_its_content(timeline, tmp_path):
    profile = cProfile.Profile()
    profile.enable()
    json.dumps([json.loads("[1, 2]") for _ in range(10)])
    profile.disable()
    path = tmp_path / "no suffix tells"
    profile.dump_stats(path)
    report = info(timeline, path)
    assert report["sources"][0]["format"] == "pstats"
    profile.create_stats()
    assert report["sources"][0]["events"] == len(profile.stats)
    assert report["profiles"] == 1


@pytest.mark.parametrize("suffix", [".csv", ".sqlite"])
def test_recordings_become_counters_and_blocks_become_slices(gpu_tracker, timeline, tmp_path, suffix):
    recording = tmp_path / f"job{suffix}"
    subprocess.run([gpu_tracker, "run", "--st", "0.05", "--tf", recording, "--format", "json", "--", sys.executable, "-c",
                    "import time; time.sleep(0.4)"], check=True, stdout=subprocess.DEVNULL)
    blocks = tmp_path / "blocks.csv"
    blocks.write_text("process_id,code_block_name,position,timestamp\r\n7,load,0,1700000000.5\r\n7,load,1,1700000001.0\r\n")
    merged = tmp_path / "out" / "merged.json.gz"
    merged.parent.mkdir()
    done = timeline("merge", "-o", merged, recording, blocks)
    assert done.returncode == 0, done.stderr
    events = json.loads(gzip.decompress(merged.read_bytes()))
    counters = {event["name"] for event in events if event["ph"] == "C"}
    assert any(name.startswith("main_ram") for name in counters)
    slices = [event for event in events if event["ph"] == "X"]
    assert [(event["name"], event["dur"]) for event in slices] == [("load", 500000)]


def test_merging_is_the_same_for_any_order(timeline, tmp_path, trace):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"traceEvents": EVENTS[:3]}))
    results = []
    for order in ([trace, other], [other, trace], [other, trace, other]):
        assert timeline("merge", "--overwrite", "-o", tmp_path / "m.out", *order).returncode == 0
        results.append((tmp_path / "m.out").read_bytes())
    assert results[0] == results[1] == results[2]


def test_files_that_are_of_different_times_are_told(timeline, tmp_path, trace):
    other = tmp_path / "other.json"
    for hours, is_told in (0, False), (54, True):
        other.write_text(json.dumps([{**event, "ts": event["ts"] + hours * 3_600_000_000} for event in EVENTS]))
        for order in [trace, other], [other, trace]:
            done = timeline("merge", "--overwrite", "-o", tmp_path / "m.out", *order)
            assert done.returncode == 0 and (f"{other} begins 2 d 6 h after the end of the others" in done.stdout) == is_told


def test_nothing_is_overwritten_and_nothing_left_behind(timeline, tmp_path, trace):
    merged = tmp_path / "merged.out"
    merged.write_text("mine")
    done = timeline("merge", "-o", merged, trace)
    assert done.returncode != 0 and "merged.out" in done.stderr
    assert merged.read_text() == "mine"
    assert timeline("merge", "-o", tmp_path / "no" / "m.json", trace).returncode != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merged.out", "trace.json"]


def test_the_file_is_named_as_smdebug_names_it(gpu_tracker, tmp_path):
    """END_NODE_merged_timeline.json in the current folder, which further merges of the folder leave out."""
    folder = tmp_path / "framework/pevents/2020091312"
    folder.mkdir(parents=True)
    for node, names in (("algo-1", ["1600000000000007_algo-1_merged_timeline.json"]),
                        ("algo-2", ["1600000000000007_algo-1_merged_timeline.json",
                                    f"1600000000000007_{socket.gethostname()}_merged_timeline.json"])):
        (folder / f"1600000000000007_{node}_pythontimeline.json").write_text(json.dumps([
            {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": 1_600_000_000_000_000}},
            {"name": "work", "ph": "X", "pid": 0, "ts": 2, "dur": 5}]))
        done = subprocess.run([gpu_tracker, "timeline", "merge", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in tmp_path.glob("*.json")) == sorted(names) and names[-1] in done.stdout
    events = json.loads((tmp_path / names[-1]).read_text())
    assert sum(event["name"] == "work" for event in events) == 2


@pytest.mark.parametrize("words, said", [
    (["merge"], "PATH"),
    (["info"], "PATH"),
    (["info", "/nowhere.json"], "/nowhere.json"),
    (["info", "--start", "soon", "TRACE"], "soon"),
    (["info", "--unit", "step", "--start", "x", "TRACE"], "x"),
    (["info", "--start", "+1", "--end", "5", "TRACE"], "start and end"),
    (["info", "--select", "(", "TRACE"], "regular expression"),
    (["merge", "-o", "OUT", "--metrics", "[", "/nowhere.json"], "regular expression"),
    (["merge", "-o", "OUT", "--unit", "step", "--start", "5", "TRACE"], "no step 5"),
    (["merge", "-o", "OUT", "--align", "never", "TRACE"], "never"),
    (["merge", "-o", "OUT", "--low-gpu", "100.5", "TRACE"], "low_gpu: 100.5"),
    (["merge", "-o", "OUT", "--low-gpu", "nan", "TRACE"], "nan"),
    (["info", "/dev/null"], "/dev/null"),
])
def test_bad_input_gets_one_line(timeline, tmp_path, trace, words, said):
    out = tmp_path / "out.json"
    done = timeline(*[{"TRACE": trace, "OUT": out}.get(word, word) for word in words])
    assert done.returncode != 0 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr
    assert not out.exists()


def test_a_bomb_is_refused(timeline, tmp_path):
    bomb = tmp_path / "bomb.json.gz"
    with gzip.open(bomb, "wb") as file:
        file.write(b'[{"ph":"X","ts":1,"name":"a"}')
        for _ in range(320):
            file.write(b" " * (1 << 20))
    done = timeline("info", bomb)
    assert done.returncode != 0 and "1000 times" in done.stderr


def test_moments_are_dates_for_people(timeline, trace, tmp_path):
    text = timeline("info", trace).stdout
    assert "Start: 2023-11-14 22:13:20.000000 UTC" in text and "End: 2023-11-14 22:13:20.009500 UTC" in text
    assert "1700000000000000" not in text
    assert info(timeline, trace)["start_us"] == 1_700_000_000_000_000
    own = tmp_path / "own.json"
    own.write_text(json.dumps([{**event, "ts": 5_000_000} for event in EVENTS]))
    assert "Start: 5.00 s by a clock of its own" in timeline("info", own).stdout


@pytest.mark.parametrize("stray", ["]", "]}", "]\n"])
@pytest.mark.parametrize("is_object", [True, False])
def test_a_stray_bracket_does_not_end_the_list(timeline, tmp_path, stray, is_object):
    events = [json.dumps({"ph": "X", "name": f"op{number}", "pid": 1, "tid": 1, "ts": number, "dur": 1, "args": {"x": [number]}})
              for number in range(1000)]
    events[400] += stray
    text = "[" + ", ".join(events) + "]"
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": ' + text + ', "displayTimeUnit": "ms"}' if is_object else text)
    source, = info(timeline, path)["sources"]
    assert source["events"] == 1000
    assert source["lost_bytes"] or source["damage"] or not is_object


def test_a_clock_that_is_not_known_has_no_part_in_the_whole(timeline, tmp_path):
    """Files without a base count from 0: beside those of today the whole would last for 50 years."""
    (tmp_path / "known.json").write_text(json.dumps({"baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": [
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1000, "dur": 500}]}))
    unknown = {"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 2000, "dur": 3000}]}
    (tmp_path / "unknown.json").write_text(json.dumps(unknown))
    report = json.loads(timeline("info", tmp_path, "--format=json").stdout)
    assert (report["events"], report["duration"], report["start_us"]) == (2, 0.0005, 1_700_000_000_001_000)
    assert json.loads(timeline("info", tmp_path / "unknown.json", "--format=json").stdout)["duration"] == 0.003
