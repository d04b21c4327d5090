"""gpu_tracker.profiler: traces written as tables and as flame graphs."""
import importlib.util
import pathlib
import sqlite3

import pytest

from gpu_tracker import Table, profiler

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
has_polars = importlib.util.find_spec("polars") is not None
pytestmark = pytest.mark.sanitize


def test_a_flame_graph(tmp_path):
    path = tmp_path / "flame.html"
    profiler.load(FIXTURE / "viztracer.json").export(path)
    assert "fib (/tmp/job/tiny.py:2)" in path.read_text()
    with pytest.raises(FileExistsError):
        profiler.load(FIXTURE / "viztracer.json").export(path)
    profiler.load(FIXTURE / "viztracer.json").export(path, overwrite=True)


def test_a_suffix_that_says_nothing(tmp_path):
    with pytest.raises(ValueError, match=".sqlite .tables."):
        profiler.load(FIXTURE / "viztracer.json").export(tmp_path / "t.txt")


def test_functions_of_stacks():
    rows = profiler.load(FIXTURE / "py-spy.collapsed").functions().to_json()["sampled"]
    assert rows[0]["function"] == "prog.py:2(fib)" and rows[0]["unit"] == "samples"  # of its lines 2 and 3


# ---- events as a table in memory ----


def test_events_are_the_table_that_is_exported(tmp_path):
    """Every cell, in all of them."""
    trace, path = profiler.load(FIXTURE / "torch.json.gz"), tmp_path / "t.sqlite"
    events = trace.events()
    trace.export(path)
    with sqlite3.connect(path) as database:
        cursor = database.execute("SELECT * FROM events ORDER BY id")
        assert [name for name, *_ in cursor.description] == events.column_names
        assert list(cursor) == list(zip(*(events[name] for name in events.column_names)))
    assert all(type(start) is int for start in events["start_ns"]) and min(events["start_ns"]) > 1e18
    assert len(trace.events(select="^aten::mm$")) == events["name"].count("aten::mm") > 0


def test_events_for_other_libraries(tmp_path):
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow.feather")
    trace = profiler.load(FIXTURE / "torch.json.gz")
    events = trace.events()
    rows = [dict(zip(events.column_names, row)) for row in zip(*(events[name] for name in events.column_names))]
    for frame in (events.to_polars(), polars.DataFrame(events), polars.from_arrow(pyarrow.table(events)),
                  polars.from_arrow(events.to_arrow())):
        assert frame.to_dicts() == rows
    pyarrow.feather.write_feather(events.to_arrow(), tmp_path / "t.arrow")  # as the message of export says
    assert pyarrow.feather.read_table(tmp_path / "t.arrow").num_rows == len(events)
    assert events.to_arrow().schema.field("duration_ns").type == pyarrow.int64()


def test_events_by_sql():
    duckdb = pytest.importorskip("duckdb")
    events = profiler.load(FIXTURE / "torch.json.gz").events()
    for _ in range(2):  # a stream that was read is not the last
        [(count, spent)] = duckdb.sql("SELECT count(*), sum(duration_ns) FROM events WHERE name = 'aten::mm'").fetchall()
        assert (count, spent) == (events["name"].count("aten::mm"),
                                  sum(length for name, length in zip(events["name"], events["duration_ns"]) if name == "aten::mm"))


def test_whole_numbers_stay_so_in_pandas():
    pytest.importorskip("pandas")
    events = profiler.load(FIXTURE / "torch.json.gz").events()
    frame = events.to_pandas()
    assert str(frame["start_ns"].dtype) == "int64" and list(frame["start_ns"]) == events["start_ns"]
    assert str(frame["step"].dtype) == "Int64" and frame["step"].isna().sum() == events["step"].count(None) > 0
    correlation = frame["correlation"].astype(object)
    assert list(correlation.where(frame["correlation"].notna(), None)) == events["correlation"]


def test_a_table_is_shown_as_far_as_there_is_room(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    events = profiler.load(FIXTURE / "torch.json.gz").events()
    lines = repr(events).splitlines()
    assert len(lines) == 13 and max(map(len, lines[:-1])) <= 100 and "..." in lines[6]
    assert "start_ns" in lines[0] and "name" in lines[0] and lines[-1].startswith(f"[{len(events)} rows x 21 columns; not shown: ")
    page = events._repr_html_()
    assert page.count("<tr>") == 12 and f"{len(events)} rows" in page
    small = Table({"a<b>": [1, None, 3], "text": ["x", "<i>", "long " * 20]})
    assert repr(small).splitlines()[0].split() == ["a<b>", "text"] and "[3 rows x 2 columns]" in repr(small) and " -  <i>" in repr(small)
    assert "&lt;i&gt;" in small._repr_html_() and "<i>" not in small._repr_html_()
    assert repr(Table({})) == "[0 rows x 0 columns]" and "[0 rows x 1 columns]" in repr(Table({"a": []}))


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1, "name": "a\xff", "args": {"b": "\xfe"}}]}')
    events = profiler.load(path).events()
    assert events["name"] == ["a\ufffd"] and events["args"] == ['{"b": "\ufffd"}']
    if has_polars:
        assert events.to_polars()["name"].to_list() == ["a\ufffd"]
