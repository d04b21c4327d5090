"""Dumps of NCCL's flight recorder: as JSON and as pickles, of ranks that wait for each other."""
import json
import pickle
import subprocess

import pytest


def entry(number, state, op="all_reduce", **more):
    start = 1_700_000_000_000_000_000 + number * 1_000_000
    return {"frames": [{"name": "main", "filename": "train.py", "line": 3}], "record_id": number, "pg_id": 0,
            "process_group": ["0", "default_pg"], "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
            "profiling_name": f"nccl:{op}", "time_created_ns": start, "input_sizes": [[4, 8]], "input_dtypes": ["Float"],
            "output_sizes": [[4, 8]], "output_dtypes": ["Float"], "state": state, "retired": state == "completed",
            "timeout_ms": 600000, "is_p2p": False,
            "time_discovered_started_ns": start + 1000 if state != "scheduled" else None,
            "time_discovered_completed_ns": start + 251_000 if state == "completed" else None, **more}


RANKS = [
    [entry(i, "completed") for i in range(1, 5)] + [entry(5, "started"), entry(6, "scheduled")],
    [entry(i, "completed") for i in range(3, 5)] + [entry(5, "started")],
    [entry(i, "completed") for i in range(1, 4)] + [entry(4, "completed", duration_ms=0.5)],
    [entry(i, "completed") for i in range(1, 5)] + [entry(5, "started", "all_gather")],
]


@pytest.fixture(params=["json", "pickle"])
def folder(request, tmp_path):
    for rank, entries in enumerate(RANKS):
        dump = {"version": "2.5", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
                "pg_status": {"0": {"last_enqueued_collective": 6}}, "entries": entries}
        path = tmp_path / f"nccl_trace_rank_{rank}"
        path.write_bytes(json.dumps(dump).encode() if request.param == "json" else pickle.dumps(dump))
    return tmp_path


@pytest.fixture
def flight(gpu_tracker):
    def run(*words):
        out = subprocess.run([gpu_tracker, "profile", "flight", "-f", "json", *words], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out)
    return run


def test_who_waits_for_whom(flight, folder):
    found = flight(folder)
    rows = [{key: row[key] for key in ("number", "name", "scheduled", "started", "completed", "not_called", "differs")}
            for row in found["unfinished"]]
    assert rows == [
        {"number": 5, "name": "all_reduce", "scheduled": None, "started": "0, 1, 3", "completed": None, "not_called": "2",
         "differs": "yes"},
        {"number": 6, "name": "all_reduce", "scheduled": "0", "started": None, "completed": None, "not_called": "1, 2, 3",
         "differs": "no"}]
    assert [(row["rank"], row["first"], row["last_completed"], row["last_called"]) for row in found["ranks"]] == [
        ("0", 1, 4, 6), ("1", 3, 4, 5), ("2", 1, 4, 4), ("3", 1, 4, 5)]
    assert {row["process_group"] for row in found["ranks"]} == {"0 default_pg"}


def test_durations(flight, folder):
    [row] = flight(folder)["durations"]
    done = [entry["state"] == "completed" for entries in RANKS for entry in entries].count(True)
    assert (row["name"], row["count"]) == ("all_reduce", done)
    assert row["max_us"] == 500 and row["min_us"] == 250 and row["total_us"] == 250 * (done - 1) + 500


def test_all_is_well(flight, tmp_path):
    for rank in range(2):
        dump = {"version": "2.5", "pg_config": {}, "entries": [entry(i, "completed") for i in range(3)]}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(dump))
    found = flight(tmp_path)
    assert found["unfinished"] == [] and "every rank" in found["reason"]


def test_collectives_are_events(gpu_tracker, folder, tmp_path):
    merged = tmp_path / "merged.json"
    subprocess.run([gpu_tracker, "timeline", "merge", "-o", merged, folder], check=True, stdout=subprocess.DEVNULL)
    slices = [event for event in json.loads(merged.read_text()) if event["ph"] == "X"]
    assert len(slices) == sum(map(len, RANKS)) and {event["name"] for event in slices} == {"all_reduce", "all_gather"}
    assert sum(event["args"]["state"] == "started" for event in slices) == 3


def test_what_is_damaged_is_told(gpu_tracker, folder):
    path = folder / "nccl_trace_rank_0"
    cut = path.read_bytes()[:path.stat().st_size * 2 // 3]
    path.write_bytes(cut)
    out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    [source] = json.loads(out)["sources"]
    assert source["format"] == "flight-recorder" and source["cut_off"] == "yes" and source["lost_bytes"] == len(cut)


def test_a_rank_that_called_nothing(flight, tmp_path):
    """It has a dump, which says that it is of the group."""
    for rank in range(3):
        groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}, "1": {"name": "1", "desc": "pair", "ranks": "[0, 1]"}}
        dump = {"version": "2.5", "pg_config": groups, "entries": [entry(1, "started")] if rank < 2 else []}
        (tmp_path / f"nccl_trace_rank_{rank}").write_text(json.dumps(dump))
    found = flight(tmp_path)
    [row] = found["unfinished"]
    assert (row["started"], row["not_called"]) == ("0, 1", "2")
    assert [(row["rank"], row["last_called"]) for row in found["ranks"]] == [("0", 1), ("1", 1), ("2", None)]


def test_the_report_of_a_job_tells_of_a_hang(gpu_tracker, folder):
    out = subprocess.run([gpu_tracker, "profile", "-f", "json", folder], check=True, stdout=subprocess.PIPE).stdout
    assert [(row["advice"], row["see"], row["cost_percent"]) for row in json.loads(out)["findings"]] == [
        ("all_reduce 5 of process group 0 default_pg is not finished by all ranks: not called by rank 2, running on rank 0, 1, 3",
         "flight", None),
        ("all_reduce 5 of process group 0 default_pg is not the same call on all ranks: its name or sizes differ", "flight",
         None)]
