"""gpu-tracker energy-relay: energy counters for users who may not read them, and what befalls either side."""
import contextlib
import grp
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from patience import wait_until

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root")
PRCTL = {"x86_64": 157, "aarch64": 167}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Counter:
    """A stored machine with one RAPL package, which draws 50 W."""

    WATTS = 50

    def __init__(self, root):
        self.root = root
        zone = root / "sys/class/powercap/intel-rapl:0"
        zone.mkdir(parents=True)
        (root / "proc").mkdir()
        (zone / "name").write_text("package-0\n")
        (zone / "max_energy_range_uj").write_text("262143328850\n")
        self.file = os.open(zone / "energy_uj", os.O_RDWR | os.O_CREAT, 0o400)
        self.set(5.0)

    def set(self, joules):
        os.pwrite(self.file, b"%020d\n" % int(joules * 1e6), 0)  # always the same length: never half a number

    def draw(self, stop):
        begin = time.monotonic()
        while not stop.wait(0.005):
            self.set(5.0 + self.WATTS * (time.monotonic() - begin))


@pytest.fixture
def place():
    """A folder that every user may enter, unlike pytest's."""
    folder = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/relay-XXXXXX"], stdout=subprocess.PIPE, text=True,
                                         check=True).stdout.strip())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def counter(place):
    made, stop = Counter(place / "machine"), threading.Event()
    thread = threading.Thread(target=made.draw, args=[stop])
    thread.start()
    yield made
    stop.set()
    thread.join()
    os.close(made.file)


@pytest.fixture
def relay(gpu_tracker, place, counter):
    """relay(): the process and the path of its socket."""
    running = []

    def start(*options):
        path = place / "run" / "energy.sock"
        process = subprocess.Popen([gpu_tracker, "energy-relay", "--root", counter.root, "--socket", path, *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout.readline() == f"{path}\n", process.stderr.read()
        return process, path

    yield start
    for process in running:
        process.terminate()
        _, complaint = process.communicate(timeout=120)
        assert complaint == "" and process.returncode in (0, -signal.SIGKILL)


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(120)
    client.connect(str(path))
    return client


def ask(client, message=b"read 1\n"):
    client.send(message)
    return client.recv(600)


def run_as_nobody(gpu_tracker, place, path, *words, options=()):
    program = place / "gpu-tracker"
    if not program.exists():
        shutil.copy(gpu_tracker, program)
        program.chmod(0o755)
    return subprocess.Popen([*NOBODY, program, "run", "--st", "0.1", "--library", f"energy-relay={path}", "--format", "json",
                             "--output=-", *options, "--", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")


@as_root
def test_a_user_without_rights_gets_the_energy(gpu_tracker, relay, place, counter):
    process, path = relay("--user", "nobody", "--group", "nogroup")
    begin = time.monotonic()
    job = run_as_nobody(gpu_tracker, place, path, "sleep", "2")
    out, complaint = job.communicate(timeout=120)
    elapsed = time.monotonic() - begin
    assert job.returncode == 0, complaint
    cpu = json.loads(out)["energy"]["cpu"]
    assert "energy relay" in cpu["source"] and cpu["refresh"] == 0.1
    assert cpu["total"] == pytest.approx(50 * 2, abs=50 * (elapsed - 2 + 0.25))
    assert cpu["total"] == pytest.approx(cpu["job"] + cpu["other"] + cpu["idle"] + cpu["unattributed"])
    assert "cap_perfmon" not in complaint  # nothing is missing, so nobody is told to change anything


@as_root
def test_it_keeps_no_privilege(relay):
    process, path = relay("--user", "nobody", "--group", "nogroup")
    status = dict(line.split(":\t", 1) for line in
                  pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["65534"] * 4 and status["Gid"].split() == ["65534"] * 4
    assert status["Groups"].split() == []
    assert all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert path.stat().st_mode & 0o777 == 0o660 and grp.getgrgid(path.stat().st_gid).gr_name == "nogroup"


# As a kernel without filters: prctl(PR_SET_SECCOMP) is EINVAL from here on.
UNFILTERED = r"""
import ctypes, os, struct, sys
number = int(sys.argv[1])
def word(code, yes, no, k): return struct.pack("HBBI", code, yes, no, k)
code = [word(0x20, 0, 0, 0), word(0x15, 0, 3, number), word(0x20, 0, 0, 16), word(0x15, 0, 1, 22), word(6, 0, 0, 0x00050016),
        word(6, 0, 0, 0x7fff0000)]
filters = ctypes.create_string_buffer(b"".join(code))
program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(filters))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0): sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
"""


@as_root
@pytest.mark.skipif(platform.machine() not in PRCTL, reason="the number of prctl here is not known")
def test_without_a_filter_it_does_not_run(gpu_tracker, place, counter):
    done = subprocess.run([sys.executable, "-c", UNFILTERED, str(PRCTL[platform.machine()]), gpu_tracker, "energy-relay", "--root",
                           counter.root, "--socket", place / "energy.sock"], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 77:
        pytest.skip("this user may not filter system calls")
    assert done.returncode == 125 and done.stdout == ""
    assert "the relay does not run without: Invalid argument" in done.stderr and len(done.stderr.splitlines()) == 1


@as_root
def test_it_need_not_be_root(gpu_tracker, place, counter):
    """As the unit for systemd has it: a user of its own, with the capabilities that opening the counters takes."""
    program, run = place / "gpu-tracker", place / "run"
    shutil.copy(gpu_tracker, program)
    program.chmod(0o755)
    run.mkdir()
    os.chown(run, 65534, 65534)
    capabilities = "+dac_read_search"
    relay = subprocess.Popen([*NOBODY, "--inh-caps", capabilities, "--ambient-caps", capabilities, program,
                              "energy-relay", "--root", counter.root, "--socket", run / "energy.sock"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert relay.stdout.readline() == f"{run}/energy.sock\n", relay.stderr.read()
        status = pathlib.Path(f"/proc/{relay.pid}/status").read_text()
        assert re.search(r"CapEff:\s+0+\n", status) and re.search(r"CapPrm:\s+0+\n", status)
        with connect(run / "energy.sock") as client:
            assert b"cpu_energy=" in ask(client)
    finally:
        relay.terminate()
        assert relay.communicate(timeout=120) == ("", "") and relay.returncode == 0
    assert not (run / "energy.sock").exists()


@as_root
def test_who_is_not_of_the_group_is_told(gpu_tracker, relay, place):
    _, path = relay("--user", "nobody", "--group", "daemon")
    job = run_as_nobody(gpu_tracker, place, path, "true")
    out, complaint = job.communicate(timeout=120)
    assert job.returncode == 0 and json.loads(out)["energy"]["cpu"]["total"] is None
    assert "may not connect" in complaint and "usermod" in complaint


@as_root
def test_a_relay_that_dies_leaves_the_figure_missing(gpu_tracker, relay, place, counter):
    process, path = relay("--user", "nobody", "--group", "nogroup")
    (place / "out").mkdir()
    (place / "out").chmod(0o777)
    rows = place / "out" / "rows.csv"
    job = run_as_nobody(gpu_tracker, place, path, "sleep", "4", options=["--tracking-file", rows])
    time.sleep(2)
    process.kill()
    process.wait()
    assert job.wait(timeout=120) == 0, job.stderr.read()
    lines = [line.split(",") for line in rows.read_text().splitlines() if line]
    [column] = {line.index("system_cpu_energy") for line in lines if "system_cpu_energy" in line}
    head = next(i for i, line in enumerate(lines) if "system_cpu_energy" in line)
    energy = [line[column] for line in lines[head + 1:] if len(line) > column]
    energy = energy[[bool(value) for value in energy].index(True):]  # the first samples may come before the relay's first step
    assert len(energy) > 12
    told = [float(value) for value in energy if value]
    assert len(told) > 4 and told == sorted(told) and told[-1] > 20
    ended = len(energy) - [bool(value) for value in reversed(energy)].index(True)
    assert len(energy) - ended > 4, energy  # missing, and not 0


@as_root
def test_one_that_is_started_again_goes_on(gpu_tracker, relay, place):
    process, path = relay("--user", "nobody", "--group", "nogroup")
    begin = time.monotonic()
    job = run_as_nobody(gpu_tracker, place, path, "sh", "-c", f"until [ -e {place}/again ]; do sleep 0.1; done; sleep 3")
    time.sleep(1)
    process.kill()
    process.wait()
    relay("--user", "nobody", "--group", "nogroup")
    (place / "again").touch()
    out, complaint = job.communicate(timeout=120)
    most = 50 * (time.monotonic() - begin)
    assert job.returncode == 0, complaint
    energy = json.loads(out)["energy"]["cpu"]
    assert 80 < energy["total"] < most + 1  # some is lost between the two, nothing is counted twice


def test_rude_clients_are_sent_away_and_others_served(relay):
    process, path = relay()
    good = connect(path)
    first = ask(good)
    assert re.fullmatch(rb"energy 1 \d+ 0\.1 0\.1 cpu_energy=\d+\n", first)
    for message in (b"read 2\n", b"x" * 5000, b"\0", b"read 1\nread 1\n"):
        with connect(path) as rude:
            assert ask(rude, message) == b""
    many = []
    with contextlib.suppress(OSError):
        for _ in range(400):
            many.append(connect(path))
    deaf = connect_if_possible(path)
    assert ask(good) is not None
    answered = 0
    for client in many:
        client.settimeout(2)
        with contextlib.suppress(OSError):
            answered += ask(client) != b""
    for client in many:
        client.close()
    assert 16 <= answered <= 32  # of one user, at a time
    if deaf:
        deaf.close()
    wait_until(lambda: is_served(path))
    with connect(path) as late:
        assert ask(late).startswith(b"energy 1 ")
    good.close()


def is_served(path):
    with contextlib.suppress(OSError), connect(path) as client:
        return ask(client) != b""
    return False


def connect_if_possible(path):
    with contextlib.suppress(OSError):
        return connect(path)
    return None


def test_a_greedy_client_waits_and_the_relay_stays_quiet(relay):
    process, path = relay()
    client = connect(path)
    begin, answers = time.monotonic(), 0
    while time.monotonic() - begin < 1:
        assert ask(client).startswith(b"energy 1 ")
        answers += 1
    assert answers <= 256 * 12
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    assert (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") < 0.5


@contextlib.contextmanager
def answering(path, answer):
    """A relay at `path` that says what `answer` returns each time; None: nothing."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(str(path))
    server.listen(16)
    server.settimeout(0.02)
    stop = threading.Event()

    def serve():
        clients = []
        while not stop.is_set():
            with contextlib.suppress(OSError):
                clients.append(server.accept()[0])
                clients[-1].setblocking(False)
            for client in clients:
                with contextlib.suppress(OSError):
                    reply = answer() if client.recv(100) else None
                    if reply is not None:
                        client.send(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        server.close()


def run_beside(gpu_tracker, path, seconds="1"):
    return subprocess.run([gpu_tracker, "run", "--st", "0.05", "--library", f"energy-relay={path}", "--format", "json",
                           "--output=-", "--", "sleep", seconds], capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_relay_without_figures_yet_is_waited_for(gpu_tracker, place):
    asked = []

    def answer():
        asked.append(time.monotonic())
        if len(asked) < 3:
            return b"energy 1 7 0.1 0.1\n"
        return b"energy 1 7 0.1 0.1 cpu_energy=%d\n" % (1000 + (len(asked) - 3) // 6 * 5)  # stands for some samples

    with answering(place / "slow.sock", answer):
        report = json.loads(run_beside(gpu_tracker, place / "slow.sock"))
    assert report["energy"]["cpu"]["source"].startswith("energy relay")
    assert report["energy"]["cpu"]["total"] == pytest.approx((len(asked) - 4) // 6 * 0.5, abs=0.5)
    assert report["energy"]["cpu"]["total"] > 0


def test_a_relay_whose_counters_stand_still_is_not_used(gpu_tracker, place, cli):
    with answering(place / "dead.sock", lambda: b"energy 1 7 0.1 0.1\n"):
        report = json.loads(run_beside(gpu_tracker, place / "dead.sock", "0.2"))
        rows = json.loads(cli("doctor", "-f", "json", "--library", f"energy-relay={place}/dead.sock").stdout)["sources"]
    assert report["energy"]["cpu"]["total"] is None
    [row] = [row for row in rows if row["source"] == "relay"]
    assert row["state"] == "broken" and "its counters stand still" in row["reason"]


@pytest.mark.parametrize("count", [1000, 2**63])
def test_a_relay_that_repeats_one_figure_measures_nothing(gpu_tracker, place, count):
    with answering(place / "still.sock", lambda: b"energy 1 7 0.1 0.1 cpu_energy=%d\n" % count):
        report = json.loads(run_beside(gpu_tracker, place / "still.sock"))
    cpu = report["energy"]["cpu"]
    assert (cpu["total"], cpu["job"], cpu["error"]) == (None, None, None) and not cpu.get("covered")
    assert "the relay's energy counter does not change" in report["energy"]["reason"]


def test_a_relay_without_an_answer_at_times_goes_on(gpu_tracker, place):
    asked = []

    def answer():
        asked.append(time.monotonic())
        figure = b"" if len(asked) % 4 == 2 else b" cpu_energy=%d" % (1000 + 10 * len(asked))
        return b"energy 1 7 0.1 0.1" + figure + b"\n"

    with answering(place / "patchy.sock", answer):
        report = json.loads(run_beside(gpu_tracker, place / "patchy.sock"))
    assert report["energy"]["cpu"]["total"] == pytest.approx(len(asked), abs=4)


@pytest.mark.parametrize("reply", [b"", b"\xff" * 300, b"energy 1 1 0.1 0.1 cpu_energy=99999999999999999999999\n",
                                   b"x" * 100000, None])
def test_a_bad_relay_neither_stops_nor_delays_a_run(gpu_tracker, place, reply):
    path = place / "bad.sock"
    with answering(path, lambda: reply):
        done = subprocess.run([gpu_tracker, "run", "--st", "0.1", "--library", f"energy-relay={path}", "--format",
                               "json", "--output=-", "--", "sleep", "1"], capture_output=True, text=True, check=False, timeout=120)
        told = subprocess.run([gpu_tracker, "doctor", "--format", "json", "--library", f"energy-relay={path}"],
                              stdout=subprocess.PIPE, text=True, check=True, timeout=120)
    assert done.returncode == 0
    [row] = [row for row in json.loads(told.stdout)["sources"] if row["source"] == "relay"]
    assert row["state"] == "broken" and row["reason"]
    assert json.loads(done.stdout)["compute_time"]["time"] * 3600 < 10


def test_places_for_the_socket(gpu_tracker, refused, relay, place, counter):
    process, path = relay()
    common = ["energy-relay", "--root", counter.root, "--socket"]
    refused(2, "answers there already", *common, path)
    process.kill()
    process.wait()
    assert path.exists()
    relay()  # clears away what the killed one left
    taken = place / "file"
    taken.write_text("precious")
    refused(2, "not a socket", *common, taken)
    assert taken.read_text() == "precious"
    refused(2, "longer than", *common, "/tmp/" + "x" * 200)
    refused(125, "No such file", *common, place / "no" / "such" / "folder")
    refused(2, "unknown user", *common, place / "a.sock", "--user", "nobody-of-that-name")
    refused(2, "unknown group", *common, place / "a.sock", "--group", "no-group-of-that-name")
    if os.geteuid() == 0:
        refused(2, "root", *common, place / "a.sock", "--user", "root")


def test_without_counters_it_does_not_start(refused, tmp_path):
    (tmp_path / "empty" / "proc").mkdir(parents=True)
    refused(125, "no energy counter", "energy-relay", "--root", tmp_path / "empty", "--socket", tmp_path / "a.sock")


def test_doctor_shows_it(cli, relay):
    _, path = relay()
    rows = json.loads(cli("doctor", "--format", "json", "--library", f"energy-relay={path}").stdout)["sources"]
    [row] = [row for row in rows if row["source"] == "relay"]
    assert row["state"] == "ready" and "dram_energy" in row["reason"]
    rows = json.loads(cli("doctor", "--format", "json", "--library", "energy-relay=/nowhere").stdout)["sources"]
    [row] = [row for row in rows if row["source"] == "relay"]
    assert row["state"] == "absent"
