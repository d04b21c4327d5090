"""A server that accepts connections and never answers, as one that hangs, or behind a firewall that drops: nobody waits for it."""
import ctypes.util
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import pytest
from patience import wait_until

pytestmark = pytest.mark.skipif(not ctypes.util.find_library("curl"), reason="there is no libcurl, by which servers are asked")


@pytest.fixture
def listener():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(99)
        listener.settimeout(100)
        yield listener


@pytest.fixture
def address(listener, tmp_path):
    return f"clickhouse://127.0.0.1:{listener.getsockname()[1]}/jobs/silent?spool={tmp_path}/spool&flush=1000&wait="


def line(gpu_tracker, address, *command, options=()):
    return [gpu_tracker, "run", "--no-history", "-q", *options, "--tf", address, "--", *map(str, command)]


def is_cleared(tmp_path):
    return not list((tmp_path / "spool").glob("*/*"))


def test_standard_error_ends_with_the_job(gpu_tracker, listener, address, tmp_path):
    """Whoever reads it to its end does not wait for the request, and reads nothing of recordings that are elsewhere by then."""
    process = subprocess.Popen(line(gpu_tracker, f"{address}0.1", "cat"), cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    request, _ = listener.accept()
    said = process.communicate("", timeout=300)[1]
    request.close()
    assert process.returncode == 0 and "recordings wait in" not in said, said
    assert said.count("send it with: gpu-tracker push gpu-tracker-unsent/") == 1
    assert len(list((tmp_path / "gpu-tracker-unsent").glob("*/*.sqlite"))) == 1
    wait_until(lambda: is_cleared(tmp_path))


def test_a_job_is_told_soon(gpu_tracker, address, tmp_path):
    until_told = ("import sys, time\nend = time.monotonic() + 200\n"
                  "while 'recordings wait in' not in open(sys.argv[1]).read() and time.monotonic() < end: time.sleep(0.05)")
    said = tmp_path / "said"
    with open(said, "w") as errors:
        subprocess.run(line(gpu_tracker, f"{address}0.1", sys.executable, "-c", until_told, said), cwd=tmp_path, check=True, timeout=300,
                       stdout=subprocess.DEVNULL, stderr=errors)
    assert said.read_text().count("has not taken what there is within 10 s; recordings wait in") == 1, said.read_text()


def test_push_is_as_patient_as_it_is_told(gpu_tracker, address, tmp_path):
    subprocess.run(line(gpu_tracker, "a.sqlite", "true"), cwd=tmp_path, check=True, capture_output=True, timeout=100)
    done = subprocess.run([gpu_tracker, "push", "--patience", "0.1", "a.sqlite", address.partition("?")[0]], cwd=tmp_path, check=False,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 125 and int(re.search(r"timed out after (\d+) milliseconds", done.stderr)[1]) < 45_000, done.stderr


@pytest.mark.parametrize("command", [["report"], ["push", "--init"]], ids=" ".join)
def test_a_person_is_not_kept_waiting(gpu_tracker, address, tmp_path, command):
    done = subprocess.run([gpu_tracker, *command, f"{address}0.1"], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 125 and not done.stdout
    silence = re.fullmatch(r"gpu-tracker: clickhouse://127.0.0.1:\d+/jobs does not answer: no whole answer came within (\d+) s"
                           r" \(.wait=.*\)\n", done.stderr)
    assert silence and int(silence[1]) < 45, done.stderr


def answer(connection, body):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def question_of(connection):
    """The statement of one request, whose headers and body may come in pieces."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += connection.recv(1 << 16)
    headers, _, body = said.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", headers)[1])
    while len(body) < length:
        body += connection.recv(1 << 16)
    return body


def test_a_question_that_takes_long_is_not_given_up(gpu_tracker, listener, address, tmp_path):
    """As long as the server answers, when it is asked meanwhile whether it is there."""
    asking = subprocess.Popen([gpu_tracker, "report", f"{address}0.1"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    long_one, _ = listener.accept()
    long_one.settimeout(100)
    assert b"trackers" in question_of(long_one)
    sign, _ = listener.accept()
    sign.settimeout(100)
    for _ in range(2):
        assert question_of(sign) == b"SELECT 1"
        answer(sign, b"1\n")
    answer(long_one, b"")
    said = asking.communicate(timeout=100)[1]
    sign.close()
    long_one.close()
    assert asking.returncode == 125 and "unknown job" in said, said


def shipper_of(folder):
    for entry in os.listdir("/proc"):
        try:
            words = pathlib.Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--follow" in words and any(word.startswith(os.fsencode(folder)) for word in words):
            return int(entry)
    return None


@pytest.mark.parametrize("place", [{}, {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0"}], ids=["alone", "rank"])
def test_a_shipper_that_was_killed_is_not_waited_for(gpu_tracker, listener, address, tmp_path, place):
    process = subprocess.Popen(line(gpu_tracker, f"{address}1000", "cat"), cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env={**os.environ, **place})
    request, _ = listener.accept()
    os.kill(shipper_of(tmp_path), signal.SIGKILL)
    said = process.communicate("", timeout=300)[1]
    request.close()
    assert process.returncode == 0 and "send it with: gpu-tracker push gpu-tracker-unsent/" in said, said
    assert len(list((tmp_path / "gpu-tracker-unsent").glob("*/*.sqlite"))) == 1
    wait_until(lambda: is_cleared(tmp_path))


def test_another_ranks_shipper_takes_the_place_of_one_that_was_killed(gpu_tracker, listener, address, tmp_path):
    """A rank whose own was killed waits for it."""
    environment = {**os.environ, "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}

    def start(rank):
        return subprocess.Popen(line(gpu_tracker, f"{address}1000", "head", "-n1"), cwd=tmp_path, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**environment, "SLURM_PROCID": rank})

    first = start("0")
    requests = [listener.accept()[0]]
    shipper = shipper_of(tmp_path)
    second = start("1")
    wait_until(lambda: len(list((tmp_path / "spool").glob("*/*/*.sqlite"))) == 2)
    os.kill(shipper, signal.SIGKILL)
    requests.append(listener.accept()[0])
    first.stdin.write("the command is over\n")
    first.stdin.flush()
    assert first.stdout.readline() == "the command is over\n"
    assert first.poll() is None
    os.kill(shipper_of(tmp_path), signal.SIGKILL)
    for process in (first, second):
        said = process.communicate("", timeout=300)[1]
        assert process.returncode == 0 and "send it with: gpu-tracker push gpu-tracker-unsent/" in said, said
    for request in requests:
        request.close()
    wait_until(lambda: is_cleared(tmp_path))


@pytest.mark.parametrize("option", ["--netrc-file", "--token-file"])
def test_a_login_that_is_not_used_is_not_waited_for(gpu_tracker, address, tmp_path, option):
    secret = tmp_path / "secret"
    secret.write_text("machine 127.0.0.1 login tracker password secret\n")
    secret.chmod(0o644)
    command = line(gpu_tracker, f"{address}1000", "true", options=[option, "secret"])
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300).stderr
    assert "chmod 600 secret" in said and f"push {option} 'secret' gpu-tracker-unsent/" in said
    wait_until(lambda: is_cleared(tmp_path))
