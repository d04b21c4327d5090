"""Bytes of a network namespace are no figures of the job, and every name says so. Earlier recordings called them otherwise."""
import json
import sqlite3

import pytest

RENAMED = {"system_network_namespace_received": "combined_network_received",
           "system_network_namespace_sent": "combined_network_sent"}


def report_of(cli, *words):
    done = cli("report", *words, "-f", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_names(cli, track):
    done, report = track(["sleep", "0.1"], "--disable-logs", "--tracking-file", "run.csv")
    assert done.returncode == 0
    assert "network" not in report and {"received", "sent"} == report["network_namespace"].keys()
    assert "not of the job alone" in report["provenance"]["network_namespace.sent"]["note"]
    assert "Network (whole namespace):" in cli("report", "run.csv").stdout
    figures = {line.split()[0]: line for line in cli("schema").stdout.splitlines() if "network_namespace" in line}
    assert {"network_namespace_received", "network_namespace_sent", *RENAMED} == figures.keys()
    assert all("whole network namespace" in line and " system " in line for line in figures.values())


def as_before(path, received, sent):
    """Make of a recording what an earlier version wrote, with so many bytes in its last row and at its end."""
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as database:
            for (now, before), value in zip(RENAMED.items(), (received, sent)):
                database.execute(f"UPDATE data SET {now} = {value - 1} WHERE rowid = (SELECT max(rowid) FROM data)")
                database.execute(f"ALTER TABLE data RENAME COLUMN {now} TO {before}")
                for table in "final", "provenance":
                    database.execute(f"UPDATE {table} SET scope = 'combined', metric = ? WHERE metric = ?",
                                     (before.removeprefix("combined_"), now.removeprefix("system_")))
                database.execute("UPDATE final SET value = ? WHERE metric = ?", (value, before.removeprefix("combined_")))
        database.close()
        return
    lines = [line.split(",") for line in path.read_text().splitlines()]
    for (now, before), value in zip(RENAMED.items(), (received, sent)):
        for header, row, name, number in ((lines[0], lines[1], "final_", value), (lines[2], lines[-1], "", value - 1)):
            index = header.index(name + now)
            header[index] = name + before
            row[index - len(header)] = str(number)  # the command before it may hold a comma
    path.write_text("\r\n".join(",".join(line) for line in lines) + "\r\n", newline="")


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_earlier_recordings(cli, tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    assert cli("run", "--disable-logs", "--sleep-time=0.1", f"--tf={path}", "--", "sleep", "0.5").returncode == 0
    as_before(path, 5000, 700)
    report = report_of(cli, path)
    assert report["network_namespace"] == {"received": 5000, "sent": 700}
    assert report["provenance"]["network_namespace.received"]["metric"] == "system_network_namespace_received"
    assert "Received: 5000 bytes" in cli("report", path).stdout
    done = cli("sub-track", "compare", "-m", f"a={path}", "--fail-if", "counters.combined_network_received>4kB",
               "--fail-if", "counters.system_network_namespace_sent>1kB", "-f", "json")
    assert done.returncode == 3
    assert [row["value"] for row in json.loads(done.stdout)["rules"]] == [5000, 700]
    assert "combined_network_received" not in cli("timeline", "info", path).stdout


def test_earlier_results(cli, tmp_path):
    counters = {"combined_network_received": {"total": 5000.0, "num_samples": 4}}
    results = {"overall": {}, "static_data": {}, "results_version": 1, "overall_counters": counters,
               "code_block_results": [{"name": "x", "counters": counters}]}
    (tmp_path / "old.json").write_text(json.dumps(results))
    for rule in ("counters.system_network_namespace_received>4kB", "block:x.counters.combined_network_received>4kB"):
        assert cli("sub-track", "compare", "-m", "a=old.json", "--fail-if", rule).returncode == 3
