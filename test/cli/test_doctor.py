"""gpu-tracker doctor: one row for each metric, one for each source, and the same sources in both."""
import json
import os
import re

import pytest


def report(cli):
    done = cli("doctor", "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_metric_and_each_source_has_one_row(cli):
    doctor = report(cli)
    metrics = [row["metric"] for row in doctor["metrics"]]
    sources = [row["source"] for row in doctor["sources"]]
    assert len(metrics) == len(set(metrics)) > 40
    assert len(sources) == len(set(sources)) > 8


def test_a_metric_is_ready_when_one_of_its_sources_is(cli):
    doctor = report(cli)
    state = {row["source"]: row["state"] for row in doctor["sources"]}
    for row in doctor["metrics"]:
        states = {state[name] for name in row["sources"].split(", ")}
        assert states == {"ready"} if row["state"] == "ready" else "ready" not in states, row


def test_what_is_missing_has_a_reason(cli):
    for row in report(cli)["sources"]:
        assert bool(row["reason"]) or row["state"] == "ready", row


def test_doctor_and_reports_give_the_same_reason_for_missing_gpus(cli):
    """Without LD_LIBRARY_PATH a run does not search for the library; doctor does."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    rows = json.loads(cli("doctor", "--format=json", env=environment).stdout)["sources"]
    reason = next(row["reason"] for row in rows if row["source"] == "nvml")
    if not reason:
        pytest.skip("this machine has an NVIDIA GPU")
    assert cli("run", "--disable-logs", "--tracking-file=a.sqlite", "--", "true", env=environment).returncode == 0
    missing = json.loads(cli("report", "a.sqlite", "-f", "json").stdout)["missing"]
    assert missing["max_gpu_ram.system"]["reason"] == reason


WORDS = {"memory": "ram", "CPU": "cpu_utilization", "disk": "read_bytes", "network": "network_namespace_received",
         "processes between two samples": "processes_started", "GPUs": "gpu_ram", "energy of the CPU": "cpu_energy"}


def test_the_first_sentence_says_what_can_be_measured(cli):
    doctor = report(cli)
    state = {row["metric"]: row["state"] for row in doctor["metrics"]}
    clauses = doctor["summary"].rstrip(".").split("; ")
    measured = [clause for clause in clauses if clause.endswith((" is measured", " are measured"))]
    for words, metric in WORDS.items():
        found = [clause for clause in clauses if re.search(rf"(^|, | and ){words}(,| and | is | are | cannot | do(?:es)? not )", clause)]
        assert len(found) == 1 and (found == measured) == (state[metric] == "ready"), words
    assert cli("doctor").stdout.startswith(f"This machine: {doctor['summary']}\n")
