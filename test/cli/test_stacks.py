"""Sampled stacks and calls of functions: as the tools' own files add up, as tables, flame graphs and lines."""
import base64
import collections
import hashlib
import json
import pathlib
import re
import subprocess

import pytest
from browser import Browser, needs_browser

FIXTURE = pathlib.Path(__file__).parent.parent / "fixture" / "traces"


@pytest.fixture
def functions(gpu_tracker):
    """functions(path): the rows of a table by function."""
    def run(path, table="functions"):
        out = subprocess.run([gpu_tracker, "profile", "functions", "-f", "json", "--all", path], check=True,
                             stdout=subprocess.PIPE).stdout
        return {row["function"]: row for row in json.loads(out)[table]}
    return run


@pytest.fixture
def export(gpu_tracker, tmp_path):
    """export(suffix, path...): the file that was written."""
    def run(suffix, *paths, fails=None):
        path = tmp_path / f"out{suffix}"
        done = subprocess.run([gpu_tracker, "timeline", "export", "--overwrite", "-o", path, *paths], capture_output=True,
                              text=True, check=False)
        if fails:
            assert done.returncode and fails in done.stderr and not path.exists(), done.stderr
        else:
            assert done.returncode == 0, done.stderr
        return path
    return run


def sums(stacks):
    """Self and total of each function of {stack: weight}."""
    own, total = collections.Counter(), collections.Counter()
    for stack, weight in stacks.items():
        own[stack[-1]] += weight
        for function in set(stack):
            total[function] += weight
    return own, total


def title(text):
    """As pstats writes it."""
    match = re.fullmatch(r"(.*) \((.*):(\d+)\)", text)
    name, path, line = match.groups() if match else (text, None, None)
    return f"{path}:{line}({name})" if match else f"{{{name[1:-1]}}}" if name.startswith("<") else name


def whole_functions(stacks):
    """Samplers tell the lines that ran: a function has the first of them. Lambdas and comprehensions differ by line."""
    pattern = re.compile(r"(.*):(\d+)\(((?:\w+\.)*(?:<module>|\w+))\)")
    first = {}
    for function in {function for stack in stacks for function in stack}:
        if match := pattern.fullmatch(function):
            key = match[1], match[3]
            first[key] = min(int(match[2]), first.get(key, int(match[2])))

    def whole(function):
        match = pattern.fullmatch(function)
        return f"{match[1]}:{first[match[1], match[3]]}({match[3]})" if match else function
    ret = collections.Counter()
    for stack, weight in stacks.items():
        ret[tuple(map(whole, stack))] += weight
    return ret


def collapsed(path):
    ret = collections.Counter()
    for line in path.read_text().splitlines():
        stack, count = line.rsplit(" ", 1)
        if stack:
            ret[tuple(map(title, stack.split(";")))] += int(count)
    return whole_functions(ret)


def test_collapsed_stacks_of_py_spy(functions):
    own, total = sums(collapsed(FIXTURE / "py-spy.collapsed"))
    ours = functions(FIXTURE / "py-spy.collapsed", "sampled")
    assert {name: row["self"] for name, row in ours.items()} == {name: own[name] for name in total}
    assert {name: row["total"] for name, row in ours.items()} == total
    assert {row["unit"] for row in ours.values()} == {"samples"}


def speedscope(path):
    document = json.loads(path.read_text())
    frames = [f"{frame['file']}:{frame['line']}({frame['name']})" for frame in document["shared"]["frames"]]
    stacks = collections.Counter()
    for profile in document["profiles"]:
        for sample, weight in zip(profile["samples"], profile["weights"]):
            stacks[tuple(frames[i] for i in sample)] += weight
    return whole_functions(stacks)


def test_speedscope_of_py_spy(functions):
    own, total = sums(speedscope(FIXTURE / "py-spy.speedscope.json"))
    ours = functions(FIXTURE / "py-spy.speedscope.json")
    assert ours.keys() == total.keys()
    for name, row in ours.items():
        assert row["tottime_seconds"] == pytest.approx(own[name]) and row["cumtime_seconds"] == pytest.approx(total[name])


def test_speedscope_of_opened_and_closed_frames(functions, tmp_path):
    path = tmp_path / "t.speedscope.json"
    events = [("O", 0, 0), ("O", 1, 10), ("O", 1, 20), ("C", 1, 50), ("C", 1, 60), ("C", 0, 100), ("C", 0, 101)]
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "m\u00e4in \"x\""}, {"name": "f", "file": "a.py", "line": 3}]},
        "profiles": [{"type": "evented", "name": "t", "unit": "milliseconds", "startValue": 0, "endValue": 100,
                      "events": [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events]}]}))
    ours = functions(path)
    assert (ours["a.py:3(f)"]["tottime_seconds"], ours["a.py:3(f)"]["cumtime_seconds"]) == pytest.approx((0.05, 0.05))
    assert (ours["a.py:3(f)"]["pcalls"], ours["a.py:3(f)"]["ncalls"]) == (1, 2)
    assert ours["m\u00e4in \"x\""]["tottime_seconds"] == pytest.approx(0.05)


def test_a_sample_without_its_weight_is_reported_and_not_counted(gpu_tracker, tmp_path):
    path = tmp_path / "t.speedscope.json"
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "f"}]},
        "profiles": [{"type": "sampled", "name": "t", "unit": "seconds", "startValue": 0, "endValue": 9,
                      "samples": [[0], [0], [0]], "weights": [2, "x"]}]}))
    result = subprocess.run([gpu_tracker, "profile", "functions", path, "--format=json"], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout)["functions"][0]["tottime_seconds"] == 2
    assert "a sample without a weight that is a number" in result.stderr


def test_perf_script(functions, gpu_tracker):
    """Each sample is 250 microseconds of a clock."""
    text = (FIXTURE / "perf.txt").read_text()
    samples = [block.splitlines() for block in text.strip().split("\n\n")]
    leaves = collections.Counter()
    for header, *frames in samples:
        assert "cpu-clock" in header and " 250000 " in header
        symbol, library = re.fullmatch(r"\s+\w+ (.+?)(?:\+0x\w+)? \((.*)\)", frames[0]).groups()
        leaves[symbol if symbol == "[unknown]" else f"{symbol} ({library.rsplit('/', 1)[-1]})"] += 1
    ours = functions(FIXTURE / "perf.txt")
    assert {name: round(row["tottime_seconds"] / 250e-6) for name, row in ours.items() if row["tottime_seconds"]} == leaves
    commands = collections.Counter(header.split()[0] for header, *_ in samples)
    assert {name: round(ours[name]["cumtime_seconds"] / 250e-6) for name in commands} == commands


def test_perf_script_of_another_event_counts_samples(functions, tmp_path):
    path = tmp_path / "perf.txt"
    path.write_text("# header\nmy job 12/13 [001]  5.000001:     77 cycles:u: \n\t7f0 fib+0x2 (/usr/lib/x.so)\n"
                    "\t7f1 py::main:/job/prog.py+0x1 (/tmp/perf-1.map)\n\nmy job 12/13 [001] 5.1: 9 cycles:u:  7f0 fib (x.so)\n"
                    "this is no sample\n")
    ours = functions(path, "sampled")
    assert {name: (row["self"], row["total"]) for name, row in ours.items()} == {
        "fib (x.so)": (2, 2), "/job/prog.py:0(main)": (0, 1), "my job": (0, 2)}


def test_calls_of_viztracer(functions):
    events = [event for event in json.loads((FIXTURE / "viztracer.json").read_text())["traceEvents"] if event["ph"] == "X"]
    calls, inclusive = collections.Counter(), collections.Counter()
    for event in events:
        calls[title(event["name"])] += 1
        inclusive[title(event["name"])] += event["dur"] / 1e6
    ours = functions(FIXTURE / "viztracer.json")
    assert {name: row["ncalls"] for name, row in ours.items()} == calls
    assert all(isinstance(row[key], int) for row in ours.values() for key in ("pcalls", "ncalls"))
    [fib] = [name for name in ours if "fib" in name]
    assert ours[fib]["pcalls"] == 1 and calls[fib] == 9
    for name in calls.keys() - {fib}:
        assert ours[name]["cumtime_seconds"] == pytest.approx(inclusive[name], abs=1e-8)
    outermost = max(row["cumtime_seconds"] for row in ours.values())
    assert sum(row["tottime_seconds"] for row in ours.values()) == pytest.approx(outermost, rel=0.02)


def test_calls_of_py_spy_have_their_files(functions, tmp_path):
    def event(phase, time, name, line, path="/job/a \"b\".py"):
        return {"ph": phase, "cat": "py-spy", "pid": 1, "tid": 7, "ts": time, "name": name, "args": {"filename": path, "line": line}}
    path = tmp_path / "py-spy.json"
    path.write_text(json.dumps([event("B", 0, "main", 9), event("B", 10, "work", 3), event("E", 40, "work", 3),
                                event("B", 40, "work", 3, "/job/other.py"), event("B", 50, "wait", 0, "libc.so.6"),
                                event("E", 60, "wait", 0, "libc.so.6"), event("E", 60, "work", 3, "/job/other.py"),
                                event("E", 100, "main", 9)]))
    assert {name: row["tottime_seconds"] * 1e6 for name, row in functions(path).items()} == pytest.approx({
        "/job/a \"b\".py:9(main)": 50, "/job/a \"b\".py:3(work)": 30, "/job/other.py:3(work)": 10, "wait (libc.so.6)": 10})


def test_a_sampled_function_is_one_row_whichever_of_its_lines_ran(functions, export, tmp_path):
    """In both threads; a lambda is told by its line. A sampler counts no calls."""
    def event(phase, time, name, line, thread=7):
        return {"ph": phase, "cat": "py-spy", "pid": 1, "tid": thread, "ts": time, "name": name,
                "args": {"filename": "p.py", "line": line}}
    ran = [("Some.work", 31, 40), ("Some.work", 30, 20), ("Some.<lambda>", 12, 10), ("Some.<lambda>", 13, 5)]
    events, time = [event("B", 0, "main", 90)], 0
    for name, line, took in ran:
        events += [event("B", time, name, line), event("E", time + took, name, line)]
        time += took
    events += [event("E", 100, "main", 90), event("B", 0, "Some.work", 35, 8), event("E", 100, "Some.work", 35, 8)]
    path = tmp_path / "py-spy.json"
    path.write_text(json.dumps(events))
    found = functions(path)
    assert {name: row["tottime_seconds"] * 1e6 for name, row in found.items()} == pytest.approx({
        "p.py:30(Some.work)": 160, "p.py:90(main)": 25, "p.py:12(Some.<lambda>)": 10, "p.py:13(Some.<lambda>)": 5})
    assert found["p.py:30(Some.work)"]["cumtime_seconds"] * 1e6 == pytest.approx(160)
    assert {row["ncalls"] for row in found.values()} == {None}
    drawn = export(".collapsed", path).read_text()
    assert len(re.findall(r"Some.work \(p.py:30\)", drawn)) == 2 and not re.search(r"p.py:3[15]", drawn)


@pytest.mark.parametrize("ends", [True, False])
def test_of_equal_calls_the_one_that_ends_later_is_around(functions, gpu_tracker, tmp_path, ends):
    """A sampler sees callers and callees begin and end at the same moment, whatever their names are."""
    def event(phase, name, time):
        return {"ph": phase, "cat": "py-spy", "pid": 1, "tid": 7, "ts": time, "name": name, "args": {"filename": "p.py", "line": 1}}
    names = ["outer", "beside", "inner"]
    events = [event("B", name, 0) for name in names] + [event("E", name, 10) for name in reversed(names) if ends]
    path, merged = tmp_path / "py-spy.json", tmp_path / "merged.json"
    path.write_text(json.dumps(events + [event("i", "last", 10)]))
    subprocess.run([gpu_tracker, "timeline", "merge", "-o", merged, path], check=True, stdout=subprocess.DEVNULL)
    for file in path, merged:
        own = {name: row["tottime_seconds"] * 1e6 for name, row in functions(file).items()}
        assert own == pytest.approx({"p.py:1(outer)": 0, "p.py:1(beside)": 0, "p.py:1(inner)": 10})
    copies = [event for event in json.loads(merged.read_text()) if event["ph"] == "X"]
    assert [event["name"] for event in copies] == names


def test_operators_of_one_interval_keep_the_order_of_their_ends(gpu_tracker, tmp_path):
    def event(phase, name):
        return {"ph": phase, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 10 * (phase == "E"), "name": name}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([event("B", "b"), event("B", "a"), event("E", "a"), event("E", "b")]))
    out = subprocess.run([gpu_tracker, "profile", "operators", "-f", "json", path], check=True, stdout=subprocess.PIPE).stdout
    assert {row["name"]: row["self_us"] for row in json.loads(out)["operators"]} == {"a": 10, "b": 0}


def test_collapsed_lines_can_be_read_again(export):
    stacks = collections.Counter()
    for stack, weight in speedscope(FIXTURE / "py-spy.speedscope.json").items():
        stacks[stack] += round(weight * 1e6)
    assert collapsed(export(".collapsed", FIXTURE / "py-spy.speedscope.json")) == stacks
    counts = collapsed(FIXTURE / "py-spy.collapsed")
    assert collapsed(export(".folded", FIXTURE / "py-spy.collapsed")) == counts


def test_a_file_of_stacks_loses_only_what_is_damaged(gpu_tracker, tmp_path):
    text = (FIXTURE / "py-spy.speedscope.json").read_text()
    for cut in range(0, len(text), 211):
        path = tmp_path / "cut.speedscope.json"
        path.write_text(text[:cut])
        done = subprocess.run([gpu_tracker, "profile", "functions", "-f", "json", path], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2 and "known format" in done.stderr or \
            done.returncode in (0, 4) and "cut off" in json.loads(done.stdout)["damaged"], (cut, done.stderr)


def test_profiles_without_stacks_are_no_flame_graph(export):
    export(".html", FIXTURE / "python3.13.prof", fails="hold no stacks")
    export(".sqlite", FIXTURE / "py-spy.collapsed", fails="hold profiles")
    export(".txt", FIXTURE / "py-spy.collapsed", fails=".sqlite (tables)")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL).group(1))


def test_the_page_runs_its_own_script_alone(export):
    page = export(".html", FIXTURE / "py-spy.collapsed").read_text()
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none';" in policy and policy.endswith(f"script-src 'sha256-{digest}'")


def test_the_page_holds_the_tree(export):
    data = data_of(export(".html", FIXTURE / "py-spy.speedscope.json"))
    _, total = sums(speedscope(FIXTURE / "py-spy.speedscope.json"))
    assert data["unit"] == "seconds" and data["depth"][0] == 0 and set(data["depth"][1:]) >= {1, 2}
    assert data["total"][0] == pytest.approx(max(total.values()), rel=0.1)
    for i, depth in enumerate(data["depth"][1:], 1):
        assert depth <= data["depth"][i - 1] + 1


def test_several_files_stand_beside_one_another(export):
    data = data_of(export(".html", FIXTURE / "py-spy.speedscope.json", FIXTURE / "viztracer.json"))
    tops = [data["names"][data["name"][i]] for i, depth in enumerate(data["depth"]) if depth == 1]
    assert len(tops) == 2 and any("viztracer.json" in top for top in tops)


def test_a_name_cannot_end_the_script(export, tmp_path):
    path = tmp_path / "evil.collapsed"
    path.write_text("main;</script><script>alert(1)//;b 3\nmain;\x01\u202e;c 2\n")
    page = export(".html", path).read_text()
    assert page.count("<script") == 2 and data_of(export(".html", path))["total"][0] == 5


@needs_browser
@pytest.mark.parametrize("width, dark", [(1400, False), (390, True)])
def test_the_page_in_a_browser(export, width, dark):
    path = export(".html", FIXTURE / "py-spy.speedscope.json")
    with Browser(path, width=width, dark=dark) as page:
        assert not page.said and all(address.startswith("file:") for address in page.requests)
        told = page.value("[...document.querySelectorAll('#graph [data-node]')].map(part => part.title)")
        assert told and not [text for text in told if re.search(r"\de-\d", text)]  # what sums of seconds leave
        parts = "document.querySelectorAll('#graph [data-node]').length"
        assert page.value(parts) > 5
        assert page.value("document.documentElement.scrollWidth") <= width
        page.value("document.querySelector('#graph [data-node=\"0\"]').focus()")
        page.key("ArrowDown")
        page.key("ArrowDown")
        assert page.value("document.activeElement.getAttribute('aria-level')") == "3"
        page.key("Enter")
        wide = page.value("document.activeElement.getBoundingClientRect().width")
        assert wide > 0.9 * page.value("document.getElementById('graph').clientWidth")
        page.key("Escape")
        page.key("Escape")
        assert page.value("document.getElementById('back').disabled")
        page.key("/")
        page.value("const s = document.getElementById('search'); s.value = 'fib'; s.dispatchEvent(new Event('input'))")
        assert page.value("document.querySelectorAll('#graph .found').length") > 0
        assert "found" in page.value("document.getElementById('about').textContent")
        assert not page.said


@pytest.mark.parametrize("name, words", [("py-spy.collapsed", "95 % of the samples in "), ("viztracer.json", "33 % of the time in ")])
def test_the_report_tells_what_costs_most(gpu_tracker, name, words):
    found = json.loads(subprocess.run([gpu_tracker, "profile", "-f", "json", FIXTURE / name], check=True, stdout=subprocess.PIPE).stdout)
    assert found["findings"][0]["advice"].startswith(words) and found["findings"][0]["see"] == "functions"
    shown = subprocess.run([gpu_tracker, "profile", FIXTURE / name], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "% of the time profiled" in shown and "Ranks" not in shown
