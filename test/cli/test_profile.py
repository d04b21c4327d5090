"""profile: through the real readers, of other tools' files and of our own recordings."""
import json
import subprocess

import pytest

BASE = 1_600_000_000_000_000


def profile(gpu_tracker, *arguments, status=0):
    result = subprocess.run([gpu_tracker, "profile", *map(str, arguments), "--format=json"], capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout) if status == 0 else result.stderr


@pytest.fixture
def smdebug(tmp_path):
    """Two nodes, steps of two modes, samples every 100 ms, as SMDebug lays them out."""
    for number, node in enumerate(["algo-1", "algo-2"], 1):
        rows = []
        for i in range(11):
            for dimension, value in (("GPUUtilization", 50 + 10 * number), ("GPUMemoryUtilization", 10)):
                rows.append({"Type": "gpu", "Name": "gpu0", "Dimension": dimension, "Value": value, "NodeId": node,
                             "Timestamp": (BASE + i * 100_000) / 1e6})
        folder = tmp_path / "system/incremental/2020091312"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"1600000000.{node}.json").write_text("\n".join(map(json.dumps, rows)))
        events = [{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": BASE}}]
        for pid, (mode, begin) in enumerate((("TRAIN", 100_000), ("EVAL", 500_000)), 1):
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": f"Step:ModeKeys.{mode}"}})
            events += [{"name": "Step", "ph": "X", "pid": pid, "ts": begin + 100_000 * step, "dur": 80_000 + number,
                        "args": {"step_num": str(step)}} for step in range(3)]
        folder = tmp_path / "framework/pevents/2020091312"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{BASE + 10**6}_{node}_pythontimeline.json").write_text(json.dumps(events))
    return tmp_path


def test_smdebug_folder(gpu_tracker, smdebug):
    steps = profile(gpu_tracker, "steps", smdebug)["steps"]
    assert [(row["node"], row["training_phase"][-5:], row["steps"], row["mean_us"]) for row in steps] == [
        ("algo-1", ".EVAL", 3, 80001), ("algo-1", "TRAIN", 3, 80001),
        ("algo-2", ".EVAL", 3, 80002), ("algo-2", "TRAIN", 3, 80002)]
    job = profile(gpu_tracker, "job", smdebug)["job"][-1]
    parts = job["initialization_us"], job["training_loop_us"], job["finalization_us"]
    assert parts == (100_000, 680_002, 219_998) and job["duration_us"] == sum(parts)
    use = profile(gpu_tracker, "utilization", smdebug, "--device", "gpu")["utilization"]
    assert {(row["node"], row["dimension"]): row["mean"] for row in use} == {
        ("algo-1", "GPUUtilization"): 60, ("algo-2", "GPUUtilization"): 70,
        ("algo-1", "GPUMemoryUtilization"): 10, ("algo-2", "GPUMemoryUtilization"): 10}
    phases = profile(gpu_tracker, "phases", smdebug, "--node", "algo-2")["phases"]
    assert [row["phase"].replace("Step:ModeKeys.", "") for row in phases] == [
        "Before TRAIN", "TRAIN", "Between EVAL and TRAIN", "EVAL", "After EVAL"]
    assert all(row["start_us"] < row["end_us"] for row in phases)


def test_own_recording_by_phase(gpu_tracker, tmp_path):
    command = ("end=$(($(date +%s%N) + 600000000)); while [ $(date +%s%N) -lt $end ]; do :; done",)
    subprocess.run([gpu_tracker, "run", "--blocks", "--sleep-time=0.05", f"--tracking-file={tmp_path / 't.csv'}", "--",
                    "bash", "-c", f"{gpu_tracker} block busy -- bash -c '{command[0]}'; {gpu_tracker} block calm -- sleep 0.6"],
                   check=True, capture_output=True)
    wanted = ["utilization", "--by=phase", "--device=cpu_utilization"]
    rows = profile(gpu_tracker, *wanted, tmp_path / "t.csv")
    assert rows == profile(gpu_tracker, *wanted, tmp_path / "t.csv", f"{tmp_path}/./t.blocks.csv")
    use = {row["phase"]: row["mean"] for row in rows["utilization"] if row["resource"] == "combined"}
    assert use["busy"] > use["calm"] + 10


def test_python_profiles_are_kept_to_steps(gpu_tracker, tmp_path):
    folder = tmp_path / f"framework/pytorch/cprofile/algo-1/train-1-stepstart-{BASE}.0_train-3-stepend-{BASE + 10**6}.0"
    folder.mkdir(parents=True)
    subprocess.run(["python3", "-c", f"import cProfile; cProfile.run('len([])', {str(folder / 'python_stats')!r})"], check=True)
    for start, end, found in ((2, 2, True), (0, 1, True), (4, 9, False)):
        rows = profile(gpu_tracker, "functions", tmp_path, "--unit=step", "--start", start, "--end", end)["functions"]
        assert bool(rows) == found
    for start, found in ((BASE + 200_000, True), (BASE + 2_000_000, False)):
        assert bool(profile(gpu_tracker, "functions", tmp_path, "--start", start)["functions"]) == found


def test_what_is_wrong_is_named(gpu_tracker, smdebug):
    assert "no analysis 'walk': there are job, steps" in profile(gpu_tracker, "walk", smdebug, status=2)
    assert "no-such" in profile(gpu_tracker, "job", smdebug / "no-such", status=125)
    assert "by 'colour'" in profile(gpu_tracker, "steps", smdebug, "--by", "colour", status=2)
    assert "two paths" in profile(gpu_tracker, "diff", smdebug, status=2)


def test_help_lists_the_analyses(gpu_tracker):
    text = subprocess.run([gpu_tracker, "profile", "--help"], capture_output=True, text=True, check=True).stdout
    assert "stragglers" in text and "  advice" in text
