"""What is named to be read and is no file: said at once or in seconds, with the job not begun."""
import os
import socket
import subprocess

import pytest

SECONDS = 30  # a named pipe is given up after 5


@pytest.fixture(scope="module")
def recording(gpu_tracker, tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "run.csv"
    subprocess.run([gpu_tracker, "run", "--disable-logs", "--sleep-time", "0.05", "--tracking-file", path, "-o", "/dev/null",
                    "--", "sleep", "0.2"], check=True, capture_output=True)
    return path


def readers(name, recording):
    """Every command that reads a file which it was given by name."""
    job = ["--", "touch", "begun"]
    return {
        "tconfig": ["run", "--tconfig", name, *job],
        "power-model": ["run", "--power-model", name, *job],
        "power-meter": ["report", recording, "--power-meter", name],
        "carbon-file": ["run", "--carbon-intensity", "DE", "--carbon-file", name, *job],
        "at": ["report", recording, "--at", name],
        "report": ["report", name],
        "analyze": ["sub-track", "analyze", "--tracking-file", name, "--sub-tracking-file", recording],
        "blocks": ["sub-track", "analyze", "--tracking-file", recording, "--sub-tracking-file", name],
        "combine": ["sub-track", "combine", "--path", name, "--sub-tracking-file", "out.csv"],
        "compare": ["sub-track", "compare", "--map", f"a={name}", "--map", f"b={name}"],
        "cconfig": ["sub-track", "compare", "--cconfig", name],
        "token": ["serve", "--listen", "127.0.0.1:0", "--token-file", name],
        "timeline": ["timeline", "info", name],
        "profile": ["profile", "job", name],
    }


def make_pipe(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(("make", "kind"), [(make_pipe, "pipe"), (make_device, "device"), (make_socket, "socket")])
def test_what_is_no_file_is_refused_in_seconds(gpu_tracker, recording, tmp_path, monkeypatch, make, kind):
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    names = [f"{kind}.csv", f"{kind}.sqlite"]
    for name in names:
        make((tmp_path / name).relative_to(tmp_path))
    running = {(option, name): subprocess.Popen([gpu_tracker, *map(str, words)], stdin=subprocess.DEVNULL,
                                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for name in names for option, words in readers(name, recording).items()}
    wrong = {}
    for reader, process in running.items():
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += "it waits"
        is_said = kind in err or any(words in err for words in ["regular file", "CSV file", "no lines of the time"])
        if not process.returncode > 0 or len(err.splitlines()) != 1 or out or not is_said:
            wrong[reader] = (process.returncode, out, err)
    assert not wrong
    assert not (tmp_path / "begun").exists()


def test_a_library_that_is_no_file_is_not_waited_for(gpu_tracker, tmp_path):
    os.mkfifo(tmp_path / "driver.so")
    done = subprocess.run([gpu_tracker, "run", "--library", f"nvml={tmp_path}/driver.so", "-o", "/dev/null", "--", "true"],
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0 and "driver.so: this is a pipe" in done.stderr


def test_what_a_shell_hands_in_is_read(gpu_tracker, recording):
    def bash(words):
        return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, check=False)

    done = bash(f"""{gpu_tracker} run --disable-logs -f json --tconfig <(sleep 1; echo '{{"ram_unit": "bytes"}}') -- true""")
    assert done.returncode == 0 and '"bytes"' in done.stderr
    done = bash(f"""{gpu_tracker} run --power-model <(echo '{{"idle_watts": 1}}') -- true""")
    assert done.returncode == 2 and "idle_watts and max_watts" in done.stderr
    done = bash(f"""{gpu_tracker} report {recording} --at <(echo time; sleep 1; date +%s) -f csv""")
    assert done.returncode == 0, done.stderr
    done = bash(f"""{gpu_tracker} serve --listen 127.0.0.1:0 --token-file <(echo short)""")
    assert done.returncode == 2 and "token of 16" in done.stderr
