"""SubTrackingAnalyzer, TrackingComparison and the classes of their results."""
import json
import math
import pathlib
import pickle
import pickletools
import random
import subprocess
import sys
import time
import types

import duckdb
import pandas
import polars
import pyarrow
import pytest
from gpu_tracker import profiler, SubTracker, SubTrackingAnalyzer, SubTrackingResults, Table, Tracker, TrackingComparison
from gpu_tracker.sub_tracker import CodeBlockResults, ComparisonResults
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sanitize

FIXTURE = pathlib.Path(__file__).parents[1] / "fixture" / "python"
BLOCKS = ["lost", "script.py:9", "work"]


@pytest.fixture
def analyzer():
    """Of four samples at 1001.5, 1002.5, 1003.5, 1004.5 with 0.25, 0.5, 0.75, 1 GB."""
    return SubTrackingAnalyzer(str(FIXTURE / "recording.csv"), str(FIXTURE / "blocks.csv"))


HEADER = "process_id,code_block_name,position,timestamp\n"


def test_pairs_are_those_of_the_results(tmp_path):
    """By process, and without calls that never ended, as the original has them."""
    rows = ["8,x,0,1001.5", "7,x,0,1002.0", "8,x,1,1002.75", "7,x,1,1003.0", "7,x,0,1004.0", "8,y,0,1001.0", "9,x,0,1001.0",
            "7,z,0,1001.0", "7,z,0,1002.0", "7,z,1,1003.5", "7,z,1,1004.0"]
    (tmp_path / "blocks.csv").write_text(HEADER + "\n".join(rows) + "\n")
    analyzer = SubTrackingAnalyzer(str(FIXTURE / "recording.csv"), "blocks.csv")
    pairs = {name: analyzer.load_timestamp_pairs(name) for name in "xyz"}
    assert pairs == {"x": [(1002.0, 1003.0), (1001.5, 1002.75)], "y": [], "z": [(1001.0, 1004.0), (1002.0, 1003.5)]}
    for block in analyzer.sub_tracking_results().code_block_results:
        points = analyzer.load_timepoints(pairs[block.name])
        assert block.num_calls == len(pairs[block.name]) and block.num_timepoints == len(points)
        assert block.compute_time["total"] == sum(stop - start for start, stop in pairs[block.name])
    tree = analyzer.sub_tracking_results().to_json()["code_block_results"]
    assert [block["num_unfinished_calls"] for block in tree] == [2, 1, 0]


@pytest.mark.parametrize("rows, message", [
    (["7,x,0,1001", "7,x,1,1002", "7,x,1,1003"], r"\"x\" in process 7 stops at 1003\.0+ and starts nowhere before"),
    (["7,x,1,1001"], "starts nowhere before"),
    (["7,x,0,1002", "8,x,1,1003"], "process 8 stops at 1003"),
    (["7,x,0,1001", "7,x,1,1002", "7,x,0,1009", "7,x,1,1004"], r"stops at 1004\.0+, before its start at 1009"),
    (["7,x,0,1009", "7,x,0,1008", "7,x,1,1004"], r"stops at 1004\.0+, before its start at 1008"),
])
def test_pairs_that_are_none(tmp_path, rows, message):
    (tmp_path / "blocks.csv").write_text(HEADER + "\n".join([*rows, "7,good,0,1001", "7,good,1,1002"]) + "\n")
    analyzer = SubTrackingAnalyzer(None, "blocks.csv")
    with pytest.raises(ValueError, match=f"blocks.csv: a call of .*{message}"):
        analyzer.load_timestamp_pairs("x")
    assert analyzer.load_timestamp_pairs("good") == [(1001, 1002)], "another block's rows are right"


def test_a_clock_set_back_within_a_call(tmp_path):
    """Its length is known from the other clock, but no time lies between its ends."""
    header = "process_id,code_block_name,position,timestamp,thread_id,call,monotonic,cpu_time\n"
    (tmp_path / "blocks.csv").write_text(header + "7,x,0,1009.0,7,1,50.0,1.0\n7,x,1,1004.0,7,1,52.0,1.5\n")
    analyzer = SubTrackingAnalyzer(None, "blocks.csv")
    assert analyzer.calls_table()["elapsed"] == [2]
    with pytest.raises(ValueError, match="before its start"):
        analyzer.load_timestamp_pairs("x")


def test_timepoints(analyzer):
    points = analyzer.load_timepoints([(1003.5, 1003.5), (1001.0, 1003.0), (1002.0, 1002.6)])
    assert isinstance(points, pandas.DataFrame)
    assert points["timestamp"].tolist() == [1001.5, 1002.5, 1003.5]
    assert points["main_ram"].tolist() == [0.25, 0.5, 0.75]
    assert points["main_n_threads"].dtype == "int64"
    assert list(points.columns)[:3] == ["main_ram", "descendants_ram", "combined_ram"]
    assert len(analyzer.load_timepoints([])) == 0
    assert len(analyzer.timepoints_table()) == 4


def test_results_are_those_of_the_program(analyzer, gpu_tracker):
    def printed(style):
        command = [gpu_tracker, "sub-track", "analyze", "--tf", str(FIXTURE / "recording.csv"), "-f", style,
                   "--stf", str(FIXTURE / "blocks.csv")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    results = analyzer.sub_tracking_results()
    assert str(results) == printed("text").rstrip("\n")
    assert results.to_json() == json.loads(printed("json"))
    json.dumps(results.to_json(), allow_nan=False)


def test_results_of_the_original_load(analyzer):
    with open(FIXTURE / "results.pkl", "rb") as file:
        original = pickle.load(file)
    assert type(original) is SubTrackingResults and type(original.code_block_results[0]) is CodeBlockResults
    ours = analyzer.sub_tracking_results()
    for one, other in [(original, ours), *zip(original.code_block_results, ours.code_block_results)]:
        frame, wider = (getattr(item, "overall", None) for item in (one, other))
        if frame is None:
            frame, wider = one.resource_usage, other.resource_usage
            assert one.compute_time.to_list() == pytest.approx(other.compute_time[one.compute_time.index].to_list())
            assert (one.num_timepoints, one.num_calls, one.num_non_empty_calls) == (
                other.num_timepoints, other.num_calls, other.num_non_empty_calls)
        assert list(frame.index) == list(wider.index)[:len(frame)]
        assert frame.to_numpy() == pytest.approx(wider.loc[frame.index, frame.columns].to_numpy(), nan_ok=True)
    assert original.to_json()["overall"]["main_ram"]["mean"] == 0.625
    text = (FIXTURE / "results.txt").read_text().replace("NaN", "n/a")
    assert str(original) == text.rstrip("\n")
    lines = str(original.code_block_results[-1]).splitlines()
    assert "\n".join("\t" + line if line else line for line in lines) in text
    assert pickle.loads(pickle.dumps(original)) == original
    with open(FIXTURE / "usage.pkl", "rb") as file:
        assert pickle.load(file).max_ram.main.private_rss == 0.75


def test_pickles_name_only_what_the_original_has(analyzer, sessions):
    for results in (analyzer.sub_tracking_results(), TrackingComparison(sessions).compare()):
        used = {text.split()[0] for code, text, _ in pickletools.genops(pickle.dumps(results, 2))
                if code.name == "GLOBAL"}
        assert "gpu_tracker.sub_tracker" in used
        assert {name.partition(".")[0] for name in used} <= {
            "_codecs", "copy_reg", "__builtin__", "gpu_tracker", "numpy", "pandas"}
        assert not any(name.startswith("gpu_tracker._") for name in used)


def test_combining(tmp_path):
    for number in (1, 2):
        with SubTracker("x", sub_tracking_file=f"{number}.csv"):
            pass
    together = SubTrackingAnalyzer(None, "all.csv")
    together.combine_sub_tracking_files(["1.csv", "2.csv"])
    assert len(together.load_timestamp_pairs("x")) == 2
    with pytest.raises(ValueError, match="already exists"):
        together.combine_sub_tracking_files(["1.csv", "2.csv"])
    with pytest.raises(ValueError, match="twice"):
        SubTrackingAnalyzer(None, "more.csv").combine_sub_tracking_files(["1.csv", "1.csv"])
    assert not (tmp_path / "more.csv").exists()


def test_wrong_files():
    with pytest.raises(ValueError, match="x.txt"):
        SubTrackingAnalyzer("x.txt", "y.csv")
    with pytest.raises(ValueError, match="has no tracking file"):
        SubTrackingAnalyzer(None, "y.csv").read_static_data()
    for call in ("load_code_block_names", "sub_tracking_results", "read_static_data"):
        with pytest.raises(FileNotFoundError):
            getattr(SubTrackingAnalyzer("x.sqlite", "y.sqlite"), call)()
    assert not list(pathlib.Path().iterdir())


@pytest.fixture
def sessions(analyzer, tmp_path):
    with open("ours.pkl", "wb") as file:
        pickle.dump(analyzer.sub_tracking_results(), file)
    (tmp_path / "ours.json").write_text(json.dumps(analyzer.sub_tracking_results().to_json()))
    return {"ours": "ours.pkl", "json": "ours.json", "original": str(FIXTURE / "results.pkl")}


def test_comparing(sessions):
    comparison = TrackingComparison(sessions)
    assert list(comparison.results_map) == list(sessions)
    assert all(type(results) is SubTrackingResults for results in comparison.results_map.values())
    results = comparison.compare("max")
    assert isinstance(results, ComparisonResults)
    assert results.overall_resource_usage["main_ram"].to_dict() == {"ours": 1, "json": 1, "original": 1}
    assert results.code_block_resource_usage["main_ram"]["work"]["original"] == 0.5
    assert sorted(results.code_block_compute_time) == BLOCKS
    lost = results.code_block_resource_usage["main_ram"]["lost"]  # no sample met it
    assert sorted(lost.index) == sorted(sessions) and lost.isna().all() and lost.dtype == "float64"
    assert set(results.to_json()["code_block_resource_usage"]["main_ram"]["lost"].values()) == {None}
    assert isinstance(results.code_block_compute_time["work"], pandas.Series)
    assert pickle.loads(pickle.dumps(results)) == results
    assert str(results).startswith("Overall Resource Usage:")
    assert comparison.compare().overall_resource_usage["main_ram"]["ours"] == 0.625


def test_what_cannot_be_compared(sessions, tmp_path):
    with pytest.raises(ValueError, match="median"):
        TrackingComparison(sessions).compare("median")
    with pytest.raises(ValueError, match="file_path_map is empty"):
        TrackingComparison({})
    tree = json.loads((tmp_path / "ours.json").read_text())
    tree["code_block_results"].pop()
    (tmp_path / "fewer.json").write_text(json.dumps(tree))
    with pytest.raises(ValueError, match="same number of code blocks"):
        TrackingComparison({"ours": "ours.pkl", "fewer": "fewer.json"})
    with pytest.raises(ValueError, match="which does not belong in results"):
        TrackingComparison({"x": str(FIXTURE / "usage.pkl")})


def test_a_whole_run():
    slept = 0
    with Tracker(sleep_time=0.01, tracking_file="run.sqlite", disable_logs=True):
        for _ in range(3):
            with SubTracker("sleep", sub_tracking_file="marks.sqlite"):
                begin = time.monotonic()
                time.sleep(0.05)
                slept += (time.monotonic() - begin) / 3
    results = SubTrackingAnalyzer("run.sqlite", "marks.sqlite").sub_tracking_results()
    [block] = results.code_block_results
    assert block.num_calls == 3 and block.num_non_empty_calls == 3
    assert slept <= block.compute_time["mean"] < 2 * slept + 0.5


def test_without_pandas(python):
    done = python(f"""
        import sys
        sys.modules["pandas"] = None
        from gpu_tracker import SubTrackingAnalyzer, TrackingComparison
        analyzer = SubTrackingAnalyzer({str(FIXTURE / "recording.csv")!r}, {str(FIXTURE / "blocks.csv")!r})
        results = analyzer.sub_tracking_results()
        print(results.overall_table()["max"][0], results.code_block_table()["num_calls"], len(analyzer.calls_table()))
        print(results.to_json()["overall"]["main_ram"]["max"], str(results)[:8])
        import pickle
        assert str(pickle.loads(pickle.dumps(results))) == str(results)
        comparison = TrackingComparison({{"a": {str(FIXTURE.parent / "sub_track" / "analyze-B.json")!r}}}).compare()
        for ask in (lambda: results.overall, lambda: results.static_data, lambda: results.code_block_results[0].compute_time,
                    lambda: results.code_block_results[0].resource_usage, analyzer.read_static_data,
                    lambda: analyzer.load_timepoints([(0, 2000)]), lambda: analyzer.overall_timepoint_results().loc,
                    lambda: comparison.overall_resource_usage, lambda: comparison.code_block_compute_time):
            try:
                ask()
            except ImportError as error:
                print(error)
    """)
    assert done.stdout.splitlines()[:2] == ["1.0 [1, 1, 2] 4", "1.0 Overall:"]
    assert done.stdout.splitlines()[2:] == ["this method needs pandas: pip install pandas, or use the methods that return a Table"] * 9


def test_texts_of_sqlalchemy_in_a_pickle_of_the_original():
    class Quoted(str):
        def __reduce__(self):
            return Quoted, (str(self), None)

    Quoted.__name__ = Quoted.__qualname__ = "quoted_name"
    Quoted.__module__ = "sqlalchemy.sql.elements"
    elements = types.ModuleType("sqlalchemy.sql.elements")
    elements.quoted_name = Quoted
    with open(FIXTURE / "results.pkl", "rb") as file:
        results = pickle.load(file)
    results.overall.index = pandas.Index([Quoted(label) for label in results.overall.index], dtype=object)
    with pytest.MonkeyPatch.context() as patch, open("quoted.pkl", "wb") as file:
        for name in "sqlalchemy", "sqlalchemy.sql":
            patch.setitem(sys.modules, name, types.ModuleType(name))
        patch.setitem(sys.modules, elements.__name__, elements)
        pickle.dump(results, file)
    assert b"quoted_name" in pathlib.Path("quoted.pkl").read_bytes()
    comparison = TrackingComparison({"quoted": "quoted.pkl", "plain": str(FIXTURE / "results.pkl")}).compare("max")
    assert list(comparison.overall_resource_usage["main_ram"]) == [1.0, 1.0]


# ---- tables ----


@pytest.mark.parametrize("analysis", ["critical_path", "operators", "overview", "phases", "roles"])
def test_tables_of_reports_for_arrow(analysis):
    trace = pathlib.Path(__file__).parents[1] / "fixture/traces/torch.json.gz"
    tables = getattr(profiler.load(trace), analysis)().tables
    assert tables
    for table in tables.values():
        arrow = pyarrow.table(table)
        for column in arrow.columns:
            for chunk in column.chunks if pyarrow.types.is_dictionary(column.type) else []:
                assert len(set(chunk.dictionary.to_pylist())) == len(chunk.dictionary)
        assert len(arrow.to_pandas()) == arrow.num_rows


def test_tables_for_arrow(analyzer):
    table = pyarrow.table(analyzer.calls_table())
    assert table.column("code_block_name").to_pylist() == ["work", "script.py:9", "work", "lost"]
    assert table.column("thread_id").null_count == 4  # the original records none
    assert table.schema.field("process_id").type == pyarrow.int64()
    assert table.schema.field("start").type == pyarrow.float64()
    assert pyarrow.schema(analyzer.calls_table()).names == table.schema.names
    points = analyzer.timepoints_table()
    stream = points.__arrow_c_stream__()
    del points  # a stream outlives its table
    assert pyarrow.RecordBatchReader._import_from_c_capsule(stream).read_all().num_rows == 4


def test_tables_for_polars_and_duckdb():
    table = Table({"number": [1.5, None, math.nan, 2.5], "integer": [1, 2, 3, 4], "text": ["a", None, "ü", ""]})
    frame = polars.DataFrame(table)
    assert frame.schema == {"number": polars.Float64, "integer": polars.Int64, "text": polars.String}
    assert frame.rows() == [(1.5, 1, "a"), (None, 2, None), (None, 3, "ü"), (2.5, 4, "")]
    query = "SELECT sum(number), count(number), sum(integer), max(text), count(text) FROM cells"
    cells = table  # noqa: F841  DuckDB finds it by its name
    assert duckdb.query(query).fetchall() == [(4.0, 2, 10, "ü", 3)]
    nothing = Table({"number": []})
    assert polars.DataFrame(nothing).height == 0
    assert duckdb.query("SELECT count(*) FROM nothing").fetchall() == [(0,)]


def test_numbers_are_not_copied(analyzer):
    """Whoever imports a table looks at the same bytes."""
    table = analyzer.timepoints_table()
    [column] = pyarrow.table(table).column("main_ram").chunks
    address = column.buffers()[1].address
    frame = polars.DataFrame(table)
    del table
    assert frame["main_ram"].to_numpy(allow_copy=False).__array_interface__["data"][0] == address
    assert frame["main_ram"].to_list() == [0.25, 0.5, 0.75, 1.0]


CELLS = st.one_of(
    st.lists(st.none() | st.floats(allow_nan=False), max_size=20),
    st.lists(st.integers(-2**63, 2**63 - 1), max_size=20),
    st.lists(st.none() | st.text(st.characters(codec="utf-8")), max_size=20))


@settings(deadline=None)
@given(cells=CELLS)
def test_tables_keep_what_they_are_given(cells):
    table = Table({"x": cells})
    assert len(table) == len(cells) and table.column_names == ["x"]
    assert pyarrow.table(table).column("x").to_pylist() == table["x"]
    if any(isinstance(cell, str) for cell in cells) or all(isinstance(cell, int) for cell in cells):
        assert table["x"] == cells
    else:
        assert table["x"] == [None if cell is None else float(cell) for cell in cells]


def test_tables_refuse_what_is_none():
    for columns in ({"x": [1], "y": []}, {"x": (1,)}, {1: [1]}, {"x": ["a", 1]}, {"x": [2**70]}, {"x": [object()]}):
        with pytest.raises((TypeError, OverflowError)):
            Table(columns)
    with pytest.raises(KeyError):
        Table({})["x"]
    with pytest.raises(TypeError, match="column_names"):
        Table({"x": [1]})[0]


# ---- properties ----


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_pairs_come_back_whatever_the_nesting(seed, tmp_path_factory):
    """Random properly nested calls of three blocks come back as the same intervals."""
    chance = random.Random(seed)
    rows, expected, clock, open_calls = [], [], 1000.0, []
    for _ in range(chance.randrange(60)):
        clock += chance.choice([0.125, 0.25, 1.5])
        if open_calls and chance.random() < 0.5:
            name, begin = open_calls.pop()
            expected.append((name, begin, clock))
            rows.append((name, 1, clock))
        else:
            open_calls.append((chance.choice("abc"), clock))
            rows.append((open_calls[-1][0], 0, clock))
    file = tmp_path_factory.mktemp("pairs") / "blocks.csv"
    lines = ["process_id,code_block_name,position,timestamp", *(f"1,{name},{side},{time}" for name, side, time in rows)]
    file.write_text("\r\n".join(lines) + "\r\n", newline="")
    analyzer = SubTrackingAnalyzer(None, str(file))
    for name in "abc":
        pairs = sorted((begin, end) for block, begin, end in expected if block == name)
        assert sorted(analyzer.load_timestamp_pairs(name)) == pairs
