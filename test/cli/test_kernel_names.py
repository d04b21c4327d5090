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
        {"ph": "X", "cat": "kernel", "name": "long", "pid": 0, "tid": 7, "ts": 0, "dur": 1234567.5},
        {"ph": "X", "cat": "kernel", "name": "short", "pid": 0, "tid": 7, "ts": 2000000, "dur": 123}]}))
    text = kernels()
    assert "1,234,567.5" in text and "1234567" not in text and " 123.0 " in text
    assert "1234567.5" in kernels("--format=csv") and json.loads(kernels("--format=json"))["kernels"][0]["total_us"] == 1234567.5
    assert ">1,234,56" in kernels("--format=html")
