"""Tracking files as others see them: Python's csv and sqlite3, pandas, and gpu_tracker itself.

The last wants a Python that has gpu_tracker installed, apart from ours, whose package has the same name: that of `make
original`, or the one that GPU_TRACKER_ORIGINAL names.
"""
import csv
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

import pandas
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORIGINAL = os.environ.get("GPU_TRACKER_ORIGINAL", str(ROOT / "build" / "original" / "bin" / "python"))
FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "original"
STATIC = ["ram_unit", "gpu_ram_unit", "time_unit", "ram_system_capacity", "gpu_ram_system_capacity",
          "system_core_count", "n_expected_cores", "system_gpu_count", "n_expected_gpus"]
WORK = "import time\nblock = bytearray(50_000_000)\nend = time.time() + 0.5\nwhile time.time() < end: pass\n"


@pytest.fixture(scope="module", params=["csv", "sqlite"])
def recording(request, gpu_tracker, tmp_path_factory):
    """A finished recording of a command whose text has quotes, commas and line breaks in it, in a folder of its own."""
    path = tmp_path_factory.mktemp("recording") / f"it's, a file.{request.param}"
    subprocess.run([gpu_tracker, "run", "--sleep-time", "0.02", "--ram-unit", "megabytes", "--tracking-file", str(path),
                    "--", sys.executable, "-c", WORK], check=True, capture_output=True, timeout=120)
    return path


def original_columns():
    with open(FIXTURE / "tracking.csv", newline="") as file:
        return list(csv.reader(file))[2]


def read_tables(path):
    """Static data and samples, read as gpu_tracker reads them."""
    if path.suffix == ".csv":
        return pandas.read_csv(path, header=0, nrows=1), pandas.read_csv(path, skiprows=2)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return tuple(pandas.read_sql(f"SELECT * FROM {table}", database) for table in ("static_data", "data"))


def test_a_finished_recording_is_one_file(recording):
    assert [entry.name for entry in recording.parent.iterdir()] == [recording.name]


def test_the_originals_columns_come_first(recording):
    static, data = read_tables(recording)
    assert list(static.columns)[:len(STATIC)] == STATIC
    columns = original_columns()
    assert list(data.columns)[:len(columns)] == columns
    assert "combined_swap" in data.columns and "monotonic" in data.columns


def test_values_are_in_the_units_that_the_file_names(recording):
    static, data = read_tables(recording)
    assert static.ram_unit[0] == "megabytes"
    assert static.command[0].count("\n") == WORK.count("\n")
    assert 50 < data.main_ram.max() < 200
    assert data.main_ram.max() <= data.system_ram.max() <= static.ram_system_capacity[0]
    assert 20 < data.cpu_main_sum_utilization_percent.max() < 150
    assert (data.combined_n_threads >= 1).all()
    assert abs(data.timestamp.iloc[-1] - time.time()) < 600
    assert data.timestamp.is_monotonic_increasing
    assert len(data) > 10


def test_what_gpu_tracker_has_numbers_for_is_a_number(recording):
    static, data = read_tables(recording)
    if static.system_gpu_count[0] == 0:
        assert (data[[name for name in original_columns() if "gpu" in name]] == 0).all(axis=None)
    measured = data[[name for name in original_columns() if "gpu" not in name]]
    # The first row has no interval before it; the machine's CPU time tells something from some clock ticks on.
    later = measured[data.timestamp > data.timestamp[0] + 0.1]
    assert list(later.columns[later.isna().any()]) == []


def test_csv_is_what_pythons_csv_module_writes(recording):
    if recording.suffix != ".csv":
        pytest.skip("a database")
    text = recording.read_bytes()
    assert text.count(b"\n") - WORK.count("\n") == text.count(b"\r\n")
    assert text.endswith(b"\r\n")
    with open(recording, newline="") as file:
        rows = list(csv.reader(file))
    for row in rows[3:]:
        assert len(row) == len(rows[2])
        for field in row:
            assert not field or field in (repr(float(field)), str(int(float(field))))


def test_the_database_is_sound_and_typed(recording):
    if recording.suffix != ".sqlite":
        pytest.skip("no database")
    with sqlite3.connect(recording) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        kinds = "SELECT DISTINCT typeof(main_ram), typeof(combined_n_threads), typeof(timestamp) FROM data"
        assert database.execute(kinds).fetchall() == [("real", "integer", "real")]
        outcome = dict(database.execute("SELECT key, value FROM outcome"))
        assert outcome["complete"] == 1 and outcome["exit_status"] == 0 and 0.5 < outcome["elapsed"] < 30
        cpu_time = "SELECT value FROM final WHERE scope = 'main' AND metric = 'cpu_time'"
        assert database.execute(cpu_time).fetchone()[0] > 0.05
        assert database.execute("SELECT count(*) FROM provenance").fetchone()[0] > 10


@pytest.mark.skipif(not os.path.exists(ORIGINAL), reason="the original is not installed: make original")
def test_gpu_trackers_own_analyser_reads_it(recording, tmp_path):
    """The figures it finds are those of pandas on the same columns."""
    _, data = read_tables(recording)
    blocks = tmp_path / f"blocks{recording.suffix}"
    rows = [(1, "block", 0, data.timestamp.iloc[2]), (1, "block", 1, data.timestamp.iloc[-3])]
    table = pandas.DataFrame(rows, columns=["process_id", "code_block_name", "position", "timestamp"])
    if recording.suffix == ".csv":
        table.to_csv(blocks, index=False)
    else:
        with sqlite3.connect(blocks) as database:
            table.to_sql("data", database, index=False)
    result = tmp_path / "result.json"
    subprocess.run([ORIGINAL, "-m", "gpu_tracker", "sub-track", "analyze", "--tf", str(recording), "--stf", str(blocks),
                    "--output", str(result), "--format", "json"], check=True, timeout=120)
    analysis = json.loads(result.read_text())
    assert analysis["overall"]["main_ram"]["max"] == pytest.approx(data.main_ram.max())
    assert analysis["overall"]["combined_n_threads"]["mean"] == pytest.approx(data.combined_n_threads.mean())
    block = analysis["code_block_results"][0]
    assert block["num_timepoints"] == len(data) - 4
    assert block["resource_usage"]["cpu_main_sum_utilization_percent"]["mean"] == pytest.approx(
        data.cpu_main_sum_utilization_percent[2:-2].mean())


@pytest.mark.parametrize("name", ["tracking.csv", "tracking.sqlite"])
def test_a_recording_of_gpu_tracker_is_reported(gpu_tracker, name):
    before = sorted(FIXTURE.iterdir())
    done = subprocess.run([gpu_tracker, "report", "--format", "json", str(FIXTURE / name)], check=True,
                          capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    _, data = read_tables(FIXTURE / name)
    assert report["max_ram"]["main"]["total_rss"] == pytest.approx(data.main_ram.max())
    assert report["cpu_utilization"]["combined_n_threads"] == data.combined_n_threads.max()
    assert sorted(FIXTURE.iterdir()) == before


def test_a_folder_that_is_made_is_told(cli, tmp_path):
    done = cli("run", "--tf=made/run.sqlite", "--", "true")
    assert done.returncode == 0 and (tmp_path / "made" / "run.sqlite").exists()
    assert done.stderr.count("gpu-tracker: made the folder made: it was not there\n") == 1
    assert "made the folder" not in cli("run", "--overwrite", "--tf=made/run.sqlite", "--", "true").stderr
    assert "made the folder" not in cli("run", "--disable-logs", "--tf=other/run.sqlite", "--", "true").stderr
