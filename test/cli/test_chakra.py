"""Chakra's execution traces: nodes with start times are events, with durations alone a profile."""
import gzip
import json
import pathlib
import sqlite3
import subprocess

import pytest

from test_perfetto import field, varint

CORPUS = pathlib.Path(__file__).parent.parent / "fuzz" / "corpus" / "timeline"
START = 1_700_000_000_000_000
METADATA, LOAD, COMPUTE, SEND, COLLECTIVE = 1, 2, 4, 5, 7


def message(*fields):
    data = b"".join(fields)
    return varint(len(data)) + data


def attribute(name, value):
    """A oneof writes zeros, too."""
    number = 27 if isinstance(value, bool) else 9 if isinstance(value, int) else 29
    return field(10, field(1, name) + field(number, int(value) if isinstance(value, bool) else value))


def node(number, name, kind=COMPUTE, start=0, duration=0, parent=None, shapes=None, **attributes):
    out = [field(1, number), field(2, name), field(3, kind)]
    out += [field(4, varint(parent))] if parent is not None else []
    out += [field(6, start)] if start else []
    out += [field(7, duration)] if duration else []
    out += [field(8, field(1, "[]") + field(2, shapes))] if shapes else []
    return message(*out, *(attribute(*item) for item in attributes.items()))


ABOUT = message(field(1, "0.0.4"), field(2, field(1, "schema") + field(29, "1.1.1-chakra.0.0.4")))
CPU = {"op_schema": "aten::x", "tid": 3, "is_cpu_op": True, "stream": 0}
GPU = {"op_schema": "", "tid": 3, "is_cpu_op": False}


def job(late=0, start=START):
    """What one rank did; without `start`, as PyTorch's converter writes it: an operator's duration is without its callees'."""
    def at(time):
        return start + time if start else 0
    return [ABOUT, node(0, "process_group:init", METADATA),
            node(1, "[pytorch|profiler|execution_trace|thread]", **CPU),
            node(3, "aten::addmm", start=at(20), duration=60, parent=2, shapes="[[8, 4], [], [3]]", **CPU),
            node(2, "aten::linear", start=at(10), duration=100 if start else 40, parent=1, **CPU),
            node(4, "sgemm", start=at(60), duration=200, parent=3, **GPU, stream=7),
            node(5, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", COLLECTIVE, at(270 + late), 100 - late, 3, **GPU, stream=9, comm_type=0,
                 comm_size=1 << 20, pg_name="0"),
            node(6, "layer3 <gather>", COLLECTIVE, at(400), 50, is_cpu_op=False, comm_type=2, comm_size=4096),
            node(7, "weights", LOAD, at(460), 10, tensor_size=1000),
            node(8, "Memcpy HtoD (Pageable -> Device)", start=at(500), duration=5, **GPU, stream=7)]


@pytest.fixture
def report(gpu_tracker):
    def report(*command):
        out = subprocess.run([gpu_tracker, *command, "-f", "json"], check=True, stdout=subprocess.PIPE).stdout
        return json.loads(out)
    return report


@pytest.fixture
def two_ranks(tmp_path):
    for rank in (0, 1):
        (tmp_path / f"job.{rank}.et").write_bytes(b"".join(job(late=5 * rank)))
    return tmp_path


def rows_of(gpu_tracker, path, columns):
    out = path.parent / "t.sqlite"
    subprocess.run([gpu_tracker, "timeline", "export", "-o", out, path], check=True, stdout=subprocess.DEVNULL)
    return sqlite3.connect(out).execute(f"SELECT {columns} FROM events ORDER BY start_ns").fetchall()


def test_nodes_with_times_are_events(gpu_tracker, two_ranks):
    rows = rows_of(gpu_tracker, two_ranks / "job.1.et", f"rank, pid, tid, name, category, start_ns - {START}000, duration_ns, bytes")
    assert rows == [
        (1, "CPU", "3", "aten::linear", "cpu_op", 10000, 100000, None),
        (1, "CPU", "3", "aten::addmm", "cpu_op", 20000, 60000, None),
        (1, "GPU", "7", "sgemm", "kernel", 60000, 200000, None),
        (1, "GPU", "9", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 275000, 95000, 1 << 20),
        (1, "GPU", "communication", "COMM_COLL_NODE layer3 <gather>", "kernel", 400000, 50000, None),
        (1, "GPU", "memory", "weights", "gpu_memcpy", 460000, 10000, 1000),
        (1, "GPU", "7", "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 500000, 5000, None)]


def test_arguments(gpu_tracker, two_ranks):
    args = {json.loads(row[0])["node"]: json.loads(row[0]) for row in rows_of(gpu_tracker, two_ranks / "job.0.et", "args")}
    assert args[3] == {"node": 3, "type": "COMP_NODE", "Input Dims": [[8, 4], [], [3]]}
    assert args[5] == {"node": 5, "type": "COMM_COLL_NODE", "stream": 9, "Collective name": "all_reduce", "Process Group Name": "0",
                       "comm_size": 1 << 20}
    assert args[7]["tensor_size"] == 1000


def test_analyses(report, two_ranks):
    operators = {row["name"]: row for row in report("profile", "operators", two_ranks)["operators"] if row["node"] == "rank 1"}
    assert (operators["aten::addmm"]["gpu_us"], operators["aten::linear"]["gpu_total_us"]) == (295, 295)
    assert operators["aten::linear"]["self_us"] == 40
    [breakdown, _] = report("profile", "breakdown", two_ranks)["breakdown"]
    assert [breakdown[name] for name in ("span_us", "compute_us", "communication_us", "memory_us")] == [445, 200, 150, 15]
    collectives = {row["collective"]: row for row in report("profile", "collectives", two_ranks)["collectives"]}
    assert (collectives["allreduce"]["communicator"], collectives["allreduce"]["last"]) == ("0", "rank 1")
    assert collectives["allreduce"]["size_bytes"] == 1 << 20
    assert collectives["allgather"]["size_bytes"] is None  # what is sent of a gather is but a part


def test_advice_names_the_gpu_once(gpu_tracker, two_ranks):
    out = subprocess.run([gpu_tracker, "profile", two_ranks], check=True, capture_output=True, text=True).stdout
    assert "GPU 3" in out and "GPU GPU" not in out


def test_durations_alone_are_a_profile(report, gpu_tracker, tmp_path):
    path = tmp_path / "job.4.et.gz"
    path.write_bytes(gzip.compress(b"".join(job(start=0))))
    [source] = report("timeline", "info", path)["sources"]
    assert (source["format"], source["rank"], source["kept"], source["clock"]) == ("chakra", "4", 0, "unknown")
    functions = {row["function"]: row for row in report("profile", "functions", path)["functions"]}
    assert functions["aten::linear"]["tottime_seconds"] == pytest.approx(40e-6)
    assert functions["aten::linear"]["cumtime_seconds"] == pytest.approx(100e-6)  # what it launched runs elsewhere
    assert functions["sgemm"]["tottime_seconds"] == pytest.approx(200e-6) and functions["sgemm"]["ncalls"] == 1
    assert functions["GPU stream 7"]["cumtime_seconds"] == pytest.approx(205e-6)
    out = tmp_path / "s.collapsed"
    subprocess.run([gpu_tracker, "timeline", "export", "-o", out, path], check=True, stdout=subprocess.DEVNULL)
    assert "[pytorch|profiler|execution_trace|thread];aten::linear;aten::addmm 60\n" in out.read_text()
    assert "GPU stream 9;ncclDevKernel" in out.read_text()
    assert report("profile", path)["findings"] == []  # shares of a sum over threads and GPUs say nothing


def test_nodes_that_depend_on_each_other_in_a_circle(report, tmp_path):
    nodes = [node(number, name, duration=duration, parent=parent, **CPU)
             for number, name, duration, parent in ((1, "a", 1, 2), (2, "b", 2, 1), (3, "c", 4, 3))]
    path = tmp_path / "circle.et"
    path.write_bytes(ABOUT + b"".join(nodes))
    functions = {row["function"]: row["tottime_seconds"] for row in report("profile", "functions", path)["functions"]}
    assert functions == {"a": pytest.approx(1e-6), "b": pytest.approx(2e-6), "c": pytest.approx(4e-6)}


def test_a_start_of_nought(gpu_tracker, report, tmp_path):
    """protobuf does not write it: it is the begin where times count from there, and missing where they count from the epoch."""
    path = tmp_path / "zero.et"
    path.write_bytes(ABOUT + node(1, "a", duration=10, **CPU) + node(2, "b", start=10, duration=10, **CPU))
    assert rows_of(gpu_tracker, path, "name, start_ns") == [("a", 0), ("b", 10000)]
    other = tmp_path / "epoch.et"
    other.write_bytes(ABOUT + node(1, "a", duration=10, **CPU) + node(2, "b", start=START, duration=10, **CPU))
    [source] = report("timeline", "info", other)["sources"]
    assert (source["events"], source["lost"], source["clock"]) == (1, 1, "in the file")


def test_damage_costs_the_node_it_is_in(report, tmp_path):
    parts = job()
    bad = message(field(1, 9), field(2, 5))  # a name that is a number
    path = tmp_path / "bad.et"
    path.write_bytes(b"".join(parts[:5]) + bad + b"".join(parts[5:]))
    [source] = report("timeline", "info", path)["sources"]
    assert (source["events"], source["lost"], source["lost_bytes"], source["cut_off"]) == (7, 1, 4, "no")
    path.write_bytes(b"".join(parts)[:-3])
    [source] = report("timeline", "info", path)["sources"]
    assert (source["events"], source["cut_off"]) == (6, "yes")


def test_a_graph_without_times_is_refused(gpu_tracker, tmp_path):
    path = tmp_path / "graph.0.et"
    path.write_bytes(ABOUT + node(0, "ALL_REDUCE", COLLECTIVE, comm_type=0) + node(1, "COMP_NODE"))
    done = subprocess.run([gpu_tracker, "timeline", "info", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "without start times and durations" in done.stderr


def test_what_protobufs_own_library_wrote(gpu_tracker, report, tmp_path):
    path = tmp_path / "a.et"
    path.write_bytes((CORPUS / "chakra.et").read_bytes())
    assert rows_of(gpu_tracker, path, "tid, category, duration_ns") == [
        ("1", "cpu_op", 100000), ("1", "cpu_op", 60000), ("7", "kernel", 200000), ("9", "kernel", 95000),
        ("communication", "kernel", 50000), ("memory", "gpu_memcpy", 10000), ("7", "gpu_memcpy", 5000)]
    functions = {row["function"]: row for row in report("profile", "functions", CORPUS / "chakra-durations.et")["functions"]}
    assert functions["aten::linear"]["cumtime_seconds"] == pytest.approx(100e-6)
