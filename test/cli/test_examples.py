"""What examples/ has for workflow systems, CI and notebooks does what it says, with what `make test-examples` installs if that is there."""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
INSTALLED = ROOT / "build/examples/bin"
PLUGIN = "snakemake_logger_plugin_gpu_tracker"

needs = pytest.mark.skipif(not (INSTALLED / "installed").exists(), reason="what it needs is not installed: make test-examples")


@pytest.fixture
def run(gpu_tracker, tmp_path):
    """run(word, ...): the completed process in tmp_path, where the program is on the path."""
    path = os.pathsep.join([os.path.dirname(gpu_tracker), str(INSTALLED), os.environ["PATH"]])

    def start(*words, status=0, **keywords):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
        environment |= {"PATH": path, "HOME": str(tmp_path), **keywords.pop("env", {})}
        done = subprocess.run(list(map(str, words)), cwd=keywords.get("cwd", tmp_path), env=environment, capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    return start


def rows(text):
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def test_fields_of_a_report(run, truth):
    run("gpu-tracker", "run", "-q", "-o", "report.json", "--", *truth("burn", 0.3, 1, 100))
    [row] = rows(run(sys.executable, EXAMPLES / "pipelines/fields.py", "snakemake", "report.json"))
    assert list(row) == ["s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load", "cpu_time"]
    assert 0.3 <= float(row["s"]) < 60 and row["max_vms"] == "NA" and re.fullmatch(r"0:00:\d\d", row["h:m:s"])
    assert float(row["mean_load"]) == pytest.approx(100 * float(row["cpu_time"]) / float(row["s"]), rel=0.01)
    [trace] = rows(run(sys.executable, EXAMPLES / "pipelines/fields.py", "nextflow", "report.json"))
    assert float(trace["realtime"]) == pytest.approx(1000 * float(row["s"]), abs=1)
    assert float(trace["peak_rss"]) == pytest.approx(float(row["max_rss"]) * 2**20, rel=0.001)


@pytest.mark.parametrize("words, said", [
    ([], "usage: fields.py snakemake|nextflow report.json"), (["foo", "x.json"], "usage: fields.py snakemake|nextflow report.json"),
    (["nextflow", "x.json"], "fields.py: x.json: No such file or directory"),
    (["snakemake", "y.json"], "fields.py: y.json is no report of gpu-tracker as JSON: gpu-tracker run -o report.json")])
def test_fields_of_nothing(words, said, tmp_path):
    (tmp_path / "y.json").write_text("[]")
    command = [sys.executable, EXAMPLES / "pipelines/fields.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (1, said + "\n")


def test_nextflow_runs_tasks_with_the_shell_of_the_configuration(run, tmp_path):
    """As Nextflow does: the words of `shell` are the script's first line, and what stands there runs it, by a shell, in the background."""
    words = re.search(r"shell = \[(.*)\]", (EXAMPLES / "pipelines/nextflow.config").read_text())[1]
    interpreter = "/usr/bin/env " + " ".join(re.findall("'([^']*)'", words))
    (tmp_path / ".command.sh").write_text(f"#!{interpreter}\nsort /etc/passwd > sorted\nexit 7\n")
    run("/bin/bash", "-c", f"{interpreter} {tmp_path}/.command.sh & wait $!", status=7)
    assert (tmp_path / "sorted").exists()
    assert json.loads((tmp_path / "gpu-tracker.json").read_text())["processes"]["started"] == 2
    assert rows(run(sys.executable, EXAMPLES / "pipelines/fields.py", "nextflow", "gpu-tracker.json"))


@pytest.mark.parametrize("size, status, rules", [(60_000_000, 3, ""), (1_000, 0, "memory > +50%")])
def test_the_gate_compares_two_folders(run, tmp_path, size, status, rules):
    for name, held in (("before", 1_000), ("after", size)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.py").write_text(f"held = b'x' * {held}\n")
    run(EXAMPLES / "ci/gate.sh", "before", "after", sys.executable, "job.py", status=status, env={"RULES": rules})
    comment = (tmp_path / "comment.md").read_text()
    assert all(rule in comment for rule in ([rules.replace(" ", "")] if rules else ["memory>+10%", "cpu-time>+20%"]))
    assert (tmp_path / "measured/cost.html").read_text().startswith("<!DOCTYPE html>")
    assert ("broken" in comment) == (status == 3) and "| " in comment


def test_a_failed_run_leaves_a_comment(run, tmp_path):
    for name in "before", "after":
        (tmp_path / name).mkdir()
    run(EXAMPLES / "ci/gate.sh", "before", "after", "false", status=1)
    assert (tmp_path / "comment.md").read_text().startswith("The cost was not compared: a run of `false` failed.")


def test_the_gate_says_what_it_takes(run):
    run("sh", "-c", f"{EXAMPLES}/ci/gate.sh before 2>&1 | grep -q '^usage: gate.sh BEFORE AFTER COMMAND'")


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_ci_files_call_the_gate_and_send_its_comment(name):
    text = (EXAMPLES / "ci" / name).read_text()
    assert re.search(r"ci/gate\.sh \S+ \S+ \./job\.sh", text) and "comment.md" in text and "pip install \"$GPU_TRACKER_WHEEL\"" in text
    if (INSTALLED / "installed").exists():
        code = "import sys, yaml; assert yaml.safe_load(open(sys.argv[1]))"
        subprocess.run([INSTALLED / "python", "-c", code, EXAMPLES / "ci" / name], check=True)


def test_gitlab_gets_the_other_side_of_the_request(run, tmp_path):
    """Its runner has fetched the commits of the request alone."""
    script = (EXAMPLES / "ci/gitlab.yml").read_text()
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    run("git", "init", "-q", "-b", "main", "up")
    for words in (["commit", "-q", "--allow-empty", "-m", "main"], ["checkout", "-q", "-b", "change"],
                  ["commit", "-q", "--allow-empty", "-m", "change"], ["update-ref", "refs/merge-requests/1/head", "HEAD"]):
        run("git", *name, "-C", "up", *words)
    run("git", "init", "-q", "runner")
    run("git", "-C", "runner", "fetch", "-q", f"file://{tmp_path}/up", "+refs/merge-requests/1/head:refs/merge-requests/1/head")
    run("git", "-C", "runner", "checkout", "-q", "--detach", "FETCH_HEAD")
    run("git", "-C", "runner", "remote", "add", "origin", f"file://{tmp_path}/up")
    lines = "\n".join(re.findall(r"^    - (git .*)$", script, re.MULTILINE))
    run("sh", "-ec", lines, cwd=tmp_path / "runner", env={"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"})
    assert run("git", "-C", "before", "log", "--format=%s") == "main\n"


def test_the_extension_is_there_without_asking(run, tmp_path):
    profile = tmp_path / "profile"
    profile.mkdir()
    shutil.copy(EXAMPLES / "jupyter/ipython_config.py", profile)
    printed = run(pathlib.Path(sys.executable).parent / "ipython", "--profile-dir", profile, "--no-banner", "-c",
                  "print('track' in get_ipython().magics_manager.magics['cell'])")
    assert printed.splitlines()[-1] == "True"


@needs
def test_snakemake_has_benchmark_files_and_asks_for_what_they_tell(run, tmp_path):
    """The profile keeps what another run has found."""
    shutil.copytree(EXAMPLES / "pipelines", tmp_path, dirs_exist_ok=True)
    path = {"PYTHONPATH": str(tmp_path)}
    before = ["before", {"numbers": {"mem_mb": 7}, "sort": {"mem_mb": 2}}]
    run(INSTALLED / "python", "-c", f"import {PLUGIN} as plugin; plugin.write_profile(*{before!r})", env=path)
    os.rename(tmp_path / "before", tmp_path / "measured")
    run("sh", "-c", "snakemake --cores 1 --quiet all --logger gpu-tracker --logger-gpu-tracker-profile measured all 2>said", env=path)
    [row] = rows((tmp_path / "benchmarks/sort.tsv").read_text())
    assert 1 < float(row["max_rss"]) < 1000 and float(row["s"]) > 0
    assert sorted((tmp_path / "sorted.txt").read_text().split(), key=int) == (tmp_path / "sorted.txt").read_text().split()
    said = (tmp_path / "said").read_text()
    assert re.search(rf"^sort +1 +1000 +{float(row['max_rss']) * 1.048576:.0f} +1 ", said, re.MULTILINE), said
    needed = int(float(row["max_rss"]) * 1.048576 * 1.2) + 1
    assert (tmp_path / "measured/config.yaml").read_text().partition("\n")[2] == (
        f"set-resources:\n  numbers:\n    mem_mb: 7 * attempt\n  sort:\n    mem_mb: {needed} * attempt\n")
    plan = run("snakemake", "--cores", "1", "--dry-run", "--forcerun", "sort", "--workflow-profile", "measured")
    assert int(re.search(r"rule sort:.*?resources:[^\n]*mem_mb=(\d+)", plan, re.DOTALL)[1]) == needed


@needs
def test_a_profile_that_somebody_wrote_stays(run, tmp_path):
    (tmp_path / "config.yaml").write_text("cores: 4\n")
    script = f"import {PLUGIN} as plugin; plugin.write_profile('.', {{'sort': {{'mem_mb': 5}}}})"
    run(INSTALLED / "python", "-c", script, env={"PYTHONPATH": str(EXAMPLES / "pipelines"), "PYTHONDONTWRITEBYTECODE": "1"})
    assert (tmp_path / "config.yaml").read_text() == "cores: 4\n"


@needs
def test_pytest_benchmark_and_the_plugin_go_together(run, tmp_path):
    printed = run(INSTALLED / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--gpu-tracker", "--benchmark-json", "b.json",
                  EXAMPLES / "pytest/test_sorting.py")
    assert "2 passed" in printed and "RAM" in printed
    marks = {item["name"]: item for item in json.loads((tmp_path / "b.json").read_text())["benchmarks"]}
    assert marks["test_memory_of_one_call_stands_beside_its_time"]["extra_info"]["memory_mb"] > 1
