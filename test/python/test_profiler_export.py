"""gpu_tracker.profiler: traces written as tables and as flame graphs."""
import pathlib

import pytest

from gpu_tracker import profiler

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
pytestmark = pytest.mark.sanitize


def test_arrow_and_its_readers(tmp_path):
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    path = tmp_path / "t.arrow"
    report = profiler.load(FIXTURE / "torch.json.gz").export(path, select="^aten::mm$")
    frame = polars.read_ipc(path)
    assert report.to_json()["events"] == frame.height > 0 and set(frame["name"]) == {"aten::mm"}
    [(count, longest)] = duckdb.sql("SELECT count(*), max(duration_ns) FROM frame").fetchall()
    assert (count, longest) == (frame.height, frame["duration_ns"].max())


def test_a_flame_graph(tmp_path):
    path = tmp_path / "flame.html"
    profiler.load(FIXTURE / "viztracer.json").export(path)
    assert "fib (/tmp/job/tiny.py:2)" in path.read_text()
    with pytest.raises(FileExistsError):
        profiler.load(FIXTURE / "viztracer.json").export(path)
    profiler.load(FIXTURE / "viztracer.json").export(path, overwrite=True)


def test_a_suffix_that_says_nothing(tmp_path):
    with pytest.raises(ValueError, match="sqlite or .arrow"):
        profiler.load(FIXTURE / "viztracer.json").export(tmp_path / "t.txt")


def test_functions_of_stacks():
    rows = profiler.load(FIXTURE / "py-spy.collapsed").functions().to_json()["sampled"]
    assert rows[0]["function"] == "prog.py:3(fib)" and rows[0]["unit"] == "samples"
