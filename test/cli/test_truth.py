"""What the report says, against programs whose memory, CPU time and processes are known (test/truth)."""
import csv
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import pytest
from patience import given_longer, least

BYTES = ("--ram-unit", "bytes", "--time-unit", "seconds")
LIBRARIES = 2e6  # a small program's own pages: C library, stack


@pytest.fixture
def measure(track, truth):
    """measure("burn", 1, 0.5, 100, options=[...]): (the report, the truth)."""

    def run(name, *arguments, options=()):
        done, report = track(truth(name, *arguments), *BYTES, *options)
        assert done.returncode == 0, done.stderr
        return report, json.loads(done.stdout.splitlines()[-1])

    return run


def about(truth, share=0.0, plus=0.0):
    return pytest.approx(truth, rel=share, abs=max(share * truth, plus))


def test_spike_between_samples(measure):
    report, truth = measure("allocate", 500, 50, options=["--sleep-time", "20"])
    for scope in ("main", "combined"):
        assert truth["peak_bytes"] <= report["max_ram"][scope]["total_rss"] <= truth["peak_bytes"] + LIBRARIES
    group = report["memory_peak"]["control_group"]
    assert group is None or group >= truth["peak_bytes"]


def test_spike_in_a_child_between_samples(track, truth):
    command = ["/bin/sh", "-c", " ".join(truth("allocate", 300, 50)) + "; sleep 0.2"]
    done, report = track(command, *BYTES, "--sleep-time", "20")
    peak = json.loads(done.stdout)["peak_bytes"]
    assert peak <= report["max_ram"]["combined"]["total_rss"] <= peak + 2 * LIBRARIES
    assert peak <= report["max_ram"]["descendants"]["total_rss"] <= peak + 2 * LIBRARIES


@pytest.mark.parametrize("sleep_time", ["1", "0.05"])
def test_duty_cycle(measure, sleep_time):
    def what_is_added_to_its_time():
        report, truth = measure("burn", 1, 0.5, 333, options=["--sleep-time", sleep_time])
        assert report["cpu_time"]["main"] == about(truth["cpu_seconds"], share=0.02, plus=0.01)
        time = report["compute_time"]["time"]
        assert report["cpu_utilization"]["main"]["mean_sum_percent"] == about(100 * report["cpu_time"]["main"] / time, plus=1)
        assert time >= truth["elapsed"]
        return time - truth["elapsed"]

    assert least(what_is_added_to_its_time, 0.25) < 0.25


@pytest.mark.parametrize("count, each", [(200, 2), (50, 10)])
def test_short_children(measure, count, each):
    report, truth = measure("children", count, each, options=["--sleep-time", "1"])
    assert report["cpu_time"]["combined"] == about(truth["cpu_seconds"], share=0.01, plus=0.01)
    assert report["cpu_time"]["descendants"] == about(truth["children_seconds"], share=0.01, plus=0.01)


@pytest.mark.skipif(os.geteuid() != 0, reason="exit records are for root")
def test_children_that_nobody_waits_for(measure):
    report, truth = measure("children", 20, 20, "ignored", options=["--sleep-time", "1"])
    assert truth["children_seconds"] < 0.1
    assert report["cpu_time"]["descendants"] == about(truth["own_clock_seconds"], share=0.02, plus=0.04)


@pytest.mark.parametrize("adopter", [
    "subreaper", pytest.param("namespace", marks=pytest.mark.skipif(os.geteuid() != 0, reason="PID namespaces are for root"))])
def test_orphans_that_a_process_of_the_job_adopts(measure, adopter):
    report, truth = measure("adopt", adopter, 3, 100, 250, options=["--sleep-time", "0.1"])
    assert report["cpu_time"]["combined"] == about(truth["cpu_seconds"], share=0.02, plus=0.02)
    assert report["input_output"]["read_characters"] == about(truth["read_characters"], share=0.05)


def test_what_was_read_and_written_never_falls(track, tmp_path):
    path = tmp_path / "a.sqlite"
    script = "dd if=/dev/zero of=/dev/null bs=1M count=20 2>/dev/null; sleep 1.5; exit 0"
    done, report = track(["sh", "-c", script], "--sleep-time", "0.3", "--tf", path)
    assert done.returncode == 0
    for name in ("read_characters", "written_characters"):
        rows = [row[0] for row in sqlite3.connect(path).execute(f"SELECT combined_{name} FROM data")]
        rows.append(report["input_output"][name])
        assert rows == sorted(rows)
    assert report["input_output"]["read_characters"] > 20 << 20


def test_tree_of_processes(measure):
    report, truth = measure("tree", 2, 3, 500, 5, options=["--sleep-time", "0.1"])
    assert report["processes"]["max"] == truth["processes"]
    assert report["max_ram"]["combined"]["total_rss"] == about(truth["bytes"], share=0.02, plus=2 * LIBRARIES)
    assert report["cpu_utilization"]["combined_n_threads"] == truth["processes"]


def steady_ram(path):
    """The median of the job's RAM over the last half of a recording: readings of smaps_rollup need their time."""
    with open(path, newline="") as lines:
        next(lines), next(lines)
        values = [float(row["combined_ram"]) for row in csv.DictReader(lines)]
    return statistics.median(values[len(values) // 2:])


@pytest.mark.parametrize("case", ["cow", "anonymous", "tmpfs", "siblings", "file", "mixed", "dirty"])
def test_shared_memory_is_counted_once(measure, tmp_path, case):
    def check(milliseconds):
        recording = tmp_path / "recording.csv"
        report, truth = measure("share", case, 40, milliseconds,
                                options=["--sleep-time", "0.1", "--overwrite", "--tracking-file", str(recording)])
        assert steady_ram(recording) == about(truth["bytes"], share=0.02, plus=LIBRARIES)
        assert report["max_ram"]["combined"]["total_rss"] >= 0.98 * truth["bytes"]

    given_longer(check, 2500, 10_000, 30_000)


def test_shared_memory_while_every_core_is_taken(measure, tmp_path):
    recording = tmp_path / "recording.csv"

    def check(milliseconds):
        _, truth = measure("share", "dirty", 40, milliseconds,
                           options=["--sleep-time", "0.1", "--overwrite", "--tracking-file", str(recording)])
        assert steady_ram(recording) == about(truth["bytes"], share=0.02, plus=LIBRARIES)

    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(processors)])  # all that the job may use: the others are for other tests
    busy = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(2)]
    try:
        given_longer(check, 4000, 10_000, 20_000, 30_000)
    finally:
        os.sched_setaffinity(0, processors)
        for process in busy:
            process.kill()
            process.wait()


def test_threads(measure):
    report, truth = measure("threads", 50, 400, options=["--sleep-time", "0.1"])
    assert report["cpu_utilization"]["main_n_threads"] == truth["threads"]
    assert report["cpu_utilization"]["combined_n_threads"] == truth["threads"]


def test_daemon_stays_in_the_job(measure):
    report, truth = measure("daemonize", 50, 0.5, 0, options=["--sleep-time", "0.1", "--wait", "all"])
    assert report["max_ram"]["descendants"]["total_rss"] == about(truth["bytes"], share=0.02, plus=LIBRARIES)
    assert report["cpu_time"]["descendants"] == about(truth["cpu_seconds"], plus=0.02)


@pytest.fixture
def mapper(tmp_path):
    """A program that maps the files that it is given, and one that has two others map one each."""
    source = tmp_path / "mapper.py"
    source.write_text('''
import mmap, os, subprocess, sys, time
if sys.argv[1] == "both":
    children = [subprocess.Popen([sys.executable, "-S", __file__, path]) for path in sys.argv[2:]]
    sys.exit(max(child.wait() for child in children))
with open(sys.argv[1], "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
    sum(memory[at] for at in range(0, len(memory), 4096))
    time.sleep(0.3)
''')
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_bytes(os.urandom(100 << 20))
    return [sys.executable, "-S", str(source), "both", *map(str, paths)]


def test_programs_that_map_different_files(track, mapper):
    def missed():
        peak = track(mapper, *BYTES)[1]["memory_peak"]["combined"]
        assert peak["upper"] is None or peak["best"] <= peak["upper"]
        return abs(peak["best"] - 220e6) / 220e6 - 0.12

    assert least(missed, 0) <= 0


SHARED = '''
import mmap, os, time
memory = mmap.mmap(-1, 100 << 20)
for at in range(0, len(memory), 4096):
    memory[at] = 1
for worker in range(4):
    if os.fork() == 0:
        for at in range(0, len(memory), 4096):
            memory[at]
            if at % (1 << 20) == 0:
                time.sleep(0.005)
        time.sleep(0.5)
        os._exit(0)
for worker in range(4):
    os.wait()
'''


def test_workers_that_walk_through_one_shared_memory(track):
    """Each comes to have all of it, by and by, while others read how much there is."""
    peak = track([sys.executable, "-S", "-c", SHARED], *BYTES)[1]["memory_peak"]
    assert peak["combined"]["best"] == about(100 * 2**20 + 15e6, share=0.1)


def test_a_daemon_shares_what_its_grandparent_had(measure):
    report, truth = measure("daemonize", 20, 0.5, 1500, 200, options=["--sleep-time", "0.1", "--wait", "all"])
    peak, whole = report["memory_peak"]["combined"], 200e6 + truth["bytes"]
    assert peak["best"] == about(whole, share=0.02, plus=2 * LIBRARIES)


def test_child_that_outlives_its_parent(measure):
    report, truth = measure("orphan", 50, 800, 200, options=["--sleep-time", "0.1", "--wait", "all"])
    assert truth["main_ended"]
    assert report["max_ram"]["descendants"]["total_rss"] == about(truth["bytes"], share=0.02, plus=LIBRARIES)


def test_time_of_the_command(track):
    def slept(seconds):
        time = track(["/bin/sleep", str(seconds)], *BYTES, "--sleep-time", "1")[1]["compute_time"]["time"]
        assert time >= seconds
        return time

    for seconds in (0.0, 0.95):
        assert least(lambda: slept(seconds), seconds + 0.1) < seconds + 0.1  # noqa: B023


def as_somebody(command):
    """The command as a user who may read no exit records, when the tests are root's."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]


@pytest.fixture(params=["as we are", "as somebody"])
def peak(request, gpu_tracker, truth):
    """peak(options, "workers", ...): (the report's figures of memory, the truth)."""
    if request.param == "as somebody" and os.geteuid() != 0:
        pytest.skip("we are no root")
    wrap = as_somebody if request.param == "as somebody" else list

    def run(options, name, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            line = wrap([gpu_tracker, "run", *BYTES, *options, "--format", "json", "--output", "report.json", "--",
                         *truth(name, *arguments)])
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stderr
            with open(folder + "/report.json", encoding="utf-8") as report:
                return json.load(report), json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.parametrize("peak, sleep_time", [
    ("as we are", "0.1"), ("as somebody", "1"),
    pytest.param("as we are", "1", marks=pytest.mark.long), pytest.param("as somebody", "0.1", marks=pytest.mark.long),
], indirect=["peak"])
@pytest.mark.parametrize("parent, count, each, hold, how", [
    (600, 4, 60, 1500, "fork"),   # beside a large parent, whose memory they share
    (50, 4, 100, 300, "fork"),    # short-lived ones
    (100, 4, 50, 300, "exec"),    # other programs
    (100, 4, 50, 300, "server"),  # of a helper
    (400, 3, 40, 300, "churn"),   # that use memory again and again
])
def test_workers_beside_a_parent(peak, sleep_time, parent, count, each, hold, how):
    def check(hold):
        report, truth = peak(["--sleep-time", sleep_time], "workers", parent, count, each, hold, how)
        combined, bounds = report["max_ram"]["combined"], report["memory_peak"]["combined"]
        # Without a group of its own, memory used again and again looks like copied pages between two readings.
        share = 0.02 if "control group" in report["memory_peak"]["method"] else 0.04
        assert combined["total_rss"] == about(truth["bytes"], share, plus=2 * LIBRARIES)
        assert report["max_ram"]["descendants"]["total_rss"] == about(truth["descendants"], 0.04, plus=2 * LIBRARIES)
        assert combined["private_rss"] + combined["shared_rss"] == pytest.approx(combined["total_rss"])
        assert report["max_ram"]["descendants"]["private_rss"] is not None
        assert bounds["best"] == combined["total_rss"]
        if bounds["upper"] is not None:  # without exit records high-water marks of processes that ended are unknown
            assert bounds["upper"] >= max(combined["total_rss"], truth["bytes"])
        assert (report["memory_peak"]["largest_sample"] or 0) <= combined["total_rss"]

    given_longer(check, hold, 5 * hold, 20 * hold)


# They write to what is the parent's, so that no resident set grows.
def test_workers_that_copy_on_write(peak):
    def check(milliseconds):
        report, truth = peak(["--sleep-time", "0.1"], "workers", 200, 4, 50, milliseconds, "touch")
        assert report["max_ram"]["combined"]["total_rss"] == about(truth["bytes"], share=0.05)
        assert (report["memory_peak"]["combined"]["upper"] or float("inf")) >= truth["bytes"]

    given_longer(check, 1500, 10_000, 30_000)


OWN_GROUP = pytest.mark.skipif(os.geteuid() != 0 or not os.access("/sys/fs/cgroup/memory/memory.stat", os.R_OK),
                               reason="no control group of its own that counts memory can be made here")


SNAPSHOT = r'''
import mmap, os, time
memory = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
write = lambda end: [memory.__setitem__(i, 1) for i in range(0, end, 4096)]
write(len(memory))
if os.fork() == 0:
    time.sleep(SECONDS)
    os._exit(0)
write(120 << 20)
os.wait()
'''


@OWN_GROUP
def test_a_snapshot_while_its_parent_writes(track):
    """No resident set grows."""
    def check(seconds):
        report = track([sys.executable, "-S", "-c", SNAPSHOT.replace("SECONDS", str(seconds))], *BYTES,
                       "--sleep-time", "0.1")[1]
        peak = report["memory_peak"]["combined"]
        assert peak["best"] == about(320 << 20, share=0.02, plus=15e6)
        assert "memory.stat" in report["provenance"]["max_ram.combined.total_rss"]["source"]

    given_longer(check, 2, 10, 30)


FORKS = r"""
import mmap, os, sys, time
count, written, inherited, after, hold = map(float, sys.argv[1:])
memory = mmap.mmap(-1, int(inherited) << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
write = lambda megabytes: [memory.__setitem__(at, 1) for at in range(0, int(megabytes) << 20, 4096)]
write(inherited)
for _ in range(int(count)):
    if os.fork() == 0:
        time.sleep(after)
        write(written)
        time.sleep(hold)
        os._exit(0)
for _ in range(int(count)):
    os.wait()
"""


@pytest.mark.parametrize("who", ["as we are", "as somebody"])
def test_forked_processes_write_to_inherited_memory_for_a_moment(gpu_tracker, tmp_path, who):
    """No resident set changes and no process begins, and all is over before a second reading of everything."""
    count, written, inherited = 3, 150, 200
    if who == "as somebody" and (os.geteuid() != 0 or not os.access("/usr/bin/python3", os.X_OK)):
        pytest.skip("we are not root, or there is no Python for others")
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o011)

    def check(hold):
        line = [gpu_tracker, "run", *BYTES, "--sleep-time", "10", "--format", "json", "--output", "report.json", "--",
                "/usr/bin/python3", "-S", "-c", FORKS, *map(str, (count, written, inherited, 0.2, hold))]
        subprocess.run(as_somebody(line) if who == "as somebody" else line, cwd=tmp_path, check=True, capture_output=True, timeout=120)
        peak = json.loads((tmp_path / "report.json").read_text())["memory_peak"]
        (tmp_path / "report.json").unlink()
        assert peak["combined"]["best"] == about((inherited + count * written) << 20, share=0.03, plus=15e6)
        assert peak["descendants"]["best"] == about((count * written + inherited - written) << 20, share=0.06, plus=15e6)
        assert peak["largest_sample"] is None

    given_longer(check, 0.2, 0.3, 0.5)


@OWN_GROUP
def test_an_orphan_does_not_double_the_bound(track):
    program = ("import os, time\n"
               "memory = bytearray(b'a') * 200_000_000\n"
               "if os.fork() == 0: time.sleep(1); os._exit(0)\n"
               "time.sleep(0.3)\n")
    report = track([sys.executable, "-S", "-c", program], *BYTES, "--wait", "all")[1]
    peak = report["memory_peak"]["combined"]
    assert 200e6 < peak["best"] <= peak["upper"] < 240e6


@OWN_GROUP
def test_tmpfs_that_no_process_maps_counts_for_the_next_request(track):
    path = f"/dev/shm/gpu-tracker-test-{os.getpid()}"
    try:
        report = track(["/bin/sh", "-c", f"head -c 1000000000 /dev/zero > {path}; sleep 1"], *BYTES, "--sleep-time", "0.1")[1]
    finally:
        os.unlink(path)
    assert report["max_ram"]["combined"]["total_rss"] < 10e6
    assert 1e9 < report["next_time"]["memory"] < 2e9


# A shell's child has the shell's memory until it executes its program: from a large parent that would be much.
@pytest.mark.parametrize("way", ["fork", "vfork"])
def test_the_launch_of_a_small_program_from_a_large_one(gpu_tracker, tmp_path, way):
    program = ("import os, subprocess\n"
               "memory = bytearray(400_000_000)\n"
               f"subprocess._USE_VFORK = {way == 'vfork'}\n"
               "for i in range(20): subprocess.run(['/bin/sleep', '.02'], close_fds=False)\n")
    line = [gpu_tracker, "run", *BYTES, "--sleep-time", "0.001", "--format", "json", "--output", "report.json", "--",
            sys.executable, "-S", "-c", program]
    subprocess.run(line, cwd=tmp_path, check=True, timeout=120, capture_output=True)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["max_ram"]["descendants"]["total_rss"] < 20e6
    assert report["max_ram"]["main"]["total_rss"] > 400e6
    assert report["max_ram"]["combined"]["total_rss"] < 450e6


def test_a_process_whose_first_thread_has_ended(peak):
    def check(milliseconds):
        report, truth = peak(["--sleep-time", "0.05"], "headless", 80, milliseconds)
        assert report["compute_time"]["time"] >= truth["seconds"]
        assert report["memory_peak"]["combined"]["best"] == about(truth["bytes"], share=0.02, plus=LIBRARIES)
        assert report["memory_peak"]["largest_sample"] == about(truth["bytes"], share=0.02, plus=LIBRARIES)
        assert report["processes"] == {"max": 1, "started": 1}

    given_longer(check, 500, 5000, 20_000)


def test_a_program_that_another_thread_than_the_first_executes(measure, tmp_path):
    recording = tmp_path / "a.sqlite"

    def check(milliseconds):
        _, truth = measure("headless", 80, milliseconds, "exec",
                           options=["--sleep-time", "0.05", "--overwrite", "--tracking-file", str(recording)])
        rows = sqlite3.connect(recording).execute("SELECT combined_n_threads, combined_processes, combined_ram FROM data").fetchall()
        assert {row[:2] for row in rows[2:-1]} == {(1, 1)}  # it may end while the last one is taken
        assert rows[3 * len(rows) // 4][2] == about(truth["bytes"], share=0.02, plus=LIBRARIES)

    given_longer(check, 500, 5000, 20_000)


def test_threads_between_samples(measure):
    report, truth = measure("threads", 50, 50, options=["--sleep-time", "20"])
    if os.geteuid() == 0:  # the kernel tells of each
        assert report["cpu_utilization"]["main_n_threads"] == truth["threads"]
        assert report["cpu_utilization"]["descendants_n_threads"] == 0
    assert report["cpu_utilization"]["combined_n_threads"] == report["cpu_utilization"]["main_n_threads"]


def test_the_peak_of_a_process_that_hardly_lives(track):
    """Its exit record comes on a way of its own, and may be late."""
    for _ in range(5):
        _, report = track(["/bin/true"], *BYTES, "--detail")
        [process] = report["process_list"]
        best = report["memory_peak"]["combined"]["best"]
        assert report["memory_peak"]["main"]["best"] == best == pytest.approx(process["ram_peak"]) and process["begin"] == 0


def test_the_machine_is_as_busy_as_the_job_in_a_short_run(track):
    script = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    for sleep_time in ("1", "5"):
        _, report = track([sys.executable, "-S", "-c", script], *BYTES, "--sleep-time", sleep_time)
        cpu = report["cpu_utilization"]
        assert cpu["system"]["mean_sum_percent"] > 0.9 * cpu["combined"]["mean_sum_percent"] - 5
        assert cpu["system"]["mean_hardware_percent"] <= 100


def test_the_peak_of_a_short_command_of_a_large_program(peak):
    """What executed us had more memory than the command: the kernel's largest resident set of ours is its."""
    large = bytearray(b"1") * 400_000_000
    report, truth = peak([], "allocate", "60", "1")
    assert len(large) and report["memory_peak"]["main"]["best"] == about(truth["peak_bytes"], share=0.02, plus=2 * LIBRARIES)
    assert report["memory_peak"]["untold_processes"] == 0
    ram = report["max_ram"]
    assert ram["main"]["private_rss"] == ram["combined"]["private_rss"]
