"""What profile tells of traces and profiles without any work of a GPU: what takes the time, who holds the memory, and nothing of GPUs."""
import csv
import io
import json
import marshal
import re

import pytest

BASE = 1_700_000_000_000_000


def event(category, name, begin, duration, **more):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": BASE + begin, "dur": duration, **more}


def write(path, *events):
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(events)}))
    return path


@pytest.fixture
def plain(tmp_path):
    """Operators in a range, most of the time in one that lies in a wrapper; a tenth of all time is waiting for data."""
    return write(tmp_path / "plain.json", event("Trace", "PyTorch Profiler (0)", 0, 1000),
                 event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 100),
                 event("user_annotation", "forward", 100, 900), event("cpu_op", "aten::linear", 100, 700),
                 event("cpu_op", "aten::addmm", 150, 600), event("cpu_op", "aten::relu", 820, 100))


@pytest.fixture
def with_gpu(tmp_path):
    return write(tmp_path / "gpu.json", event("cpu_op", "aten::mm", 0, 30), event("cuda_runtime", "cudaLaunchKernel", 10, 5, args={
        "correlation": 1}), event("kernel", "gemm", 20, 50, pid=0, tid=7, args={"correlation": 1, "device": 0, "stream": 7}))


# ---- the report of a job


def test_it_says_which_operators_take_the_time(cli, profiled, plain):
    rows = profiled(plain)["most_time"]
    assert [(row["name"], row["self_us"], row["share_percent"], row["see"]) for row in rows] == [
        ("aten::addmm", 600, 75, "operators"), ("aten::linear", 100, 12.5, "operators"), ("aten::relu", 100, 12.5, "operators")]
    own = {row["name"]: row["self_us"] for row in profiled("operators", plain)["operators"]}
    assert own == {row["name"]: row["self_us"] for row in rows}
    text = cli("profile", plain).stdout
    assert "Operators that take the most time themselves (% of the time in operators; more: profile operators):\n" in text
    assert re.search(r"^ +600\.0 +75\.0 +aten::addmm$", text, re.MULTILINE)
    assert re.search(r"most time +75\.0 % +of the time in operators: aten::addmm", cli("profile", plain, "-f", "summary").stdout)


def test_ranks_are_told_together_and_as_many_as_asked_for(profiled, tmp_path):
    for rank in range(2):
        write(tmp_path / f"r{rank}.json", *(event("cpu_op", f"aten::op{i}", 1000 * i, 100 + i) for i in range(8)))
    names = [f"aten::op{i}" for i in range(7, -1, -1)]
    rows = profiled("r0.json", "r1.json")["most_time"]
    assert [row["name"] for row in rows] == names[:5] and rows[0]["self_us"] == 214
    assert [row["name"] for row in profiled("r0.json", "r1.json", "--top=2")["most_time"]] == names[:2]
    assert [row["name"] for row in profiled("r0.json", "r1.json", "--all")["most_time"]] == names


def test_where_gpus_work_their_time_is_what_counts(profiled, with_gpu):
    assert "most_time" not in profiled(with_gpu)


def test_functions_of_a_profile_are_told_also_below_a_quarter(cli, profiled, tmp_path):
    functions = {("m.py", line, f"f{line}"): (1, 1, 1.0 + line / 100, 9.0, {}) for line in range(1, 9)}
    (tmp_path / "p.prof").write_bytes(marshal.dumps(functions))
    found = profiled("p.prof")
    assert "findings" not in found or not found["findings"]
    assert [(row["name"], row["self_us"], row["see"]) for row in found["most_time"]][:2] == [
        ("m.py:8(f8)", 1_080_000, "functions"), ("m.py:7(f7)", 1_070_000, "functions")]
    assert "(% of the time profiled; more: profile functions)" in cli("profile", "p.prof").stdout


def test_samples_are_no_times(profiled, tmp_path):
    (tmp_path / "s.collapsed").write_text("main (a.py:1);f (a.py:5) 3\nmain (a.py:1);g (a.py:9) 1\n")
    rows = profiled("s.collapsed")["most_time"]
    assert [(row["self_samples"], row["share_percent"]) for row in rows] == [(3, 75), (1, 25)]


def test_a_profile_of_memory_says_who_holds_it_and_what_tells_more(cli, profiled, tmp_path):
    frames = [{"name": "work", "file": "m.py", "line": 3}, {"name": "load", "file": "m.py", "line": 5}]
    (tmp_path / "m.json").write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "memray@1.20.0", "shared": {"frames": frames},
        "profiles": [{"type": "sampled", "name": "Memory", "unit": "bytes", "startValue": 0, "endValue": 4000,
                      "samples": [[0], [1]], "weights": [3000, 1000]}]}))
    found = profiled("m.json")
    assert [(row["self_bytes"], row["share_percent"], row["see"]) for row in found["most_memory"]] == [
        (3000, 75, "allocations, functions"), (1000, 25, "allocations, functions")]
    assert "work" in found["most_memory"][0]["name"] and "most_time" not in found
    assert "hold the most memory at the peak (% of the peak; more: profile allocations, functions)" in cli("profile", "m.json").stdout
    assert profiled("allocations", "m.json")["peak"]


# ---- the page


def bars(page):
    picture = page.split("Where the time of each rank goes</h2>")
    return re.findall(r"<title>([^<]*%[^<]*)</title>", picture[1].split("</figure>")[0]) if len(picture) > 1 else None


def test_what_is_next_to_nothing_has_no_picture(cli, plain, tmp_path):
    trace = json.loads(plain.read_text())
    trace["traceEvents"] += [event("cpu_op", "aten::mm", 1000, 2000)]
    plain.write_text(json.dumps(trace))
    assert cli("profile", plain, "-o", "page.html").returncode == 0
    assert bars((tmp_path / "page.html").read_text()) is None


def test_shares_end_at_the_whole_also_where_gpus_are_not_all_of_it(cli, with_gpu, plain, tmp_path):
    """One rank has a GPU, of the other little is known: its bar is not as long as all its time."""
    assert cli("profile", with_gpu, plain, "-o", "page.html").returncode == 0
    widths = [float(width) for width in re.findall(
        r'<rect class="part\d" x="[\d.]+" height="\d+" width="([\d.]+)"', (tmp_path / "page.html").read_text())]
    assert 1200 in widths and 120 in widths


# ---- figures of GPUs are missing


GPU_FIGURES = ("gpu_us", "gpu_total_us", "backward_gpu_us")


def test_operators_have_no_time_of_gpus_that_was_not_recorded(cli, profiled, plain):
    found = profiled("operators", plain)
    for table in ("operators", "ranges"):
        assert found[table] and all(row[key] is None for row in found[table] for key in GPU_FIGURES)
    rows = csv.DictReader(io.StringIO(cli("profile", "operators", plain, "--format=csv").stdout))
    assert all(row[key] == "" for row in rows for key in GPU_FIGURES)
    assert "gpu" not in cli("profile", "operators", plain).stdout


def test_beside_a_trace_with_gpus_only_the_other_lacks_them(cli, profiled, plain, with_gpu):
    rows = {row["name"]: row for row in profiled("operators", plain, with_gpu)["operators"]}
    assert rows["aten::mm"]["gpu_us"] == 50 and rows["aten::mm"]["backward_gpu_us"] == 0 and rows["aten::relu"]["gpu_us"] is None
    assert "gpu total (us)" in cli("profile", "operators", plain, with_gpu).stdout


def test_roles_of_gpus_are_missing_too(cli, profiled, plain, with_gpu):
    found = profiled("roles", plain)
    assert all(found["roles"][0][f"{role}_percent"] is None for role in ("kernel", "memcpy", "memset"))
    assert found["steps"][0]["kernel_us"] is None and found["steps"][0]["gpu_work"] is None and found["roles"][0]["cpu_percent"] == 90
    assert "no work of GPUs" in found["not_known"] and "kernel" not in cli("profile", "roles", plain).stdout
    assert profiled("roles", with_gpu)["roles"][0]["memset_percent"] == 0


# ---- steps, orders, differences


def test_a_trace_without_steps_has_no_number_of_them_anywhere(profiled, plain):
    for analysis, table in (("roles", "roles"), ("critical_path", "critical_path"), ("flops", "ranks")):
        found = profiled(analysis, plain)
        assert [row["steps"] for row in found[table]] in ([None], []), analysis
    for analysis in ("roles", "critical_path"):
        assert "no steps: the whole trace is one interval" in profiled(analysis, plain)["not_known"]


def test_operators_are_ordered_by_their_own_time(cli, profiled, plain):
    def names(*words):
        return [row["name"] for row in profiled("operators", plain, *words)["operators"]]
    assert names() == ["aten::linear", "aten::addmm", "aten::relu"]
    assert names("--key=self") == ["aten::addmm", "aten::linear", "aten::relu"]
    assert "total, count, mean, max, name, self" in cli("profile", "operators", plain, "--key=what").stderr
    refused = cli("profile", "kernels", plain, "--key=self")
    assert refused.returncode == 2 and refused.stderr.strip().endswith("one of total, count, mean, max, name")
    assert "total|count|mean|max|name|self" in "".join(cli("help", "profile").stdout.split())


def write_steps(path, slow):
    events, at = [event("Trace", "PyTorch Profiler (0)", 0, 60_000 + slow)], 0
    for step in range(6):
        length = 10_000 + (slow if step == 3 else 0)
        events += [event("user_annotation", f"Epoch {step // 3}, step {step}", at, length),
                   event("cpu_op", "aten::mm", at + 10, 5000), event("cpu_op", "aten::add", at + 5010, 4000)]
        at += length
    return write(path, *events)


def test_a_difference_leaves_out_the_recording_and_takes_steps_together(cli, profiled, tmp_path):
    write_steps(tmp_path / "a.json", 0)
    write_steps(tmp_path / "b.json", 60_000)
    found = profiled("diff", "a.json", "b.json")
    rows = {row["name"]: row for row in found["differences"]}
    assert set(rows) == {"step", "aten::mm", "aten::add"}
    step = rows["step"]
    assert (step["count_a"], step["count_b"], step["step_a_us"], step["step_b_us"]) == (6, 6, 10_000, 20_000)
    assert found["words"] == "A step takes 20 ms in B, 10 ms in A (+100 %)"
    assert "Profiler" not in cli("profile", "diff", "a.json", "b.json", "--all").stdout


# ---- use of resources


UNTIL_SAMPLED = "until [ $(wc -l < run.csv) -gt 8 ]; do sleep 0.1; done"


def test_use_is_told_with_units_and_without_counters(cli, profiled):
    assert cli("run", "--quiet", "--disable-logs", "--st=0.1", "--tf=run.csv", "--", "bash", "-c", UNTIL_SAMPLED).returncode == 0
    found = profiled("utilization", "run.csv")
    units = {row["dimension"]: row["unit"] for row in found["utilization"]}
    assert units["ram"] == "bytes" and units["threads"] == "count" and not {"cpu_time", "minor_faults", "ram_peak"} & set(units)
    assert "report has them" in found["left_out"]
    text = cli("profile", "utilization", "run.csv").stdout
    assert re.search(r"^ .* ram +\d+ +[\d.]+ [kMG]?B ", text, re.MULTILINE) and "cpu_time" not in text
    assert "Left out: counters" in text
    alone = cli("profile", "utilization", "run.csv", "--device=cpu_time")
    assert "report has them" in alone.stdout and "no samples" not in alone.stdout


def test_use_by_smdebugs_names_has_its_unit_where_it_is_known(profiled, tmp_path):
    folder = tmp_path / "job" / "system" / "incremental" / "2023111500"
    folder.mkdir(parents=True)
    lines = [{"Type": kind, "Name": name, "Dimension": dimension, "Value": 50, "NodeId": "algo-1", "Timestamp": 1_700_000_000 + i}
             for i in range(3) for kind, name, dimension in (("cpu", "cpu0", "CPUUtilization"), ("network", "Algorithm", "Rx"))]
    (folder / "1700000000.algo-1.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = {row["dimension"]: (row["mean"], row["unit"]) for row in profiled("utilization", "job")["utilization"]}
    assert rows == {"CPUUtilization": (50, "percent"), "Rx": (50, None)}
