"""A PID namespace whose /proc is another's: nothing is tracked there, with one sentence."""
import json
import subprocess
import sys

import pytest

INSIDE = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]


@pytest.fixture
def inside(tmp_path):
    """inside(words, own_proc=True): run in a new PID namespace, with or without a /proc of its own."""
    def run(words, own_proc=False, prefix=None):
        line = [*(prefix or INSIDE), *(["--mount-proc"] if own_proc else []), *map(str, words)]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    for own_proc in (False, True):
        if run(["true"], own_proc).returncode:
            pytest.skip("this user may not make a PID namespace, or mount in it")
    return run


@pytest.mark.parametrize("words", [
    ["run", "--tf", "t.csv", "-o", "out.json", "--", "touch", "started"],
    ["run", "--blocks", "--tf", "t.csv", "--", "touch", "started"],
    ["-e", "touch started"],
    ["attach", "--tf", "t.csv", "1"],
    ["serve", "--all", "--listen", "127.0.0.1:0"],
    ["serve", "--pid", "1", "--listen", "127.0.0.1:0"],
])
def test_it_is_refused_before_anything_starts(inside, gpu_tracker, tmp_path, words):
    done = inside([gpu_tracker, *words])
    assert done.returncode == 125
    [line] = done.stderr.splitlines()
    assert line.startswith("gpu-tracker: nothing can be tracked: /proc is that of another PID namespace")
    assert "unshare -pf --mount-proc" in line
    assert done.stdout == "" and not list(tmp_path.iterdir())


def test_with_its_own_proc_it_works(inside, gpu_tracker, tmp_path):
    line = [gpu_tracker, "run", "--disable-logs", "-o", "out.json", "--", "sh", "-c", "sleep 0.3; exit 3"]
    assert inside(line, own_proc=True).returncode == 3
    assert json.loads((tmp_path / "out.json").read_text())["processes"]["max"] >= 1


@pytest.mark.parametrize("words", [
    ["run", "--tf", "t.csv", "--", "touch", "started"], ["attach", "1"], ["serve", "--all", "--listen", "127.0.0.1:0"]])
def test_a_proc_without_the_machine_is_refused(gpu_tracker, tmp_path, words):
    mount = 'mount -t proc -o subset=pid proc /proc || exit 77; test ! -e /proc/stat || exit 77; exec "$@"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mount, "sh", gpu_tracker, *words], cwd=tmp_path, capture_output=True,
                          text=True, timeout=120, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may not mount, or this kernel has no such /proc")
    assert done.returncode == 125 and done.stdout == "" and not list(tmp_path.iterdir())
    [line] = done.stderr.splitlines()
    assert line.startswith("gpu-tracker: nothing can be tracked: /proc shows processes alone (subset=pid)")


def test_nested_namespaces(inside, gpu_tracker, tmp_path):
    """The innermost /proc counts, and not how many namespaces are around it."""
    run = [gpu_tracker, "run", "--disable-logs", "-o", "out.json", "--", "sh", "-c", "exit 3"]
    nested = ["unshare", "--pid", "--fork"]
    assert inside([*nested, "--mount-proc", *run], own_proc=True).returncode == 3
    assert inside([*nested, *run], own_proc=True).returncode == 125


def test_children_that_go_elsewhere(inside, gpu_tracker):
    without_fork = [word for word in INSIDE if word != "--fork"]
    done = inside([gpu_tracker, "run", "--tf", "t.csv", "--", "touch", "started"], prefix=without_fork)
    assert done.returncode == 125
    [line] = done.stderr.splitlines()
    assert "may start no threads" in line


def test_the_doctor_tells(inside, gpu_tracker):
    done = inside([gpu_tracker, "doctor", "-f", "json"])
    [source] = [row for row in json.loads(done.stdout)["sources"] if row["source"] == "proc"]
    assert source["state"] == "broken" and "another PID namespace" in source["reason"]


def test_a_stored_machine_can_be_read(inside, gpu_tracker, tmp_path):
    """Its numbers mean nothing here anyway."""
    machine = tmp_path / "machine"
    (machine / "proc" / "7").mkdir(parents=True)
    done = inside([gpu_tracker, "doctor", "--root", machine])
    assert done.returncode == 0
    done = inside([gpu_tracker, "attach", "--root", machine, "7"])
    assert "namespace" not in done.stderr and "process 7" in done.stderr


def test_python(inside, gpu_tracker):
    pytest.importorskip("gpu_tracker")
    program = """if True:
        import errno, os, gpu_tracker
        try:
            with gpu_tracker.Tracker(disable_logs=True):
                pass
        except OSError as error:
            assert error.errno == errno.ENOTSUP, error
            assert "unshare -pf --mount-proc" in str(error)
        else:
            raise SystemExit("not refused")
    """
    done = inside([sys.executable, "-c", program])
    assert done.returncode == 0, done.stdout + done.stderr
