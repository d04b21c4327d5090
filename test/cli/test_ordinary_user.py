"""Jobs without the rights of root: the kernel shows what processes had used and held when they ended to root alone."""
import json
import os
import shutil
import subprocess
import tempfile

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not root, which may become another user")
PYTHON = "/usr/bin/python3"


@pytest.fixture
def as_nobody(gpu_tracker):
    """as_nobody(*words): the report of `run -- words`, in bytes."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        program = shutil.copy(gpu_tracker, place)

        def run(*words):
            done = subprocess.run([program, "run", "--no-history", "--quiet", "--ram-unit", "bytes", "-f", "json", "-o", "report.json",
                                   "--", *words], cwd=place, user="nobody", group="nogroup", extra_groups=[], timeout=120,
                                  capture_output=True, text=True, env={**os.environ, "HOME": place}, check=False)
            assert done.returncode == 0, done.stderr
            with open(os.path.join(place, "report.json"), encoding="utf-8") as file:
                report = json.load(file)
            os.unlink(os.path.join(place, "report.json"))
            return report

        yield run


@pytest.mark.parametrize("ends", [[], ["ignored"]], ids=["waited for", "ignored"])
def test_cpu_time_of_children_is_a_lower_bound(as_nobody, track, truth, ends):
    """The kernel drops what a child used if its parent ignores SIGCHLD, and shows exit records to root alone."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        command = [shutil.copy(truth("children")[0], place), "20", "10", *ends]
        report = as_nobody(*command)
        assert track(command)[1]["cpu_time"]["known"] == "exact"
    assert report["cpu_time"]["known"] == "at least"
    expected = {"cpu_time.main": "exact", "cpu_time.combined": "at least", "cpu_time.descendants": "at least",
                "cpu_utilization.combined.mean_sum_percent": "at least", "page_faults.minor": "at least"}
    assert {figure: report["provenance"][figure]["exactness"] for figure in expected} == expected


def test_a_program_of_one_megabyte(as_nobody):
    for _ in range(3):
        assert 0.8e6 < as_nobody("/bin/true")["max_ram"]["combined"]["total_rss"] < 3e6


@pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no Python that another user may execute")
def test_the_upper_bound_holds_for_children_that_end_unseen(as_nobody):
    """Three children fill 30 MB each for a moment and wait for one another, so all of it is there at once."""
    program = ("import os\n"
               "go, end = os.pipe(), os.pipe()\nready = os.pipe()\n"
               "for _ in range(3):\n"
               "    if not os.fork():\n"
               "        memory = b'x' * 10_000_000\n"
               "        os.close(go[1])\n"
               "        os.close(end[1])\n"
               "        os.write(ready[1], b'x')\n"
               "        os.read(go[0], 1)\n"
               "        memory = b'x' * 30_000_000\n"
               "        os.write(ready[1], b'x')\n"
               "        os.read(end[0], 1)\n"
               "        os._exit(0)\n"
               "for _ in range(3):\n    os.read(ready[0], 1)\n"
               "import time\n"
               "time.sleep(0.4)\n"  # time enough to be met, if not at its most
               "os.close(go[1])\n"
               "for _ in range(3):\n    os.read(ready[0], 1)\n"
               "os.close(end[1])\n"
               "for _ in range(3):\n    os.wait()\n")
    for _ in range(4):
        peak = as_nobody(PYTHON, "-c", program)["memory_peak"]
        assert all(peak[scope]["upper"] is None or peak[scope]["upper"] >= 90e6 for scope in ("combined", "descendants")), peak


@pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="no Python that another user may execute")
def test_shared_memory_counts_once_while_processes_map_it(as_nobody):
    """Processes are read in turn, and four of them map more of it meanwhile. Shared memory of other programs is as large."""
    program = ("import mmap, os, time\n"
               "memory = mmap.mmap(-1, 300 << 20)\n"
               "def walk():\n"
               "    for at in range(0, len(memory), 4096): memory[at] = 1\n"
               "walk()\n"
               "for _ in range(4):\n"
               "    if not os.fork():\n"
               "        walk()\n"
               "        time.sleep(0.5)\n"
               "        os._exit(0)\n"
               "for _ in range(4):\n    os.wait()\n")
    others = os.memfd_create("others")
    try:
        for _ in range(300):
            os.write(others, bytes(1 << 20))
        for _ in range(4):
            peak = as_nobody(PYTHON, "-S", "-c", program)["memory_peak"]["combined"]["best"]
            assert 300 << 20 < peak < 1.02 * (300 << 20) + 15e6
    finally:
        os.close(others)
