"""What memray exports: stacks with bytes as CSV and for gprof2dot, and the largest allocations by place."""
import json
import subprocess

import pytest

CSV = """allocator,num_allocations,size,tid,thread_name,stack_trace
MALLOC,1,1000,1,0x1,load;/job/data.py;12|main;/job/train.py;40
CALLOC,3,500,1,0x1,"operator new(a, b);;0|load;/job/data.py;12|main;/job/train.py;40"
MMAP,1,24,2,0x2 (worker),
MALLOC,1,6,1,0x1,main;/job/train.py;40
"""
DOT = {"version": 0, "costs": [{"description": "Memory", "unit": "bytes"}],
       "events": [{"callchain": [0, 1], "cost": [1000]}, {"callchain": [1], "cost": [6]}],
       "functions": [{"name": "load \"x\"", "module": "/job/data.py"}, {"name": "main", "module": "/job/train.py"}]}
STATS = {"total_num_allocations": 5, "total_bytes_allocated": 2000, "allocation_size_histogram": [], "allocator_type_distribution": {},
         "top_allocations_by_size": [{"location": "load:/job/data.py:12", "size": 1500}, {"location": "<native>", "size": 100}]}


@pytest.fixture
def analyse(gpu_tracker, tmp_path):
    def run(content, analysis="functions", name="memray.out"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        done = subprocess.run([gpu_tracker, "profile", analysis, "-f", "json", path], check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)
    return run


def figures(report):
    assert {row["unit"] for row in report["sampled"]} == {"bytes"}
    return {row["function"]: (row["self"], row["total"]) for row in report["sampled"]}


def test_stacks_in_csv(analyse):
    assert figures(analyse(CSV)) == {"/job/data.py:12(load)": (1000, 1500), ":0(operator new(a, b))": (500, 500),
                                     "/job/train.py:40(main)": (6, 1506)}


def test_who_holds_the_peak(analyse):
    report = analyse(CSV, "allocations")
    assert report["peak"][0] == {"device": "host memory", "allocated_bytes": 1000, "share_percent": pytest.approx(1000 / 15.06),
                                 "function": "load (data.py:12)"}
    assert report["stacks"][1]["stack"].endswith("load (data.py:12) < main (train.py:40)")


def test_stacks_for_gprof2dot(analyse):
    assert figures(analyse(DOT)) == {"/job/data.py:0(load \"x\")": (1000, 1000), "/job/train.py:0(main)": (6, 1006)}


def test_the_largest_allocations(analyse):
    assert figures(analyse(STATS)) == {"/job/data.py:12(load)": (1500, None), "{native}": (100, None), "other places": (400, None)}


def test_what_is_counted_is_said_and_not_mixed(gpu_tracker, analyse, tmp_path):
    frames = {"frames": [{"name": "load", "file": "data.py", "line": 12}, {"name": "main", "file": "train.py", "line": 40}]}
    both = {"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "memray@1.20.0", "shared": frames,
            "profiles": [{"type": "sampled", "name": "Memory", "unit": "bytes", "startValue": 0, "endValue": 5000,
                          "samples": [[1], [1, 0]], "weights": [1000, 4000]},
                         {"type": "sampled", "name": "Allocations", "unit": "none", "startValue": 0, "endValue": 7,
                          "samples": [[1], [1, 0]], "weights": [5, 2]}]}
    rows = analyse(both, name="both.json")["sampled"]
    assert [(row["measure"], row["self"]) for row in rows] == [("bytes held at the peak", 4000), ("bytes held at the peak", 1000),
                                                               ("allocations", 5), ("allocations", 2)]
    assert {row["measure"] for row in analyse(CSV)["sampled"]} == {"bytes held at the peak"}
    assert {row["measure"] for row in analyse(STATS)["sampled"]} == {"bytes allocated in total"}
    shown = {}
    for name, content in (("both.json", both), ("stats.json", STATS)):
        (tmp_path / name).write_text(json.dumps(content))
        for analysis in ("functions", "allocations"):
            shown[name, analysis] = subprocess.run([gpu_tracker, "profile", analysis, tmp_path / name], capture_output=True, text=True,
                                                   check=(name, analysis) != ("stats.json", "allocations")).stdout
    peak, number = shown["both.json", "functions"].split("Functions by number of allocations:")
    assert "held at the peak" in peak and "4.0" in peak and "self (kB)" in peak and "kB" not in number
    assert "allocated in total" in shown["stats.json", "functions"]
    assert "Allocated at the peak" in shown["both.json", "allocations"]


def test_damage_costs_itself(gpu_tracker, tmp_path):
    for name, content, lost in (("a.csv", CSV + "no row\nMALLOC,1,x,1,0x1,f;a.py;1\nMALLOC,1,5,1,0x1,f;a.py;1\n", 2),
                                ("a.json", json.dumps({
                                    **DOT, "events": [{"callchain": [7], "cost": [1]}, {"cost": [1]}, *DOT["events"]]}), 2)):
        path = tmp_path / name
        path.write_text(content)
        out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        [source] = json.loads(out)["sources"]
        assert source["format"] == "memray" and source["lost"] == lost, source
    text = json.dumps(DOT)
    for cut in range(text.index("callchain") + 12, len(text), 13):
        path.write_text(text[:cut])
        out = subprocess.run([gpu_tracker, "timeline", "info", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
        assert json.loads(out)["sources"][0]["cut_off"] == "yes"
