"""run --fail-if and report --fail-if: a gate on what a run used."""
import re
import sys

import pytest

EATS = [sys.executable, "-c", "b = bytearray(60_000_000); import time; time.sleep(0.3)"]


def test_a_command_that_takes_too_much_ends_with_3(cli):
    done = cli("run", "--st=0.05", "--fail-if", "memory>20MB", "--fail-if=time>0.1 s", "--fail-if", "memory < 1kB", "--", *EATS)
    assert done.returncode == 3
    assert re.search(r"^gpu-tracker: memory [6-9]\d\.\d MB is above 20 MB$", done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"^gpu-tracker: time \d+\.\d s is above 0\.1 s$", done.stderr, re.MULTILINE), done.stderr
    assert "1 kB" not in done.stderr


def test_a_command_that_keeps_the_rules_ends_as_it_did(cli):
    done = cli("run", "--fail-if", "memory>2GB", "--fail-if", "time>1h", "--fail-if", "cpu>4000cores", "--", *EATS)
    assert done.returncode == 0 and "above" not in done.stderr


def test_the_status_of_a_command_that_failed_is_kept(cli):
    done = cli("run", "--fail-if", "time<1h", "--fail-if", "time>1h", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7 and "is below 1 h" in done.stderr and "above" not in done.stderr


def test_recordings_are_judged(cli):
    assert cli("run", "--st=0.05", "--tf=run.sqlite", "--", *EATS).returncode == 0
    done = cli("report", "run.sqlite", "--fail-if", "memory>20MiB")
    assert done.returncode == 3 and done.stdout.startswith("Max RAM:")
    assert re.fullmatch(r"gpu-tracker: memory \d\d\.\d MiB is above 20 MiB\n", done.stderr)
    assert cli("report", "run.sqlite", "--fail-if", "memory>20GB").returncode == 0
    as_compared = cli("report", "run.sqlite", "--fail-if", "combined_ram_peak>20MiB", "--fail-if=duration<1h")
    assert as_compared.returncode == 3 and as_compared.stderr.startswith(done.stderr) and "\ngpu-tracker: time " in as_compared.stderr
    several = cli("report", "run.sqlite", "run.sqlite", "-f", "json", "--fail-if", "time<1min")
    assert several.returncode == 3 and several.stderr.count("gpu-tracker: run.sqlite: time ") == 2


def test_what_was_not_measured_is_not_known_to_be_kept(cli, tmp_path):
    assert cli("run", "--tf=run.csv", "--", "sleep", "0.1").returncode == 0
    done = cli("report", "run.csv", "--fail-if", "energy>1kWh", "-f", "json")
    if '"energy"' in done.stdout and done.returncode == 0:
        pytest.skip("this machine counts energy")
    assert done.returncode == 3 and "energy was not measured, which" in done.stderr


@pytest.mark.parametrize("rule, cause", [
    ("memory>2", "the limit has no unit: write it as in 2GB"),
    ("memory>2s", "memory is not measured in 's'"),
    ("time>5GB", "time is not measured in 'GB'"),
    ("cpu>50%", "cpu is not measured in '%'"),
    ("speed>5s", "'speed' is not a figure; these are: memory, time, cpu, cpu-time, energy, power, gpu and gpu-memory"),
    ("block:sort.time>10s", "only compare judges code blocks: use gpu-tracker compare FILE --fail-if 'block:sort.time>10s'"),
    ("memori>5GB", "gpu-memory; near: memory"),
    ("memory=5GB", "has neither > nor <"),
    ("memory>GB", "'GB' is not a limit"),
    ("memory>", "'' is not a limit"),
    ("memory>+5%", "'+5%' is a change, and one run has no baseline: write a limit as 2GB, or use gpu-tracker compare"),
    ("memory>=2GB", "rules know > and < without =: write 'memory>2GB'"),
    ("gpu<50", "the limit has no unit: write it as in 50%"),
    ("gpu_memory>20%", "gpu-memory is not measured in '%': write it as in 20GB"),
    ("power>300J", "power is not measured in 'J': write it as in 300W"),
    ("memory>1.2.3GB", "is not a limit"),
    ("memory>" + "9" * 40 + "GB", "is not a limit"),
])
def test_rules_are_read_before_anything_starts(refused, rule, cause):
    refused(2, cause, "run", "--fail-if", rule, "--", "touch", "started")
    refused(2, cause, "report", "--fail-if", rule, "none.csv")


def test_rules_judge_runs_alone(refused):
    refused(2, "--fail-if judges", "report", "run.csv", "--fail-if", "time>1s", "--request", "slurm")
