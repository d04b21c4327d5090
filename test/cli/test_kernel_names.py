"""Names of kernels: people see them cut, behind the figures; data have all of them."""
import csv
import html
import io
import json
import subprocess

import pytest

NAME = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"
CUT = "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, array<…>>"


@pytest.fixture
def kernels(gpu_tracker, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"distributedInfo": {"rank": 0}, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": 10}
        for name, start in ((NAME, 0), (NAME, 20), ("ampere_sgemm_128x64_nn", 40))]}))

    def run(*options, analysis="kernels", paths=(path,), **environment):
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **environment}
        return subprocess.run([gpu_tracker, "profile", analysis, *paths, *options], capture_output=True, text=True, check=True,
                              encoding="utf-8", env=environment).stdout
    run.path = path
    return run


def test_text_cuts_names_and_has_figures_first(kernels):
    title, first, second = kernels().splitlines()[1:4]
    assert title.split()[0] == "node" and title.endswith("name")
    assert first.endswith("  " + CUT) and second.endswith("  ampere_sgemm_128x64_nn")


def test_without_utf8_three_dots_stand_there(kernels):
    assert CUT.replace("…", "...") in kernels(LC_ALL="C")


def test_data_have_whole_names_in_their_place(kernels):
    assert json.loads(kernels("--format=json"))["kernels"][0]["name"] == NAME
    rows = list(csv.reader(io.StringIO(kernels("--format=csv"))))
    assert any(NAME in row for row in rows)
    assert not any(CUT in cell for row in rows for cell in row)


def test_pages_tell_whole_names_on_hover(kernels):
    page = html.unescape(kernels("--format=html"))
    assert f'title="{NAME}"' in page and f">{CUT}</td>" in page
    assert page.count(' title="') == 1


def test_differences_cut_names_too(kernels):
    assert CUT in kernels(analysis="diff", paths=(kernels.path, kernels.path))


def test_thousands_are_set_apart_for_people_alone(kernels):
    kernels.path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "long", "pid": 0, "tid": 7, "ts": 0, "dur": 1234567500.5},
        {"ph": "X", "cat": "kernel", "name": "short", "pid": 0, "tid": 7, "ts": 2000000000, "dur": 123456789}]}))
    text = kernels()
    assert "total (s)" in text and " 1,234.568 " in text and "1234" not in text and " 123.457 " in text
    assert "1234567500.5" in kernels("--format=csv") and json.loads(kernels("--format=json"))["kernels"][0]["total_us"] == 1234567500.5
    assert ">1,235.0<" in kernels("--format=html")


@pytest.mark.parametrize(("length", "unit", "shown"), [(0.25, "ns", "250.0"), (12.5, "us", "12.5"), (99999, "ms", "99.999"),
                                                       (2500000, "s", "2.5")])
def test_columns_of_times_have_the_unit_that_suits_them(kernels, length, unit, shown):
    kernels.path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": length}]}))
    title, row = kernels().splitlines()[1:3]
    assert f"total ({unit})  percent  mean ({unit})  min ({unit})" in title and f" {shown} " in row
    row, = json.loads(kernels("--format=json"))["kernels"]
    assert row["total_us"] == row["mean_us"] == length
    assert "total_us" in kernels("--format=csv").splitlines()[0]
