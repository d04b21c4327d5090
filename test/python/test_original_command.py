"""What the command of the original gpu_tracker promises, of ours. Runs under either package: see test_original.py."""
import csv
import json
import os
import pathlib
import pickle
import shutil
import sqlite3
import sys

import gpu_tracker
import pytest
from original_data import (
    COLUMNS,
    IS_ORIGINAL,
    STATIC,
    STATISTICS,
    assert_within,
    command,
    differs,
    doubled,
    lines_of,
    marks,
    results_file,
    true_results,
    write_marks,
    write_tracking,
)

SENTENCE = "Resource tracking complete. Process completed with status code: {}\n"
SECTIONS = ["max_ram", "max_gpu_ram", "cpu_utilization", "gpu_utilization", "compute_time"]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Every check in an empty folder, with a program that says its arguments and takes a moment."""
    monkeypatch.chdir(tmp_path)
    pathlib.Path("work.py").write_text("import sys, time\nprint('said', *sys.argv[1:], flush=True)\ntime.sleep(0.4)\n")
    pathlib.Path("config.json").write_text(json.dumps({
        "sleep_time": 0.2, "ram_unit": "megabytes", "gpu_ram_unit": "kilobytes", "time_unit": "seconds", "n_expected_cores": 2}))


@pytest.fixture(params=["text", "json", "pickle", None])
def format_name(request):
    return request.param


@pytest.fixture(params=["report", None])
def output(request):
    return request.param


def asked(format_name, output):
    return [*(["-f", format_name] if format_name else []), *(["-o", output] if output else [])]


def given(output, printed):
    return pathlib.Path(output).read_bytes() if output else printed


# ---- a command that is tracked ----

WORK = f"{sys.executable} work.py"
OPTIONS = {
    "unit": (["-e", WORK, "--ru=kilobytes"], "said", {"ram": "kilobytes"}),
    "flags": (["--execute", f"{WORK} one ", "--disable-logs", "--overwrite"], "said one", {}),
    "file": ([f"--execute={WORK} one  two", "--st=0.2", "--tf=run.sqlite"], "said one two", {"file": "run.sqlite"}),
    "units": (["-e", WORK, "--gru=megabytes", "--tu=days", "--tf=run.csv"], "said",
              {"gpu_ram": "megabytes", "time": "days", "file": "run.csv"}),
    "config": (["-e", WORK, "--nec=3", "--tconfig=config.json"], "said",
               {"ram": "megabytes", "gpu_ram": "kilobytes", "time": "seconds", "cores": 3}),
    "shortened": (["--exec", WORK, "--over", "--disable", "--st", "0.15"], "said", {}),
}


def check_tree(tree, wanted):
    assert [key for key in tree if key in SECTIONS] == SECTIONS
    assert tree["max_ram"]["unit"] == wanted.get("ram", "gigabytes")
    assert tree["max_gpu_ram"]["unit"] == wanted.get("gpu_ram", "gigabytes")
    assert tree["compute_time"]["unit"] == wanted.get("time", "hours")
    assert tree["cpu_utilization"]["n_expected_cores"] == wanted.get("cores", os.cpu_count())
    megabytes = tree["max_ram"]["main"]["total_rss"] * {"kilobytes": 1e-3, "megabytes": 1, "gigabytes": 1e3}[tree["max_ram"]["unit"]]
    assert 1 < megabytes < 100
    seconds = tree["compute_time"]["time"] * {"seconds": 1, "hours": 3600, "days": 86400}[tree["compute_time"]["unit"]]
    assert 0.05 < seconds < 30


def check_text(text, wanted):
    lines = text.splitlines()
    assert lines[:2] == ["Max RAM:", f"   Unit: {wanted.get('ram', 'gigabytes')}"]
    assert lines_of(text, 0, "   ")[:5] == ["Max RAM:", "Max GPU RAM:", "CPU utilization:", "GPU utilization:", "Compute time:"]
    assert f"   Number of expected cores: {wanted.get('cores', os.cpu_count())}" in lines
    assert f"   Unit: {wanted.get('time', 'hours')}" in lines[lines.index("Compute time:"):]


@pytest.mark.parametrize("options", OPTIONS)
def test_tracking(options, format_name, output):
    words, said, wanted = OPTIONS[options]
    fails = format_name == "pickle" and not differs("pickled tracking")
    status, printed, _ = command(*words, *asked(format_name, output), check=not fails)
    begin = f"{said}\n{SENTENCE.format(0)}".encode()
    assert printed.startswith(begin)
    if fails:
        assert status == 1
        return
    report = given(output, printed[len(begin):])
    assert not output or printed == begin
    if format_name == "json":
        assert b'\n "max_ram": {\n  "unit": ' in report  # one space a level
        check_tree(json.loads(report), wanted)
    elif format_name == "pickle":
        usage = pickle.loads(report)
        assert type(usage) is gpu_tracker.tracker.ResourceUsage
        assert usage.max_ram.unit == wanted.get("ram", "gigabytes")
    else:
        check_text(report.decode(), wanted)
    assert os.path.exists(wanted.get("file", "work.py"))


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_what_is_recorded(suffix):
    command("-e", WORK, "--st", "0.1", f"--tf=run.{suffix}", "--ru=megabytes", "--tu=seconds", "--nec=3")
    if suffix == "csv":
        with open("run.csv", newline="") as file:
            static_keys, static, keys, *rows = csv.reader(file)
    else:
        connection = sqlite3.connect("run.sqlite")
        tables = []
        for table in "static_data", "data":
            found = connection.execute(f"SELECT * FROM {table}")
            tables += [[column[0] for column in found.description], *map(list, found)]
        static_keys, static, keys, *rows = tables
    recorded = dict(zip(static_keys, static))
    assert static_keys[:len(STATIC)] == list(STATIC)
    assert keys[:len(COLUMNS) + 1] == [*COLUMNS, "timestamp"]
    assert (recorded["ram_unit"], recorded["gpu_ram_unit"], recorded["time_unit"]) == ("megabytes", "gigabytes", "seconds")
    assert int(recorded["n_expected_cores"]) == 3 and int(recorded["system_core_count"]) == os.cpu_count()
    assert len(rows) >= 2
    moments = [float(row[keys.index("timestamp")]) for row in rows]
    assert moments == sorted(moments)
    assert 1 < max(float(row[keys.index("main_ram")]) for row in rows) < 100


def test_an_older_recording_is_replaced_when_told():
    pathlib.Path("run.csv").write_text("old")
    status, printed, _ = command("-e", WORK, "--tf=run.csv", check=False)
    assert status != 0 and pathlib.Path("run.csv").read_text() == "old"
    command("-e", WORK, "--tf=run.csv", "--overwrite")
    assert pathlib.Path("run.csv").read_text().startswith("ram_unit,")


def test_nothing_else_is_left_behind():
    command("-e", WORK, "-o", "report")
    assert sorted(os.listdir()) == ["config.json", "report", "work.py"]


@pytest.mark.parametrize("code", [0, 7])
def test_the_status_code_is_told(code):
    pathlib.Path("work.py").write_text(f"import sys, time\ntime.sleep(0.3)\nsys.exit({code})")
    status, printed, _ = command("-e", WORK, check=False)
    assert printed.decode().startswith(SENTENCE.format(code))
    assert status == (code if differs("status of the command") else 0)


def test_a_signal_is_told_as_a_negative_code():
    pathlib.Path("work.py").write_text("import os, time\ntime.sleep(0.3)\nos.kill(os.getpid(), 9)")
    status, printed, _ = command("-e", WORK, check=False)
    assert printed.decode().startswith(SENTENCE.format(-9))
    assert status == (128 + 9 if differs("status of the command") else 0)


def test_words_of_the_command():
    _, printed, _ = command("-e", f"{WORK} 'one two'")
    assert printed.startswith(b"said one two\n" if differs("shell words") else b"said 'one two'\n")


@pytest.mark.parametrize("words, named", [
    (["-e", " "], "mpty"), (["-e", "no-such-command here"], "no-such-command"), (["-e", "./plain.txt"], "./plain.txt"),
    (["-e", WORK, "-f", "picture"], "picture"), (["-e", WORK, "-o", "nowhere/report"], "nowhere/report"),
    (["-e", WORK, "--ru=stones"], "stones"), (["-e", WORK, "--gru=stones"], "stones"), (["-e", WORK, "--tu=moons"], "moons"),
    (["-e", WORK, "--st=soon"], "soon"), (["-e", WORK, "--st=0"], "0"), (["-e", WORK, "--nec=many"], "many"),
    (["-e", WORK, "--gb=acme"], "acme"), (["-e", WORK, "--tf=run.txt"], "run.txt"),
    (["-e", WORK, "--tconfig=missing.json"], "missing.json"), (["sub-track", "compare"], "-m"),
    (["sub-track", "compare", "-m", "a=missing.pkl"], "missing.pkl"), (["--no-such-option"], ""), ([], ""),
])
def test_what_is_wrong_is_named(words, named):
    pathlib.Path("plain.txt").write_text("no program")
    status, printed, told = command(*words, check=False)
    assert status == 1 if not differs("exit status") else status in (1, 2, 125, 126, 127)
    assert named in told + (printed.decode() if IS_ORIGINAL else "")
    if differs("early checks"):
        assert printed == b"" and (told.count("\n") <= 2 or not words)
    assert sorted(os.listdir()) == ["config.json", "plain.txt", "work.py"] or IS_ORIGINAL


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is a GPU")
def test_gpus_that_are_not_there():
    status, _, told = command("-e", WORK, "--guuids=GPU-1,GPU-2", check=False)
    if differs("invisible GPUs"):
        assert status != 0 and "GPU-1" in told
    else:
        assert status == 0


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help(word):
    _, printed, told = command(word)
    assert told == "" and "gpu-tracker" in printed.decode() and "--execute" in printed.decode()


@pytest.mark.parametrize("word", ["-v", "--version"])
def test_version(word):
    _, printed, _ = command(word)
    name = "gpu-tracker " if differs("version") else ""
    assert printed.decode() == f"{name}{gpu_tracker.__version__}\n"


# ---- analyses ----

def load_report(format_name, data):
    if format_name == "pickle":
        if data.startswith(b"b'"):  # on the original's screen
            data = eval(data)
        return pickle.loads(data)
    return json.loads(data) if format_name == "json" else data.decode()


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_analyze(suffix, format_name, output):
    write_tracking(f"t.{suffix}"), write_marks(f"s.{suffix}")
    _, printed, _ = command("sub-track", "analyze", f"--tf=t.{suffix}", f"--stf=s.{suffix}", *asked(format_name, output))
    assert not output or printed == b""
    if format_name == "pickle" and not output:
        assert printed.startswith(b"b'") is not differs("pickle on the screen")
    report = load_report(format_name, given(output, printed))
    if format_name == "pickle":
        assert type(report) is gpu_tracker.sub_tracker.SubTrackingResults
        report = report.to_json()
    if format_name in ("pickle", "json"):
        assert_within(true_results(), report)
    else:
        assert lines_of(report, 0, "\t")[:3] == ["Overall:", "Static Data:", "Code Block Results:"]
        assert "\tName:                fit" in report.splitlines()


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
@pytest.mark.parametrize("way", ["one by one", "folder"])
def test_combine(suffix, way):
    os.mkdir("parts")
    parts = [write_marks(f"parts/{process}.{suffix}", marks(process=process)) for process in (11, 12, 13)]
    words = ["-p", "parts"] if way == "folder" else [word for part in parts for word in ("-p", part)]
    command("sub-track", "combine", f"--stf=all.{suffix}", *words)
    pairs = gpu_tracker.SubTrackingAnalyzer(None, f"all.{suffix}").load_timestamp_pairs("fit")
    assert sorted(pairs) == sorted(gpu_tracker.SubTrackingAnalyzer(None, parts[0]).load_timestamp_pairs("fit") * 3)
    status, _, told = command("sub-track", "combine", f"--stf=all.{suffix}", *words, check=False)
    assert status != 0 and f"all.{suffix}" in told


@pytest.mark.parametrize("words, statistic", [
    (["-m", "A=one.pkl", "-m", "B=two.pkl"], "mean"), (["--cconfig=sessions.json", "--stat=min"], "min"),
    (["--cconfig=sessions.json"], "max"), (["-m", "A=one.pkl", "-m", "B=two.pkl", "--stat", "std"], "std"),
    (["--cconfig=first.json", "-m", "B=two.pkl"], "mean")])
def test_compare(words, statistic, format_name, output):
    results_file("one", by_command=True), results_file("two", samples=doubled(), by_command=True)
    pathlib.Path("sessions.json").write_text(json.dumps({"file_path_map": {"A": "one.pkl", "B": "two.pkl"}, "statistic": "max"}))
    pathlib.Path("first.json").write_text(json.dumps({"file_path_map": {"A": "one.pkl"}}))
    _, printed, _ = command("sub-track", "compare", *words, *asked(format_name, output))
    report = load_report(format_name, given(output, printed))
    truth = true_results()
    if format_name == "pickle":
        assert type(report) is gpu_tracker.sub_tracker.ComparisonResults
        report = report.to_json()
    if format_name in ("pickle", "json"):
        for column in COLUMNS:
            value = truth["overall"][column][statistic]
            assert_within({"A": value, "B": 2 * value}, report["overall_resource_usage"][column])
            value = truth["code_block_results"][0]["resource_usage"][column][statistic]
            assert_within({"A": value, "B": 2 * value}, report["code_block_resource_usage"][column]["fit"])
        value = truth["code_block_results"][0]["compute_time"][statistic]
        assert_within({"A": value, "B": value}, report["code_block_compute_time"]["fit"])
    else:
        assert lines_of(report, 0, "\t")[:3] == ["Overall Resource Usage:", "Code Block Resource Usage:", "Code Block Compute Time:"]
        assert lines_of(report, 1, "\t")[0] == "Main Ram:"


@pytest.mark.parametrize("statistic", STATISTICS)
def test_statistics_of_a_comparison(statistic):
    results_file("one", by_command=True)
    _, printed, _ = command("sub-track", "compare", "-m", "only=one.pkl", f"--stat={statistic}", "-f", "json")
    assert_within({"only": true_results()["overall"]["system_ram"][statistic]},
                  json.loads(printed)["overall_resource_usage"]["system_ram"])


def test_results_that_were_pickled_in_python():
    results_file("one"), results_file("two", samples=doubled())
    _, printed, _ = command("sub-track", "compare", "-m", "A=one.pkl", "-m", "B=two.pkl", "-f", "json")
    value = true_results()["overall"]["main_ram"]["mean"]
    assert_within({"A": value, "B": 2 * value}, json.loads(printed)["overall_resource_usage"]["main_ram"])
