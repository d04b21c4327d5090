"""sub-track compare: the original's output, grouping, rules, and what it refuses."""
import contextlib
import json
import pathlib
import pickle
import re
import shutil
import sqlite3

import pytest

from test_sub_track import assert_contains, is_same_line

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "sub_track"


@pytest.fixture
def sessions(cli, tmp_path):
    """Results of the sessions A and B in every kind of file that compare takes."""
    for path in FIXTURE.iterdir():
        shutil.copy(path, tmp_path)
    for name, blocks in ("A", "blocks-A.csv"), ("B", "333.csv"):
        for suffix in "json", "pickle":
            path = f"{name}.{suffix}"
            assert cli("sub-track", "analyze", f"--tf=tracking-{name}.csv", f"--stf={blocks}", "-f", suffix, "-o",
                       path).returncode == 0
    return tmp_path


def compare(cli, *words, status=0):
    done = cli("sub-track", "compare", *words, "-f", "json")
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("statistic", ["min", "max", "mean", "std"])
@pytest.mark.parametrize("one, other", [("A.json", "B.json"), ("A.pickle", "B.json"), ("A.json", "B.pickle")])
def test_agrees_with_the_original(cli, sessions, statistic, one, other):
    results = compare(cli, "-m", f"A={one}", "-m", f"B={other}", "--stat", statistic)
    assert_contains(results, json.loads((FIXTURE / f"compare-{statistic}.json").read_text()))


def test_text_and_warnings_are_the_originals(cli, sessions):
    done = cli("sub-track", "compare", "-m", "A=A.json", "-m", "B=B.json")
    ours, theirs = done.stdout.splitlines(), (FIXTURE / "compare-mean.txt").read_text().splitlines()
    assert all(is_same_line(line, other) for line, other in zip(ours, theirs))
    warnings = (FIXTURE / "compare-warning.txt").read_text().replace("WARNING:root:", "gpu-tracker: ")
    assert done.stderr == warnings


def test_configuration_file(cli, sessions):
    config = {"file_path_map": {"A": "A.json", "B": "missing"}, "statistic": "max"}
    (sessions / "config.json").write_text(json.dumps(config))
    results = compare(cli, "--cconfig=config.json", "-m", "B=B.json")
    assert_contains(results, json.loads((FIXTURE / "compare-max.json").read_text()))


def changed(sessions, name, factor, rename=None):
    results = json.loads((sessions / "A.json").read_text())
    for value in results["overall"].values():
        value["mean"] *= factor
    for block in results["code_block_results"]:
        block["name"] = (rename or {}).get(block["name"], block["name"])
    (sessions / name).write_text(json.dumps(results))
    return name


def test_added_and_removed_blocks(cli, sessions):
    changed(sessions, "renamed.json", 1, {"load data": "load more data"})
    results = compare(cli, "-m", "b=A.json", "-m", "a=renamed.json")
    assert results["added_blocks"] == [{"session": "a", "name": "load more data"}]
    assert results["removed_blocks"] == [{"session": "a", "name": "load data"}]
    done = cli("sub-track", "compare", "--strict", "-m", "b=A.json", "-m", "a=renamed.json")
    assert done.returncode == 2
    assert done.stderr == ('gpu-tracker: Code block name "load more data" of tracking session "a" does not match code '
                           'block name "load data" of tracking session "b"\n')


def test_every_session_has_its_key(cli, sessions):
    """Also of a block that no sample met, as in the original, and of one that a session lacks."""
    header = "process_id,code_block_name,position,timestamp\n"
    (sessions / "short.csv").write_text(header + "1,short,0,1700000000.3\n1,short,1,1700000000.31\n")
    (sessions / "none.csv").write_text(header + "1,other,0,1700000000.3\n1,other,1,1700000003.31\n")
    for name in "short", "none":
        assert cli("sub-track", "analyze", "--tf=tracking-A.csv", f"--stf={name}.csv", "-f", "json", "-o",
                   f"{name}.json").returncode == 0
    results = compare(cli, "-m", "a=short.json", "-m", "b=short.json", "-m", "c=none.json")
    for blocks in results["code_block_resource_usage"].values():
        assert blocks["short"] == {"a": None, "b": None, "c": None}
        assert blocks["other"].keys() == {"a", "b", "c"} and list(blocks["other"])[0] == "c"
        assert blocks["other"]["c"] is not None and blocks["other"]["a"] is None
    assert results["code_block_compute_time"]["short"] == {"a": pytest.approx(0.01), "b": pytest.approx(0.01), "c": None}
    text = cli("sub-track", "compare", "-m", "a=short.json", "-m", "b=short.json").stdout
    assert re.search(r"Main Ram:\n\t\tshort:\n\t\t\t +a +b\n\t\t\t +n/a +n/a\n", text)


def test_strict_counts_blocks(cli, sessions):
    results = json.loads((sessions / "A.json").read_text())
    del results["code_block_results"][0]
    (sessions / "fewer.json").write_text(json.dumps(results))
    done = cli("sub-track", "compare", "--strict", "-m", "a=A.json", "-m", "b=fewer.json")
    assert done.returncode == 2
    assert ('All sub-tracking results must have the same number of code blocks. The first has 3 code blocks but '
            'tracking session "b" has 2 code blocks.') in done.stderr


def test_lines_match_by_name_when_their_number_differs(cli, sessions):
    results = json.loads((sessions / "A.json").read_text())
    results["code_block_results"].append({**results["code_block_results"][1], "name": "train.py:100"})
    (sessions / "more.json").write_text(json.dumps(results))
    compared = compare(cli, "-m", "a=A.json", "-m", "b=more.json")
    assert compared["added_blocks"] == [{"session": "b", "name": "train.py:100"}]
    assert "train.py:9" in compared["code_block_compute_time"]


@pytest.mark.parametrize("rule, broken", [
    ("combined_ram.max>+5%", True),
    ("combined_ram.max > +20%", False),
    ("combined_ram.max>700MB", True),
    ("combined_ram.max>0.7GB", True),
    ("combined_ram.max>714", False),
    ("combined_ram.max>+50MB", True),
    ("combined_ram.max>+100MB", False),
    ("cpu_main_sum_utilization_percent.mean<-5%", True),
    ("cpu_main_sum_utilization_percent.mean<80%", True),
    ("cpu_main_sum_utilization_percent.mean<79%", False),
    ("block:load data.compute_time.total>1s", True),
    ("block:load data.compute_time.total>1700ms", True),
    ("block:load data.compute_time.total>1701ms", False),
    ("block:load data.compute_time.total>+0%", False),
    ("block:load data.main_ram.max>1GB", False),
    ("block:train.py:9.num_calls>1", True),
    ("block:train.py:12.num_calls>2", False),
])
def test_rules(cli, sessions, rule, broken):
    done = cli("sub-track", "compare", "-m", "A=A.json", "-m", "B=B.json", "--fail-if", rule, "-f", "json")
    assert done.returncode == (3 if broken else 0), done.stderr
    assert (f"rule '{rule}' is broken" in done.stderr) == broken
    assert [row["outcome"] for row in json.loads(done.stdout)["rules"]] == ["broken" if broken else "kept"]


@pytest.mark.parametrize("rule, message", [
    ("combined_ram.max", "has neither > nor <"),
    ("combined_ram.max>much", "'much' is not a limit"),
    ("combined_ram.max>5s", "the value is not measured in 's': write the limit in "),
    ("cpu>50%", "cpu is not measured in '%': write it as in 2cores"),
    ("duration>50%", "the value is not measured in '%': write the limit in seconds"),
    ("block:train.py:9.num_calls>2GB", "the value is not measured in 'GB': write a number without a unit"),
    ("combined_rum.max>5", "'combined_rum' is not a figure of any session; these are: memory, time, cpu, cpu-time, "),
    ("memory>5", "the limit has no unit: write it as in 2GB"),
    ("memory>+5", "the limit has no unit: write it as in +5% or +2GB, relative to the baseline"),
    ("num_calls>=2", "write 'num_calls>2'"),
    ("time<1000", "the limit has no unit: write it as in 10min"),
    ("memori>5GB", "; near: memory"),
    ("block:nothing.compute_time.max>5", "no session has such a code block"),
])
def test_bad_rules(sessions, refused, rule, message):
    refused(2, message, "sub-track", "compare", "-m", "A=A.json", "-m", "B=A.json", "--fail-if", rule)


def test_a_single_session_has_only_absolute_limits(sessions, refused, cli):
    refused(2, "only one session", "sub-track", "compare", "-m", "A=A.json", "--fail-if", "main_ram.max>+5%")
    assert cli("sub-track", "compare", "-m", "A=A.json", "--fail-if", "main_ram.max>1MB").returncode == 3


class Trap:
    def __reduce__(self):
        return (pathlib.Path.touch, (pathlib.Path("executed"),))


def test_other_pickles_are_refused_and_not_executed(sessions, refused):
    (sessions / "trap.pickle").write_bytes(pickle.dumps(Trap(), 2))
    refused(2, "which does not belong in results", "sub-track", "compare", "-m", "a=trap.pickle")
    (sessions / "cut.pickle").write_bytes((sessions / "A.pickle").read_bytes()[:-100])
    refused(2, "damaged", "sub-track", "compare", "-m", "a=cut.pickle")


@pytest.mark.parametrize("text, message", [
    ("", "is empty"),
    ("{", "line 1"),
    ("[]", "does not hold the results"),
    ('{"max_ram": {}}', "is a tracking report"),
    ('{"overall": {}, "code_block_results": [], "results_version": 99}', "newer gpu-tracker"),
    ('{"overall": {}, "code_block_results": [{}]}', "has no name"),
])
def test_bad_results(sessions, refused, text, message):
    (sessions / "bad.json").write_text(text)
    refused(2, message, "sub-track", "compare", "-m", "a=bad.json")


@pytest.mark.parametrize("status, message, words", [
    (2, "A mapping of tracking session name to file path must be provided", ()),
    (2, "is not NAME=FILE", ("-m", "A.json")),
    (2, "missing.json", ("-m", "a=missing.json")),
    (2, "b=c", ("-m", "a=b=c")),
    (2, "--stat", ("-m", "a=A.json", "--stat=median")),
    (2, "missing.json", ("--cconfig=missing.json",)),
])
def test_refused(sessions, refused, status, message, words):
    refused(status, message, "sub-track", "compare", *words)


def test_sessions_in_other_units_are_compared_in_those_of_the_first(cli, sessions):
    results = json.loads((sessions / "A.json").read_text())
    assert results["static_data"]["ram_unit"] == "megabytes"
    results["static_data"]["ram_unit"] = "gigabytes"
    places = [results["overall"], *[block["resource_usage"] for block in results["code_block_results"]]]
    for column in [place[name] for place in places for name in place if name.endswith("_ram") and "gpu" not in name]:
        for statistic, value in column.items():
            column[statistic] = value and value / 1000
    (sessions / "units.json").write_text(json.dumps(results))
    tree = compare(cli, "-m", "a=A.json", "-m", "b=units.json")
    differences = tree["overall_differences"] + tree["code_block_differences"]
    assert [row for row in differences if row["measurement"] == "combined_ram"]
    assert all(row["difference"] == pytest.approx(0, abs=1e-9) for row in differences), differences


def summary_of(text):
    """Of the text format: (block, measurement) and the cells behind."""
    lines = [re.split(r"\s{2,}|(?<=[\d.])\s+(?=-?[\d.])", line.strip()) for line in text[text.index("Summary:"):].splitlines()[2:]]
    return {(line[0], line[1]): line[2:] for line in lines if len(line) > 3}


def record(cli, name, megabytes):
    """A job that holds so much for a moment, between two samples."""
    burst = f"import time; time.sleep(0.2); held = b'x' * {megabytes * 1000000}; del held; time.sleep(0.2)"
    done = cli("run", "--disable-logs", "--sleep-time=30", f"--tracking-file={name}", "--ram-unit=megabytes", "--", "/usr/bin/python3",
               "-c", burst)
    assert done.returncode == 0, done.stderr


def test_peaks_that_no_sample_saw(cli, tmp_path):
    record(cli, "before.sqlite", 100)
    record(cli, "after.sqlite", 200)
    words = ["-m", "before=before.sqlite", "-m", "after=after.sqlite"]
    rows = summary_of(cli("sub-track", "compare", *words).stdout)
    before, after, _ = map(float, rows["whole job", "Peak RAM (megabytes)"][:3])
    assert 100 < before < 130 and 200 < after < 230
    assert ("whole job", "Max RAM (megabytes)") not in rows
    compare(cli, *words, "--fail-if", "combined_ram_peak>+20%", status=3)
    compare(cli, *words, "--fail-if", "combined_ram_peak>150MB", status=3)
    compare(cli, *words, "--fail-if", "combined_ram_peak>300MB")
    compare(cli, *words, "--fail-if", "combined_ram.max>100MB")
    compare(cli, *words, "--fail-if", "duration<0.3s")
    compare(cli, *words, "--fail-if", "duration>0.3s", status=3)
    differences = {row["measurement"]: row for row in compare(cli, *words)["overall_differences"]}
    assert differences["combined_ram_peak"]["difference"] == pytest.approx((after - before) * 1e6, abs=1e6)


def test_a_block_that_never_ended_keeps_no_limit(cli, sessions):
    """Its calls are in no figure, so a limit on them would be kept for nothing."""
    lines = (sessions / "blocks-A.csv").read_text().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if line.split(",")[2:3] == ["1"])
    name = lines[last].split(",")[1]
    (sessions / "unended.csv").write_text("".join(lines[:last] + lines[last + 1:]))
    assert cli("sub-track", "analyze", "--tf=tracking-A.csv", "--stf=unended.csv", "-f", "json", "-o", "unended.json").returncode == 0
    rule = f"block:{name}.compute_time.total>3000s"
    assert cli("sub-track", "compare", "-m", "A=A.json", "-m", "B=A.json", "--fail-if", rule).returncode == 0
    done = cli("sub-track", "compare", "-m", "A=A.json", "-m", "B=unended.json", "--fail-if", rule)
    assert done.returncode == 3 and "calls of the block never ended (1)" in done.stderr
    asked = f"block:{name}.num_unfinished_calls>1"
    assert cli("sub-track", "compare", "-m", "A=A.json", "-m", "B=unended.json", "--fail-if", asked).returncode == 0


def test_files_are_operands_with_names_of_their_own(cli, sessions):
    (sessions / "old").mkdir()
    shutil.copy(sessions / "B.json", sessions / "old" / "A.json")
    done = cli("compare", "A.json", "old/A.json", "C=B.pickle", "-f", "json")
    assert done.returncode == 0, done.stderr
    spelled = compare(cli, "-m", "A=A.json", "-m", "A (2)=old/A.json", "-m", "C=B.pickle")
    assert json.loads(done.stdout) == spelled
    assert [*spelled["code_block_compute_time"]["load data"]][:3] and "A (2)" in done.stdout
    assert cli("sub-track", "compare", "A.json", "old/A.json", "C=B.pickle", "-f", "json").stdout == done.stdout


def test_operands_of_one_name_are_runs_of_one_session(cli, sessions):
    words = ["before=A.json", "before=A.pickle", "after=B.json", "after=B.pickle"]
    ours = cli("compare", *words, "-f", "json")
    assert json.loads(ours.stdout) == compare(cli, *[piece for word in words for piece in ("-m", word)])


def test_a_file_whose_name_has_an_equals_sign_is_an_operand(cli, sessions):
    shutil.copy(sessions / "A.json", sessions / "lr=1.json")
    done = cli("compare", "lr=1.json", "B.json", "-f", "json")
    assert done.returncode == 0 and "lr_1" in done.stdout, done.stderr


def test_runs_beside_other_programs_are_named(cli, tmp_path):
    for name in ("quiet", "busy"):
        assert cli("run", "--quiet", "--disable-logs", f"--tracking-file={name}.sqlite", "--", "sleep", "1.2").returncode == 0
        with contextlib.closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as database, database:
            cores, = database.execute("SELECT system_core_count FROM static_data").fetchone()
            database.execute("UPDATE final SET value = ? WHERE scope = 'system' AND metric = 'cpu_time'",
                             [1.2 * cores * 0.9 if name == "busy" else 0.01])
    done = cli("compare", "quiet.sqlite", "busy.sqlite", "-f", "json")
    row, = json.loads(done.stdout)["disturbed"]
    assert (row["session"], row["runs"], row["disturbed"]) == ("busy", 1, 1) and row["other_cores"] > 0.6 * cores
    assert 'session "busy": other programs used up to' in done.stderr and '"quiet"' not in done.stderr
