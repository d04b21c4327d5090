"""What is named to be read and is no file: said at once or in seconds, with the job not begun."""
import os
import pathlib
import re
import shutil
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
        "power-meter-run": ["run", "--power-meter", name, *job],
        "carbon-file": ["run", "--carbon-intensity", "DE", "--carbon-file", name, *job],
        "report": ["report", name],
        "analyze": ["sub-track", "analyze", "--tracking-file", name, "--sub-tracking-file", recording],
        "blocks": ["sub-track", "analyze", "--tracking-file", recording, "--sub-tracking-file", name],
        "combine": ["sub-track", "combine", "--path", name, "--sub-tracking-file", "out.csv"],
        "compare": ["sub-track", "compare", "--map", f"a={name}", "--map", f"b={name}"],
        "cconfig": ["sub-track", "compare", "--cconfig", name],
        "token": ["serve", "--listen", "127.0.0.1:0", "--token-file", name],
        "timeline": ["timeline", "info", name],
        "profile": ["profile", "job", name],
        "merge": ["timeline", "merge", name, "-o", "merged.json"],
    }


def make_pipe(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


def make_null(path):
    path.symlink_to("/dev/null")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(("make", "kind"), [(make_pipe, "pipe"), (make_device, "device"), (make_null, "device"),
                                            (make_socket, "socket")])
def test_what_is_no_file_is_refused_in_seconds(gpu_tracker, recording, tmp_path, monkeypatch, make, kind):
    """With one exit status: the words are wrong."""
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
        is_said = f"this is a {kind}" in err or (kind == "pipe" and "nothing more was written to this pipe" in err)
        if process.returncode != 2 or len(err.splitlines()) != 1 or out or not is_said:
            wrong[reader] = (process.returncode, out, err)
    assert not wrong
    assert not (tmp_path / "begun").exists()


def test_a_library_that_is_no_file_is_not_waited_for(gpu_tracker, tmp_path):
    os.mkfifo(tmp_path / "driver.so")
    done = subprocess.run([gpu_tracker, "run", "--library", f"nvml={tmp_path}/driver.so", "-o", "/dev/null", "--", "true"],
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0 and "driver.so: this is a pipe" in done.stderr


def test_a_library_that_the_kernel_never_ends_is_not_read(gpu_tracker):
    if not os.access("/proc/kmsg", os.R_OK):
        pytest.skip("only root reads it")
    done = subprocess.run([gpu_tracker, "run", "--library", "nvml=/proc/kmsg", "-o", "/dev/null", "--", "true"],
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0 and "NVML: /proc/kmsg: cannot be loaded: it has no content" in done.stderr


@pytest.mark.parametrize("name", ["socket", "/dev/tty"])
def test_a_report_waits_for_the_reader_of_a_pipe_only(gpu_tracker, tmp_path, name):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        line = ["strace", "-f", "-e", "trace=openat", gpu_tracker, "run", "-o", name, "--", "true"]
        if not shutil.which("strace"):
            pytest.skip("there is no strace")
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False, start_new_session=True)
    if "ptrace" in done.stderr:
        pytest.skip("strace may trace nothing here")
    assert "cannot write the report" in done.stderr
    assert len(re.findall(f'"{name}", O_WRONLY.* = -1 ENXIO', done.stderr)) == 1


@pytest.mark.parametrize("name, reason", [
    ("driver.so", "no library of that name is installed; a path has a slash: ./driver.so"),
    ("./text.so", "file too short"), ("./none.so", "No such file or directory"), ("libnone.so.9", "No such file or directory")])
def test_a_library_that_cannot_be_loaded_has_a_reason(cli, tmp_path, name, reason):
    os.mkfifo(tmp_path / "driver.so")
    (tmp_path / "text.so").write_text("x")
    done = cli("run", "--library", f"nvml={name}", "-o", "/dev/null", "--", "true")
    [line] = [line for line in done.stderr.splitlines() if "NVML: " in line]
    assert done.returncode == 0 and f"NVML: {name}: " in line and line.endswith(reason)


def test_what_a_shell_hands_in_is_read(gpu_tracker, recording):
    def bash(words):
        return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60, check=False)

    done = bash(f"""{gpu_tracker} run --disable-logs -f json --tconfig <(sleep 1; echo '{{"ram_unit": "bytes"}}') -- true""")
    assert done.returncode == 0 and '"bytes"' in done.stderr
    done = bash(f"""{gpu_tracker} run --power-model <(echo '{{"idle_watts": 1}}') -- true""")
    assert done.returncode == 2 and "idle_watts and max_watts" in done.stderr
    done = bash(f"""{gpu_tracker} serve --listen 127.0.0.1:0 --token-file <(echo short)""")
    assert done.returncode == 2 and "token of 16" in done.stderr


MODEL = """<(sleep 0.2; printf 'tdp_watts = 10\\n')"""


@pytest.mark.parametrize("words, before, said", [
    (f"run --disable-logs -f json --power-model {MODEL} -- true", "", "estimated by use of the CPU"),
    (f"-e true --disable-logs --power-model {MODEL}", "", "true"),
    (f"doctor -f json --power-model {MODEL}", "", "estimated by use of the CPU"),
    ("run --disable-logs -f json --power-model /dev/stdin -- cat", "echo tdp_watts = 10 |", "estimated by use of the CPU"),
    ("run --disable-logs -f json --carbon-intensity XX --carbon-file "
     "<(sleep 0.2; printf 'region,name,year,grams_per_kwh,source\\nXX,X,2023,77,me\\n') -- true", "", "77.0"),
], ids=["run", "execute", "doctor", "stdin", "carbon"])
def test_what_is_read_again_comes_through_a_pipe_once(gpu_tracker, words, before, said):
    done = subprocess.run(["bash", "-c", f"{before} {gpu_tracker} {words}"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.parametrize("words", ["timeline info", "profile functions", "timeline merge -o merged.json --overwrite"])
@pytest.mark.parametrize("name", ["torch.json.gz", "python3.13.prof"])
def test_a_trace_through_a_pipe_is_that_trace(gpu_tracker, tmp_path, words, name):
    trace = pathlib.Path(__file__).parents[1] / "fixture/traces" / name

    def told(shell):
        done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        is_nothing_to_merge = name.endswith(".prof") and "merge" in words
        assert done.returncode == (4 if is_nothing_to_merge else 0), done.stderr
        assert is_nothing_to_merge or not done.stderr, done.stderr
        return done.stdout + "".join(path.read_text() for path in tmp_path.iterdir())

    piped = told(f"{gpu_tracker} {words} <(sleep 0.3; cat {trace}) -f json")
    assert re.sub("/dev/fd/[0-9]+", str(trace), piped) == told(f"{gpu_tracker} {words} {trace} -f json")


def test_what_is_wrong_with_a_trace_is_said_of_the_pipe(gpu_tracker, recording):
    for text in ("echo no trace", "true", f"cat {recording}"):
        done = subprocess.run(["bash", "-c", f"{gpu_tracker} timeline info <({text})"], capture_output=True, text=True, timeout=60,
                              check=False)
        assert done.returncode == 2
        assert re.fullmatch("gpu-tracker: /dev/fd/[0-9]+: no trace or profile that is known without its name, .*\n", done.stderr)


def test_a_dash_is_standard_input(gpu_tracker):
    trace = (pathlib.Path(__file__).parents[1] / "fixture/traces/torch.json.gz").read_bytes()

    def told(name):
        done = subprocess.run([gpu_tracker, "timeline", "info", name, "-f", "json"], input=trace, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert told("-") == told("/dev/stdin")
