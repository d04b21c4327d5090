"""gpu-tracker doctor: one row for each metric, one for each source, and the same sources in both."""
import json


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
