"""100 kills (KILLS=N: N) each of the tracker, the job, the energy relay and the server, at random moments, and what is left behind.

Words after the program choose some of the four. Prints a table: what was killed, how often, in how many cases all that is promised
held (docs/recording.md), and the worst case.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build" / "gpu-tracker"
KILLS = int(os.environ.get("KILLS", "100"))
SEED = int(os.environ.get("SEED", "1"))
PERIOD, LATENESS = 0.02, 1.0  # of samples; until a sample is in the page cache
JOB = [sys.executable, "-S", "-c", "import time\nblock = b'1' * 30_000_000\ntime.sleep(2)"]


def start(*words, **keywords):
    return subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return time.time()


def last_sample(path):
    """When the last sample was taken that can be read, and how many there are; by a reader that is not ours."""
    if path.suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            count, last = database.execute("SELECT count(*), max(timestamp) FROM data").fetchone()
        return last, count
    rows = path.read_text().split("\r\n")[3:]
    rows = [row for row in rows if row.count(",") > 5]
    return (float(rows[-1].split(",")[column_of_time(path)]) if rows else None), len(rows)


def column_of_time(path):
    return path.read_text().split("\r\n")[2].split(",").index("timestamp")


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill_tracker(number, folder):
    """The recording holds all but the last moments, and the job goes on."""
    path = folder / f"run{number}.{['csv', 'sqlite'][number % 2]}"
    tracker = start("run", "--detail", "--tf", path, "--st", PERIOD, "--", *JOB, cwd=folder)
    while not path.exists():
        time.sleep(0.01)
    time.sleep(random.uniform(0, 1))
    job = children_of(tracker.pid)
    killed = kill(tracker)
    alive = [pid for pid in job if os.path.exists(f"/proc/{pid}")]
    for pid in job:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    report = subprocess.run([PROGRAM, "report", path, "-f", "json"], capture_output=True, text=True, check=False)
    last, count = last_sample(path)
    lost = killed - last if last else 0
    held = report.returncode == 0 and alive == job and lost < LATENESS + 3 * PERIOD + 0.1
    return held, f"{lost:.2f} s lost of {count} samples" + ("" if held else f"; {report.stderr} {alive} {job}")


def kill_job(number, folder):
    """The status is the signal's, and the report is there."""
    path = folder / f"job{number}.{['csv', 'sqlite'][number % 2]}"
    tracker = start("run", "--tf", path, "--st", PERIOD, "-o", folder / "out.json", "--disable-logs", "--", *JOB, cwd=folder)
    time.sleep(random.uniform(0.05, 1))
    for pid in children_of(tracker.pid):
        os.kill(pid, signal.SIGKILL)
    _, complaint = tracker.communicate(timeout=20)
    report = json.loads((folder / "out.json").read_text())
    again = subprocess.run([PROGRAM, "report", path, "-f", "json"], capture_output=True, text=True, check=False)
    held = tracker.returncode == 137 and report["run"]["complete"] and again.returncode == 0
    return held, f"status {tracker.returncode}" + ("" if held else f"; {complaint}")


class Machine:
    """A stored machine with one energy counter, which draws 50 W."""

    def __init__(self, folder):
        self.root = folder / "machine"
        zone = self.root / "sys/class/powercap/intel-rapl:0"
        zone.mkdir(parents=True, exist_ok=True)
        (self.root / "proc").mkdir(exist_ok=True)
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text("262143328850\n")
        self.file = os.open(zone / "energy_uj", os.O_RDWR | os.O_CREAT, 0o400)
        self.stop = threading.Event()
        threading.Thread(target=self.draw, daemon=True).start()

    def draw(self):
        begin = time.monotonic()
        while not self.stop.wait(0.005):
            os.pwrite(self.file, b"%020d\n" % int((5 + 50 * (time.monotonic() - begin)) * 1e6), 0)


def kill_relay(number, folder):
    """A client that is in the middle of a question hears of the end at once; the next relay takes the same place."""
    place, machine = folder / "energy.sock", kill_relay.machine
    for turn in range(2):
        relay = start("energy-relay", "--root", machine.root, "--socket", place, "--user", "nobody")
        if relay.stdout.readline().strip() != str(place):
            return False, f"turn {turn}: {relay.stderr.read()}"
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.settimeout(5)
        client.connect(str(place))
        time.sleep(random.uniform(0, 0.05) if turn == 0 else 0)
        began = time.monotonic()
        kill(relay)
        try:
            while client.recv(4096):
                pass
        except ConnectionError:
            pass
        waited = time.monotonic() - began
    return waited < 1, f"the client heard of it after {waited * 1000:.0f} ms"


def kill_server(number, folder):
    """Its port can be had again at once, and the next one answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    worst = 0
    for turn in range(2):
        server = start("serve", "--all", "--listen", f"127.0.0.1:{port}", "--disable-logs")
        if not server.stdout.readline():
            return False, f"turn {turn}: {server.stderr.read()}"
        began = time.monotonic()
        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()
        worst = max(worst, time.monotonic() - began)
        if turn == 0:
            time.sleep(random.uniform(0, 0.1))
        kill(server)
        if b"gpu_tracker" not in answer:
            return False, "no metrics"
    return True, f"answers in {worst * 1000:.0f} ms"


def main():
    random.seed(SEED)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpu-tracker-kills-"))
    folder.chmod(0o755)
    kill_relay.machine = Machine(folder)
    failed = 0
    print(f"{'killed':10}{'times':>7}{'held':>7}  worst, or the first that did not hold")
    for name, test in [("tracker", kill_tracker), ("job", kill_job), ("relay", kill_relay), ("server", kill_server)]:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        results = [test(number, folder) for number in range(KILLS)]
        held = sum(ok for ok, _ in results)
        told = max(text for ok, text in results if ok) if held == KILLS else next(text for ok, text in results if not ok)
        print(f"{name:10}{KILLS:7}{held:7}  {told}", flush=True)
        failed += KILLS - held
    kill_relay.machine.stop.set()
    shutil.rmtree(folder)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
