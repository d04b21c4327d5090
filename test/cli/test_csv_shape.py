"""CSV of an analysis is one table of one shape, whatever the trace."""
import csv
import io
import json
import pathlib
import re
import subprocess

import pytest
from traced_job import Job

LIST = pathlib.Path(__file__).parents[2] / "lib/analyse/trace/analysis.def"
ANALYSES = re.findall(r"^ANALYSIS\((\w+)\)", LIST.read_text(), re.MULTILINE)
CPU = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 10}


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A job, one of its ranks whole, cut off and torn, a trace of one operator, and one of nothing."""
    folder = tmp_path_factory.mktemp("shapes")
    Job(folder / "job", 2, 6, 12, 2).write()
    text = (folder / "job/rank0.json").read_text()
    middle = len(text) // 2
    for name, content in {"whole": text, "cut": text[:middle], "torn": text[:middle] + '{"ph": "X", "cat: #' + text[middle + 300:],
                          "cpu": json.dumps({"traceEvents": [CPU]}), "empty": '{"traceEvents": []}'}.items():
        (folder / f"{name}.json").write_text(content)
    return [folder / "job", *sorted(folder.glob("*.json"))]


@pytest.mark.parametrize("analysis", [name for name in ANALYSES if name != "health"])  # which is of recordings
def test_csv_has_one_shape(gpu_tracker, traces, analysis):
    headings = set()
    for trace in traces:
        words = {"diff": [trace, trace], "sequences": [trace, "--operator=aten::mm"]}.get(analysis, [trace])
        done = subprocess.run([gpu_tracker, "profile", analysis, *words, "--format=csv"], capture_output=True, text=True, check=False)
        rows = list(csv.reader(io.StringIO(done.stdout)))
        nothing = [4] if trace.name == "empty.json" else [0] if analysis in ("overview", "advice", "diff") else [0, 4]
        assert done.returncode in (nothing if len(rows) == 1 else [0]), done.stderr
        assert rows and len({len(row) for row in rows}) == 1, trace
        headings.add(tuple(rows[0]))
        assert len(rows) > 1 or done.stderr  # why there is nothing
    assert len(headings) == 1 and "key" not in headings.pop()


def test_a_chosen_table_has_one_shape(gpu_tracker, traces):
    headings = {subprocess.run([gpu_tracker, "profile", trace, "--format=csv", "--table=ranks"], capture_output=True, text=True,
                               check=trace.name != "empty.json").stdout.splitlines()[0] for trace in traces}
    assert len(headings) == 1 and headings.pop().startswith("node,steps,step_us,")
