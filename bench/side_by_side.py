"""Everyday programs under both packages at once: gpu-tracker and gpu_tracker 5.0.1, attached to one run, and what is true of it.

Makes its own environments under build/side-by-side at the first time (PyTorch takes 5 GB). A job waits until both trackers and a
third process look at it: that one adds up the proportional set sizes of all its processes every few milliseconds (bench_pss.c).
CPU time is the kernel's, of the job and all its processes, which a subreaper waits for; time is that of the clock on the wall.
"""
import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import time

from measure import BUILD, ROOT, machine, table

HERE = ROOT / "bench"
HOME = BUILD / "side-by-side"
PYTHON = HOME / "base" / "bin" / "python"
PACKAGES = {"ours": ["--no-deps", str(ROOT)], "original": ["-r", str(ROOT / "tools" / "requirements-original.txt")]}
JOBS = {"scikit-learn grid search, loky": ["grid_search"], "PyTorch DataLoader, 2 workers": ["data_loader"],
        "Pool, fork": ["pool", "fork"], "Pool, spawn": ["pool", "spawn"], "Pool, forkserver": ["pool", "forkserver"],
        "pytest -n 2": ["xdist"], "notebook under nbclient": ["notebook"]}
PR_SET_CHILD_SUBREAPER = 36


def install():
    """An environment for the jobs, and a folder for each package, which its tracker alone imports."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME / "base")], check=True)
    pip = [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(ROOT / "tools" / "requirements-side-by-side.txt")], check=True)
    for name, words in PACKAGES.items():
        if name == "ours" or not (HOME / name).exists():
            subprocess.run([*pip, "--upgrade", "--target", str(HOME / name), *words], check=True)


def launch(words):
    """In a process of its own: run a job when a line comes in, and print what it took."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    job = subprocess.Popen(["/bin/sh", "-c", 'read go; exec "$@" </dev/null', "job", *words], stdout=subprocess.DEVNULL)
    print(job.pid, flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    status = job.wait()
    seconds = time.monotonic() - begin
    try:
        while True:
            os.waitpid(-1, 0)  # of processes that outlived it
    except ChildProcessError:
        pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"status": status, "began": begin, "time": seconds, "cpu": used.ru_utime + used.ru_stime}))


def start(words, **environment):
    return subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def measure(job, period):
    """{"true", "ours", "original": {"peak", "cpu", "time"}} of one run."""
    launcher = start([sys.executable, __file__, "--launch", PYTHON, HERE / "side_by_side_jobs.py", *job])
    pid = launcher.stdout.readline().strip()
    trackers = {name: start([PYTHON, HERE / "side_by_side_attach.py", pid, period], PYTHONPATH=str(HOME / name)) for name in PACKAGES}
    for tracker in trackers.values():
        assert tracker.stdout.readline() == "ready\n"
    truth = start([BUILD / "bench" / "bench_pss", pid, 2])
    time.sleep(0.2)
    took = json.loads(launcher.communicate("go\n")[0])
    assert took["status"] == 0
    found = {name: json.loads(tracker.communicate()[0]) for name, tracker in trackers.items()}
    for tracked in found.values():
        tracked["time"] -= took["began"] - tracked["began"]  # until the others were ready, too
    pss = json.loads(truth.communicate()[0])
    return {"true": {**took, "peak": pss["peak"]}, **found}


def row(name, runs):
    """The medians of the runs; each package's as a figure and what it is off by."""
    cells = [name]
    for key, scale, digits in (("peak", 1e6, 0), ("cpu", 1, 1), ("time", 1, 1)):
        def middle(who, key=key):
            return sorted(run[who][key] for run in runs)[len(runs) // 2]

        true = middle("true")
        cells.append(f"{true / scale:,.{digits}f}")
        cells += [f"{middle(who) / scale:,.{digits}f} ({100 * (middle(who) / true - 1):+.0f} %)" for who in PACKAGES]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launch", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.add_argument("--period", type=float, default=1.0, help="seconds between samples, of both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--job", choices=JOBS, action="append", help="only this one")
    arguments = parser.parse_args()
    if arguments.launch:
        return launch(arguments.launch)
    install()
    print(f"Both attached to the same runs, a sample every {arguments.period:g} s, medians of {arguments.rounds}. {machine()}\n")
    rows = [row(name, [measure(JOBS[name], arguments.period) for _ in range(arguments.rounds)]) for name in arguments.job or JOBS]
    table(["job", "peak RAM, MB", "ours", "original", "CPU, s", "ours", "original", "time, s", "ours", "original"], rows)


main()
