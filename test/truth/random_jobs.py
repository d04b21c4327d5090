#!/usr/bin/env python3
"""Random jobs of known use (random_job.c), each tracked in one way, and every figure that is told of it held against the truth.

    make truth-random SEEDS=1-200
    test/truth/random_jobs.py 17 --way attach --who somebody --job tell=1

The seed decides job and way; options fix parts of the way. The truth is what each process wrote down of itself when it ended, and
what the kernel says of a control group of the job's own: while that stands still (the freezer of version 1, as root) the rows
of the recording have to have what is there. Of memory only bounds are known exactly, so its figures are counted apart. Ends with
1 when a figure was wrong. With --keep DIR what failed stays there.
"""
import argparse
import collections
import contextlib
import ctypes
import csv
import json
import math
import mmap
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
SOMEBODY = 65534
PAGE = os.sysconf("SC_PAGE_SIZE")
HEAD, RECORD = struct.Struct("=9i4xq4dQ256s"), struct.Struct("=6id9q")  # of random_job.h
WAYS = ["MAIN", "FORK", "VFORK", "SPAWN", "CLONE", "SAME_MEMORY", "SIBLING", "SILENT", "DOUBLE_FORK", "DAEMON", "BURST", "NAMESPACE"]
Record = collections.namedtuple("Record", "pid parent ended how threads programs cpu minor major voluntary involuntary peak "
                                          "read_characters written_characters read_bytes written_bytes")
Head = collections.namedtuple("Head", "go taken living most threads most_threads started early tell memory began ended "
                                      "cpu_at_end limit only usage")


TAKING_DOWN = 0.5e-9  # seconds for each byte, on a busy machine
BYTES = Record._fields[-4:]


class Ledger:
    """What the processes of the job wrote down."""

    def __init__(self, path):
        data = path.read_bytes()
        self.head = Head(*HEAD.unpack_from(data))
        self.records = [Record(*RECORD.unpack_from(data, HEAD.size + i * RECORD.size)) for i in range(min(self.head.taken, 8192))]
        bytes_of_children = collections.Counter()
        for record in self.records:
            if record.ended == 2:
                bytes_of_children.update({(record.parent, name): getattr(record, name) for name in BYTES})
        # The kernel adds what a child has read and written to its parent's own when that one waits for it.
        for number, record in enumerate(self.records):
            own = {name: getattr(record, name) - bytes_of_children[number, name] for name in BYTES}
            self.records[number] = record._replace(**own)

    def is_known(self, record, seen=50):
        """Was it waited for, and all above it, so that its use came to the main process's parent?"""
        while record.parent >= 0 and seen:
            if record.ended != 2:
                return False
            record, seen = self.records[record.parent], seen - 1
        return True

    def sum(self, name, known=False):
        return sum(getattr(record, name) for record in self.records if record.pid and (not known or self.is_known(record)))


def words(path):
    try:
        return path.read_text().split()
    except OSError:
        return []


class Groups:
    """Control groups of the job: one that can stand still and, with `all_of_them`, those that count."""

    def __init__(self, seed, all_of_them, user):
        self.folders = []
        names = ["freezer", "cpuacct", "pids", "memory"] if all_of_them else ["freezer"]
        for name in names if os.geteuid() == 0 else []:
            with contextlib.suppress(OSError):
                folder = CGROUPS / name / f"random-job-{os.getpid()}-{seed}"
                folder.mkdir()
                self.folders.append(folder)
                os.chown(folder / "cgroup.procs", user, user)
        self.freezer = next((folder for folder in self.folders if folder.parts[4] == "freezer"), None)

    def options(self):
        usage = [f"usage={folder}/cpuacct.usage" for folder in self.folders if folder.parts[4] == "cpuacct"]
        return [f"join={folder}" for folder in self.folders] + usage

    def cpu(self):
        for folder in self.folders:
            if folder.parts[4] == "cpuacct":
                return int((folder / "cpuacct.usage").read_text()) / 1e9
        return None

    def pids(self):
        return [int(word) for word in words(self.freezer / "cgroup.procs")] if self.freezer else []

    def still(self, limit=0.3):
        """Does the job stand still now? What cannot (a process that waits in vfork) is let go."""
        (self.freezer / "freezer.state").write_text("FROZEN")
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if words(self.freezer / "freezer.state") == ["FROZEN"]:
                return True
            time.sleep(0.005)
        self.go_on()
        return False

    def go_on(self):
        (self.freezer / "freezer.state").write_text("THAWED")

    def remove(self):
        for folder in self.folders:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    folder.rmdir()
                if not folder.exists():
                    break
                for pid in words(folder / "cgroup.procs"):
                    with contextlib.suppress(OSError):
                        os.kill(int(pid), signal.SIGKILL)
                time.sleep(0.02)


def group_of(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if name in controllers.split(","):
            return CGROUPS / name / path[1:]
    return None


def kilobytes(text, name):
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(name + ":")) * 1024


KCMP_VM, SYS_KCMP = 1, 312
LIBC = ctypes.CDLL(None)


def have_same_memory(pid, other):
    return os.uname().machine == "x86_64" and LIBC.syscall(SYS_KCMP, pid, other, KCMP_VM, 0, 0) == 0


Still = collections.namedtuple("Still", "began ended processes threads cpu rss pss anonymous copies per_process")


def shows_memory(pid):
    """The folder of a thread that lives: the first may have ended."""
    return next(task for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if words(task / "statm")[:1] not in ([], ["0"]))


def what_stands_still(groups, whole):
    """One moment's truth, read in the job's control groups and from each process."""
    began, per_process, seen, pss, anonymous = time.monotonic(), {}, [], 0, 0
    for pid in groups.pids():
        with contextlib.suppress(OSError, StopIteration):
            shown = shows_memory(pid)
            if any(have_same_memory(int(shown.name), other) for other in seen):
                continue
            seen.append(int(shown.name))
            rss = int((shown / "statm").read_text().split()[1]) * PAGE
            io = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
            per_process[pid] = rss, int(io["rchar"]), int(io["wchar"])
            text = (shown / "smaps_rollup").read_text()
            pss += kilobytes(text, "Pss")
            anonymous += kilobytes(text, "Pss_Anon")
    pids, cpu, copies = groups.pids(), None, None
    with contextlib.suppress(OSError, IndexError):
        for name in ("cpuacct", "memory"):
            folder = group_of(pids[0], name)
            if folder and (folder.name.startswith("gpu-tracker-") or folder.name.startswith("random-job-")) and whole:
                if name == "cpuacct":
                    cpu = int((folder / "cpuacct.usage").read_text()) / 1e9
                else:
                    stat = (folder / "memory.stat").read_text().split()
                    copies = int(stat[stat.index("total_rss") + 1])
    threads = len(words(groups.freezer / "tasks"))
    return Still(began, 0, len(pids), threads, cpu, sum(v[0] for v in per_process.values()), pss, anonymous, copies, per_process)


class Watcher(threading.Thread):
    """Makes the job stand still now and then, and keeps what was there. Between these moments it adds up proportional sizes."""

    def __init__(self, groups, chance, sleep_time, times, whole):
        super().__init__()
        self.groups, self.chance, self.hold = groups, chance, 1.3 * sleep_time + 0.4
        self.moments, self.times, self.is_over, self.whole = [], times, threading.Event(), whole

    def run(self):
        for _ in range(self.times):
            while not self.groups.pids() and not self.is_over.wait(0.005):
                pass
            if self.is_over.wait(self.chance.uniform(0.1, 0.8)):
                return
            if not self.groups.still():
                continue
            try:
                moment = what_stands_still(self.groups, self.whole)
                if not moment.processes:
                    continue
                time.sleep(self.hold)
                if words(self.groups.freezer / "freezer.state") == ["FROZEN"]:
                    self.moments.append(moment._replace(ended=time.monotonic()))
            finally:
                self.groups.go_on()


class Way:
    """How a job is tracked: decided by the seed, unless it is fixed."""

    def __init__(self, seed, fixed):
        chance = self.chance = random.Random(seed)

        def choose(name, *values):
            chosen = chance.choice(values)
            return fixed[name] if fixed.get(name) is not None else chosen

        self.seed = seed
        self.way = choose("way", "run", "run", "run", "run", "attach", "python", "block")
        self.who = choose("who", "root", "root", "somebody")
        if os.geteuid() != 0:
            self.who = "as we are"
        self.sleep_time = choose("sleep_time", 1.0, 0.1, 0.1, 0.01)
        self.format = choose("format", "sqlite", "csv")
        self.detail = choose("detail", True, True, False)
        self.wait = choose("wait", "main", "main", "main", "all")
        self.leaves = choose("leaves", False, False, False, True) or self.who == "somebody"
        self.early = choose("early", 0, 0, 0, 1)
        self.stills = choose("stills", 0, 1, 2)
        self.memory = choose("memory", "auto", "auto", "auto", "pss", "rss")

    def __str__(self):
        names = ["way", "who", "sleep_time", "format", "detail", "wait", "leaves", "early", "stills", "memory"]
        return " ".join(f"{name}={getattr(self, name)}" for name in names)


class Run:
    """One tracked job: its ledger, the report, the recording."""

    def __init__(self, way, folder, options):
        self.way, self.folder = way, folder
        self.user = SOMEBODY if way.who == "somebody" else os.geteuid()
        os.chmod(folder, 0o777)
        self.groups = Groups(way.seed, way.leaves, self.user)
        self.recording = folder / f"run.{way.format}"
        self.job = [str(BUILD / "test/truth/random_job"), str(way.seed), str(folder / "ledger"), *self.groups.options(),
                    f"early={way.early}", f"go={int(way.way == 'attach')}", *options]
        self.environment = {**os.environ, "XDG_STATE_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "CI": "1"}

    def command(self, line):
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if self.way.who == "somebody" else []
        return {"args": [*prefix, *line], "cwd": self.folder, "env": self.environment, "text": True, "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    def tracker(self, command, *more):
        way = self.way
        return [str(BUILD / "gpu-tracker"), command, "--ram-unit", "bytes", "--time-unit", "seconds", "--sleep-time",
                str(way.sleep_time), "--tracking-file", str(self.recording), "--output", "report.json", "-q",
                "--memory", way.memory, *(["--detail"] if way.detail else []), *more]

    def program(self):
        way = self.way
        return [str(ROOT / ".venv/bin/python"), "-c", f"""
import gpu_tracker, json, subprocess
with gpu_tracker.Tracker(sleep_time={way.sleep_time}, ram_unit="bytes", time_unit="seconds", tracking_file={str(self.recording)!r},
                         detail={way.detail}, memory={way.memory!r}) as tracker:
    status = subprocess.run({self.job!r}).returncode
json.dump(tracker.to_json(), open("report.json", "w"))
raise SystemExit(status)"""]

    def measure(self):
        way = self.way
        watcher = Watcher(self.groups, way.chance, way.sleep_time, way.stills if self.groups.freezer else 0,
                          whole=way.way == "run" or way.leaves)
        self.began = time.monotonic()
        watcher.start()
        try:
            self.status, self.complaint = getattr(self, way.way)()
        finally:
            self.elapsed = time.monotonic() - self.began
            watcher.is_over.set()
            watcher.join()
        self.moments = watcher.moments
        self.group_cpu = self.groups.cpu()
        self.ledger = Ledger(self.folder / "ledger")
        path = self.folder / "report.json"
        self.report = json.loads(path.read_text()) if path.exists() else None

    def ended(self, line, timeout=100):
        done = subprocess.run(**self.command(line), timeout=timeout, check=False)
        return done.returncode, done.stderr

    def run(self):
        return self.ended(self.tracker("run", "--wait", self.way.wait, "--", *self.job))

    def block(self):
        block = [str(BUILD / "gpu-tracker"), "block", "the job", "--", *self.job]
        return self.ended(self.tracker("run", "--wait", self.way.wait, "--blocks", "--", *block))

    def python(self):
        return self.ended(self.program())

    def attach(self):
        with subprocess.Popen(**self.command(self.job)) as job:
            with subprocess.Popen(**self.command(self.tracker("attach", str(job.pid)))) as tracker:
                end = time.monotonic() + 20
                while not self.recording.exists() and time.monotonic() < end:
                    time.sleep(0.01)
                time.sleep(0.3)
                with open(self.folder / "ledger", "r+b") as file, mmap.mmap(file.fileno(), PAGE) as ledger:
                    ledger[0] = 1
                _, complaint = tracker.communicate(timeout=100)
                job.communicate(timeout=100)
                return tracker.returncode, complaint

    def rows(self):
        if self.way.format == "sqlite":
            with contextlib.closing(sqlite3.connect(self.recording)) as database:
                cursor = database.execute("SELECT * FROM data")
                return [dict(zip([d[0] for d in cursor.description], row)) for row in cursor]
        with open(self.recording, newline="") as lines:
            for _ in range(2):
                next(csv.reader(lines))
            return [{name: float(value) if value else None for name, value in row.items()} for row in csv.DictReader(lines)]

    def told(self, *options):
        done = subprocess.run([str(BUILD / "gpu-tracker"), "report", str(self.recording), "--ram-unit", "bytes", "--time-unit", "seconds",
                               *options], capture_output=True, text=True, env=self.environment, cwd=self.folder, check=False)
        return done.stdout if done.returncode == 0 else done.stderr


LATE = ("still", "truth: processes at", "truth: threads", "truth: time", "truth: minor", "truth: voluntary", "truth: involuntary",
        "list: most", "list: cpu of", "rows: main cpu", "rows: descendants cpu", "rows: combined cpu")


class Verdict:
    """Figures that held, and those that did not. `is_sure`: only those that do not depend on how busy the machine is."""

    def __init__(self, is_sure=False):
        self.is_sure, self.held, self.wrong = is_sure, collections.Counter(), []

    def between(self, name, least, value, most, why=""):
        if self.is_sure and name.startswith(LATE):
            return
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return
        if (least is None or value >= least) and (most is None or value <= most):
            self.held[name] += 1
        else:
            self.wrong.append((name, f"{value:.12g} is not in {least if least is None else format(least, '.12g')} to "
                                     f"{most if most is None else format(most, '.12g')}{' ' + why if why else ''}"))

    def same(self, name, a, b):
        is_same = a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9))
        if is_same:
            self.held[name] += 1
        else:
            self.wrong.append((name, f"{a!r} and {b!r}"))


def flat(value, path=""):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flat(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from flat(part, f"{path}.{index}")
    else:
        yield path, value


SCOPES = ("main", "descendants", "combined")


def check_report(report, verdict, memory):
    """A report against itself: parts and wholes."""
    cpu, peaks, ram = report["cpu_time"], report["memory_peak"], report["max_ram"]
    verdict.between("sum of cpu_time", cpu["combined"] - 1e-6, cpu["main"] + cpu["descendants"], cpu["combined"] + 1e-6)
    for scope in SCOPES:
        part = ram[scope]
        if None not in (part["private_rss"], part["shared_rss"]):
            verdict.between(f"ram.{scope} parts", part["total_rss"] - 1, part["private_rss"] + part["shared_rss"], part["total_rss"] + 1)
        peak = peaks[scope]
        memory.between(f"ram.{scope} bound", None, peak["best"], peak["upper"] + 1 if peak["upper"] else None)
        verdict.same(f"ram.{scope} best", peak["best"], part["total_rss"])
        use, time_taken = report["cpu_utilization"][scope], report["compute_time"]["time"]
        verdict.between(f"cpu.{scope} mean", 0, use["mean_sum_percent"], (use["max_sum_percent"] or 0) + 1e-6)
        if time_taken > 0.1:
            verdict.between(f"cpu.{scope} mean by time", 100 * cpu[scope] / time_taken - 0.5, use["mean_sum_percent"],
                            100 * cpu[scope] / time_taken + 0.5)
    for scope in SCOPES[:2]:
        memory.between(f"ram.{scope} below combined", None, peaks[scope]["best"], peaks["combined"]["best"] + 1)
        if peaks[scope]["upper"] and peaks["combined"]["upper"]:
            memory.between(f"ram.{scope} upper below combined", None, peaks[scope]["upper"], peaks["combined"]["upper"] + 1)
    threads = report["cpu_utilization"]
    verdict.between("threads parts", max(threads["main_n_threads"], threads["descendants_n_threads"]), threads["combined_n_threads"],
                    threads["main_n_threads"] + threads["descendants_n_threads"])
    verdict.between("processes", 1, report["processes"]["max"], report["processes"]["started"])
    verdict.between("threads and processes", report["processes"]["max"], threads["combined_n_threads"], None)


def check_list(report, verdict, memory):
    """The list of processes against the report's totals."""
    listed = report.get("process_list") or []
    if not listed:
        return
    elapsed, peaks = report["compute_time"]["time"], report["memory_peak"]
    verdict.between("list: cpu_time", 0, sum(p["cpu_time"] or 0 for p in listed), report["cpu_time"]["combined"] + 1e-6)
    if report["processes"]["started"] <= 1000:
        verdict.same("list: length", len(listed), report["processes"]["started"])
    for process in listed:
        verdict.between("list: begin", None if report["run"].get("attached") else -1e9, process["begin"], elapsed + 1e-3)
        if process["end"] is not None:
            verdict.between("list: end", process["begin"], process["end"], elapsed + 1e-3, str(process))
        if process["ram_peak"] is not None and peaks["combined"]["upper"]:
            memory.between("list: ram_peak", None, process["ram_peak"], peaks["combined"]["best"] + 1, str(process))
    edges = sorted([(p["begin"], 1) for p in listed] + [(p["end"], -1) for p in listed if p["end"] is not None])
    alive = most = 0
    for _, step in edges:
        alive += step
        most = max(most, alive)
    if report["processes"]["started"] <= 1000:
        verdict.between("list: most at one time", report["processes"]["max"] - 2, most, report["processes"]["max"] + 2)


COUNTERS = ("cpu_time", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "read_bytes", "written_bytes",
            "read_characters", "written_characters", "processes_started")
PEAKS = ("ram_peak", "threads_peak", "processes_peak")


def check_rows(run, verdict):
    """Rows of the recording: counters and peaks never fall, no sample is above a peak, the report goes on from the last row."""
    rows, report = run.rows(), run.report
    if not rows:
        return rows
    total = {"cpu_time": report["cpu_time"]["combined"], "minor_faults": report["page_faults"]["minor"],
             "major_faults": report["page_faults"]["major"], "voluntary_switches": report["context_switches"]["voluntary"],
             "involuntary_switches": report["context_switches"]["involuntary"], **{
                 name: report["input_output"][other] for name, other in [
                     ("read_bytes", "read"), ("written_bytes", "written"), ("read_characters", "read_characters"),
                     ("written_characters", "written_characters")]}, "processes_started": report["processes"]["started"]}
    for name in COUNTERS + PEAKS:
        for scope in SCOPES:
            values = [row[f"{scope}_{name}"] for row in rows if row.get(f"{scope}_{name}") is not None]
            if scope == "combined" and total.get(name) is not None:
                values.append(total[name] * (1 + 1e-9) + 1e-9)
            for a, b in zip(values, values[1:]):
                verdict.between(f"rows: {scope}_{name} never falls", a * (1 - 1e-9), b, None)
    for row in rows:
        if None not in (row["main_ram"], row["descendants_ram"]):
            verdict.between("rows: parts below whole", None, row["combined_ram"], row["main_ram"] + row["descendants_ram"] + 1)
        for scope in SCOPES:
            verdict.between(f"rows: {scope}_ram", 0, row[f"{scope}_ram"], report["memory_peak"][scope]["best"] + 1)
            verdict.between(f"rows: {scope}_n_threads", 0, row[f"{scope}_n_threads"], report["cpu_utilization"][f"{scope}_n_threads"])
            parts = (row[f"{scope}_ram_private"], row[f"{scope}_ram_shared"])
            if None not in parts:
                verdict.between(f"rows: {scope}_ram parts", row[f"{scope}_ram"] - 1, sum(parts), row[f"{scope}_ram"] + 1)
            use = row.get(f"cpu_{scope}_sum_utilization_percent")
            verdict.between(f"rows: {scope} cpu", 0, use, 100.0 * os.cpu_count() * 1.02 + 2)
        verdict.between("rows: processes", 0, row["combined_processes"], report["processes"]["max"])
        verdict.between("rows: rss", row["combined_ram"] - 1, row["combined_rss"], None)
    return rows


def check_forms(run, verdict):
    """The report of the recording, in each form, against that of the run."""
    again = json.loads(run.told("-f", "json"))
    mine, others = dict(flat(run.report)), dict(flat(again))
    for name, value in mine.items():
        if name.startswith(("provenance", "tracker", "limits", "next_time", "warnings", "run", "process_list")) or isinstance(value, str):
            continue
        verdict.same(f"report of the recording: {name}", value, others.get(name, "nothing"))
    table = {row[0]: row[1] for row in csv.reader(run.told("-f", "csv").splitlines()) if len(row) > 1}
    for name, value in others.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and table.get(name) and "process_list" not in name:
            slack = abs(value) * 1e-3 + 1e-3
            verdict.between(f"csv: {name}", value - slack, float(table[name]), value + slack)
    check_text(run.told("-f", "text"), again, verdict)


TEXT = {"CPU time": {"Main": "cpu_time.main", "Descendants": "cpu_time.descendants", "Combined": "cpu_time.combined"},
        "Processes": {"Most at one time": "processes.max", "In all": "processes.started"},
        "Page faults": {"Minor": "page_faults.minor", "Major": "page_faults.major"},
        "Context switches": {"Voluntary": "context_switches.voluntary", "Involuntary": "context_switches.involuntary"},
        "Input and output": {"Read from storage": "input_output.read", "Written to storage": "input_output.written",
                             "Read by system calls": "input_output.read_characters",
                             "Written by system calls": "input_output.written_characters"}}


def check_text(text, report, verdict):
    figures, section = dict(flat(report)), None
    for line in text.splitlines():
        name, _, value = line.strip().partition(":")
        if not line.startswith(" "):
            section = TEXT.get(name)
        elif section and name in section and value.strip() != "n/a":
            figure = figures[section[name]]
            verdict.between(f"text: {section[name]}", figure - 0.002 * abs(figure) - 0.002, float(value.split()[0].replace(",", "")),
                            figure + 0.002 * abs(figure) + 0.002)


def check_stills(run, rows, verdict, memory):
    """The rows of moments at which the job stood still, against what was there."""
    others = {"run": 0, "attach": 0, "python": 1, "block": 1}[run.way.way]
    for still in run.moments:
        if others and still.ended > run.ledger.head.ended:
            continue  # what is beside the job has ended with its main process
        row = next((row for row in reversed(rows) if still.began + 0.1 < row["monotonic"] < still.ended), None)
        if row is None:
            continue
        verdict.between("still: processes", still.processes + others, row["combined_processes"], still.processes + others)
        if run.way.way != "python":
            verdict.between("still: threads", still.threads + others, row["combined_n_threads"], still.threads + others)
        if still.cpu is not None:
            # Without exit records what nobody waited for is gone, and with them what it takes to take a process down.
            least = 0.9 * still.cpu - 0.04 if run.way.who == "root" else 0
            verdict.between("still: cpu_time", least, row["combined_cpu_time"], 1.01 * still.cpu + 0.03)
        slack = {"run": 1e5, "attach": 1e5, "python": 80e6, "block": 8e6}[run.way.way]
        verdict.between("still: rss", still.rss - 1e5, row["combined_rss"], still.rss + slack)
        verdict.between("still: peak of processes", still.processes + others, run.report["processes"]["max"], None)
        if run.way.memory != "rss":
            memory.between("still: ram", 0.97 * still.pss - 4e6, row["combined_ram"], 1.03 * still.pss + 4e6 + (slack if others else 0))
        memory.between("still: peak", 0.97 * still.pss - 4e6, run.report["memory_peak"]["combined"]["best"], None)
        if run.report["memory_peak"]["combined"]["upper"] is not None:
            memory.between("still: upper", 0.99 * still.pss - 1e6, run.report["memory_peak"]["combined"]["upper"], None)


def may_miss_brothers(run):
    """A brother (CLONE_PARENT) that an orphan of the job starts is a child of init, unless the tracker adopts orphans."""
    return run.way.way in ("attach", "python") and any(WAYS[record.how] == "SIBLING" for record in run.ledger.records)


def check_truth(run, verdict, memory):
    ledger, report, way = run.ledger, run.report, run.way
    others = {"run": 0, "attach": 0, "python": 1, "block": 1}[way.way]
    is_root, count = way.who == "root", ledger.head.started
    is_whole = not way.early or (way.wait == "all" and way.way in ("run", "block"))
    started = ledger.head.started + others
    if is_whole and not may_miss_brothers(run):
        verdict.between("truth: processes started", started, report["processes"]["started"], started)
    verdict.between("truth: processes at one time", 1, report["processes"]["max"], ledger.head.most + others + 3 + count // 20)
    verdict.between("truth: threads at one time", 1, report["cpu_utilization"]["combined_n_threads"],
                    ledger.head.most_threads + 3 * others + 3 + count // 20)
    time_of_main = ledger.head.ended - ledger.head.began
    verdict.between("truth: time", time_of_main, report["compute_time"]["time"], run.elapsed + 0.01)
    check_sums(run, verdict, is_whole, is_root, others)
    check_processes(run, verdict, memory, is_whole, is_root)


def check_sums(run, verdict, is_whole, is_root, others):
    """What all processes used together.

    Without root what nobody waited for is known up to the last reading only, and of those that wait4 does not tell the tracker of
    (attach, Python) the switches and, where the main process is not ours, what it read and wrote last."""
    ledger, report, count = run.ledger, run.report, run.ledger.head.started
    if not is_whole:
        return
    by_attach, is_waited = run.way.way == "attach", run.way.way in ("run", "block")
    more = {"run": 0.01, "attach": 0.0, "python": 0.3, "block": 0.03}[run.way.way]
    main, cpu, known = ledger.records[0], ledger.sum("cpu"), ledger.sum("cpu", known=not is_root or by_attach)
    most = max(1.02 * cpu + 0.001 * count + 0.02 + TAKING_DOWN * ledger.sum("peak"), 1.005 * (run.group_cpu or 0) + 0.005) + more
    verdict.between("truth: cpu_time", 0.98 * known - 0.02 - (main.cpu if by_attach else 0), report["cpu_time"]["combined"], most,
                    f"({count} processes, of all {cpu:.4f} s, known {known:.4f} s, group {run.group_cpu})")
    for name, figure, each in [("minor", report["page_faults"]["minor"], 12), ("voluntary", report["context_switches"]["voluntary"], 6),
                               ("involuntary", report["context_switches"]["involuntary"], 12)]:
        sum_of, of_known = ledger.sum(name), ledger.sum(name, known=not is_root or by_attach)
        if by_attach:
            of_known -= getattr(main, name)
        if name != "minor" and not is_waited:
            of_known = 0
        verdict.between(f"truth: {name}", 0.9 * of_known - 20, figure, sum_of + each * count + 20 + 0.01 * sum_of + 20000 * others)
    for name, figure in [("read_bytes", report["input_output"]["read"]), ("written_bytes", report["input_output"]["written"])]:
        sum_of, of_known = ledger.sum(name), ledger.sum(name, known=not is_root or by_attach)
        if by_attach and not is_root:
            of_known = 0
        verdict.between(f"truth: {name}", 0.98 * of_known - 1e5, figure, 1.01 * sum_of + 3e5 + 1e6 * others)
    for name in ("read_characters", "written_characters"):
        figure = report["input_output"][name]
        verdict.between(f"truth: {name}", 0, figure, 1.01 * ledger.sum(name) + 1e4 * count + 1e5 + 3e7 * others)


def check_processes(run, verdict, memory, is_whole, is_root):
    """Each process of the list against its record."""
    listed = {process["pid"]: process for process in run.report.get("process_list") or []}
    if not listed or not is_whole:
        return
    for record in run.ledger.records:
        process = listed.get(record.pid)
        if not record.pid:
            continue
        if not process and may_miss_brothers(run):
            continue
        if not process:
            verdict.between("list: is there", 1, 0 if len(listed) < 1000 else 1, 1, str(record))
            continue
        end = 0.012 + TAKING_DOWN * record.peak  # it is charged for what the kernel needs to take it down
        if is_root:
            slack = 0.03 if run.way.way == "attach" and record.parent < 0 else 0.006
            verdict.between("list: cpu of one", 0.98 * record.cpu - slack, process["cpu_time"], 1.03 * record.cpu + end,
                            f"{WAYS[record.how]} {record} {process}")
        else:
            verdict.between("list: cpu of one, without root", 0, process["cpu_time"], 1.03 * record.cpu + 0.02 + end,
                            f"{WAYS[record.how]} {record} {process}")
        if is_root and process["ram_peak"] is not None and record.ended and not (run.way.way == "attach" and record.parent < 0):
            memory.between("list: peak of one", 0.99 * record.peak - 1e6, process["ram_peak"],
                           None if record.programs else 1.01 * record.peak + 1.5e6,
                           f"{WAYS[record.how]} {record} {process}")


def checked(run, is_sure):
    verdict, memory = Verdict(is_sure), Verdict(is_sure)
    if run.report is None or run.status != 0:
        verdict.wrong.append(("status", f"{run.status} {run.complaint}"))
        return verdict, memory
    check_report(run.report, verdict, memory)
    check_list(run.report, verdict, memory)
    rows = check_rows(run, verdict)
    check_forms(run, verdict)
    check_stills(run, rows, verdict, memory)
    check_truth(run, verdict, memory)
    return verdict, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seeds", nargs="+", help="17, or 1-200")
    parser.add_argument("--way", choices=["run", "attach", "python", "block"])
    parser.add_argument("--who", choices=["root", "somebody"])
    parser.add_argument("--sleep-time", type=float)
    parser.add_argument("--format", choices=["sqlite", "csv"])
    parser.add_argument("--wait", choices=["main", "all"])
    parser.add_argument("--memory")
    for name in ("detail", "leaves", "early", "stills"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--job", action="append", default=[], help="an option of random_job, as only=BITS or tell=1")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--sure", action="store_true", help="leave out what a busy machine makes late")
    arguments = parser.parse_args()
    held, wrong, runs = [collections.Counter(), collections.Counter()], [collections.Counter(), collections.Counter()], 0
    for word in arguments.seeds:
        first, _, last = word.partition("-")
        for seed in range(int(first), int(last or first) + 1):
            way = Way(seed, vars(arguments))
            with tempfile.TemporaryDirectory(prefix="random-job-") as folder:
                run = Run(way, pathlib.Path(folder), arguments.job)
                try:
                    run.measure()
                finally:
                    run.groups.remove()
                verdicts = checked(run, arguments.sure)
                runs += 1
                for i, verdict in enumerate(verdicts):
                    held[i] += verdict.held
                    seen = collections.Counter(name for name, _ in verdict.wrong)
                    wrong[i] += seen
                    for name, what in {name: what for name, what in reversed(verdict.wrong)}.items():
                        times = f" ({seen[name]} times)" if seen[name] > 1 else ""
                        print(f"{'memory ' * i}seed {seed} [{way}] {name}: {what}{times}", flush=True)
                if arguments.job and run.complaint:
                    print(run.complaint)
                if arguments.keep and (verdicts[0].wrong or verdicts[1].wrong):
                    shutil.copytree(folder, arguments.keep / str(seed), dirs_exist_ok=True)
    for i, what in enumerate(["figures", "of memory"]):
        all_of_them = held[i].total() + wrong[i].total()
        print(f"{runs} jobs: {held[i].total()} of {all_of_them} {what} held", *(f"{n} x {name};" for name, n in wrong[i].most_common()))
    return 1 if wrong[0] else 0


if __name__ == "__main__":
    sys.exit(main())
