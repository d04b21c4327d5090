"""Pages of running jobs that gpu-tracker serve has: what they say, who may see them, and who does not read them."""
import base64
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from browser import Browser, needs_browser, wait_for
from patience import least, wait_until
from serving import TOKEN, cpu_seconds


@pytest.fixture
def job(gpu_tracker, tmp_path, monkeypatch):
    """A job that runs until its file "go" is there; (the number of its page, its tracker)."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    hostile = "<img src=x onerror=alert(1)>"
    script = "held=x; while [ ! -e go ]; do sleep 0.05; done"
    process = subprocess.Popen([gpu_tracker, "run", "--quiet", "--disable-logs", "--blocks", "--detail", "--sleep-time", "0.1",
                                "--tracking-file", "run.sqlite", "--", "sh", "-c", script, hostile], cwd=tmp_path)
    wait_until(lambda: (tmp_path / "run.sqlite").exists() and any((runtime / "gpu-tracker").iterdir()))
    yield process
    (tmp_path / "go").touch()
    process.wait(timeout=120)


def end_job(job, tmp_path):
    (tmp_path / "go").touch()
    assert job.wait(timeout=120) == 0


def events_of(server, job, seconds=60):
    """Yields (name, data) of what is sent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as stream:
        stream.sendall(f"GET /job/{job.pid}/states HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n".encode())
        reader = stream.makefile("rb")
        status = reader.readline()
        assert b"200" in status, status
        headers = dict(line.split(": ", 1) for line in iter(lambda: reader.readline().decode().strip(), ""))
        assert headers["Content-Type"] == "text/event-stream" and headers["Transfer-Encoding"] == "chunked"
        text = b""
        while length := int(reader.readline() or b"0", 16):
            text += reader.read(length)
            reader.readline()
            while b"\n\n" in text:
                event, text = text.split(b"\n\n", 1)
                fields = dict(line.split(": ", 1) for line in event.decode().split("\n"))
                yield fields["event"], fields["data"]


def page_of(server, job):
    status, headers, text = server.ask(f"/job/{job.pid}")
    assert status == 200, text
    return headers, text


def test_jobs_are_listed_with_their_names_as_text(serve, job):
    server = serve()
    status, headers, text = server.ask("/")
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert f'href="/job/{job.pid}"' in text and "&lt;img src=x" in text and "<img" not in text
    assert server.ask("/job/1")[0] == server.ask("/job/x")[0] == server.ask(f"/job/{job.pid}/else")[0] == 404
    assert server.ask("/job/99999999999999999999999")[0] == 404


def seconds_of(server):
    """How long a scrape takes."""
    begin = time.monotonic()
    server.ask()
    return time.monotonic() - begin


def row_of(server, job):
    """The cells of a job in the list, by their titles."""
    text = server.ask("/")[2]
    row = re.search(rf'<tr><td><a href="/job/{job.pid}">.*</tr>', text)
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row[0] if row else "")
    return dict(zip(re.findall(r"<th>(\w+)</th>", text), cells, strict=bool(row)))


def test_the_list_shows_what_jobs_use_and_how_they_end(serve, job, tmp_path):
    server = serve()
    wait_until(lambda: row_of(server, job)["cpu"])
    assert 'http-equiv="refresh" content="2"' in server.ask("/")[2]
    row = row_of(server, job)
    assert list(row) == ["job", "command", "time", "memory", "peak", "cpu", "state"]
    assert re.fullmatch(r"0:\d\d", row["time"]) and row["state"] == "running" and float(row["cpu"]) >= 0
    assert all(re.fullmatch(r"[\d.]+ [kM]B", row[name]) for name in ("memory", "peak"))
    wait_until(lambda: row_of(server, job)["time"] != row["time"])
    end_job(job, tmp_path)
    wait_until(lambda: row_of(server, job)["state"] != "running")
    row = row_of(server, job)
    assert row["state"] == "exit 0" and row["peak"] and (row["memory"], row["cpu"]) == ("", "")
    assert "exit 0" in page_of(server, job)[1]


def test_the_list_shows_gpus_of_jobs_that_have_them(serve, job, gpu_tracker, fake, tmp_path):
    (tmp_path / "nvml.txt").write_text("driver 580\n" + "".join(
        f"device {i}\nuuid GPU-{i}\nname Fake\nminor {i}\nmemory 80000000000 0 0\nutilization {busy} 0\n"
        for i, busy in enumerate((30, 80))))
    with subprocess.Popen([gpu_tracker, "run", "--quiet", "--disable-logs", "--st=0.1", f"--library=nvml={fake('nvml')}",
                           "--tf=gpu.csv", "--", "sleep", "300"], cwd=tmp_path,
                          env={**os.environ, "GT_FAKE_NVML": str(tmp_path / "nvml.txt")}) as other:
        server = serve()
        wait_until(lambda: row_of(server, other).get("gpu"))
        assert row_of(server, other)["gpu"] == "55 %" and row_of(server, job)["gpu"] == ""
        other.terminate()


def test_a_recording_that_is_slow_to_read_delays_no_other_answer(serve, job):
    server = serve("--sleep-time", "60")
    wait_until(lambda: row_of(server, job)["memory"])
    [reader] = psutil.Process(server.process.pid).children()
    reader.suspend()
    try:
        server.ask()
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor() as others:
            rows = [others.submit(row_of, server, job) for _ in range(4)]
            assert least(lambda: seconds_of(server), 0.5) < 0.5
            assert all(row.result(timeout=60)["memory"] for row in rows)
        assert time.monotonic() - begin < 30
    finally:
        reader.resume()


def test_a_page_follows_its_job_to_the_end(serve, job, tmp_path):
    server = serve()
    headers, page = page_of(server, job)
    assert f'data-feed="/job/{job.pid}/states"' in page and "connect-src 'self'" in page and "so far" in page
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "no-store"
    events = events_of(server, job)
    assert next(events)[0] == "hello"
    states = (json.loads(data) for _, data in events)
    seen = [next(state for state in states if state["data"]["courses"]) for _ in range(2)]
    assert seen[0]["data"]["courses"][0]["seen"] < seen[1]["data"]["courses"][0]["seen"]
    assert "so far" in seen[1]["head"] and "<img" not in seen[1]["head"]
    events.close()
    events = events_of(server, job)
    end_job(job, tmp_path)
    assert [name for name, _ in events][-1] == "end"
    _, page = page_of(server, job)
    assert "exit 0" in page and "data-feed" not in page and "connect-src" not in page
    assert row_of(server, job)["state"] == "exit 0"


def test_who_does_not_read_holds_up_nobody(serve, job):
    server = serve("--sleep-time", "0.01")
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    for one in idle:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        one.sendall(f"GET /job/{job.pid}/states HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    events = events_of(server, job)
    names = [next(events)[0] for _ in range(4)]
    assert names == ["hello", "state", "state", "state"]
    assert server.ask()[0] == 200
    before = cpu_seconds(server.process.pid)
    for one in idle:
        one.close()
    events.close()
    children = psutil.Process(server.process.pid).children
    assert len(children()) == 1
    time.sleep(1.5)
    calm = cpu_seconds(server.process.pid)
    time.sleep(2)
    assert cpu_seconds(server.process.pid) - calm < 0.2 and calm - before < 1.5


def test_no_more_follow_than_there_are_places(serve, job):
    server = serve()
    ask = f"GET /job/{job.pid}/states HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(70):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=120))
            one.sendall(ask)
            answers.append(one.recv(12))
        assert answers.count(b"HTTP/1.1 200") == 64 and answers.count(b"HTTP/1.1 503") == 6
        assert server.ask()[0] == 200


def test_another_sites_name_for_this_machine_is_refused(serve, job):
    server = serve()
    for host in "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9417":
        assert server.ask(f"/job/{job.pid}", Host=host)[0] == 403, host
    for host in "localhost:1", "[::1]:9417", "127.0.0.1":
        assert server.ask(f"/job/{job.pid}", Host=host)[0] == 200, host
    assert server.ask("/metrics", Host="node7")[0] == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="takes another user")
def test_another_user_sees_no_job(serve, job):
    server = serve()
    ask = (f"import encodings.idna, os, socket\nos.setgid(65534); os.setuid(65534)\n"
           f"for path in '/', '/job/{job.pid}', '/job/{job.pid}/states', '/metrics':\n"
           f"    one = socket.create_connection(('127.0.0.1', {server.port}))\n"
           f"    one.sendall(f'GET {{path}} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'.encode())\n"
           f"    print(one.recv(12)[9:].decode())")
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["403", "403", "403", "200"], done.stderr


def test_a_token_is_a_password_for_browsers(serve, job, tmp_path):
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "token").chmod(0o600)
    server = serve("--token-file", "token")
    status, headers, _ = server.ask("/")
    assert status == 401 and headers["WWW-Authenticate"].startswith("Basic realm=")
    assert server.ask()[1]["WWW-Authenticate"] == "Bearer"
    for words, status in (f"me:{TOKEN}", 200), (f":{TOKEN}", 200), (TOKEN, 401), (f"me:{TOKEN}x", 401), ("me:", 401), ("", 401):
        basic = "Basic " + base64.b64encode(words.encode()).decode()
        assert server.ask(f"/job/{job.pid}", Authorization=basic, Host="node7")[0] == status, words
    assert server.ask("/", Authorization="Basic ====")[0] == server.ask("/", Authorization="Basic " + "A" * 5000)[0] == 401


def test_a_recording_that_is_gone_is_named(serve, job, tmp_path):
    server = serve()
    page_of(server, job)
    job.send_signal(signal.SIGSTOP)     # it would make the file again
    try:
        (tmp_path / "run.sqlite").unlink()
        answers = [None]
        wait_until(lambda: answers.append(server.ask(f"/job/{job.pid}")) or answers[-1][0] == 500)
        assert "run.sqlite" in answers[-1][2] and answers[-1][1]["Refresh"] == "2"
    finally:
        job.send_signal(signal.SIGCONT)
    assert server.ask()[0] == 200


@needs_browser
def test_an_open_page_renews_itself(serve, job, tmp_path):
    server = serve()
    with Browser(f"http://127.0.0.1:{server.port}/job/{job.pid}") as page:
        page.wait("document.documentElement && document.documentElement.dataset.charts === 'ready'")
        page.wait("document.getElementById('feed') && document.getElementById('feed').textContent === 'running'")
        told = "document.querySelector('header p') && document.querySelector('header p').textContent"
        before = page.value(told)
        wait_for(lambda: page.value(told) not in (None, before))
        page.wait("document.querySelector('.readout') && document.querySelector('.readout').textContent.includes('mem')")
        page.value("document.querySelector('th.sorts').click()")
        end_job(job, tmp_path)
        page.wait("document.body && !document.body.dataset.feed && document.documentElement.dataset.charts === 'ready'")
        assert page.value("document.querySelector('header p').textContent").startswith("exit 0")
        assert page.said == [] and page.value("document.querySelectorAll('img').length") == 0
        assert {url for url in page.requests if not url.startswith(("blob:", f"http://127.0.0.1:{server.port}/job/{job.pid}"))} == set()
