"""Without a GPU nothing was measured of one: 0.0 is only where the original has it, in its reports and in its columns."""
import json

import pytest

from test_compare import compare
from test_sub_track import analyze

ORIGINAL = ("main_gpu_ram", "descendants_gpu_ram", "combined_gpu_ram", "system_gpu_ram", "gpu_sum_utilization_percent",
            "gpu_hardware_utilization_percent")


@pytest.fixture
def recording(cli, gpu_tracker):
    """A recording with a block, of a job on a machine without a GPU."""
    inner = f"sleep 0.1; '{gpu_tracker}' block nap -- sleep 0.4"
    done = cli("run", "--blocks", "--disable-logs", "--library=nvml=none", "--st=0.05", "--tf=run.sqlite", "--", "sh", "-c", inner)
    if json.loads(cli("report", "run.sqlite", "-f", "json").stdout)["gpu_utilization"]["system_gpu_count"]:
        pytest.skip("this machine has a GPU")
    assert done.returncode == 0
    return "run.sqlite"


def test_analyses_have_zeros_in_the_originals_formats_alone(cli, recording):
    tree = analyze(cli, f"--tf={recording}")
    for usage in tree["overall"], tree["code_block_results"][0]["resource_usage"]:
        assert all(usage[name][key] == 0.0 for name in ORIGINAL for key in ("min", "max", "mean", "std"))
    text = cli("sub-track", "analyze", f"--tf={recording}").stdout
    for name in ORIGINAL:
        lines = [line.split() for line in text.splitlines() if line.strip().startswith(name)]
        assert len(lines) == 2 and all(set(line[1:]) == {"0.0"} for line in lines)
    table = cli("sub-track", "analyze", f"--tf={recording}", "-f", "csv").stdout.splitlines()
    assert "overall.main_gpu_ram.max,," in table and "overall.main_ram.max,," not in table
    page = cli("sub-track", "analyze", f"--tf={recording}", "-f", "markdown").stdout.replace("\\", "")
    rows = [line for line in page.splitlines() if line.startswith(tuple(f"| {name} " for name in ORIGINAL))]
    assert len(rows) == 2 * len(ORIGINAL)
    assert all(set(row.split("|")[2:-1]) == {" n/a "} for row in rows)


def test_comparisons_have_no_differences_of_what_is_not_there(cli, recording):
    words = ["-m", f"a={recording}", "-m", f"b={recording}"]
    tree = compare(cli, *words)
    for name in ORIGINAL:
        assert tree["overall_resource_usage"][name] == {"a": 0.0, "b": 0.0}
        assert tree["code_block_resource_usage"][name]["nap"] == {"a": 0.0, "b": 0.0}
    for table in "overall_differences", "code_block_differences":
        assert tree[table] and not any("gpu" in row["measurement"] for row in tree[table])
    text = cli("sub-track", "compare", *words).stdout
    assert "Main Gpu Ram:\n\t\t   a   b\n\t\t 0.0 0.0\n" in text and "main_gpu_ram" not in text
    page = cli("sub-track", "compare", *words[:2], "-f", "markdown").stdout
    assert "| n/a |" in page[page.index("Main Gpu Ram"):page.index("Main N Threads")]


def test_a_rule_on_a_gpu_that_is_not_there_is_not_kept(cli, recording):
    done = cli("sub-track", "compare", "-m", f"a={recording}", "--fail-if", "combined_gpu_ram.max>1GB")
    assert done.returncode == 3 and "it was not measured" in done.stderr


def test_one_session_with_a_gpu(cli, tmp_path):
    def results(name, count, ram):
        tree = {"overall": {"combined_gpu_ram": dict.fromkeys(("min", "max", "mean", "std"), ram)}, "code_block_results": [],
                "static_data": {"gpu_ram_unit": "gigabytes", "system_gpu_count": count}, "results_version": 2}
        (tmp_path / name).write_text(json.dumps(tree))

    results("with.json", 1, 0.0)
    results("without.json", 0, 0.0)
    results("more.json", 1, 2.0)
    words = ["-m", "with=with.json", "-m", "more=more.json", "-m", "without=without.json"]
    tree = compare(cli, *words)
    assert tree["overall_resource_usage"]["combined_gpu_ram"] == {"with": 0.0, "without": 0.0, "more": 2.0}
    assert [row["session"] for row in tree["overall_differences"]] == ["more"], "0 was measured there, and 2"
    done = cli("sub-track", "compare", *words, "--fail-if", "combined_gpu_ram.max>1GB")
    assert done.returncode == 3
    assert 'by session "without": it was not measured' in done.stderr and 'by session "more": 2.00 GB is above' in done.stderr
