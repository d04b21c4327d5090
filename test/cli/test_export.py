"""Traces as tables: every event with all that is known of it, for SQL."""
import gzip
import json
import pathlib
import sqlite3
import subprocess

import pytest

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
TRACE = FIXTURE / "torch.json.gz"


@pytest.fixture
def export(gpu_tracker, tmp_path):
    def run(suffix, *words):
        path = tmp_path / f"trace{suffix}"
        subprocess.run([gpu_tracker, "timeline", "export", "-o", path, *words], check=True, stdout=subprocess.DEVNULL)
        return path
    return run


def events():
    with gzip.open(TRACE) as file:
        document = json.load(file)
    return [event for event in document["traceEvents"] if event["ph"] != "M"], document.get("baseTimeNanoseconds", 0)


def test_sqlite_has_every_event(export):
    theirs, base = events()
    database = sqlite3.connect(export(".sqlite", TRACE))
    rows = database.execute("SELECT name, category, phase, start_ns, duration_ns, external_id, tid, shapes, args FROM events "
                            "ORDER BY id").fetchall()
    assert len(rows) == len(theirs)
    for row, event in zip(rows, theirs):
        assert row[:3] == (event["name"], event.get("cat"), event["ph"])
        assert row[3] == pytest.approx(event["ts"] * 1000 + base, abs=1000)
        assert row[4] == (pytest.approx(event["dur"] * 1000, abs=1) if event["ph"] == "X" else None)
        arguments = event.get("args", {})
        assert row[5] == arguments.get("External id")
        assert row[6] == str(event["tid"])
        assert (row[7] and json.loads(row[7])) == arguments.get("Input Dims")
        assert (json.loads(row[8]) if row[8] else {}) == arguments


def test_sqlite_answers_with_steps_and_ranks(export):
    database = sqlite3.connect(export(".sqlite", TRACE))
    assert database.execute("SELECT count(*) FROM steps").fetchone() == (2,)
    outside = database.execute("SELECT count(*) FROM events JOIN steps ON steps.step = events.step AND steps.node = events.node "
                               "WHERE events.start_ns NOT BETWEEN steps.start_ns AND steps.end_ns").fetchone()
    assert outside == (0,)
    assert database.execute("SELECT count(*) > 100 FROM events WHERE step = 2").fetchone() == (1,)
    assert database.execute("SELECT path, rank FROM ranks").fetchall() == [(str(TRACE), None)]


def test_sqlite_has_counters(gpu_tracker, export, tmp_path):
    recording = tmp_path / "run.csv"
    subprocess.run([gpu_tracker, "run", "-q", "--st", "0.05", "--tf", recording, "--", "sleep", "0.3"], check=True)
    database = sqlite3.connect(export(".sqlite", recording))
    count, least = database.execute("SELECT count(*), min(value) FROM counters WHERE type = 'main' AND dimension = 'ram'").fetchone()
    assert count >= 2 and least > 0


def test_filters_apply(export):
    database = sqlite3.connect(export(".sqlite", "--select", "^aten::mm$", TRACE))
    assert database.execute("SELECT DISTINCT name FROM events").fetchall() == [("aten::mm",)]


def test_events_have_the_step_that_profile_gives_them(export, gpu_tracker, tmp_path):
    """Horovod's timeline names no node: its events lie in the steps of rank 0, which wrote it."""
    base, job = 1_700_000_000_000_000, tmp_path / "job"
    job.mkdir()
    steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": base + 1000 * number,
              "dur": 1000} for number in range(3)]
    (job / "rank0.json").write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": steps}))
    timeline = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"start_time_since_epoch_in_micros": base}}]
    timeline += [{"ph": "X", "name": "NEGOTIATE_ALLREDUCE", "pid": 1, "tid": 0, "ts": 100 + 500 * number, "dur": 10} for number in range(6)]
    (job / "horovod.json").write_text(json.dumps(timeline))
    rows = sqlite3.connect(export(".sqlite", job)).execute("SELECT step, node FROM events WHERE name LIKE 'NEGOTIATE%' ORDER BY start_ns")
    assert rows.fetchall() == [(number // 2, "rank 0") for number in range(6)]
    done = subprocess.run([gpu_tracker, "profile", "steps", "--by", "framework_metric", "-f", "json", job], capture_output=True, text=True,
                          check=True)
    row, = [row for row in json.loads(done.stdout)["steps"] if row["framework_metric"] == "NEGOTIATE_ALLREDUCE"]
    assert row["steps"] == 3


def test_an_empty_trace_is_an_empty_table(export, tmp_path):
    path = tmp_path / "empty.json"
    path.write_text("[]")
    assert sqlite3.connect(export(".sqlite", path)).execute("SELECT count(*) FROM events").fetchone() == (0,)


def test_arrow_names_what_writes_it(cli, tmp_path):
    done = cli("timeline", "export", "-o", "own.arrow", TRACE)
    assert done.returncode == 2 and "pyarrow.feather.write_feather(trace.events().to_arrow(), FILE)" in done.stderr
    assert not (tmp_path / "own.arrow").exists()


def test_a_file_that_is_there_stays(gpu_tracker, tmp_path):
    path = tmp_path / "mine.sqlite"
    path.write_text("mine")
    done = subprocess.run([gpu_tracker, "timeline", "export", "-o", path, TRACE], capture_output=True, text=True, check=False)
    assert done.returncode and "already exists" in done.stderr and path.read_text() == "mine"
    subprocess.run([gpu_tracker, "timeline", "export", "--overwrite", "-o", path, TRACE], check=True, stdout=subprocess.DEVNULL)
    assert sqlite3.connect(path).execute("SELECT count(*) > 0 FROM events").fetchone() == (1,)
    assert [item.name for item in tmp_path.iterdir()] == ["mine.sqlite"]
