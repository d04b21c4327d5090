"""What the analyses of the original gpu_tracker promise, of ours. Runs under either package: see test_original.py."""
import pickle

import gpu_tracker
import gpu_tracker.sub_tracker
import pandas
import pytest
from gpu_tracker import SubTrackingAnalyzer, TrackingComparison
from original_data import (
    BLOCKS,
    COLUMNS,
    SAMPLES,
    STATIC,
    STATISTICS,
    assert_within,
    differs,
    doubled,
    inside,
    lines_of,
    marks,
    numbers,
    results_file,
    rows,
    true_block,
    true_results,
    write_marks,
    write_tracking,
)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPU_TRACKER_BLOCKS", raising=False)


@pytest.fixture(params=["csv", "sqlite"])
def suffix(request):
    return request.param


# ---- SubTrackingAnalyzer ----

@pytest.fixture
def analyzer(suffix):
    return SubTrackingAnalyzer(write_tracking(f"t.{suffix}"), write_marks(f"s.{suffix}"))


def test_static_data(analyzer):
    found = analyzer.read_static_data()
    assert isinstance(found, pandas.Series)
    assert {key: value for key, value in found.to_dict().items() if key in STATIC} == STATIC


def test_names_of_blocks(analyzer):
    assert analyzer.load_code_block_names() == sorted(BLOCKS)


@pytest.mark.parametrize("name", BLOCKS)
def test_pairs(analyzer, name):
    pairs = analyzer.load_timestamp_pairs(name)
    assert pairs == BLOCKS[name] and all(type(moment) is float for pair in pairs for moment in pair)


@pytest.mark.parametrize("pairs", [BLOCKS["fit"], [(2000.5, 2000.5)], [(1.0, 9.0)], [(2001.0, 2005.0), (2003.0, 2006.5)]])
def test_timepoints(analyzer, pairs):
    points = analyzer.load_timepoints(pairs)
    assert isinstance(points, pandas.DataFrame)
    wanted = inside(pairs)
    assert list(points.columns)[:len(COLUMNS)] == COLUMNS and "timestamp" in points.columns
    assert len(points.columns) == len(COLUMNS) + 1 or differs("more columns")
    for column in [*COLUMNS, "timestamp"]:
        assert points[column].tolist() == pytest.approx([row[column] for row in wanted])


def test_overall_results(analyzer):
    found = analyzer.overall_timepoint_results()
    assert isinstance(found, pandas.DataFrame) and list(found.columns)[:4] == STATISTICS
    assert len(found.columns) == 4 or differs("more statistics")
    assert_within(true_results()["overall"], {name: row.to_dict() for name, row in found.iterrows()})


def test_results(analyzer):
    results = analyzer.sub_tracking_results()
    assert type(results) is gpu_tracker.sub_tracker.SubTrackingResults
    assert_within(true_results(), results.to_json())
    assert isinstance(results.overall, pandas.DataFrame) and isinstance(results.static_data, pandas.Series)
    assert [block.name for block in results.code_block_results] == sorted(BLOCKS)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_results_of_a_block(analyzer, number):
    block = analyzer.sub_tracking_results().code_block_results[number]
    truth = true_block(sorted(BLOCKS)[number])
    assert type(block) is gpu_tracker.sub_tracker.CodeBlockResults
    assert {key: getattr(block, key) for key in ("name", "num_timepoints", "num_calls", "num_non_empty_calls")} == {
        key: truth[key] for key in ("name", "num_timepoints", "num_calls", "num_non_empty_calls")}
    assert isinstance(block.compute_time, pandas.Series) and list(block.compute_time.index)[:5] == [*STATISTICS, "total"]
    assert_within(truth["compute_time"], block.compute_time.to_dict())
    assert isinstance(block.resource_usage, pandas.DataFrame) and list(block.resource_usage.columns)[:4] == STATISTICS
    assert_within(truth["resource_usage"], {name: row.to_dict() for name, row in block.resource_usage.iterrows()})


def test_results_as_text(analyzer):
    """Tabs, a table with eight decimals, titles of the keys, a blank line behind each block."""
    truth, text = true_results(), str(analyzer.sub_tracking_results())
    assert lines_of(text, 0, "\t")[:3] == ["Overall:", "Static Data:", "Code Block Results:"]
    lines = text.splitlines()
    assert lines[0] == "Overall:" and lines[1].split()[:4] == STATISTICS
    for line, column in zip(lines[2:], COLUMNS):
        assert line.startswith("\t") and line.split()[0] == column
        assert numbers(line.split(maxsplit=1)[1])[:4] == [round(value, 8) for value in truth["overall"][column].values()]
    begin = lines.index("Static Data:")
    assert lines[begin + 1].split()[:len(STATIC)] == list(STATIC)
    assert lines[begin + 2].split()[:len(STATIC)] == [str(value) for value in STATIC.values()]
    for block in truth["code_block_results"]:
        begin = lines.index(f"\tName:                {block['name']}")
        assert lines[begin + 1:begin + 5] == [
            f"\tNum Timepoints:      {block['num_timepoints']}", f"\tNum Calls:           {block['num_calls']}",
            f"\tNum Non Empty Calls: {block['num_non_empty_calls']}", "\tCompute Time:"]
        assert lines[begin + 5].split()[:5] == [*STATISTICS, "total"]
        assert numbers(lines[begin + 6])[:5] == [round(value, 8) for value in block["compute_time"].values()]
        assert lines[begin + 7] == "\tResource Usage:" and lines[begin + 8].startswith("\t\t")
        line = lines[begin + 9].split()
        assert line[0] == "main_ram" and [float(word) for word in line[1:5]] == [
            round(value, 8) for value in block["resource_usage"]["main_ram"].values()]


def test_pickled_results(analyzer):
    results = analyzer.sub_tracking_results()
    again = pickle.loads(pickle.dumps(results))
    assert type(again) is type(results) and again.to_json() == results.to_json() and str(again) == str(results)
    assert again.overall.equals(results.overall) and again.static_data.equals(results.static_data)


def test_a_call_that_never_ended(suffix):
    unfinished = [{"process_id": 4711, "code_block_name": "fit", "position": 0, "timestamp": 2016.75}]
    lines = marks({"fit": BLOCKS["fit"][:2]}) + unfinished
    analyzer = SubTrackingAnalyzer(write_tracking(f"t.{suffix}"), write_marks(f"s.{suffix}", lines))
    assert analyzer.load_timestamp_pairs("fit") == BLOCKS["fit"][:2]
    [block] = analyzer.sub_tracking_results().to_json()["code_block_results"]
    assert_within(true_block("fit", BLOCKS["fit"][:2]), block)


INVALID = {
    "stop before start": [(1, 1, 40.0), (1, 0, 50.0), (1, 0, 51.0)],
    "a stop too many": [(1, 1, 39.0), (1, 0, 40.0), (1, 1, 41.0), (2, 0, 50.0), (2, 1, 60.0), (2, 1, 61.0)],
}


@pytest.mark.parametrize("kind", INVALID)
def test_marks_that_make_no_sense(kind, suffix):
    lines = [{"process_id": process, "code_block_name": "x", "position": position, "timestamp": moment}
             for process, position, moment in INVALID[kind]]
    with pytest.raises(ValueError):
        SubTrackingAnalyzer(None, write_marks(f"s.{suffix}", lines)).load_timestamp_pairs("x")


def test_an_empty_block(suffix):
    blocks = {**BLOCKS, "nothing": [(2100.0, 2101.0)]}
    analyzer = SubTrackingAnalyzer(write_tracking(f"t.{suffix}"), write_marks(f"s.{suffix}", marks(blocks)))
    if suffix == "sqlite" and not differs("empty block"):
        with pytest.raises(KeyError):
            analyzer.sub_tracking_results()
        return
    block = analyzer.sub_tracking_results().code_block_results[2]
    assert (block.name, block.num_timepoints, block.num_calls, block.num_non_empty_calls) == ("nothing", 0, 1, 0)
    assert block.compute_time["total"] == 1.0 and block.resource_usage.loc["main_ram"].isna().all()


def test_names_with_quotes(suffix):
    name = "it's \"quoted\""
    analyzer = SubTrackingAnalyzer(None, write_marks(f"s.{suffix}", marks({name: BLOCKS["fit"]})))
    assert analyzer.load_code_block_names() == [name]
    if suffix == "sqlite" and not differs("quotes in names"):
        with pytest.raises(Exception, match="syntax error"):
            analyzer.load_timestamp_pairs(name)
    else:
        assert analyzer.load_timestamp_pairs(name) == BLOCKS["fit"]


def test_numbers_as_names():
    analyzer = SubTrackingAnalyzer(None, write_marks("s.csv", marks({"17": BLOCKS["fit"]})))
    assert analyzer.load_code_block_names() == (["17"] if differs("numbers as names") else [17])


@pytest.mark.parametrize("names", [("t.txt", "s.csv"), ("t.csv", "s.json")])
def test_analyses_of_files_of_other_kinds(names):
    with pytest.raises(ValueError, match="t.txt|s.json"):
        SubTrackingAnalyzer(*names)


def test_combining(suffix):
    parts = [write_marks(f"{process}.{suffix}", marks(process=process)) for process in (11, 12, 13)]
    analyzer = SubTrackingAnalyzer(None, f"all.{suffix}")
    analyzer.combine_sub_tracking_files(parts)
    assert sorted(rows(f"all.{suffix}")) == sorted(row for part in parts for row in rows(part))
    with pytest.raises(ValueError, match=f"all.{suffix}"):
        analyzer.combine_sub_tracking_files(parts)
    assert len(rows(f"all.{suffix}")) == 3 * len(marks())


def test_combining_files_of_two_kinds(suffix):
    parts = [write_marks(f"{process}.{suffix}", marks(process=process)) for process in (11, 12)]
    other = "all.csv" if suffix == "sqlite" else "all.sqlite"
    analyzer = SubTrackingAnalyzer(None, other)
    if differs("any suffix"):
        analyzer.combine_sub_tracking_files(parts)
        assert len(rows(other)) == 2 * len(marks())
    else:
        with pytest.raises(ValueError, match=parts[0]):
            analyzer.combine_sub_tracking_files(parts)


# ---- TrackingComparison ----

@pytest.mark.parametrize("statistic", STATISTICS)
def test_comparisons(statistic):
    comparison = TrackingComparison({"more": results_file("more", samples=doubled()), "less": results_file("less")})
    assert {name: type(results).__name__ for name, results in comparison.results_map.items()} == {
        "more": "SubTrackingResults", "less": "SubTrackingResults"}
    found, truth = comparison.compare(statistic), true_results()
    assert type(found) is gpu_tracker.sub_tracker.ComparisonResults
    block = truth["code_block_results"][0]
    tree = found.to_json()
    for column in COLUMNS:
        value = truth["overall"][column][statistic]
        assert isinstance(found.overall_resource_usage[column], pandas.Series)
        assert_within({"less": value, "more": 2 * value}, tree["overall_resource_usage"][column])  # in ascending order
        value = block["resource_usage"][column][statistic]
        assert_within({"less": value, "more": 2 * value}, found.code_block_resource_usage[column]["fit"].to_dict())
    value = block["compute_time"][statistic]
    assert_within(dict.fromkeys(found.code_block_compute_time["fit"].index, value), tree["code_block_compute_time"]["fit"])


def test_the_statistic_is_the_mean_unless_told():
    comparison = TrackingComparison({"a": results_file("a")})
    assert comparison.compare().to_json() == comparison.compare("mean").to_json()


def test_a_comparison_as_text():
    comparison = TrackingComparison({"more": results_file("more", samples=doubled()), "less": results_file("less")}).compare("max")
    lines = str(comparison).splitlines()
    assert lines[:2] == ["Overall Resource Usage:", "\tMain Ram:"] and lines[2].split() == ["less", "more"]
    value = round(max(row["main_ram"] for row in SAMPLES), 8)
    assert lines[3].startswith("\t\t") and numbers(lines[3]) == [value, 2 * value]
    assert lines_of(str(comparison), 0, "\t")[:3] == [
        "Overall Resource Usage:", "Code Block Resource Usage:", "Code Block Compute Time:"]
    titles = lines_of(str(comparison), 1, "\t")
    assert titles[:len(COLUMNS)] == [column.replace("_", " ").title() + ":" for column in COLUMNS]
    begin = lines.index("Code Block Compute Time:")
    assert lines[begin + 1] == "\tfit:" and numbers(lines[begin + 3]) == [4.5, 4.5]  # names of blocks stay as they are
    assert "\t\tload.py:31:" in lines


def test_pickled_comparisons():
    comparison = TrackingComparison({"a": results_file("a")}).compare()
    again = pickle.loads(pickle.dumps(comparison))
    assert type(again) is type(comparison) and again.to_json() == comparison.to_json()


def test_blocks_that_moved_to_another_line(caplog):
    moved = {"fit": BLOCKS["fit"], "load.py:104": BLOCKS["load.py:31"]}
    comparison = TrackingComparison({"before": results_file("before"), "after": results_file("after", blocks=moved)})
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert all(word in warning for word in ("load.py:31", "load.py:104", "before", "after"))
    found = comparison.compare("max").to_json()["code_block_compute_time"]
    assert [name for name in found if name != "fit"] == ["load.py:104 -> load.py:31"]
    assert found["load.py:104 -> load.py:31"] == {"before": 5.0, "after": 5.0}


@pytest.mark.parametrize("blocks, named", [
    ({"fit": BLOCKS["fit"]}, "other"), ({**BLOCKS, "third": [(2000.0, 2001.0)]}, "other"),
    ({"fit": BLOCKS["fit"], "load.py:top": [(2000.0, 2001.0)]}, "load.py:top"),
    ({"fit": BLOCKS["fit"], "save.py:31": [(2000.0, 2001.0)]}, "save.py:31")])
def test_blocks_that_do_not_match(blocks, named):
    files = {"one": results_file("one"), "other": results_file("two", blocks=blocks)}
    with pytest.raises(ValueError, match=named):
        TrackingComparison(files)


def test_a_statistic_that_is_none():
    comparison = TrackingComparison({"a": results_file("a"), "b": results_file("b")})
    with pytest.raises(ValueError, match="median"):
        comparison.compare("median")


def test_comparing_what_is_not_there():
    with pytest.raises(FileNotFoundError, match="missing.pkl"):
        TrackingComparison({"a": "missing.pkl"})
