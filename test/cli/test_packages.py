"""CPU energy on a machine with two processor packages, as a user sees it."""
import csv
import json
import pathlib
import shutil
import sqlite3
import threading
import time

import pytest
from patience import undisturbed

TICK = 100
MAIN, STRANGER = 4000, 4001


class Machine:
    """A stored machine that lives: two packages with two CPUs each, a job and a stranger.

    `job` and `stranger` tell on which package they run, None: now here, now there; each uses one CPU all the time.
    The packages draw 20 and 60 W while idle and 10 W more for each busy CPU."""

    IDLE, ACTIVE = (20, 60), 10

    def __init__(self, root, job, stranger, allowed="0-3", has_topology=True):
        self.root, self.place, self.allowed = root, {MAIN: job, STRANGER: stranger}, {MAIN: allowed, STRANGER: "0-3"}
        self.used, self.cpu, self.drawn = {MAIN: 0.0, STRANGER: 0.0}, [0.0] * 4, [100.0, 100.0]
        self.write("proc/meminfo", "MemTotal: 8000000 kB\nMemFree: 4000000 kB\nBuffers: 0 kB\nCached: 0 kB\n")
        for cpu in range(4 * has_topology):
            self.write(f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{cpu // 2}\n")
        for package in range(2):
            self.write(f"sys/class/powercap/intel-rapl:{package}/name", f"package-{package}\n")
            self.write(f"sys/class/powercap/intel-rapl:{package}/max_energy_range_uj", "262143328850\n")
            self.write(f"sys/class/powercap/intel-rapl:{package}:0/name", "core\n")
        self.last, self.longest = time.monotonic(), 0.0
        self.step()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "r+" if path.exists() else "w") as file:  # in place: counters are kept open
            file.write(text)
            file.truncate()

    def step(self):
        now = time.monotonic()
        seconds, self.last = now - self.last, now
        self.longest = max(self.longest, seconds)
        for package in range(2):
            self.drawn[package] += self.IDLE[package] * seconds
        for number, (pid, package) in enumerate(self.place.items()):
            package = int(now / 0.35) % 2 if package is None else package
            self.used[pid] += seconds
            self.cpu[2 * package + number] += seconds
            self.drawn[package] += self.ACTIVE * seconds
            self.write_process(pid, 2 * package + number)
        self.write("proc/stat", f"cpu  {sum(int(c * TICK) for c in self.cpu)} 0 0 100 0 0 0 0 0 0\n" + "".join(
            f"cpu{i} {int(c * TICK)} 0 0 100 0 0 0 0 0 0\n" for i, c in enumerate(self.cpu)) + "intr 1\n")
        for package in range(2):
            for zone, part in ((f"{package}", 1), (f"{package}:0", 0.5)):
                self.write(f"sys/class/powercap/intel-rapl:{zone}/energy_uj",
                           f"{int(self.drawn[package] * part * 1e6):015d}\n")

    def write_process(self, pid, cpu):
        fields = f"S 1 {pid} {pid} 0 -1 0 0 0 0 0 {int(self.used[pid] * TICK)} 0 0 0 20 0 1 0 {1 << 50} 1000 100"
        fields += " 1" * 13 + f" 17 {cpu} 0 0 0 0 0\n"
        status = f"Name:\tjob\nVmHWM:\t400 kB\nVmSwap:\t0 kB\nThreads:\t1\nCpus_allowed_list:\t{self.allowed[pid]}\n"
        for folder in (f"proc/{pid}", f"proc/{pid}/task/{pid}"):
            self.write(f"{folder}/stat", f"{pid} (job) {fields}")
            self.write(f"{folder}/status", status)
        self.write(f"proc/{pid}/statm", "1000 100 10 1 0 20 0\n")

    def live(self):
        while not self.stopping.wait(0.01):
            self.step()
        (self.root / f"proc/{MAIN}/statm").write_text("")
        (self.root / f"proc/{MAIN}/stat").write_text("")
        shutil.rmtree(self.root / f"proc/{MAIN}")

    def stop(self):
        self.stopping.set()
        self.thread.join()


@pytest.fixture
def attach(cli, tmp_path):
    """attach(recording, **machine): the JSON report of a second on such a machine."""

    def run(name, *options, **how):
        return undisturbed(lambda: attempt(name, *options, **how))

    def attempt(name, *options, **how):
        root = tmp_path / "root"
        shutil.rmtree(root, ignore_errors=True)
        for old in tmp_path.glob(f"{pathlib.Path(name).stem}*"):
            old.unlink()
        machine = Machine(root, **how)
        threading.Timer(1.5, machine.stop).start()
        done = cli("attach", str(MAIN), "--root", str(tmp_path / "root"), "--sleep-time", "0.1", "--tf",
                   str(tmp_path / name), "-f", "json", "-o", "-", *options)
        machine.stop()
        assert done.returncode == 0, done.stderr
        times = [float(row["timestamp"]) for row in samples(tmp_path / name)]
        pause = max((later - earlier for earlier, later in zip(times, times[1:])), default=1)
        return json.loads(done.stdout), machine.longest > 0.06 or pause > 0.16

    return run


def samples(path):
    if path.suffix == ".csv":
        with open(path, newline="") as lines:
            next(lines), next(lines)
            return list(csv.DictReader(lines))
    with sqlite3.connect(path) as database:
        return [{"timestamp": moment} for [moment] in database.execute("SELECT timestamp FROM data ORDER BY timestamp")]


def watts(report, part, device="cpu"):
    cpu = report["energy"][device]
    return cpu[part] / cpu["total"] * 100  # of the 100 W that both packages draw


def test_each_package_is_charged_to_who_runs_on_it(attach, cli, tmp_path):
    report = attach("run.sqlite", job=0, stranger=1, allowed="0-1")
    cpu, (first, second) = report["energy"]["cpu"], report["energy"]["packages"]
    assert watts(report, "job") == pytest.approx(30, abs=10) and watts(report, "other") == pytest.approx(70, abs=10)
    assert "each package" in cpu["method"] and cpu["placement_error"] < 0.09 * cpu["job"]
    assert (first["package"], second["package"]) == (0, 1)
    assert first["job"] == pytest.approx(first["total"], rel=0.1)  # the job has ended before the last reading
    assert second["job"] == 0 and second["other"] == pytest.approx(second["total"])
    assert first["bound_time"] == pytest.approx(first["job_time"]) and second["job_time"] == 0
    assert sum(row[part] for row in (first, second) for part in ("job", "other", "idle", "unattributed")) == \
        pytest.approx(cpu["total"])
    assert first["core"] == pytest.approx(first["total"] / 2, rel=0.01)
    again = json.loads(cli("report", str(tmp_path / "run.sqlite"), "-f", "json").stdout)
    assert again["energy"] == report["energy"]
    text = cli("report", str(tmp_path / "run.sqlite")).stdout
    assert "CPU packages, each on its own" in text and "Busy for this tree" in text


def test_threads_that_may_run_anywhere_count_where_they_are(attach, cli, tmp_path):
    report = attach("run.csv", job=1, stranger=0)
    cpu = report["energy"]["cpu"]
    assert watts(report, "job") == pytest.approx(70, abs=10)
    assert cpu["placement_error"] < 0.09 * cpu["job"]  # nobody was seen to move; readings of a busy machine are apart
    assert "where they last ran" in cpu["method"]
    assert "where they last ran" in report["provenance"]["energy.cpu.job"]["note"]
    again = json.loads(cli("report", str(tmp_path / "run.csv"), "-f", "json").stdout)["energy"]
    assert again["cpu"] == cpu and "packages" not in again  # CSV has the shares, and no room for the packages
    assert ",combined_cpu_energy_placement_error," in (tmp_path / "run.csv").read_text()


def test_moving_makes_a_share_less_sure(attach):
    cpu = attach("run.sqlite", job=None, stranger=0)["energy"]["cpu"]
    assert cpu["job_error"] > cpu["placement_error"] > 0.1 * cpu["job"]


def test_without_a_topology_the_machine_counts_as_one_and_says_so(attach):
    report = attach("run.sqlite", job=0, stranger=1, has_topology=False)
    cpu = report["energy"]["cpu"]
    assert watts(report, "job") == pytest.approx(50, abs=10)
    assert "several packages count as one: the system does not tell on which package each CPU is" in cpu["method"]
    assert "packages" not in report["energy"] and "placement_error" not in cpu


def test_blocks_have_the_error_of_their_placement(attach, cli, tmp_path):
    attach("run.sqlite", job=None, stranger=0)
    began = samples(tmp_path / "run.sqlite")[0]["timestamp"]
    blocks = tmp_path / "blocks.csv"
    blocks.write_text("process_id,thread_id,code_block_name,position,timestamp,call\n" + "".join(
        f"{MAIN},{MAIN},train,{position},{began + second},0\n" for position, second in ((0, 0.6), (1, 1.2))))
    done = cli("sub-track", "analyze", "--tf", str(tmp_path / "run.sqlite"), "--stf", str(blocks), "-f", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    energy = report["code_block_results"][0]["energy"]["cpu"]
    whole = report["energy"]["cpu"]
    part = energy["energy"] / whole["job"]
    assert energy["energy_error"] > 0.9 * part * whole["placement_error"] > 0


def test_recordings_from_before_packages_were_told_apart(attach, cli, tmp_path):
    attach("run.sqlite", job=0, stranger=1)
    with sqlite3.connect(tmp_path / "run.sqlite") as database:
        database.execute("DROP TABLE package")
        for name in ("cpu_packages", "cpu_packages_missing"):
            database.execute(f"ALTER TABLE static_data DROP COLUMN {name}")
        database.execute("ALTER TABLE data DROP COLUMN combined_cpu_energy_placement_error")
        database.execute("DELETE FROM final WHERE metric = 'cpu_energy_placement_error'")
    done = cli("report", str(tmp_path / "run.sqlite"), "-f", "json")
    assert done.returncode == 0, done.stderr
    energy = json.loads(done.stdout)["energy"]
    assert "busy CPU time of the machine" in energy["cpu"]["method"] and "packages" not in energy
