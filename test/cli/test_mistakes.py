"""Mistakes that people make: each ends in one line that names the thing and leads on, and nothing is done."""
import subprocess
import sys

import pytest
from test_screen_width import on_terminal

RUN = ["run", "--no-history", "--disable-logs"]


@pytest.fixture
def folder(tmp_path, recording):
    (tmp_path / "a.sqlite").write_bytes(recording.read_bytes())
    (tmp_path / "broken.sqlite").write_bytes(recording.read_bytes()[:100] + b"\xff" * 20000)
    (tmp_path / "notes.txt").write_text("hi\n")
    (tmp_path / "blocks.csv").write_text("process_id,code_block_name,position,timestamp\n1,train,START,1\n1,train,STOP,2\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def recording(gpu_tracker, tmp_path_factory):
    path = tmp_path_factory.mktemp("mistakes") / "a.sqlite"
    subprocess.run([gpu_tracker, "run", "--no-history", "--quiet", "--tracking-file", path, "--", "sleep", "0.1"], check=True)
    return path


MISTAKES = [
    # the wrong word for the command, or none
    (["profile", "colour", "a.sqlite"], ", advice, health"),
    (["ls"], "gpu-tracker run -- ls"), (["python", "train.py"], "gpu-tracker run -- python"), (["--", "true"], "gpu-tracker run -- true"),
    (["./train.py"], "gpu-tracker run -- ./train.py"), (["a.sqlite"], "'report a.sqlite'"), (["html", "a.sqlite"], "'report'"),
    (["stats", "a.sqlite"], "'report'"), (["view", "a.sqlite"], "'report'"), (["show", "a.sqlite"], "'report'"), (["repot"], "'report'"),
    (["runn", "true"], "'run'"), (["track", "true"], "'run'"), (["start", "true"], "'run'"), (["analyse", "a.sqlite"], "'analyze'"),
    (["diff", "a", "b"], "'compare'"), (["watch"], "'top'"), (["status"], "'top'"), (["history"], "'runs'"), (["info"], "'doctor'"),
    (["request", "a.sqlite"], "'report --request'"), (["merge", "a"], "'timeline merge'"), (["sub-track"], "which command"),
    (["sub-track", "analyse", "a.sqlite"], "'sub-track analyze'"), (["sub-track", "show"], "'show'"), (["timeline"], "which command"),
    (["timeline", "merg", "a"], "'timeline merge'"), (["timeline", "a.json"], "'a.json'"), (["help", "nosuch"], "'nosuch'"),
    (["rnu", "--", "true"], "'run'"), (["version"], "'--version'"),
    (["kernels", "trace.json"], "'profile kernels'"), (["health", "."], "'profile health'"), (["steps"], "'profile steps'"),
    # nothing, or too much
    (["run"], "COMMAND"), (["run", "--"], "COMMAND"), (["run", "--tf", "x.sqlite"], "COMMAND"), (["attach"], "PID"), (["report"], "FILE"),
    (["analyze"], "FILE"), (["compare"], "session"), (["compare", "a.sqlite"], "'a.sqlite' alone"), (["plot", "-o", "x.svg"], "FILE"),
    (["profile"], "ANALYSIS"), (["profile", "kernels"], "ANALYSIS"), (["block"], "NAME"), (["block", "train"], "NAME"),
    (["completion"], "bash"), (["attach", "1", "2"], "'2'"), (["analyze", "a.sqlite", "b.sqlite"], "'b.sqlite'"),
    (["man", "run"], "did you mean gpu-tracker run --help?"), (["push", "a.sqlite"], "push a.sqlite clickhouse://HOST/DATABASE"),
    (["push", "clickhouse://127.0.0.1:1/x"], "push run.sqlite clickhouse://127.0.0.1:1/x"),
    (["doctor", "a.sqlite"], "'a.sqlite'"), (["schema", "ram"], "'ram'"), (["profile", "diff", "a.json"], "two paths"),
    *((["analyze", *words], f"analyze {recording} --stf blocks.csv") for words, recording in (
        (["a.sqlite", "blocks.csv"], "a.sqlite"), (["blocks.csv", "a.sqlite"], "a.sqlite"), (["blocks.csv"], "RECORDING"),
        (["--tf", "blocks.csv"], "RECORDING"))),
    # options: misspelt, without a value, of another command
    ([*RUN, "--slep-time", "1", "--", "true"], "'--sleep-time'"), ([*RUN, "--formt", "json", "--", "true"], "'--format'"),
    ([*RUN, "-x", "--", "true"], "'-x'"), (["--helpp"], "'--help'"), (["--verison"], "'--version'"), (["run", "--tf"], "FILE"),
    (["run", "-o"], "FILE"), (["-e"], "COMMAND"), (["report", "a.sqlite", "-o"], "FILE"), (["report", "a.sqlite", "--request"], "KIND"),
    (["report", "--tf", "a.sqlite"], "gpu-tracker report run.sqlite"),
    (["report", "--tracking-file", "a.sqlite"], "gpu-tracker report run.sqlite"),
    (["doctor", "--fixx"], "'--fix'"), ([*RUN, "--expected-cores", "2", "--", "true"], "'--n-expected-cores'"),
    (["-V"], "'--version'"), ([*RUN, "-u", "MB", "--", "true"], "'--ram-unit'"),
    ([*RUN, "--interval", "1", "--", "true"], "'--sleep-time'"),
    ([*RUN, "-i", "1", "--", "true"], "'--sleep-time'"), ([*RUN, "--gpus", "0", "--", "true"], "'--gpu-uuids'"),
    ([*RUN, "--live", "--", "true"], "'--status'"), ([*RUN, "--json", "--", "true"], "'--format json'"),
    (["report", "a.sqlite", "--html"], "'--format html'"), ([*RUN, "--gpu", "0", "--", "true"], "'--gpu-uuids'"),
    ([*RUN, "--pid", "1"], "gpu-tracker attach 1234"), (["attach", "--pid", "1"], "gpu-tracker attach 1234"),
    (["attach", "-p", "1"], "gpu-tracker attach 1234"), (["top", "--pid", "1"], "gpu-tracker top 1234"),
    ([*RUN, "--timeout", "5", "--", "true"], "gpu-tracker run -- timeout 5 COMMAND"),
    ([*RUN, "--verbose", "--", "true"], "'--status'"), ([*RUN, "-n", "4", "--", "true"], "'--n-expected-cores'"),
    (["report", "last"], "did you mean @1"), (["compare", "a=@latest", "b=a.sqlite"], "did you mean @1"),
    (["compare", "a.sqlite", "a.sqlite", "memory>+5"], "did you mean --fail-if 'memory>+5'?"),
    (["serve", "--port", "9000"], "'--listen'"), (["serve", "99999"], "did you mean --listen 127.0.0.1:9417?"),
    (["attach", "--", "sleep", "1"], "gpu-tracker run -- sleep 1"), (["attach", "--", "ls"], "gpu-tracker run -- ls"),
    (["runs", "--limit", "3"], "'--top'"),
    (["top", "--interval", "1"], "gpu-tracker run --sleep-time SECONDS"), ([*RUN, "-tf", "x", "--", "true"], "'--tf'"),
    ([*RUN, "-tf=x", "--", "true"], "'--tf=x'"), (["report", "a.sqlite", "--overwrite"], "--output replaces"),
    (["report", "a.sqlite", "-overwrite"], "'--overwrite'"), (["report", "a.sqlite", "-o", "a.html", "-o", "b.html"], "given twice"),
    ([*RUN, "--tf", "a", "--tracking-file=b", "--", "true"], "given twice, as 'a' and 'b'"),
    (["attach", "--sleep-time", "100", "ms", "1"], "--sleep-time 100ms"), (["push", "--init", "--explain", "x"], "clickhouse://[USER@]HOST"),
    # values
    ([*RUN, "--sleep-time", "abc", "--", "true"], "'abc'"), ([*RUN, "--sleep-time", "5m", "--", "true"], "min"),
    ([*RUN, "--sleep-time", "0", "--", "true"], "too small"), ([*RUN, "--sleep-time", "-1", "--", "true"], "too small"),
    ([*RUN, "--sleep-time", "1,5", "--", "true"], "'1,5'"), ([*RUN, "--ram-unit", "gb", "--", "true"], "did you mean gigabytes?"),
    ([*RUN, "--ram-unit", "GBs", "--", "true"], "did you mean gigabytes?"), ([*RUN, "--ram-unit", "xx", "--", "true"], "gigabytes"),
    ([*RUN, "--ram-unit", "MBs", "--", "true"], "megabytes (MB), gigabytes (GB), "),
    ([*RUN, "--ram-unit", "MBs", "--", "true"], "did you mean MB?"), ([*RUN, "--cpu-tdp", "65W", "--", "true"], "write 65, in WATTS"),
    ([*RUN, "--time-unit", "hrs", "--", "true"], "did you mean hours?"),
    ([*RUN, "--ram-unit", "mib", "--", "true"], "did you mean mebibytes?"), ([*RUN, "--ram-unit", "mb", "--", "true"], "megabytes?"),
    ([*RUN, "--time-unit", "sec", "--", "true"], "did you mean seconds?"),
    ([*RUN, "--format", "yaml", "--", "true"], "did you mean json?"), ([*RUN, "-f", "pdf", "--", "true"], "'pdf'"),
    ([*RUN, "-f", "md", "--", "true"], "did you mean markdown?"), ([*RUN, "--wait", "forever", "--", "true"], "main, all"),
    ([*RUN, "--cpu-tdp", "abc", "--", "true"], "'abc'"), ([*RUN, "--carbon-intensity", "XX", "--", "true"], "XX"),
    ([*RUN, "--gpu-brand", "intelx", "--", "true"], "nvidia"), (["report", "a.sqlite", "--request", "slrm"], "did you mean slurm?"),
    (["report", "a.sqlite", "--request", "kubernetes"], "did you mean k8s?"),
    (["report", "a.sqlite", "--request", "sbatch"], "did you mean slurm?"),
    (["compare", "a.sqlite", "a.sqlite", "--stat", "median"], "did you mean p50?"), (["report", "a.sqlite", "--for", "5"], "--by"),
    (["report", "a.sqlite", "--by", "name"], "a.sqlite"), (["runs", "--top", "abc"], "'abc'"), (["completion", "ksh"], "'ksh'"),
    (["profile", "kernel", "a.json"], "kernels"), (["attach", "abc"], "'abc'"), (["attach", "python"], "'python'"),
    (["serve", "--listen", "abc"], "127.0.0.1:9417"), (["serve", "--pid", "abc"], "abc"), (["-e", ""], "empty"),
    (["-e", "unbalanced 'quote"], "not closed"),
    # rules
    ([*RUN, "--fail-if", "memory", "--", "true"], "neither > nor <"), ([*RUN, "--fail-if", "memory>2", "--", "true"], "2GB"),
    ([*RUN, "--fail-if", "memory>2XB", "--", "true"], "2GB"), ([*RUN, "--fail-if", "memry>2GB", "--", "true"], "memory, time"),
    *(([*RUN, "--fail-if", rule, "--", "true"], f"'{rule}' has neither > nor <: write it in quotes, as in --fail-if 'memory>2GB'")
      for rule in ("memory=2GB", "--")),
    ([*RUN, "--fail-if", "time>10", "--", "true"], "10min"),
    ([*RUN, "--fail-if", "ram>1GB", "--", "true"], "near: memory"), ([*RUN, "--fail-if", "vram>1GB", "--", "true"], "near: gpu-memory"),
    ([*RUN, "--fail-if", "wall>5", "--", "true"], "near: time"), ([*RUN, "--fail-if", "runtime>5", "--", "true"], "near: time"),
    (["compare", "a.sqlite", "a.sqlite", "--fail-if", "vram>5%"], "near: gpu-memory"),
    ([*RUN, "--fail-if", "memory>2s", "--", "true"], "2GB"), (["compare", "a.sqlite", "a.sqlite", "--fail-if", "foo>5%"], "foo"),
    *((words, naming) for rule, naming in (("memory>5%", "as in +5%"), ("memory>1kb", "units are B, kB, MB"),
                                           ("energy>1MJ", "units are J, kJ, Wh, kWh"))
      for words in (["compare", "a.sqlite", "a.sqlite", "--fail-if", rule], [*RUN, "--fail-if", rule, "--", "true"])),
    # files
    ([*RUN, "--tf", "empty", "--", "true"], "name a file in it, as in empty/run.sqlite"),
    ([*RUN, "--tf", "empty/", "--", "true"], "not the name of a file"),
    ([*RUN, "--tf", "/dev/full", "--", "true"], "is a device"),
    ([*RUN, "-o", "out.png", "--", "true"], "--plot"), ([*RUN, "-o", "out.xyz", "--", "true"], ".html"),
    ([*RUN, "--tf", "x.db", "--", "true"], ".sqlite"), ([*RUN, "--tf", "x.parquet", "--", "true"], ".csv"),
    ([*RUN, "--tf", "notes.txt", "--", "true"], ".sqlite"), (["report", "notes.txt"], ".sqlite"),
    (["report", "a.sqlite", "-o", "x.png"], "--plot"),
    (["report", "a.sqlite", "x.html"], "-o x.html"), (["plot", "a.sqlite", "memory.svg"], "-o memory.svg"),
    (["analyze", "a.sqlite", "page.html"], "-o page.html"),
    (["plot", "a.sqlite", "-o", "x.jpg"], "--output: 'x.jpg' is not the name of a picture: choose .svg"),
    (["report", "a.sqlite", "--plot", "memry", "-o", "m.svg"], "memry"), (["report", "a.sqlite", "--plot", "cpu", "-o", "m.gif"], ".svg"),
    (["compare", "-m", "a.sqlite"], "NAME=FILE"), (["compare", "notes.txt", "notes.txt"], "write one with analyze"),
    (["analyze", "notes.txt"], ".sqlite"),
    (["profile", "kernels", "notes.txt"], "notes.txt"), (["analyze", "empty"], "empty: no recording in this folder"),
    *((["report", "clickhouse://127.0.0.1:1/jobs", *words], "names no job") for words in (["--heat", "ram"], ["--watch", "1"], ["--all"])),
    (["timeline", "info", "notes.txt"], "notes.txt"), (["top", "--once", "notes.txt"], ".sqlite"),
    *((words, "none: No such file") for words in ([*RUN, "--power-model", "none", "--", "true"], ["-e", "true", "--power-model", "none"],
                                                  [*RUN, "--power-meter", "none", "--", "true"], ["doctor", "--power-model", "none"],
                                                  [*RUN, "--carbon-intensity", "FR", "--carbon-file", "none", "--", "true"])),
    ([*RUN, "--tconfig", "none.json", "--", "true"], "none.json"), ([*RUN, "--tconfig", "notes.txt", "--", "true"], "notes.txt"),
]


@pytest.mark.parametrize("words, naming", MISTAKES, ids=[" ".join(words)[:60] for words, _ in MISTAKES])
def test_a_mistake_is_told(folder, refused, words, naming):
    refused(2, naming, *words)


@pytest.mark.parametrize("status, words, naming", [
    (125, [*RUN, "--tf", "a.sqlite", "--", "touch", "started"],
     "a.sqlite already exists; use --overwrite to replace it"),
    (125, [*RUN, "-o", "none/x.json", "--", "touch", "started"], "none/x.json"),
    (125, [*RUN, "-o", ".", "--", "touch", "started"], "'.'"),
    (125, ["analyze", "a.sqlite", "-o", "none/x.json"], "none/x.json"),
    (125, ["timeline", "merge", "a.sqlite", "-o", "none/x.json"], "none/x"),
    (125, ["sub-track", "combine", "--stf=none/x.csv", "-p", "b.csv"], "--stf: cannot write 'none/x.csv'"),
    (125, ["attach", "999999999"], "999999999 does not exist"),
    (2, ["report", "none.sqlite"], "none.sqlite: No such file"), (2, ["top", "none.sqlite"], "none.sqlite: No such file"),
    (2, ["report", "gone"], "gone: No such file"), (2, ["report", "gone/"], "gone/: No such file"),
    (2, ["profile", "health", "gone"], "gone: No such file"), (2, ["report", "gone", "--heat", "ram"], "gone: No such file"),
    (2, ["profile", "kernels", "none.json"], "none.json: No such file"),
    (2, ["report", "a.sqlite", "--at", "none.csv"], "ExpResults.interpolate"),
    (2, ["timeline", "merge", "none.json"], "none.json: No such file"),
    (2, ["analyze", "none.sqlite"], "none.sqlite: No such file"), (2, ["report", "--by=name", "none.sqlite"], "none.sqlite: No such file"),
    (2, ["compare", "a.sqlite", "none.sqlite"], "none.sqlite: No such file"),
    (2, ["report", "broken.sqlite"], "malformed"), (2, ["analyze", "broken.sqlite"], "malformed"),
    (2, ["top", "broken.sqlite"], "malformed"), (2, ["compare", "a.sqlite", "broken.sqlite"], "malformed"),
    (127, [*RUN, "--", "nosuchprogram"], "'nosuchprogram': command not found"),
    (127, [*RUN, "--", "python train.py"], "words of their own, without quotes"),
    (127, [*RUN, "--", "FOO=1", "env"], "'FOO=1': command not found: did you mean env FOO=1 ...?"),
    (127, [*RUN, "--", "cd", "/tmp"], "a word of the shell"),
    (127, [*RUN, "--", "module", "load", "cuda"], "a word of the shell"),
    (127, [*RUN, "--sleep-time", "100", "ms", "--", "true"], "--sleep-time 100ms"),
    (126, [*RUN, "--", "./notes.txt"], "'./notes.txt': cannot execute"),
])
def test_what_is_not_there_is_told(folder, refused, status, words, naming):
    refused(status, naming, *words)


def test_signs_of_a_shell_are_told(cli):
    done = cli("-e", f"{sys.executable} -c pass | wc")
    assert "--execute starts no shell: '|' goes to the command as a word" in done.stderr
    assert "starts no shell" not in cli("-e", f"{sys.executable} -c pass '|&'").stderr


@pytest.mark.parametrize("words, name", [(["true", "--tf", "x.csv"], "--tf"), (["--", "true", "--sleep-time=1"], "--sleep-time"),
                                         (["true", "--all", "--output", "x", "--transfer"], None)])
def test_an_option_behind_the_command_is_told(cli, words, name):
    done = cli("run", "--no-history", "-q", *words)
    sentence = f"gpu-tracker: {name} is after the command, so true gets it: options of gpu-tracker come before the command\n"
    assert (done.returncode, done.stderr) == (0, sentence if name else "")


def test_statements_for_a_server_are_explained_without_it(cli):
    done = cli("push", "--init", "--explain", "clickhouse://127.0.0.1:1/x")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == cli("push", "--init", "--explain").stdout


def test_a_picture_is_no_text_for_a_terminal(gpu_tracker, recording):
    shown = on_terminal([gpu_tracker, "plot", recording], 80, statuses=(2,))
    assert "-o memory.svg" in shown and "<svg" not in shown
