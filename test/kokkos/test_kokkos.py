"""Blocks of a program with a real Kokkos, as Debian's Trilinos has it (make test-kokkos installs that)."""
import pathlib
import sqlite3
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
LIBRARY = HERE.parents[1] / "build/lib/gpu-tracker/libgputracker-blocks.so"
INCLUDE = "/usr/include/trilinos"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    path = tmp_path_factory.mktemp("kokkos") / "kernels"
    compile = ["g++", "-O1", "-std=c++17", "-I", INCLUDE, HERE / "kernels.cpp", "-o", path, "-ltrilinos_kokkoscore", "-ldl"]
    subprocess.run(compile, check=True)
    return path


@pytest.mark.parametrize("variable", ["KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"])
def test_kernels_are_blocks(gpu_tracker, kernels, tmp_path, monkeypatch, variable):
    """Versions before 3.7 know the second variable only, which is set by hand; the run says so."""
    if variable != "KOKKOS_TOOLS_LIBS":
        monkeypatch.setenv(variable, str(LIBRARY))
    run = [gpu_tracker, "run", "--quiet", "--no-history", "--blocks-from=kokkos", "--tf=run.sqlite", "--", kernels]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "499500\n"), done.stderr
    if f"takes KOKKOS_PROFILE_LIBRARY={LIBRARY}" in done.stderr:
        assert variable == "KOKKOS_TOOLS_LIBS"
        pytest.skip("this Kokkos is older than 3.7")
    with sqlite3.connect(tmp_path / "run.sqlite") as file:
        counted = "SELECT code_block_name, sum(position = 0), sum(position = 1) FROM blocks GROUP BY 1"
        found = {name: counts for name, *counts in file.execute(counted)}
    expected = {"solve": [1, 1], 'fill, "all"': [5, 5], "sum": [5, 5], "scan": [1, 1]}
    assert {name: found.get(name) for name in expected} == expected
