"""gpu-tracker serve: what a scrape says, who may ask, and what slow, many and rude clients do to it."""
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings

import pytest
from patience import least, wait_until
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text
from serving import OPENMETRICS, TOKEN, cpu_seconds

CAPACITY = (pathlib.Path(__file__).parents[2] / "lib/schema/capacity.def").read_text()
SCOPES = {"S": "gpu_tracker_system_", "C": "gpu_tracker_job_", "G": "gpu_tracker_"}
CAPACITIES = {SCOPES[scope] + name + ("_bytes" if unit == "BYTES" else "")
              for name, unit, scope in re.findall(r"^CAPACITY\(\w+, (\w+), (\w+), (\w),", CAPACITY, re.MULTILINE)}


def values(family):
    """{labels without the host: value}"""
    return {tuple(sorted((k, v) for k, v in s.labels.items() if k != "host")): s.value for s in family.samples}


# ---- What a scrape says

def test_both_forms_are_parsed_and_say_the_same(serve):
    server = serve("--sleep-time", "60")
    status, headers, text = server.ask()
    assert status == 200 and headers["Content-Type"].startswith(OPENMETRICS)
    new = {s.name: s.value for family in parse_openmetrics(text) for s in family.samples}
    status, headers, text = server.ask(accept=None)
    assert status == 200 and headers["Content-Type"].startswith("text/plain;version=0.0.4")
    assert "# EOF" not in text and "# UNIT" not in text
    old = {s.name: s.value for family in parse_text(text) for s in family.samples}
    clock = "gpu_tracker_exporter_cpu_time_seconds_total"
    assert {**new, clock: 0} == {**old, clock: 0}
    assert new["gpu_tracker_system_ram_bytes"] > 1e6


@pytest.mark.parametrize("accept, form", [
    ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "application/openmetrics-text;version=1.0.0"),
    ("application/openmetrics-text; version=0.0.1", "application/openmetrics-text;version=0.0.1"),
    ("application/openmetrics-text;q=0.4,text/plain;q=0.6", "text/plain"),
    ("application/openmetrics-text;q=0,*/*", "text/plain"),
    ("application/openmetrics-text-x", "text/plain"),
    ("application/openmetrics-text;version=7", "text/plain"),
    ("text/html", "text/plain"),
    (",;q=;=,,;version", "text/plain"),
])
def test_the_client_chooses_the_form(serve, accept, form):
    server = serve()
    status, headers, text = server.ask(accept=accept)
    assert status == 200 and headers["Content-Type"].startswith(form)
    assert text.endswith("# EOF\n") == ("openmetrics" in form)


def test_units_types_and_names_follow_from_the_table(serve, cli):
    families = serve("--all").families()
    metrics = json.loads(cli("schema", "--format", "json").stdout)["metrics"]
    checked = 0
    for name, family in families.items():
        found = re.fullmatch(r"gpu_tracker_(?:system|job)_(\w+)", name)
        if not found:
            continue
        metric = next((m for name, m in metrics.items() if found[1] in (name, f"{name}_{m['unit']}")), None)
        if not metric:
            assert name in CAPACITIES
            continue
        assert family.type == ("counter" if metric["kind"] == "counter" else "gauge")
        assert family.unit == ("" if metric["unit"] in ("count", "bits") else metric["unit"])
        assert family.documentation and all(s.value == s.value for s in family.samples)
        checked += 1
    assert checked > 15


def ask_raw(server, encoding):
    """(headers, bytes) of a scrape."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics", None, {"Accept": OPENMETRICS, **({"Accept-Encoding": encoding} if encoding else {})})
        answer = connection.getresponse()
        return dict(answer.getheaders()), answer.read()


def test_gzip_where_it_is_asked_for(serve):
    server = serve("--sleep-time", "60")
    headers, plain = ask_raw(server, None)
    assert "Content-Encoding" not in headers and headers["Vary"] == "Accept, Accept-Encoding"
    for encoding in ("gzip", "deflate, gzip;q=0.5", "GZIP"):
        headers, packed = ask_raw(server, encoding)
        assert headers["Content-Encoding"] == "gzip" and headers["Content-Type"].startswith(OPENMETRICS)
        assert gzip.decompress(packed) == plain and len(packed) < len(plain) / 2
    for encoding in ("identity", "gzip;q=0", "deflate, br", "notgzip"):
        headers, again = ask_raw(server, encoding)
        assert "Content-Encoding" not in headers and again == plain


def job_is_filled(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") > 60e6


def test_a_followed_process_has_its_figures_and_labels(serve):
    program = "import time; data = b'x' * 60_000_000\nwhile True: sum(range(10000))"
    with subprocess.Popen([sys.executable, "-c", program]) as job:
        try:
            wait_until(lambda: job_is_filled(job.pid))
            server = serve("--pid", str(job.pid), "--sleep-time", "0.1")

            def off_by():
                truth = [cpu_seconds(job.pid)]
                told = [server.families()]
                time.sleep(1)
                told.append(server.families())
                truth.append(cpu_seconds(job.pid))
                used[:] = [f["gpu_tracker_job_cpu_time_seconds"].samples[0].value for f in told]
                return abs(used[1] - used[0] - (truth[1] - truth[0]))

            used = []
            assert least(off_by, 0.2) < 0.2  # a sample may be 0.1 s old
            second = server.families()
            [labels] = values(second["gpu_tracker_job_ram_bytes"])
            assert {"pid": str(job.pid), "command": os.path.basename(sys.executable)[:15]}.items() <= dict(labels).items()
            assert 55e6 < second["gpu_tracker_job_ram_bytes"].samples[0].value < 90e6
        finally:
            job.kill()
    wait_until(lambda: "gpu_tracker_job_ram_bytes" not in server.families())  # a state that is no more
    ended = server.families()
    assert ended["gpu_tracker_job_cpu_time_seconds"].samples[0].value >= used[1]


def test_all_processes_are_grouped_and_bounded(serve):
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    try:
        server = serve("--all", "--sleep-time", "0.1", "--max-jobs", "2")
        processes = values(server.families()["gpu_tracker_job_processes"])
        assert len(processes) <= 3 and (("command", "other"),) in processes
        server = serve("--all", "--sleep-time", "0.1", "--max-jobs", "5000")
        user = subprocess.run(["id", "-un"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        processes = values(server.families()["gpu_tracker_job_processes"])
        assert sum(n for labels, n in processes.items()
                   if {"user": user, "command": "sleep"}.items() <= dict(labels).items()) >= 3
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


def fake_slurm(root):
    job = root / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_4242"
    process = root / "proc/77"
    for folder in (job, process, root / "proc/self", root / "etc", root / "proc/sys/kernel"):
        folder.mkdir(parents=True)
    (root / "proc/sys/kernel/hostname").write_text("node7\n")
    (root / "etc/passwd").write_text("alice:x:1000:1000::/home/alice:/bin/sh\n")
    (root / "proc/self/mountinfo").write_text("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (process / "mountinfo").write_text("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (job / "memory.current").write_text("987654321\n")
    (job / "memory.max").write_text("2000000000\n")
    (job / "cpu.max").write_text("150000 100000\n")
    (job / "step_0/user/task_0").mkdir(parents=True)
    (job / "cpu.stat").write_text("usage_usec 1000000\nuser_usec 1\nsystem_usec 1\n")
    (process / "stat").write_text("77 (python) S 1 77 77 0 -1 4194560 0 0 0 0 100 0 0 0 20 0 1 0 100 1 256 1\n")
    (process / "statm").write_text("500 256 10 1 0 20 0\n")
    (process / "status").write_text("Name:\tpython\nUid:\t1000\t1000\t1000\t1000\nThreads:\t1\n")
    (process / "cgroup").write_text("0::/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0\n")
    return job


def test_jobs_of_slurm_by_their_control_group(serve, tmp_path):
    job = fake_slurm(tmp_path / "node")
    server = serve("--slurm", "--root", tmp_path / "node", "--sleep-time", "0.05")
    of_job = (("job_id", "4242"), ("user", "alice"))
    families = server.families()
    assert values(families["gpu_tracker_job_cgroup_ram_bytes"]) == {of_job: 987654321}
    assert values(families["gpu_tracker_job_ram_limit_bytes"]) == {of_job: 2e9}
    assert values(families["gpu_tracker_job_core_limit"]) == {of_job: 1.5}
    (job / "cpu.stat").write_text("usage_usec 3500000\nuser_usec 1\nsystem_usec 1\n")

    def sample():
        [found] = server.families()["gpu_tracker_job_cpu_time_seconds"].samples
        return found

    wait_until(lambda: sample().value)
    assert sample().value == 2.5 and sample().labels["host"] == "node7"


def test_scrapes_share_a_sample(serve):
    server = serve("--sleep-time", "30")
    texts = {server.ask()[2] for _ in range(20)}
    assert len(texts) == 1
    assert "gpu_tracker_exporter_samples_total 1.0" in texts.pop()


def test_gpus_have_their_uuid_and_jobs_a_line_for_each(serve, fake, tmp_path):
    with subprocess.Popen(["sleep", "60"]) as job, subprocess.Popen(["sleep", "60"]) as stranger:
        try:
            (tmp_path / "nvml.txt").write_text(
                "version 12.550.54\ndriver 550.54.15\n"
                "device 0\nuuid GPU-1\nname H100\nmemory 80000000000 0 9000000000\nutilization 50 0\n"
                f"process 0 {job.pid} 3000000000\nprocess 0 {stranger.pid} 5000000000\n"
                "device 1\nuuid GPU-2\nname H100\nmemory 80000000000 0 0\nutilization 0 0\n"
                f"process 0 {job.pid} 1000000000\n")
            server = serve("--pid", str(job.pid), "--library", "nvml=" + fake("nvml"),
                           env={**os.environ, "GT_FAKE_NVML": str(tmp_path / "nvml.txt")})
            families = server.families()
            assert {dict(labels)["uuid"]: v for labels, v in values(families["gpu_tracker_job_gpu_ram_bytes"]).items()} \
                == {"GPU-1": 3e9, "GPU-2": 1e9}
            assert {dict(labels)["name"] for labels in values(families["gpu_tracker_gpu"])} == {"H100"}
            assert values(families["gpu_tracker_gpu_utilization_ratio"]) == {
                (("uuid", "GPU-1"),): 0.5, (("uuid", "GPU-2"),): 0}
            assert "gpu_tracker_gpu_power_watts" not in families  # not told by this driver, so no line and no 0
        finally:
            job.kill()
            stranger.kill()


@pytest.fixture(scope="module")
def dashboard():
    return json.loads((pathlib.Path(__file__).parents[2] / "share/gpu-tracker/grafana-dashboard.json").read_text())


def expressions(dashboard):
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def test_the_dashboard_knows_our_names_and_labels(serve, cli, fake, dashboard, tmp_path):
    """Where a server offers a name here it is the server's, with these labels; else it follows from the table of metrics."""
    (tmp_path / "nvml.txt").write_text("version 12.550.54\ndriver 550.54.15\ndevice 0\nuuid GPU-1\nname H100\n"
                                       "memory 80000000000 0 9000000000\nutilization 50 0\npower 300000\n")
    server = serve("--pid", str(os.getpid()), "--library", "nvml=" + fake("nvml"),
                   env={**os.environ, "GT_FAKE_NVML": str(tmp_path / "nvml.txt")})
    families, metrics = server.families(), json.loads(cli("schema", "--format", "json").stdout)["metrics"]
    samples = {sample.name: sample.labels for family in families.values() for sample in family.samples}
    known = set(samples) | CAPACITIES
    for name, metric in metrics.items():
        unit = "" if metric["unit"] in ("count", "bits") or name.endswith(metric["unit"]) else "_" + metric["unit"]
        known |= {f"gpu_tracker_{scope}_{name}{unit}{'_total' * (metric['kind'] == 'counter')}" for scope in ("system", "job")}
        known.add(f"gpu_tracker_{'' if name.startswith('gpu_') else 'gpu_'}{name}{unit}")
    labels = {"host", "uuid", "parent", "pid", "user", "job_id", "command"}
    seen = set()
    for expression in expressions(dashboard):
        names = re.findall(r"gpu_tracker_\w+", expression)
        assert names and set(names) <= known, expression
        grouped = ",".join(re.findall(r"\b(?:on|by) ?\(([\w, ]+)\)", expression)).replace(" ", "")
        assert {*re.findall(r"(\w+)=~?\"", expression), *grouped.split(",")} - {""} <= labels, expression
        assert expression.count("(") == expression.count(")") and expression.count("{") == expression.count("}")
        seen |= set(names)
    assert CAPACITIES <= seen and {"gpu_tracker_gpu_ram_bytes", "gpu_tracker_gpu_utilization_ratio"} <= seen & set(samples)
    assert {"host", "uuid"} <= set(samples["gpu_tracker_gpu_ram_capacity_bytes"])
    assert samples["gpu_tracker_gpu_ram_capacity_bytes"].keys() == samples["gpu_tracker_gpu_ram_bytes"].keys()


def test_the_dashboard_is_whole(dashboard):
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len(panels) >= 15 and all(panel["title"] and panel["targets"] for panel in panels)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    cells = [(panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y) for panel in dashboard["panels"]
             for x in range(panel["gridPos"]["w"]) for y in range(panel["gridPos"]["h"])]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) == 23
    variables = {variable["name"] for variable in dashboard["templating"]["list"]} | {"__rate_interval"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard["panels"]))) <= variables


def test_aipowermeter_gauges(serve):
    assert "mem_used_cpu" not in serve().families()
    with subprocess.Popen(["sleep", "60"]) as job:
        try:
            families = serve("--compat", "aipowermeter", "--pid", str(job.pid)).families()
            assert 1e5 < families["mem_used_cpu"].samples[0].value < 1e8
            assert families["mem_used_cpu"].type == "gauge"
        finally:
            job.kill()


# ---- Who may ask

def test_a_token_is_needed_where_there_is_one(serve, tmp_path):
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    secret.chmod(0o600)
    server = serve("--token-file", secret)
    assert server.ask(Authorization="Bearer " + TOKEN)[0] == 200
    for wrong in ("Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "x", "Bearer ", "Basic " + TOKEN, TOKEN, ""):
        status, headers, text = server.ask(Authorization=wrong)
        assert (status, headers["WWW-Authenticate"]) == (401, "Bearer") and "gpu_tracker" not in text
    assert server.ask()[0] == 401
    assert server.ask("/", Authorization="Bearer x")[0] == 401


@pytest.mark.parametrize("text, mode, naming", [
    ("short\n", 0o600, "16"), (TOKEN, 0o644, "every user"), ("two words make no token\n", 0o600, "blanks"),
    ("", 0o600, "token"),
])
def test_a_bad_token_file_is_refused(refused, tmp_path, text, mode, naming):
    secret = tmp_path / "token"
    secret.write_text(text)
    secret.chmod(mode)
    refused(2, naming, "serve", "--listen", "127.0.0.1:0", "--disable-logs", "--token-file", secret)


@pytest.mark.parametrize("address, status, naming", [
    ("0.0.0.0:0", 2, "--token-file"), ("[::]:0", 2, "--token-file"), ("nonsense", 2, "ADDRESS:PORT"),
    ("127.0.0.1:70000", 2, "ADDRESS:PORT"), (":9417", 2, "ADDRESS:PORT"), ("::1:9417", 2, "ADDRESS:PORT"),
])
def test_addresses_that_are_refused(refused, address, status, naming):
    refused(status, naming, "serve", "--disable-logs", "--listen", address)


def test_a_token_in_plain_text_is_warned_of(gpu_tracker, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    process = subprocess.Popen([gpu_tracker, "serve", "--listen", "0.0.0.0:0", "--disable-logs", "--token-file",
                                tmp_path / "token"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("http://0.0.0.0:")
    process.terminate()
    _, complaint = process.communicate(timeout=120)
    assert process.returncode == 0 and "--tls-cert" in complaint and len(complaint.splitlines()) == 1


def test_an_address_in_use(refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused(125, "in use", "serve", "--disable-logs", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")


def test_modes_exclude_each_other(refused):
    refused(2, "exclude", "serve", "--disable-logs", "--all", "--slurm")
    refused(2, "process number", "serve", "--disable-logs", "--pid", "x")
    refused(125, "does not exist", "serve", "--disable-logs", "--pid", "4194303")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost"], cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_tls_by_files(serve, certificate, refused):
    cert, key = certificate
    server = serve("--tls-cert", cert, "--tls-key", key)
    assert server.address.startswith("https://")
    assert server.ask(tls=ssl.create_default_context(cafile=cert))[0] == 200
    with pytest.raises(ssl.SSLError):
        server.ask(tls=ssl.create_default_context())  # not signed by anybody the client knows
    old = ssl.create_default_context(cafile=cert)
    with warnings.catch_warnings(action="ignore"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, OSError)):
        server.ask(tls=old)
    with pytest.raises((http.client.HTTPException, OSError)):
        server.ask()
    refused(2, "belong together", "serve", "--listen", "127.0.0.1:0", "--disable-logs", "--tls-cert", cert)
    cert.chmod(0o600)
    refused(2, "PEM", "serve", "--listen", "127.0.0.1:0", "--disable-logs", "--tls-cert", key, "--tls-key", cert)


def test_a_key_that_everybody_may_read_is_refused(refused, certificate):
    cert, key = certificate
    key.chmod(0o644)
    try:
        refused(2, "--tls-key", "serve", "--listen", "127.0.0.1:0", "--disable-logs", "--tls-cert", cert, "--tls-key", key)
    finally:
        key.chmod(0o600)


@pytest.mark.parametrize("option", ["--token-file", "--tls-cert"])
def test_a_pipe_that_nobody_writes_to_is_refused(refused, tmp_path, option):
    os.mkfifo(tmp_path / "pipe", 0o600)
    options = [option, tmp_path / "pipe", *(["--tls-key", "none"] if option == "--tls-cert" else [])]
    begin = time.monotonic()
    refused(2, "nothing more was written to this pipe", "serve", "--listen", "127.0.0.1:0", "--disable-logs", *options)
    assert 4 < time.monotonic() - begin
    refused(2, "neither a file nor a pipe", "serve", "--listen", "127.0.0.1:0", "--disable-logs", "--token-file", "/dev/zero")


def test_a_token_through_a_pipe(serve, tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(TOKEN + "\n"))
    writer.start()
    server = serve("--token-file", tmp_path / "pipe")
    writer.join()
    assert server.ask(Authorization="Bearer " + TOKEN)[0] == 200 and server.ask()[0] == 401


# ---- Clients that are rude, slow, many

def test_other_paths_methods_and_big_requests(serve):
    server = serve()
    assert server.ask("/")[0] == 200
    assert server.ask("/else")[0] == 404
    assert server.ask(method="POST", body="x" * 100000)[:1] == (405,)
    status, headers, text = server.ask(method="HEAD")
    assert status == 200 and int(headers["Content-Length"]) > 100 and text == ""
    assert server.ask(**{"X-Long": "y" * 20000})[0] in (413, 414, 431)
    with socket.create_connection(("127.0.0.1", server.port)) as rude:
        rude.sendall(b"\0\xff\r\n\r\n")
        assert server.ask()[0] == 200


def test_slow_clients_neither_hold_up_others_nor_stay(serve):
    server = serve("--sleep-time", "0.01")
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    for one in slow:
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
    for _ in range(5):
        asked = time.monotonic()
        assert server.ask()[0] == 200
        assert time.monotonic() - asked < 8  # slow ones are ended after 10 s
    slow[0].settimeout(120)
    with contextlib.suppress(ConnectionResetError):
        assert slow[0].recv(10) != b"x"  # ended by the server
    for one in slow:
        one.close()
    assert server.ask()[0] == 200


def test_five_hundred_clients_are_all_answered(serve):
    server = serve("--all", "--sleep-time", "0.2")
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(500)]
    for client in clients:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    for client in clients:
        client.settimeout(120)
        text = b""
        while more := client.recv(65536):
            text += more
        client.close()
        assert text.startswith(b"HTTP/1.1 200") and b"gpu_tracker_system_ram_bytes" in text
    memory = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    assert int(re.search(r"VmHWM:\s+(\d+)", memory)[1]) < 100000  # kB

    def sockets():
        folder = pathlib.Path(f"/proc/{server.process.pid}/fd")
        return sum(os.path.islink(link) and os.readlink(link).startswith("socket:") for link in folder.iterdir())

    wait_until(lambda: sockets() < 10)  # all clients are gone


@pytest.mark.parametrize("at_once", [False, True])
def test_half_open_connections_that_close_leave_it_listening(serve, at_once):
    """As many as there are places, and nobody else visits meanwhile. All at once: the server sees the ends in one look."""
    server = serve("--sleep-time", "0.1")
    clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(512)]
    time.sleep(1)
    if at_once:
        server.process.send_signal(signal.SIGSTOP)
    for client in clients:
        client.close()
    server.process.send_signal(signal.SIGCONT)
    time.sleep(1)
    asked = time.monotonic()
    assert server.ask()[0] == 200
    assert time.monotonic() - asked < 8


@pytest.mark.parametrize("name", ["notify", "@gpu-tracker-test-%d"])
def test_signs_of_life_for_systemd(serve, tmp_path, name):
    address = name % os.getpid() if "%" in name else str(tmp_path / name)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address.replace("@", "\0"))
        manager.settimeout(120)
        serve(env={**os.environ, "NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"})
        assert [manager.recv(100) for _ in range(4)] == [b"READY=1"] + [b"WATCHDOG=1"] * 3


def test_no_signs_of_life_where_nobody_asks_for_them(serve, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(120)
        serve(env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"})
        assert manager.recv(100) == b"READY=1"
        manager.settimeout(0.6)
        with pytest.raises(TimeoutError):
            manager.recv(100)


def test_readers_that_do_not_read_are_ended(serve):
    server = serve()
    with socket.socket() as idle:
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        idle.connect(("127.0.0.1", server.port))
        idle.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        assert server.ask()[0] == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_with_status_0(gpu_tracker, number):
    process = subprocess.Popen([gpu_tracker, "serve", "--listen", "127.0.0.1:0", "--disable-logs"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics, pages = process.stdout.readline().strip(), process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", pages) and metrics == pages + "metrics"
    process.send_signal(number)
    assert process.communicate(timeout=120) == ("", "")
    assert process.returncode == 0


def test_without_the_library_it_says_so(gpu_tracker):
    found = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
    [path] = set(re.findall(r"libmicrohttpd\.so\.12 .*=> (\S+)", found))
    done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', path, gpu_tracker,
                           "serve", "--disable-logs"], capture_output=True, text=True, check=False, timeout=120)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this user may not mount")
    assert done.returncode == 125 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert "serve takes libmicrohttpd" in line
