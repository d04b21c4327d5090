"""XLA's profiles: planes with lines of events, whose names and figures stand at the end of the plane."""
import gzip
import json
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

from test_perfetto import field

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"
START = 1_700_000_000_000_000_000


def entry(key, *fields):
    return field(1, key) + field(2, field(1, key) + b"".join(fields))


def event(name, offset_ps, duration_ps, *stats):
    return field(4, field(1, name) + field(2, offset_ps) + field(3, duration_ps) + b"".join(field(4, stat) for stat in stats))


DEVICE = b"".join([
    field(1, 1), field(2, "/device:GPU:0"),
    field(3, field(1, 14) + field(2, "14") + field(11, "Stream #14(Compute)") + field(3, START)
          + event(7, 5_000_000, 2_500_000, field(1, 3) + field(4, 99), field(1, 4) + field(7, 5)) + event(8, 9_000_000, 1_000)),
    field(4, entry(8, field(2, "copy"))), field(4, entry(7, field(2, "%fusion.1 = f32[8]{0} fusion(...)"), field(4, "fusion.1"))),
    field(5, entry(3, field(2, "correlation_id"))), field(5, entry(4, field(2, "hlo_op"))), field(5, entry(5, field(2, "dot.3")))])
HOST = field(2, "/host:CPU") + field(3, field(1, 1) + field(2, "python") + field(3, START) + event(2, 0, 10_000_000)) \
    + field(4, entry(2, field(2, "train <step>")))
SPACE = field(1, DEVICE) + field(1, HOST) + field(4, "worker-3")


def test_planes_lines_and_events(gpu_tracker, tmp_path):
    path, out = tmp_path / "worker-3.xplane.pb", tmp_path / "t.sqlite"
    path.write_bytes(SPACE)
    subprocess.run([gpu_tracker, "timeline", "export", "-o", out, path], check=True, stdout=subprocess.DEVNULL)
    rows = sqlite3.connect(out).execute("SELECT node, pid, thread, name, start_ns, duration_ns, args FROM events "
                                        "ORDER BY start_ns").fetchall()
    assert [row[:4] for row in rows] == [("worker-3", "/host:CPU", "python", "train <step>"),
                                         ("worker-3", "/device:GPU:0", "Stream #14(Compute)", "fusion.1"),
                                         ("worker-3", "/device:GPU:0", "Stream #14(Compute)", "copy")]
    assert [(row[4] - START, row[5]) for row in rows] == [(0, 10000), (5000, 2500), (9000, 1)]
    assert json.loads(rows[1][6]) == {"correlation_id": 99, "hlo_op": "dot.3"}


def test_a_cut_costs_the_plane_it_is_in(gpu_tracker, tmp_path):
    path = tmp_path / "w.xplane.pb"
    path.write_bytes(SPACE[:len(field(1, DEVICE)) + 30])
    for more in ("", ": <host>.trace.json.gz beside it has the same events"):
        out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        [source] = json.loads(out)["sources"]
        assert (source["format"], source["events"], source["cut_off"]) == ("xplane", 2, "yes")
        assert source["damage"] == "the profile ends or is damaged here" + more
        shutil.copy(FIXTURE / "jax.trace.json.gz", tmp_path / "w.trace.json.gz")


def test_what_jax_wrote(gpu_tracker, tmp_path):
    """The same events as in the timeline that JAX wrote beside it."""
    out = tmp_path / "t.sqlite"
    subprocess.run([gpu_tracker, "timeline", "export", "-o", out, FIXTURE / "jax.xplane.pb"], check=True, stdout=subprocess.DEVNULL)
    rows = sqlite3.connect(out).execute("SELECT process, pid, name, start_ns, duration_ns FROM events").fetchall()
    with gzip.open(FIXTURE / "jax.trace.json.gz") as file:
        theirs = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    assert len(rows) == len(theirs) > 50
    assert sorted(row[2] for row in rows) == sorted(event["name"] for event in theirs)
    assert sum(row[4] for row in rows) / 1e3 == pytest.approx(sum(event["dur"] for event in theirs), abs=len(rows))


@pytest.mark.parametrize("name", ["vm.trace.json.gz", "vm.xplane.pb"])
def test_hosts_of_one_name_are_nodes_by_their_folders(gpu_tracker, tmp_path, name):
    for folder in ("a/plugins/profile/1", "a/plugins/profile/2", "b/plugins/profile/1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_bytes((FIXTURE / name.replace("vm", "jax")).read_bytes())
    done = subprocess.run([gpu_tracker, "profile", tmp_path, "--format=json"], capture_output=True, text=True, check=True)
    assert [row["node"] for row in json.loads(done.stdout)["sources"]] == ["a vm", "a vm", "b vm"]


@pytest.mark.parametrize("folder", ["", "plugins/profile/2026_01_01"])
def test_what_jax_wrote_twice_is_read_once(gpu_tracker, tmp_path, folder):
    below = tmp_path / folder
    below.mkdir(parents=True, exist_ok=True)
    for name in ("vm.trace.json.gz", "perfetto_trace.json.gz"):
        (below / name).write_bytes((FIXTURE / "jax.trace.json.gz").read_bytes())

    def sources(path):
        done = subprocess.run([gpu_tracker, "profile", path, "--format=json"], capture_output=True, text=True, check=True)
        return [pathlib.Path(row["file"]).name for row in json.loads(done.stdout)["sources"]]

    assert sources(tmp_path) == ["vm.trace.json.gz"]
    assert sources(below / "perfetto_trace.json.gz") == ["perfetto_trace.json.gz"]
