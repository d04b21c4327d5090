"""Every option, in every form, and every way of getting one wrong."""
import ctypes
import json
import os
import pathlib
import re
import sqlite3
import subprocess

import pytest

QUIET = "--disable-logs"
TOUCH = ["-e", "touch started"]


def test_original_form_takes_every_original_option(cli, tmp_path):
    (tmp_path / "settings.json").write_text("{}")
    done = cli("--execute=true", "--output=out.json", "--format=json", "--tconfig=settings.json", "--st=0.5", "--ru=megabytes",
               "--gru=bytes", "--tu=seconds", "--nec=2", "--disable-logs", "--tf=track.csv", "--overwrite")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Resource tracking complete. Process completed with status code: 0\n"
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["max_ram"]["unit"] == "megabytes"
    assert report["max_gpu_ram"]["unit"] == "bytes"
    assert report["compute_time"]["unit"] == "seconds"
    assert report["cpu_utilization"]["n_expected_cores"] == 2
    assert (tmp_path / "track.csv").exists()


@pytest.mark.parametrize("form", [
    ["-o", "out.json"], ["-oout.json"], ["-o=out.json"], ["--output", "out.json"], ["--output=out.json"],
    ["--outp=out.json"],
])
def test_forms_of_a_value(cli, tmp_path, form):
    assert cli("-e", "true", QUIET, *form).returncode == 0
    assert json.loads((tmp_path / "out.json").read_text())["compute_time"]


@pytest.mark.parametrize("word", ["--time-unit", "--tu", "--time", "--ti"])
def test_names_of_one_option(cli, word):
    done = cli("run", "-f", "json", "-o", "-", QUIET, word, "seconds", "--", "true")
    assert json.loads(done.stdout)["compute_time"]["unit"] == "seconds"


@pytest.mark.parametrize("command", [["--exec=true"], ["--exe", "true"], ["-etrue"], ["--over", "--exec", "true"]])
def test_abbreviations(cli, command):
    assert cli(*command, QUIET).stdout.startswith("Resource tracking complete.")


def test_the_last_of_a_repeated_option_counts(cli):
    done = cli("run", "-o", "-", "-f", "csv", "-f", "json", "--tu", "days", "--tu", "seconds", QUIET, "--", "true")
    assert json.loads(done.stdout)["compute_time"]["unit"] == "seconds"


@pytest.mark.parametrize("memory, bytes_of, time, seconds", [
    ("GB", "gigabytes", "s", "seconds"), ("MB", "megabytes", "min", "minutes"), ("MiB", "mebibytes", "ms", "milliseconds"),
    ("kB", "kilobytes", "h", "hours")])
def test_units_have_symbols(cli, tmp_path, memory, bytes_of, time, seconds):
    done = cli("run", QUIET, f"--ru={memory}", f"--gru={memory}", f"--tu={time}", "--tf=run.sqlite", "--st=20ms", "-f", "json",
               "-o", "-", "--", "sleep", "0.3")
    told = json.loads(done.stdout)
    assert (told["max_ram"]["unit"], told["compute_time"]["unit"]) == (bytes_of, seconds)
    size, length = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "MiB": 1 << 20}[memory], {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}[time]
    assert 1e5 < told["max_ram"]["combined"]["total_rss"] * size < 1e9
    assert 0.25 < told["compute_time"]["time"] * length < 60
    spelled = cli("report", "run.sqlite", "-f", "json", "--ru=bytes", "--tu", "seconds").stdout
    assert json.loads(cli("report", "run.sqlite", "-f", "json").stdout)["max_ram"]["unit"] == bytes_of
    assert cli("report", "run.sqlite", "-f", "json", "--ru=B", "--tu=s").stdout == spelled
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        assert database.execute("SELECT ram_unit, time_unit FROM static_data").fetchone() == (bytes_of, seconds)


def test_a_flag_can_be_unset(cli):
    assert "No GPU" not in cli("run", QUIET, "--", "true").stderr
    with_and_without = [cli("run", QUIET, "--disable-logs=" + word, "--", "true").stderr for word in ("false", "true")]
    assert with_and_without[0] != with_and_without[1] or "No GPU" not in with_and_without[0]


def test_options_after_operands_except_where_a_program_follows(cli, tmp_path):
    done = cli("run", QUIET, "-o", "report", "echo", "--format", "json", "-h")
    assert done.stdout == "--format json -h\n"
    assert cli("completion", "bash", "--help").stdout.startswith("Usage: gpu-tracker completion")


def test_format_follows_the_suffix(cli, tmp_path):
    cli("run", QUIET, "-o", "out.json", "--", "true")
    assert json.loads((tmp_path / "out.json").read_text())
    cli("run", QUIET, "-o", "out.txt", "--", "true")
    assert (tmp_path / "out.txt").read_text().startswith("Max RAM:\n   Unit: gigabytes\n")


@pytest.mark.parametrize("words", [["run", QUIET, "--", "true"], ["-e=true", QUIET], ["schema"], ["attach", QUIET, "$pid"]])
def test_output_dash_is_standard_output(cli, tmp_path, words):
    sleeper = subprocess.Popen(["sleep", "0.3"])
    done = cli(words[0], "-o", "-", "-f", "json", *[word.replace("$pid", str(sleeper.pid)) for word in words[1:]])
    sleeper.wait()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout[done.stdout.index("{"):])
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("name", ["x.doc", "folder.json/x.doc", "x.", "a.JSON", ".hidden.log"])
def test_a_suffix_that_no_format_has_is_refused(cli, refused, tmp_path, name):
    (tmp_path / "folder.json").mkdir()
    line = refused(2, f"'{name}'", *TOUCH, "-o", name)
    known = re.findall(r"\.\w+(?=,|$)", line.split("one of ")[1])
    formats = {suffix: cli("run", QUIET, "-o", "x" + suffix, "--", "true").returncode for suffix in known}
    assert {".txt", ".json", ".csv", ".md", ".html"} <= set(known) and set(formats.values()) == {0}
    assert cli("run", QUIET, "-f", "text", "-o", name, "--", "true").returncode == 0
    assert (tmp_path / name).read_text().startswith("Max RAM:")


@pytest.mark.parametrize("name", ["report", ".report", "folder.d/report"])
def test_a_name_without_suffix_is_text(cli, tmp_path, name):
    (tmp_path / "folder.d").mkdir()
    assert cli("run", QUIET, "-o", name, "--", "true").returncode == 0
    assert (tmp_path / name).read_text().startswith("Max RAM:")


def test_a_script_of_fixes_may_have_any_suffix(cli, tmp_path):
    assert cli("doctor", "--fix", "-o", "fix.sh").returncode == 0
    assert (tmp_path / "fix.sh").exists()


def test_output_replaces_a_file_and_keeps_its_permissions(cli, tmp_path):
    out, link = tmp_path / "out.txt", tmp_path / "link.txt"
    out.write_text("old")
    out.chmod(0o640)
    link.symlink_to("out.txt")
    assert cli("run", QUIET, "-o", "link.txt", "--", "true").returncode == 0
    assert out.read_text().startswith("Max RAM:")
    assert out.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "out.txt"]


def test_output_to_what_is_no_file(cli):
    assert cli("run", QUIET, "-o", "/dev/null", "--", "true").returncode == 0
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")


@pytest.mark.parametrize("naming, words", [
    ("'--foo'", ["--foo", *TOUCH]),
    ("did you mean '--format'", ["--formt=json", *TOUCH]),
    ("'-x'", ["-x", *TOUCH]),
    ("ambiguous", ["--t=x", *TOUCH]),
    ("needs a value", [*TOUCH, "--output"]),
    ("needs a value", [*TOUCH, "-o"]),
    ("--ram-unit: 'gigabyte' is not one of", [*TOUCH, "--ru=gigabyte"]),
    ("did you mean gigabytes?", [*TOUCH, "--ru=gigabyte"]),
    ("--gpu-ram-unit: 'x'", [*TOUCH, "--gru=x"]),
    ("--time-unit: 'weeks'", [*TOUCH, "--tu=weeks"]),
    ("--sleep-time: 0 is too small", [*TOUCH, "--st=0"]),
    ("--sleep-time: -1 is too small", [*TOUCH, "--st", "-1"]),
    ("--sleep-time: 'nan' is not a number", [*TOUCH, "--st=nan"]),
    ("--sleep-time: '1x' is not a number", [*TOUCH, "--st=1x"]),
    ("--sleep-time: '1GB' is not a number", [*TOUCH, "--st=1GB"]),
    ("--sleep-time: 'ms' is not a number", [*TOUCH, "--st=ms"]),
    ("--sleep-time: 0.1ms is too small", [*TOUCH, "--st=0.1ms"]),
    ("--n-expected-cores: '1s' is not a whole number", [*TOUCH, "--nec=1s"]),
    ("--time-unit: 'GB'", [*TOUCH, "--tu=GB"]),
    ("--ram-unit: 's'", [*TOUCH, "--ru=s"]),
    ("--sleep-time: '' is not a number", [*TOUCH, "--st="]),
    ("--n-expected-cores: 0 is too small", [*TOUCH, "--nec=0"]),
    ("--n-expected-cores: '1.5' is not a whole number", [*TOUCH, "--nec=1.5"]),
    ("--n-expected-cores: 9999999999 is out of range", [*TOUCH, "--nec=9999999999"]),
    ("GPU brand", [*TOUCH, "--gb=acme"]),
    ("--memory: 'guess' is not one of auto, pss, rss", [*TOUCH, "--memory=guess"]),
    ("-f: 'yaml' is not one of text, json", [*TOUCH, "-f", "yaml"]),
    ("--wait: 'some' is not one of main, all", [*TOUCH, "--wait=some"]),
    ("--overwrite: 'perhaps' is neither", [*TOUCH, "--overwrite=perhaps"]),
    ("--output: the name is empty", [*TOUCH, "--output="]),
    ("track.txt: a tracking file", [*TOUCH, "--tf=track.txt"]),
    ("same file", [*TOUCH, "--tf=a.csv", "-o", "a.csv"]),
    ("cannot be standard output", [*TOUCH, "--tf=-"]),
    ("cannot be standard output", ["run", "--tf", "-", "--", "touch", "started"]),
    ("unexpected argument 'more'", [*TOUCH, "more"]),
    ("is a command and comes before the options", ["--st", "1", "run", "--", "touch", "started"]),
    ("nothing to track", ["--st", "1"]),
    ("it is empty", ["-e", ""]),
    ("it is empty", ["-e", "  \t "]),
    ("COMMAND", ["run"]),
    ("COMMAND", ["run", "--"]),
    ("PID", ["attach"]),
    ("'x' is not a process number", ["attach", "x"]),
    ("'-1'", ["attach", "--", "-1"]),
    ("unexpected argument '2'", ["attach", "1", "2"]),
    ("FILE", ["report"]),
    ("'ksh'", ["completion", "ksh"]),
    ("unknown command 'reprot': did you mean 'report'", ["reprot"]),
    ("sub-track: which command?", ["sub-track"]),
    ("sub-track: unknown command 'analyse'", ["sub-track", "analyse"]),
    ("gpu-tracker run -- ls", ["ls"]),
    ("unknown command 'diff': did you mean 'compare'", ["diff", "a.csv", "b.csv"]),
    ("unknown command 'analyse': did you mean 'analyze'", ["analyse", "a.csv"]),
    ("did you mean 'report'", ["show", "a.csv"]),
    ("analyze: FILE or --tf FILE is missing", ["analyze"]),
    ("there is one tracking file", ["analyze", "a.csv", "--tf=b.csv"]),
    ("unexpected argument 'b.csv'", ["analyze", "a.csv", "b.csv"]),
    ("plot: FILE is missing", ["plot"]),
    ("'no.jpg' is not the name of a picture", ["plot", "a.csv", "-o", "no.jpg"]),
    ("'nosuch'", ["help", "nosuch"]),
    ("unexpected argument 'x'", ["schema", "x"]),
    ("'--st'", ["report", "--st", "1", "x.csv"]),
])
def test_wrong_usage(refused, naming, words):
    refused(2, naming, *words)


@pytest.mark.parametrize("naming, words", [
    ("'no/such/out.txt'", [*TOUCH, "-o", "no/such/out.txt"]),
    ("'.'", [*TOUCH, "-o", "."]),
    ("no/such", [*TOUCH, "--tf=no/such/track.csv"]),
    ("/proc/track.csv", [*TOUCH, "--tf=/proc/track.csv"]),
    ("/proc/track.sqlite", ["run", "--tf=/proc/track", "--", "touch", "started"]),
    ("Not a directory", [*TOUCH, "--tf=/dev/null/track.csv"]),
    ("999999999", ["attach", "999999999"]),
])
def test_what_is_not_there(refused, naming, words):
    refused(125, naming, *words)


def test_an_existing_tracking_file_is_kept(refused, cli, tmp_path):
    (tmp_path / "old.csv").write_text("precious")
    refused(125, "old.csv", *TOUCH, "--tf=old.csv")
    assert (tmp_path / "old.csv").read_text() == "precious"
    assert cli("-e", "true", "--tf=old.csv", "--overwrite", QUIET).returncode == 0
    assert (tmp_path / "old.csv").read_text() != "precious"


def drop_override():
    """Make permissions count for root too, from the next program on: CAP_DAC_OVERRIDE leaves the bounding set."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.fixture
def locked_folder(tmp_path):
    """A folder that may be read and not written."""
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "out.txt").write_text("precious")
    (folder / "out.txt").chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)


@pytest.mark.parametrize("name", ["out.csv", "new.sqlite"])
def test_a_folder_for_recordings_that_may_not_be_written(refused, locked_folder, name):
    refused(125, name, *TOUCH, "--tf", locked_folder / name, "--overwrite", preexec_fn=drop_override)


def test_a_recording_in_the_place_of_a_folder(refused, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    refused(125, "Is a directory", *TOUCH, "--tf=folder.csv", "--overwrite")


def test_a_recording_on_a_file_system_that_may_only_be_read(gpu_tracker, tmp_path):
    script = 'mkdir fs && mount -t tmpfs none fs && mount -o remount,ro fs && exec "$0" run --tf fs/t.csv -- touch started'
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, gpu_tracker], cwd=tmp_path,
                          capture_output=True, text=True, check=False, timeout=120)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this user may not mount")
    [line] = done.stderr.splitlines()
    assert done.returncode == 125 and "fs/t.csv" in line and "Read-only file system" in line
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("name", ["out.txt", "new.txt"])
def test_an_output_that_may_not_be_written(refused, locked_folder, name):
    refused(125, name, *TOUCH, "-o", locked_folder / name, preexec_fn=drop_override)
    assert (locked_folder / "out.txt").read_text() == "precious"


def test_a_report_that_cannot_be_written_goes_to_standard_error(cli, tmp_path):
    (tmp_path / "folder").mkdir()
    words = [QUIET, "-o", "folder/out.json", "--", "rmdir", "folder"]
    done = cli("run", *words)
    assert done.returncode == 0
    assert done.stderr.startswith("gpu-tracker: cannot write the report to 'folder/out.json'")
    assert '"max_ram"' in done.stderr
    (tmp_path / "folder").mkdir()
    assert cli("run", "--strict-recording", *words).returncode == 125


def test_a_failed_report_does_not_hide_the_status_of_the_command(cli, tmp_path):
    (tmp_path / "folder").mkdir()
    assert cli("run", QUIET, "-o", "folder/out", "--", "sh", "-c", "rmdir folder; exit 7").returncode == 7


def test_full_standard_output(gpu_tracker, cli):
    with open("/dev/full", "w") as full:
        done = cli("run", QUIET, "-o", "-", "--", "true", capture_output=False, stdout=full, stderr=-1)
        assert cli("run", "--strict-recording", QUIET, "-o", "-", "--", "true", capture_output=False, stdout=full,
                   stderr=-1).returncode == 125
    assert done.returncode == 0
    assert "Max RAM:" in done.stderr


@pytest.mark.parametrize("suffix, is_shown", [("html", False), ("pkl", False), ("txt", True), ("json", True)])
def test_a_file_on_a_full_disk(cli, tmp_path, suffix, is_shown):
    """What people can read is shown instead; in the place of a page and of a pickle the summary."""
    (tmp_path / f"full.{suffix}").symlink_to("/dev/full")
    done = cli("run", QUIET, "-o", f"full.{suffix}", "--", "true")
    assert f"cannot write the report to 'full.{suffix}': No space left on device; here " in done.stderr and done.returncode == 0
    assert ("GPU" in done.stderr.upper().replace("GPU-TRACKER", "")) == is_shown, "the whole report tells of GPUs"
    assert ("gpu-tracker  true   exit 0" in done.stderr) != is_shown


def test_full_standard_error(gpu_tracker, cli):
    with open("/dev/full", "w") as full:
        done = cli("run", QUIET, "--", "true", capture_output=False, stdout=-1, stderr=full)
        assert (done.returncode, done.stdout) == (0, "")
        assert cli("run", QUIET, "--", "sh", "-c", "exit 7", capture_output=False, stderr=full).returncode == 7


@pytest.mark.parametrize("words", [
    ["report", "run.csv", "-o", "run.csv"], ["report", "run.csv", "-o", "link.csv"],
    ["report", "run.sqlite", "-o", "run.sqlite", "-f", "json"],
    ["sub-track", "analyze", "--tf", "run.csv", "--stf", "blocks.csv", "-o", "blocks.csv"],
    ["sub-track", "compare", "-m", "A=run.json", "-m", "B=run.json", "-o", "run.json"],
    ["run", "--tconfig", "run.json", "-o", "run.json", "--", "touch", "started"],
    ["report", "run.csv", "-o", "run.blocks.csv"], ["sub-track", "compare", "-m", "A=run.csv", "-m", "B=run.json", "-o", "run.gpus.csv"],
    ["compare", "A=run.json", "run.csv", "-o", "run.json"], ["analyze", "run.csv", "-o", "run.csv"],
    ["run", "--blocks", "--tf", "new.csv", "-o", "new.blocks.csv", "--", "touch", "started"],
])
def test_a_report_does_not_replace_what_it_is_made_of(cli, tmp_path, words):
    for name in "run.csv", "run.sqlite", "run.json", "blocks.csv":
        (tmp_path / name).write_text("{}")
    (tmp_path / "link.csv").symlink_to("run.csv")
    done = cli(*words)
    assert done.returncode == 2 and "give the report another name" in done.stderr and done.stderr.count("\n") == 1
    assert all(path.read_text() == "{}" for path in tmp_path.iterdir() if path.is_file()) and not (tmp_path / "started").exists()


@pytest.mark.parametrize("suffix", ["sqlite", "csv"])
def test_reports_replace_no_other_recording(cli, refused, tmp_path, suffix):
    kept, own = tmp_path / f"kept.{suffix}", f"own.{suffix}"
    for name in kept, own:
        assert cli("run", "--quiet", "--disable-logs", "--st=0.1", f"--tf={name}", "--", "true").returncode == 0
    was = kept.read_bytes()
    assert "--overwrite" not in refused(2, "is a recording", "report", own, "--format=json", "-o", kept)
    assert "--overwrite" in refused(2, "is a recording", "run", "--format=json", "-o", kept, "--", "touch", "begun")
    assert kept.read_bytes() == was
    assert cli("run", "--overwrite", "--format=json", "-o", kept, "--", "true").returncode == 0
    assert kept.read_text().startswith("{")
    assert cli("report", own, "--format=csv", "-o", "again.csv").returncode == 0
    assert cli("report", own, "--format=csv", "-o", "again.csv").returncode == 0


def test_help_is_short(cli):
    """At most 14 commands in the overview, 8 options in the help of run and 30 in its manual; each begins with one line."""
    overview = cli("--help").stdout
    assert 10 <= len(re.findall(r"^  [a-z]+ ", overview.split("Examples:")[0], re.MULTILINE)) <= 14
    listed = r"^ {2,6}(?:-\w, )?--[a-z]"
    assert len(re.findall(listed, cli("run", "--help").stdout, re.MULTILINE)) <= 8
    assert len(re.findall(listed, cli("help", "run").stdout, re.MULTILINE)) <= 30
    text = (pathlib.Path(__file__).parents[2] / "lib/schema/option.def").read_text()
    effects = re.findall(r'.help = "((?:[^"\\]|\\.)*)"', text)
    assert len(effects) > 90
    assert not [effect for effect in effects if len(effect.split(r"\n")[0].replace('\\"', '"')) > 90]


BASH = """
PATH={folder}:$PATH; eval "$(gpu-tracker completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpu_tracker 2>/dev/null; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize("words, offered", [
    (["re"], "report"), (["report", "--fo"], "--format= --font= --for="), (["report", "--format", "js"], "json"),
    (["report", "--format", "=", "js"], "json"), (["report", "a.sq"], "a.sqlite"), (["report", "-o", "=", "a.sq"], "a.sqlite"),
    (["report", "@"], "@1 @2 @3 @4 @5 @6 @7 @8 @9"), (["top", "--against", "a"], "a.sqlite"),
    (["timeline", ""], "merge info export"), (["profile", "ker"], "kernels"), (["profile", "kernels", "--ph"], ""),
    (["profile", "steps", "--ph"], "--phase="), (["compare", "--fail-if", "mem"], "memory> memory<"), (["completion", ""], "bash zsh fish"),
    (["plot", "--charts", "memory,c"], "memory,cpu"), (["run", "--tf", "x", "cat", "a"], "a.sqlite"),
    (["run", "--", "gpu-tracke"], "gpu-tracker"),
    (["help", "tim"], "timeline"), (["report", "a.sqlite", "--tok"], "--token-file="), (["complet"], "completion"),
])
def test_completion_in_bash(gpu_tracker, tmp_path, words, offered):
    (tmp_path / "a.sqlite").touch()
    script = BASH.format(folder=pathlib.Path(gpu_tracker).parent)
    done = subprocess.run(["bash", "-c", script, "bash", "gpu-tracker", *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered.split()
