"""The page of a job: its findings lead to pictures, and these have the figures of the traces."""
import collections
import json
import re
import subprocess

import pytest
from browser import Browser, needs_browser
from page_syntax import check_page
from traced_job import Job, LONG_RANK, LONG_STEP, STARVED_RANK

PICTURES = ["Ranks and steps", "Where the time of each rank goes", "What holds the steps", "What GPUs do over time", "Skew of collectives",
            "Who comes last to collectives", "Lengths of steps"]
RANKS, STEPS = 4, 24


class Folder:
    """A job's traces, what profile says of them as JSON, and its page."""

    def __init__(self, gpu_tracker, folder, write):
        self.gpu_tracker, self.folder = gpu_tracker, folder / "job"
        self.folder.mkdir()
        write(self.folder)
        self.path = folder / "job.html"
        self.profile("-o", self.path)
        self.page = self.path.read_text()
        check_page(self.page)
        self.report = json.loads(self.profile("--format=json"))

    def profile(self, *words, analysis=()):
        done = subprocess.run([self.gpu_tracker, "profile", *analysis, self.folder, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def titles(self, picture):
        """What is told of the shapes of a picture."""
        part = self.page.split(f"<h2>{picture}</h2>")[1].split("</section>")[0]
        return re.findall("<title>(.*?)</title>", part)


@pytest.fixture(scope="module")
def job(gpu_tracker, tmp_path_factory):
    return Folder(gpu_tracker, tmp_path_factory.mktemp("job"), lambda path: Job(path, RANKS + 2, STEPS, 24, 2).write())


def microseconds(text):
    value, unit = text.split()
    return float(value) * {"us": 1, "ms": 1000}[unit]


def length_of(trace, step):
    return next(event["dur"] for event in trace["traceEvents"] if event["name"] == f"ProfilerStep#{step}")


def test_the_heat_map_has_each_step_of_each_rank(job):
    cells = dict(title.split(": ") for title in job.titles("Ranks and steps"))
    assert len(cells) == (RANKS + 2) * STEPS
    for rank in range(RANKS + 2):
        trace = json.loads((job.folder / f"rank{rank}.json").read_text())
        for step in (0, LONG_STEP, STEPS - 1):
            assert microseconds(cells[f"rank {rank}, step {step}"]) == pytest.approx(length_of(trace, step), rel=6e-3)
    outliers = job.page.count('<rect class="mark"') - 1  # one is in the legend
    assert outliers >= 1 and max(cells, key=lambda name: float(cells[name].split()[0])) == f"rank {LONG_RANK}, step {LONG_STEP}"


def parts_of(title):
    name, parts = title.split(": ", 1)
    return name, {part: float(value) for part, value in re.findall(r"(?:^|, )([^,]+?) ([\d.]+) %", parts)}


def test_the_bars_are_the_figures_of_the_table(job):
    bars = dict(map(parts_of, job.titles("Where the time of each rank goes")))
    assert len(bars) == RANKS + 2
    for row in job.report["ranks"]:
        bar = next(bars[name] for name in bars if name.removesuffix(" *") == row["node"])
        assert sum(bar.values()) == pytest.approx(100, abs=0.3)
        for part, key in (("compute", "compute_percent"), ("exposed communication", "communication_percent"),
                          ("idle: data loading", "data_loading_percent"), ("idle: host", "host_percent")):
            assert bar.get(part, 0) == pytest.approx(row[key], abs=0.1), part
    assert f"rank {STARVED_RANK} *" in bars


def test_what_holds_the_steps_is_the_critical_path(job):
    bars = dict(map(parts_of, job.titles("What holds the steps")))
    rows = json.loads(job.profile("--format=json", analysis=["critical_path"]))["critical_path"]
    assert sorted(bars) == sorted(row["node"] for row in rows) and "all ranks" in bars
    for row in rows:
        bar = bars[row["node"]]
        assert sum(bar.values()) == pytest.approx(100, abs=0.3)
        assert bar.get("compute", 0) == pytest.approx(row["compute_percent"], abs=0.1)
        assert bar.get("data loading", 0) == pytest.approx(row["loading_percent"], abs=0.1)
        assert bar.get("pauses between work of a GPU", 0) == pytest.approx(row["gaps_percent"], abs=0.1)


def test_what_gpus_do_over_time_sums_to_the_same(job):
    sums = collections.defaultdict(lambda: collections.Counter())
    for title in job.titles("What GPUs do over time"):
        name, parts = parts_of(title)
        assert sum(parts.values()) <= 101
        sums[name.split(",")[0]].update(parts)
    for row in job.report["ranks"]:
        parts = sums[row["node"]]
        whole = sum(parts.values())
        assert 100 * parts["compute"] / whole == pytest.approx(row["compute_percent"], abs=0.5)
        assert 100 * parts["idle: data loading"] / whole == pytest.approx(row["data_loading_percent"], abs=0.5)


def test_who_comes_last_is_who_keeps_the_others_waiting(job):
    waits = collections.Counter()
    for title in job.titles("Who comes last to collectives"):
        where, value = title.split(": ")
        waits[where.split(",")[0]] += float(value.split()[0])
    late = {row["node"] for row in json.loads(job.profile("--format=json", "--table=findings"))["findings"]
            if "makes the others wait" in row["advice"] for row in [{"node": row["advice"].split(" makes")[0]}]}
    assert late and {rank for rank, wait in waits.items() if wait > max(waits.values()) / 2} <= late


def test_the_lengths_of_steps_are_all_there(job):
    told = [match for match in (re.search(r"(\d+) (steps?)$", title) for title in job.titles("Lengths of steps")) if match]
    assert sum(int(match[1]) for match in told) == STEPS
    assert all((match[2] == "step") == (match[1] == "1") for match in told)


def test_one_step_is_one_step(gpu_tracker, tmp_path):
    def write(path):
        steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
                  "ts": 100_000 * i, "dur": 50_000 if i == 3 else 10_000 + i} for i in range(8)]
        for rank in range(2):
            (path / f"rank{rank}.json").write_text(json.dumps({"traceEvents": steps}))
    titles = Folder(gpu_tracker, tmp_path, write).titles("Lengths of steps")
    assert [title for title in titles if title.endswith(" 1 step")] and not [title for title in titles if title.endswith(" 1 steps")]


def test_steps_of_nearly_one_length_stand_in_few_columns(gpu_tracker, tmp_path):
    """They differ by less than a microsecond of 10 ms: no column for each."""
    def write(path):
        steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1,
                  "ts": 11_000 * i, "dur": 10_000 + i / 10} for i in range(8)]
        for rank in range(2):
            (path / f"rank{rank}.json").write_text(json.dumps({"traceEvents": steps}))
    page = Folder(gpu_tracker, tmp_path, write)
    filled = [int(number) for title in page.titles("Lengths of steps") for number in re.findall(r"(\d+) steps?$", title)]
    assert sum(filled) == 8 and len(filled) <= 2
    axis = re.findall(r'<i style="left:[0-9.]+%">([0-9.]+)', page.page.split("<h2>Lengths of steps</h2>")[1].split("</section>")[0])
    assert float(axis[-1]) - float(axis[0]) > 0.3  # ms, of ticks within a twentieth of 10 ms


def test_many_steps_are_taken_together(gpu_tracker, tmp_path):
    job = Folder(gpu_tracker, tmp_path, lambda path: Job(path, 2, 250, 6, 1).write())
    cells = dict(title.split(": ") for title in job.titles("Ranks and steps"))
    assert "Each cell is the longest of 3 steps of a rank" in job.page
    assert len(cells) == 2 * 84 and f"rank {LONG_RANK}, steps 12 to 14" in cells and "rank 0, step 249" in cells
    trace = json.loads((job.folder / f"rank{LONG_RANK}.json").read_text())
    assert microseconds(cells[f"rank {LONG_RANK}, steps 12 to 14"]) == pytest.approx(length_of(trace, LONG_STEP), rel=6e-3)


def test_of_many_ranks_the_worst_are_shown(gpu_tracker, tmp_path):
    def write(path):
        for rank in range(40):
            events = [{"ph": "X", "cat": category, "name": name, "pid": pid, "tid": 1, "ts": 10_000 * step, "dur": length, "args": {}}
                      for step in range(3) for category, name, pid, length in (
                          ("user_annotation", f"ProfilerStep#{step}", 1, 5000 + 10 * (39 - rank)), ("kernel", "gemm", 0, 100 + rank))]
            (path / f"rank{rank}.json").write_text(json.dumps(
                {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 40}, "traceEvents": events}))
    job = Folder(gpu_tracker, tmp_path, write)
    for which in "with the longest steps", "that compute least":
        assert f"the 32 of 40 ranks that findings name, and those {which}" in job.page
    assert {title.split(",")[0].removesuffix(" *") for title in job.titles("Ranks and steps")} == {f"rank {rank}" for rank in range(32)}


def test_of_many_ranks_those_that_findings_name_are_shown(gpu_tracker, tmp_path):
    """All steps have one length, because all wait for one rank, which computes most. Later each comes last once."""
    slow, alone = 41, 60

    def write(path):
        for rank in range(48):
            events = []
            for step in range(alone + 48):
                last = slow if step < alone else step - alone
                begin, kernel = 10_000 * step, 2000 if rank != last else 5000 if step < alone else 2100
                work = {"pid": 0, "tid": 7, "ph": "X", "cat": "kernel"}
                collective = {"Collective name": "allreduce", "In msg nelems": 64, "Group size": 48, "Process Group Name": "0",
                              "dtype": "Float", "Process Group Ranks": str(list(range(48))), "Seq": step}
                events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                            "ts": begin, "dur": 9000},
                           {**work, "name": "gemm", "ts": begin, "dur": kernel, "args": {}},
                           {**work, "name": "ncclDevKernel_AllReduce", "ts": begin + kernel, "dur": 6000 - kernel, "args": collective}]
            (path / f"rank{rank}.json").write_text(json.dumps(
                {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 48}, "traceEvents": events}))
    job = Folder(gpu_tracker, tmp_path, write)
    assert f"rank {slow} makes the others wait" in job.page
    for picture in *PICTURES[:4], PICTURES[5]:
        shown = {re.split("[,:]", title)[0].removesuffix(" *") for title in job.titles(picture)} - {"all ranks"}
        assert len(shown) == 32 and f"rank {slow}" in shown, picture


def test_without_gpus_the_page_says_so(gpu_tracker, tmp_path):
    def write(path):
        (path / "a.json").write_text(json.dumps({"traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "<b>aten</b>", "pid": 1, "tid": 1, "ts": 5, "dur": 10}]}))
    job = Folder(gpu_tracker, tmp_path, write)
    head = job.page[:job.page.index("<h2>")]
    assert "what GPUs did is not known" in head and "no work of a GPU in the traces: all on CPUs" in head
    assert "nothing that costs" not in job.page and not any(title in job.page for title in PICTURES)


def test_data_are_as_before(job):
    assert list(job.report) == ["sources", "ranks", "steps", "findings", "left_out"]


def test_the_summary_is_the_verdict(job):
    lines = job.profile("--format=summary").splitlines()
    assert len(lines) <= 25 and all(len(line) <= 78 for line in lines)
    assert lines[0].startswith("gpu-tracker  job: 6 ranks") and "GPUs compute" in lines[0]
    assert any("makes the others wait" in line for line in lines)


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 800, 1400])
def test_the_page_fits_and_loads_nothing(job, width, dark):
    with Browser(job.path, width=width, dark=dark) as page:
        assert page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 1
        assert page.value("document.querySelectorAll('.rows').length") == len(PICTURES)
        rows = "[...document.querySelectorAll('.rows .row:not(.axis) svg')]"
        assert page.value(f"{rows}.every(row => row.getBoundingClientRect().width > 200)")
        above = "label => label.getBoundingClientRect().bottom <= label.parentElement.querySelector('svg').getBoundingClientRect().top + 1"
        assert page.value(f"[...document.querySelectorAll('.rows em')].map({above}).join()") == "true,true"
        assert page.value("document.querySelectorAll('.warnings a').length") == len(job.report["findings"])
        assert not page.said and len(page.requests) == 1


@needs_browser
def test_numbers_are_whole_on_paper(job):
    """Those of bars are no higher than a bar, and those of axes than what is seen of an axis."""
    with Browser(job.path) as page:
        page.call("Emulation.setEmulatedMedia", media="print")
        for number in "b", ".axis i":
            within = """number => {
                const range = document.createRange();
                range.selectNodeContents(number);
                const text = range.getBoundingClientRect(), row = number.parentElement.getBoundingClientRect();
                return text.top >= row.top - 1 && text.bottom <= row.bottom + 1;
            }"""
            assert page.value(f"document.querySelectorAll('.rows {number}').length") > 4
            assert page.value(f"[...document.querySelectorAll('.rows {number}')].every({within})"), number


def test_what_gpus_do_is_drawn_by_one_clock(gpu_tracker, tmp_path):
    """The clock of one rank is 50 ms ahead."""
    def write(path):
        Job(path, 2, 6, 24, 2).write()
        trace = json.loads((path / "rank1.json").read_text())
        for event in trace["traceEvents"]:
            event["ts"] += 50_000
        (path / "rank1.json").write_text(json.dumps(trace))
    page = Folder(gpu_tracker, tmp_path, write)
    work = json.loads((page.folder / "rank0.json").read_text())["traceEvents"]
    work = [event for event in work if event.get("cat") in ("kernel", "gpu_memcpy")]
    length = max(event["ts"] + event["dur"] for event in work) - min(event["ts"] for event in work)
    spans = [re.search(r"([\d.]+ [mu]s) to ([\d.]+ [mu]s)", title) for title in page.titles("What GPUs do over time")]
    drawn = max(microseconds(span[2]) for span in spans if span) - min(microseconds(span[1]) for span in spans if span)
    assert drawn == pytest.approx(length, rel=0.05)
